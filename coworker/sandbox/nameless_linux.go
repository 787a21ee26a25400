//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// nameless sums what files of the home hold that have no name any more and are
// kept open, mapped, or on the way through a socket, by the run. No count of the home sees them, and the
// disk has them until the run ends.
func (p *process) nameless(home *os.Root) int64 {
	info, err := home.Stat(".")
	if err != nil {
		return 0
	}
	device := info.Sys().(*syscall.Stat_t).Dev
	held := map[uint64]int64{} // by inode
	var sent int64
	p.seen = p.members()
	for _, pid := range p.seen {
		folder := "/proc/" + strconv.Itoa(pid)
		open, err := os.ReadDir(folder + "/fd")
		if p.hides(pid, err) {
			return p.before.bytes + p.s.limits.Home + 1
		}
		if err != nil {
			continue // it ended
		}
		for _, fd := range open {
			info, err := os.Stat(filepath.Join(folder, "fd", fd.Name()))
			// Under gVisor those are of its own parts, and the program's are in its memory.
			if err == nil && info.Mode()&os.ModeSocket != 0 && p.s.driver != Runsc {
				sent += underway(folder, fd.Name()) * p.s.limits.FileSize
			}
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if stat := info.Sys().(*syscall.Stat_t); stat.Dev == device && stat.Nlink == 0 {
				held[stat.Ino] = stat.Blocks * 512
			}
		}
		maps, err := os.ReadFile(folder + "/maps")
		if err != nil {
			continue
		}
		for line := range bytes.Lines(maps) {
			inode, addresses := mapped(string(line), device)
			if _, known := held[inode]; !known && inode != 0 {
				held[inode] = shownSize(folder, addresses, inode, p.s.limits.FileSize)
			}
		}
	}
	sum := sent
	for _, size := range held {
		sum += size
	}
	return sum
}

// mapped reads a line of /proc/PID/maps: which nameless file of the device it
// shows, and where; 0 for any other line.
func mapped(line string, device uint64) (inode uint64, addresses string) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[len(fields)-1] != "(deleted)" {
		return 0, ""
	}
	major, minor, _ := strings.Cut(fields[3], ":")
	number := func(text string) uint64 {
		n, _ := strconv.ParseUint(text, 16, 64)
		return n
	}
	if unix.Mkdev(uint32(number(major)), uint32(number(minor))) != device {
		return 0, ""
	}
	inode, err := strconv.ParseUint(fields[4], 10, 64)
	if err != nil {
		return 0, ""
	}
	return inode, fields[0]
}

// members are the processes of the run.
func (p *process) members() []int {
	var pids []int
	if p.group.version == 0 {
		for pid := range processesBelow(p.cmd.Process.Pid) {
			pids = append(pids, pid)
		}
		return pids
	}
	raw, err := os.ReadFile(filepath.Join(p.group.dirs[0], "cgroup.procs"))
	if err != nil {
		return nil
	}
	for word := range strings.FieldsSeq(string(raw)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
