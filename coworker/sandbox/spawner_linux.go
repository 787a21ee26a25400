//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// A spawner starts processes from one thread of its own, which stands in the
// sandbox folder. The folders above it are closed to the users of runs, so a
// run could not go there by itself; and the thread must outlive what it started,
// for its end would end that too.
type spawner struct {
	work chan spawn
}

type spawn struct {
	cmd  *exec.Cmd
	done chan error
}

// newSpawner starts the thread. It ends when close is called.
func newSpawner(dir string) (*spawner, error) {
	s := &spawner{work: make(chan spawn)}
	ready := make(chan error)
	go func() {
		// Never unlocked: the thread is of no use to others any more.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = unix.Chdir(dir)
		}
		ready <- err
		if err != nil {
			return
		}
		for w := range s.work {
			w.done <- w.cmd.Start()
		}
	}()
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("stand in the sandbox folder: %w", err)
	}
	return s, nil
}

func (s *spawner) start(cmd *exec.Cmd) error {
	done := make(chan error)
	s.work <- spawn{cmd, done}
	return <-done
}

func (s *spawner) close() { close(s.work) }
