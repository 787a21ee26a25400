//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ReadFile reads a plain file of a home of at most so many bytes. Links are not
// followed at the end of the path, and lead nowhere but into the home before it.
func (s *Sandbox) ReadFile(user, name string, most int64) ([]byte, error) {
	home, err := s.Home(user)
	if err != nil {
		return nil, err
	}
	defer func() { _ = home.Close() }()
	if info, err := home.Lstat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("not a plain file")
	}
	// It may have become another thing meanwhile: a pipe would not hold us up.
	f, err := home.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("not a plain file"), err)
	}
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = errors.New("larger than asked for")
	}
	return raw, err
}

func treeName(i int) string { return "tree-" + strconv.Itoa(i) }

// grow makes a tree in the folder of the run, for everybody to read.
func (p *process) grow(i int, tree Tree) error {
	name := filepath.Join(p.dir, treeName(i))
	if err := os.Mkdir(name, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	err = tree.Fill(func(file string, body []byte) error {
		if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
			return err
		}
		return root.WriteFile(file, body, 0o755)
	})
	return errors.Join(err, root.Close())
}

// note writes down what the run is, for Runs.
func (p *process) note(job Job) error {
	raw, err := json.Marshal(Running{
		ID: p.id, User: job.User, Label: job.Label[:min(len(job.Label), 200)], Server: os.Getpid(),
		Started: time.Now().UTC().Truncate(time.Millisecond), Timeout: job.Timeout.Milliseconds(),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, noteName), raw, 0o600)
}

// alive tells whether a server still holds the lock of a run.
func alive(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK)
}
