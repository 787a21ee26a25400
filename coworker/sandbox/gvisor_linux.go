//go:build amd64 || arm64

package sandbox

import (
	"cell"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// gvisorFlags are what runsc is told. It stands in a cell already, as the only
// user there is: no control group is its to make, no network its to reach, and
// what it writes goes to the home or to memory.
var gvisorFlags = []string{
	"-rootless", "-ignore-cgroups", "-network=none", "-host-uds=open", "-overlay2=none",
	"-file-access=shared", "-root=/tmp/runsc",
}

const (
	runscInside  = "/innerloop-runsc"
	programName  = "program"
	gvisorMemory = 160 << 20 // what gVisor's own kernel may need
	gvisorTasks  = 600       // its threads, and processes that stand for those of a run
)

// copyProgram puts this program where the users of runs may read it, in a folder
// of its own among those of runs: gVisor starts it inside. The lock is held for
// the server's life, and what a killed one left goes with the next sweep.
func (s *Sandbox) copyProgram() error {
	p := &process{s: s}
	if err := p.claim(); err != nil {
		return err
	}
	s.program = p
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	name := filepath.Join(p.dir, programName)
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Chmod(0o755), to.Close())
}

// inGvisor changes the configuration of a cell of our own to one that gVisor
// stands in.
func (s *Sandbox) inGvisor(c *cell.Config) {
	mounts := c.Mounts[:0]
	for _, m := range c.Mounts {
		switch m.Kind {
		case cell.Seal: // gVisor mounts a /proc of its own, which the kernel refuses when this one lacks a part
			continue
		case cell.Proc:
			m.Data = ""
		}
		mounts = append(mounts, m)
	}
	c.Mounts = append(mounts,
		cell.Mount{Kind: cell.Bind, Source: s.tool, Target: runscInside, ReadOnly: true},
		cell.Mount{Kind: cell.Bind, Source: filepath.Join(runsDir, s.program.id, programName), Target: cell.NameGuest, ReadOnly: true},
	)
	c.Limit.Apart = true
	c.Gvisor = &cell.Gvisor{Path: runscInside, Flags: gvisorFlags}
}

// most is how much memory a run and what holds it may have.
func (s *Sandbox) most() int64 {
	if s.driver == Runsc {
		return s.limits.Memory + gvisorMemory
	}
	return s.limits.Memory + groupSlackBytes
}

// tasks is how many processes and threads a run and what holds it may have.
func (s *Sandbox) tasks() int64 {
	if s.driver == Runsc {
		return s.limits.Processes + gvisorTasks
	}
	return s.limits.Processes + groupSlackTasks
}

// resolveTool names the file that a tool's name leads to, which is mounted.
func resolveTool(name string) (string, error) {
	tool, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(tool)
}

// shared sums the memory of a run whose processes show each other's pages, as
// gVisor's do: each page is divided among those that have it.
func shared(pids []int) int64 {
	var sum int64
	for _, pid := range pids {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			var kb int64
			if n, err := fmt.Sscanf(line, "Pss: %d kB", &kb); err == nil && n == 1 {
				sum += kb << 10
				break
			}
		}
	}
	return sum
}
