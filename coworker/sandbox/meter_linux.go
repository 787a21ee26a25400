//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tick is the unit of processor time in /proc (USER_HZ).
const tick = 10 * time.Millisecond

// A meter tells what the processes below one have used since it was made. The
// kernel's own limit counts the whole life of a process, and cannot be raised
// again for its next job.
type meter struct {
	of   *process
	mu   sync.Mutex
	from map[int]time.Duration
	all  time.Duration // when it was made
	now  time.Duration
	peak int64 // bytes, of the largest process so far
}

func newMeter(of *process) *meter {
	m := &meter{of: of, from: map[int]time.Duration{}}
	for id, r := range of.rows() {
		m.from[id] = r.cpu
		m.all += r.cpu + r.gone
	}
	m.now = m.all
	return m
}

// over stops a job of which one process has used more than it may.
func (m *meter) over(most time.Duration) *Stop {
	for id, r := range m.read() {
		if r.cpu-m.from[id] > most {
			return meterStop(most)
		}
	}
	return nil
}

func meterStop(most time.Duration) *Stop {
	return &Stop{Reason: OverLimit, Limit: "cpu", Allowed: most.Milliseconds(), Hint: "the run used more processor time than it may"}
}

func (m *meter) read() map[int]processRow {
	rows := m.of.rows()
	var all time.Duration
	for _, r := range rows {
		all += r.cpu + r.gone
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = max(m.now, all)
	for id := range rows {
		if id != m.of.cmd.Process.Pid { // the cell's own
			m.peak = max(m.peak, highWater(id))
		}
	}
	return rows
}

func (m *meter) used() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now - m.all
}

// rows are the processes of a run, the cell's own among them.
func (p *process) rows() map[int]processRow {
	if p.group.version == 0 {
		return processesBelow(p.cmd.Process.Pid)
	}
	rows := map[int]processRow{}
	for _, pid := range p.members() {
		if row, ok := readProcess("/proc/" + strconv.Itoa(pid) + "/stat"); ok {
			rows[pid] = row
		}
	}
	return rows
}

// dead tells whether nothing is left but the cell's own process, if that.
func (p *process) dead() bool {
	for pid, row := range p.rows() {
		if pid != p.cmd.Process.Pid && !row.ended {
			return false
		}
	}
	return true
}

// highWater is the most resident memory a process has had, in bytes.
func highWater(pid int) int64 {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}
