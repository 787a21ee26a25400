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
// kept open, mapped, or on the way through a socket, by the run or by a session
// of the same user that rests. No count of the home sees them, and the disk has
// them until their holders end.
func (p *process) nameless(home *os.Root) int64 {
	p.seen = p.members()
	if p.astray() {
		return p.before.bytes + p.s.limits.Home + 1
	}
	return p.held(home, p.seen) + p.s.rested(p.user, home, p.cmd.Process.Pid)
}

// rested sums the same for what rests of a user's sessions, but for one.
func (s *Sandbox) rested(user string, home *os.Root, but int) (sum int64) {
	for _, ses := range s.listSessions() {
		p := ses.running.Load()
		if ses.user != user || p == nil || ses.rests.Load() == 0 || p.cmd.Process.Pid == but {
			continue
		}
		sum += (&process{s: s}).held(home, p.members())
	}
	return sum
}

func (p *process) held(home *os.Root, pids []int) int64 {
	info, err := home.Stat(".")
	if err != nil {
		return 0
	}
	device := info.Sys().(*syscall.Stat_t).Dev
	held := map[uint64]int64{} // by inode
	sent := map[uint64]int64{} // by socket
	for _, pid := range pids {
		// Each thread may have descriptors of its own, and the first may have ended.
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			continue // it ended
		}
		if p.s.driver == Runsc {
			threads = threads[:1] // gVisor's own, which share; the program's are in its memory
		}
		seen := false // the memory is the same for all
		for _, thread := range threads {
			folder := "/proc/" + strconv.Itoa(pid) + "/task/" + thread.Name()
			open, err := os.ReadDir(folder + "/fd")
			if p.hides(thread.Name(), err) {
				return p.before.bytes + p.s.limits.Home + 1
			}
			if err != nil {
				continue // it ended
			}
			for _, fd := range open {
				info, err := os.Stat(filepath.Join(folder, "fd", fd.Name()))
				if err != nil {
					continue
				}
				stat := info.Sys().(*syscall.Stat_t)
				// Under gVisor those are of its own parts, and the program's are in its memory.
				if _, known := sent[stat.Ino]; !known && info.Mode()&os.ModeSocket != 0 && p.s.driver != Runsc {
					sent[stat.Ino] = underway(folder, fd.Name()) * p.s.limits.FileSize
				}
				if info.Mode().IsRegular() && stat.Dev == device && stat.Nlink == 0 {
					held[stat.Ino] = stat.Blocks * 512
				}
			}
			if maps, err := os.ReadFile(folder + "/maps"); err == nil && len(maps) > 0 && !seen {
				seen = true
				for line := range bytes.Lines(maps) {
					inode, addresses := mapped(string(line), device)
					if _, known := held[inode]; !known && inode != 0 {
						held[inode] = shownSize("/proc/"+thread.Name(), addresses, inode, p.s.limits.FileSize)
					}
				}
			}
		}
	}
	var sum int64
	for _, size := range sent {
		sum += size
	}
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
