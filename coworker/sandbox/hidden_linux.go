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

// hides tells whether a thread of the program does not let its descriptors be
// seen, as one does that runs a file it may not read. The cell's own processes
// do so by right, and every program for a moment as it starts: it is held
// against one that was found so before.
func (p *process) hides(thread string, err error) bool {
	if !errors.Is(err, fs.ErrPermission) {
		return false
	}
	raw, err := os.ReadFile("/proc/" + thread + "/status")
	if err != nil || !bytes.Contains(raw, []byte("\nSeccomp:\t2")) || over(raw) {
		return false
	}
	if p.hidden == nil {
		p.hidden = map[string]bool{}
	}
	before := p.hidden[thread]
	p.hidden[thread] = true
	return before
}

// astray tells whether a local socket of the run is in nobody's hands: it was
// sent to another one that nobody has taken it out of, and may carry descriptors
// that no table tells of. A socket is held against the run when it was found so
// before. What the first process has open for the way out is not seen where the
// server is no root.
func (p *process) astray() bool {
	if p.s.driver == Runsc || p.way != nil && os.Geteuid() != 0 {
		return false
	}
	lost := map[string]bool{}
	for line := range bytes.Lines(p.sockets()) {
		fields := bytes.Fields(line)
		if len(fields) < 7 {
			continue
		}
		inode, err := strconv.ParseUint(string(fields[6]), 10, 64)
		// The head of the list is no number, and what waits to be accepted has none.
		if err == nil && inode != 0 && (p.way == nil || !p.way.taken.has(inode)) {
			lost["socket:["+string(fields[6])+"]"] = true
		}
	}
	if len(lost) == 0 {
		return false
	}
	for _, pid := range p.seen {
		tables, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/fd/*")
		for _, fd := range tables {
			if to, err := os.Readlink(fd); err == nil {
				delete(lost, to)
			}
		}
	}
	found := false
	for socket := range lost {
		found = found || p.lost[socket]
	}
	p.lost = lost
	return found
}

// sockets are the local sockets of the run as its kernel lists them. They are
// asked of a thread of the program that lives: others may be in the network of
// the host, and one that has ended is in none.
func (p *process) sockets() []byte {
	for _, pid := range p.seen {
		folder := "/proc/" + strconv.Itoa(pid)
		status, err := os.ReadFile(folder + "/status")
		if err != nil || !bytes.Contains(status, []byte("\nSeccomp:\t2")) {
			continue
		}
		lists, _ := filepath.Glob(folder + "/task/*/net/unix")
		for _, list := range lists {
			if raw, err := os.ReadFile(list); err == nil {
				return raw
			}
		}
	}
	return nil
}

// over tells of a thread that has ended, from its status: it waits to be buried,
// or for the threads beside it, or has no memory any more. Its folder is root's
// from then on.
func over(status []byte) bool {
	if bytes.Contains(status, []byte("\nState:\tZ")) || bytes.Contains(status, []byte("\nState:\tX")) {
		return true
	}
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
