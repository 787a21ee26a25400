//go:build unix

package connect

import "golang.org/x/sys/unix"

// limitMemory bounds what a single step may ask for: more than is meant to be
// used, since what was freed still counts until it is given back.
func limitMemory() {
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: 3 * jqMemory, Max: 3 * jqMemory})
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
