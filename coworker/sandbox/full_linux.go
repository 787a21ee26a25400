//go:build amd64 || arm64

package sandbox

import (
	"path"
	"strings"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A home over its limit is not shut: only code can make room in it. A process
// that begins in one can read, move and remove, and cannot add: no file, since
// the filter takes no call that makes one, and no byte, since the longest file
// it may write is empty and the disk is not reached past that. So a home grows
// no further however often it is called.

// fullHome says what a home holds too much of, nil when it does not.
func (s *Sandbox) fullHome(c census) *Stop { return s.overHome(c, census{}) }

// overHome says what a home holds too much of. What it held before is not held
// against whoever found it so.
func (s *Sandbox) overHome(c, before census) *Stop {
	switch {
	case c.bytes > max(s.limits.Home, before.bytes):
		return &Stop{Reason: OverLimit, Limit: "disk", Allowed: s.limits.Home, Hint: "the home is full; remove files from it, with code and no input files"}
	case c.files > max(s.limits.HomeFiles, before.files):
		return &Stop{Reason: OverLimit, Limit: "files", Allowed: s.limits.HomeFiles, Hint: "the home holds too many files; remove some, with code and no input files"}
	}
	return nil
}

// with is what the home would hold with more files.
func (c census) with(files []File) census {
	const block = 4096
	for _, f := range files {
		c.bytes += (int64(len(f.Body)) + block - 1) / block * block
		c.files += 1 + int64(strings.Count(path.Clean(f.Path), "/"))
	}
	return c
}

// makers are the calls that make a file of any kind, by what they are given if
// that decides: the argument and the bits of it that do.
var makers = map[string]struct{ offset, bits uint32 }{
	"open":       {dataArg0 + 8, unix.O_CREAT},
	"openat":     {dataArg0 + 16, unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY},
	"openat2":    {},
	"creat":      {},
	"mkdir":      {},
	"mkdirat":    {},
	"symlink":    {},
	"symlinkat":  {},
	"link":       {},
	"linkat":     {},
	"bind":       {}, // of a local socket
	"fallocate":  {}, // may go past the longest file
	"mq_open":    {},
	"setxattr":   {},
	"lsetxattr":  {},
	"fsetxattr":  {},
	"setxattrat": {},
}

// makesNothing are the rules for a process in a home over its limit. They come
// before all others, and refuse as a disk does that has no room for its user.
func makesNothing(numbers map[string]int) []bpf.Instruction {
	refuse := bpf.RetConstant{Val: actionErrno | uint32(unix.EDQUOT)}
	var out []bpf.Instruction
	is := func(name string, then ...bpf.Instruction) {
		if number, ok := numbers[name]; ok {
			out = append(out, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(then))})
			out = append(out, then...)
		}
	}
	allow := bpf.RetConstant{Val: actionAllow}
	for name, given := range makers {
		if given.bits == 0 {
			is(name, refuse)
			continue
		}
		is(name,
			bpf.LoadAbsolute{Off: given.offset, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: given.bits, SkipTrue: 1},
			allow, refuse)
	}
	// A hole is filled through a mapping that is shared, whatever the limits.
	is("mmap",
		bpf.LoadAbsolute{Off: dataArg0 + 24, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.MAP_SHARED, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_ANONYMOUS, SkipTrue: 1},
		refuse, allow)
	return out
}
