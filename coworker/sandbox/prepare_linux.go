//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// prepare finds out what this machine gives, removes what an earlier server
// left behind, and runs some Python with everything on: what can be imported is
// tried in the sandbox itself, since what the machine has may not work there.
func (s *Sandbox) prepare(ctx context.Context, try []string) {
	s.groups = findGroups()
	s.groups.sweep()
	s.sweepRuns()
	s.sweepProbes()
	fail := func(step string, err error) {
		s.status.Failed, s.status.Cause = step, err.Error()
		s.log.Warn("no sandbox on this machine", "step", step, "error", err.Error())
	}
	if _, err := os.Stat(s.python); err != nil {
		fail("find the Python interpreter", err)
		return
	}
	if err := s.findTool(); err != nil {
		fail("find "+string(s.driver), err)
		return
	}
	if s.driver == Runsc {
		s.sessionsMax = -1
		if err := s.copyProgram(); err != nil {
			fail("copy the program for runsc", err)
			return
		}
	}
	var err error
	if s.filter, err = newFilter(false, s.groups.version != 0); err != nil {
		fail("filter system calls", err)
		return
	}
	if s.filterFull, err = newFilter(true, s.groups.version != 0); err != nil {
		fail("filter system calls", err)
		return
	}
	if s.spawner, err = newSpawner(s.dir); err != nil {
		fail("stand in the sandbox folder", err)
		return
	}
	user, lock, err := s.makeProbe()
	if err != nil {
		fail("try a run", err)
		return
	}
	defer func() { _ = errors.Join(s.RemoveHome(user), lock.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, probeTime+5*time.Second)
	defer cancel()
	result, err := s.run(ctx, Job{User: user, Code: fmt.Sprintf(probe, strings.Join(try, " ")), Timeout: probeTime})
	var stop *Stop
	if errors.As(err, &stop) {
		result = stop.Partial
	}
	var said []string
	if result != nil {
		said = strings.FieldsFunc(result.Stdout.Text, func(c rune) bool { return c == '\n' })
	}
	switch {
	case len(said) > 0: // it runs, whatever became of a package
		s.status = Status{Available: true, Driver: string(s.driver), Memory: s.groups.name(), Python: said[0], Packages: said[1:]}
		if err != nil || result.ExitCode != 0 {
			s.log.Warn("the sandbox did not try all packages")
		}
	case stop != nil:
		fail(stop.Hint, cmp.Or(stop.cause, err))
	case err != nil:
		fail("try a run", err)
	default:
		fail("try a run", errors.New("the interpreter did not answer: "+result.Stderr.Text))
	}
}

const probeTime = 30 * time.Second

// probe prints the version of the interpreter, then a line for each package
// that can be imported. What a package prints by itself is not heard.
const probe = `
import os, platform
told = os.fdopen(os.dup(1), "w")
print(platform.python_version(), file=told, flush=True)
os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
import importlib, importlib.util
for name in "%s".split():
    try:
        if importlib.util.find_spec(name) is None:
            continue
        version = getattr(importlib.import_module(name), "__version__", "")
        print((name + " " + str(version)).strip().replace("\n", " "), file=told, flush=True)
    except BaseException:
        continue
`

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
