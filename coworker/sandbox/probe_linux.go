//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tries are how often something new is made that a sweep of another server may
// take before it is locked.
const tries = 5

// makeProbe makes a home for the run that is tried at the start. Servers may
// start on one folder at once, so it is this one's alone; the lock keeps it from
// the sweeps of others.
func (s *Sandbox) makeProbe() (user string, lock *os.File, err error) {
	for range tries {
		user = probeUser + newID()
		home, _, made := s.home(user)
		if err = made; err != nil {
			continue
		}
		_ = home.Close()
		if lock, err = lockDir(filepath.Join(s.dir, s.own, user)); err == nil {
			return user, lock, nil
		}
	}
	return "", nil, fmt.Errorf("make a home to try a run in: %w", err)
}

// sweepProbes removes the homes that servers left which ended as they started.
func (s *Sandbox) sweepProbes() {
	left, err := filepath.Glob(filepath.Join(s.dir, s.own, probeUser+"*"))
	if err != nil {
		return
	}
	for _, name := range left {
		lock, err := lockDir(name)
		if err != nil {
			continue
		}
		if err := removeHome(name); err != nil {
			s.log.Warn("a home to try a run in stays", "error", err.Error())
		}
		_ = lock.Close()
	}
}

// claim makes the folder of a run and locks it.
func (p *process) claim() (err error) {
	for range tries {
		p.id = newID()
		p.dir = filepath.Join(p.s.dir, runsDir, p.id)
		if err = os.Mkdir(p.dir, 0o711); err != nil {
			continue
		}
		name := filepath.Join(p.dir, "lock")
		if p.lock, err = lockFile(name, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			if _, err = os.Stat(name); err == nil {
				return nil
			}
			err = errors.Join(err, p.lock.Close())
			p.lock = nil
		}
	}
	return err
}
