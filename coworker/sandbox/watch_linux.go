//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// watchEvery is how often a run's use of disk and memory is looked at.
const watchEvery = 100 * time.Millisecond

// watch ends the run when its time is up, its caller is gone, or it uses more
// than it may of what the kernel does not bound.
func (p *process) watch(ctx context.Context, home *os.Root, timeout time.Duration) {
	go func() {
		defer close(p.watching)
		limit := time.NewTimer(timeout)
		defer limit.Stop()
		tick := time.NewTimer(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-p.stopped:
				return
			case <-ctx.Done():
				p.stop(Stop{})
				return
			case <-limit.C:
				p.stop(Stop{Reason: TimedOut, Limit: "wall", Allowed: timeout.Milliseconds(), Hint: "the run took longer than it may"})
				return
			case <-tick.C:
			}
			began := time.Now()
			if why := p.look(home); why != nil {
				p.stop(*why)
				return
			}
			// A large home takes long to count; counting must stay the smaller part.
			tick.Reset(max(watchEvery, 5*time.Since(began)))
		}
	}()
}

func (p *process) look(home *os.Root) *Stop {
	if c, err := take(home, max(p.s.limits.HomeFiles, p.before.files), false); err == nil {
		c.bytes += p.nameless(home)
		if p.full {
			c.files = 0 // it makes none
		}
		if why := p.s.overHome(c, p.before); why != nil {
			return why
		}
	}
	if p.spent != nil {
		if why := p.spent(); why != nil {
			return why
		}
	}
	if p.group.version != 0 {
		return nil
	}
	used := residentBelow(p.cmd.Process.Pid)
	if p.s.driver == Runsc {
		used = shared(p.members())
	} else {
		used += p.scratch()
	}
	if used > p.s.most() {
		return &Stop{Reason: OverLimit, Limit: "memory", Allowed: p.s.limits.Memory, Hint: "the run used more memory than it may"}
	}
	return nil
}

// residentBelow sums the resident memory of a process and all that descend
// from it, in bytes. Whoever lost its parent is the first process's child again.
func residentBelow(pid int) int64 {
	var sum int64
	for _, r := range processesBelow(pid) {
		sum += r.resident
	}
	return sum
}

// A processRow is what /proc says of a process.
type processRow struct {
	parent    int
	resident  int64         // bytes
	cpu, gone time.Duration // of itself, and of its children that it has waited for
	ended     bool          // and not waited for
}

// readProcess reads a process's row.
func readProcess(name string) (processRow, bool) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return processRow{}, false
	}
	// The second field is a name in parentheses that may hold anything.
	end := bytes.LastIndexByte(raw, ')')
	fields := bytes.Fields(raw[end+1:])
	if end < 0 || len(fields) < 22 {
		return processRow{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
	times := [4]time.Duration{} // user and system, its own and of those that are gone
	for i := range times {
		n, _ := strconv.ParseInt(string(fields[11+i]), 10, 64)
		times[i] = time.Duration(n) * tick
	}
	state := fields[0][0]
	return processRow{parent, pages * int64(os.Getpagesize()), times[0] + times[1], times[2] + times[3], state == 'Z' || state == 'X'}, true
}

// processesBelow finds a process and all that descend from it.
func processesBelow(pid int) map[int]processRow {
	rows := map[int]processRow{}
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, name := range names {
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if row, ok := readProcess(name); ok {
			rows[id] = row
		}
	}
	below := func(id int) bool {
		for range len(rows) {
			if id == pid {
				return true
			}
			r, ok := rows[id]
			if !ok {
				return false
			}
			id = r.parent
		}
		return false
	}
	found := map[int]processRow{}
	for id, r := range rows {
		if below(id) {
			found[id] = r
		}
	}
	return found
}
