//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// prepare finds out what this machine gives, removes what an earlier server
// left behind, and runs one line of Python with everything on.
func (s *Sandbox) prepare(ctx context.Context) {
	s.groups = findGroups()
	s.groups.sweep()
	s.sweepRuns()
	fail := func(step string, err error) {
		s.status.Failed, s.status.Cause = step, err.Error()
		s.log.Warn("no sandbox on this machine", "step", step, "error", err.Error())
	}
	if _, err := os.Stat(s.python); err != nil {
		fail("find the Python interpreter", err)
		return
	}
	var err error
	if s.filter, err = newFilter(); err != nil {
		fail("filter system calls", err)
		return
	}
	if s.spawner, err = newSpawner(s.dir); err != nil {
		fail("stand in the sandbox folder", err)
		return
	}
	const user = "probe"
	defer func() { _ = s.RemoveHome(user) }()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	result, err := s.run(ctx, Job{User: user, Code: "import platform\nplatform.python_version()", Timeout: 15 * time.Second})
	var stop *Stop
	switch {
	case errors.As(err, &stop):
		fail(stop.Hint, err)
	case err != nil:
		fail("try a run", err)
	case result.ExitCode != 0 || result.Value == "":
		fail("try a run", errors.New("the interpreter did not answer: "+result.Stderr.Text))
	default:
		s.status = Status{Available: true, Driver: "native", Memory: s.groups.name(), Python: strings.Trim(result.Value, "'")}
	}
}

// sweepRuns removes folders of runs whose server is gone. A run that is under
// way, here or in another process, holds the lock in its folder.
func (s *Sandbox) sweepRuns() {
	dir := filepath.Join(s.dir, runsDir)
	runs, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, r := range runs {
		name := filepath.Join(dir, r.Name())
		lock, err := lockFile(filepath.Join(name, "lock"), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			continue
		}
		if err := os.RemoveAll(name); err != nil {
			s.log.Warn("the folder of an old run stays", "error", err.Error())
		}
		if lock != nil {
			_ = lock.Close()
		}
	}
}
