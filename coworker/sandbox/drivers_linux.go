//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// findTool finds the program of a driver that is not our own. What is missing
// is told; nothing else takes its place.
func (s *Sandbox) findTool() error {
	if s.driver != Bwrap && s.driver != Runsc {
		return nil
	}
	tool, err := exec.LookPath(string(s.driver))
	if err != nil {
		return fmt.Errorf("find %s: %w", s.driver, err)
	}
	s.tool = tool
	if s.driver == Runsc {
		if s.tool, err = resolveTool(tool); err != nil {
			return fmt.Errorf("find %s: %w", s.driver, err)
		}
	}
	return nil
}

// staged are the attributes of a process that becomes bubblewrap. As root it
// has mounts of its own, for what its later user may not reach.
func staged() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if os.Geteuid() == 0 {
		a.Cloneflags = unix.CLONE_NEWNS
	}
	return a
}

// settleGroup waits until the kernel has ended what is in the group of a run.
// Our own first process ends after all others; bubblewrap's outer one does not.
func (p *process) settleGroup() {
	if p.s.driver != Bwrap || p.cmd == nil || p.cmd.Process == nil {
		return
	}
	left := p.seen
	for range 400 {
		if p.group.version != 0 {
			left = p.members()
		}
		left = slices.DeleteFunc(left, func(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH })
		if len(left) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
