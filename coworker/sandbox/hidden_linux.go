//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hides tells whether a process of the program does not let its descriptors be
// seen, as one does that runs a file it may not read. The cell's own processes
// do so by right, and every program for a moment as it starts: it is held
// against one that was found so before.
func (p *process) hides(pid int, err error) bool {
	if !errors.Is(err, fs.ErrPermission) {
		return false
	}
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil || !bytes.Contains(raw, []byte("\nSeccomp:\t2")) || over(raw) {
		return false
	}
	if p.hidden == nil {
		p.hidden = map[int]bool{}
	}
	before := p.hidden[pid]
	p.hidden[pid] = true
	return before
}

// over tells of a process that has ended, from its status: it has no memory any
// more, and no thread but the one that waits to be buried. Its folder is root's
// from then on.
func over(status []byte) bool {
	if bytes.Contains(status, []byte("\nVmSize:")) {
		return false
	}
	return bytes.Contains(status, []byte("\nThreads:\t1\n")) || bytes.Contains(status, []byte("\nThreads:\t0\n"))
}

// underway counts the descriptors that were sent to a socket and not taken out:
// no table has them, and each may be a file without a name.
func underway(folder, fd string) int64 {
	raw, err := os.ReadFile(filepath.Join(folder, "fdinfo", fd))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, "scm_fds:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return n
		}
	}
	return 0
}

// shownSize is how much a mapped file holds: what the kernel says where the
// server may ask, else as much as a file can. A mapping may show a part of it.
func shownSize(folder, addresses string, inode uint64, most int64) int64 {
	var stat unix.Stat_t
	if err := unix.Stat(filepath.Join(folder, "map_files", addresses), &stat); err == nil && stat.Ino == inode {
		return stat.Blocks * 512
	}
	return most
}

// scratch is what the run's file systems in memory hold; 0 when they cannot be
// seen.
func (p *process) scratch() int64 {
	for pid := range processesBelow(p.cmd.Process.Pid) {
		root := "/proc/" + strconv.Itoa(pid) + "/root"
		var sum int64
		for _, dir := range []string{"/tmp", "/dev/shm"} {
			var stat unix.Statfs_t
			if err := unix.Statfs(root+dir, &stat); err != nil || stat.Type != unix.TMPFS_MAGIC || dirOfHost(root+dir, dir) {
				sum = -1
				break
			}
			sum += int64(stat.Blocks-stat.Bfree) * stat.Bsize
		}
		if sum >= 0 {
			return sum
		}
	}
	return 0
}

// dirOfHost tells whether a folder of a process is the server's own: the
// process has not yet built its file tree.
func dirOfHost(name, here string) bool {
	var theirs, ours unix.Stat_t
	return unix.Stat(name, &theirs) == nil && unix.Stat(here, &ours) == nil && theirs.Dev == ours.Dev
}

// unseen are calls that make memory which belongs to no process, and which
// nothing but a control group counts.
var unseen = []string{"memfd_create", "memfd_secret", "shmget", "msgget"}
