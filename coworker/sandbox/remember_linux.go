//go:build amd64 || arm64

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// A memento is what is remembered of a session by a file, so that its end can
// be told truly, also by a server that came later.
type memento struct {
	Run    string `json:"run_id"`
	Reason string `json:"reason,omitempty"` // why it ended; "" while it lives
}

func (s *Sandbox) mementoName(user, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.dir, sessionsDir, user, hex.EncodeToString(sum[:16]))
}

// remembered is the state that a new session of a name begins with.
func (s *Sandbox) remembered(user, name string) State {
	file := s.mementoName(user, name)
	info, err := os.Stat(file)
	if err != nil || s.now().Sub(info.ModTime()) > rememberFor {
		return State{Word: Fresh}
	}
	var m memento
	raw, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(raw, &m) != nil {
		return State{Word: Lost, Reason: LostRestarted} // cut while it was written
	}
	switch {
	case m.Reason != "":
		return State{Word: Lost, Reason: m.Reason}
	case alive(filepath.Join(s.dir, runsDir, m.Run)):
		return State{Word: Lost, Reason: LostElsewhere}
	}
	return State{Word: Lost, Reason: LostRestarted}
}

func (s *Sandbox) remember(user, name string, m memento) {
	raw, err := json.Marshal(m)
	if err == nil {
		file := s.mementoName(user, name)
		if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
			err = os.WriteFile(file, raw, 0o600)
		}
		if err == nil {
			err = os.Chtimes(file, time.Time{}, s.now())
		}
	}
	if err != nil {
		s.log.Warn("a session is not remembered", "error", err.Error())
	}
	s.prune(filepath.Join(s.dir, sessionsDir, user), rememberMax)
}

// prune removes what is old in a folder of mementos, and the oldest beyond most.
func (s *Sandbox) prune(dir string, most int) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type file struct {
		name string
		at   time.Time
	}
	var files []file
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, file{e.Name(), info.ModTime()})
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].at.After(files[j].at) })
	for i, f := range files {
		if i >= most || s.now().Sub(f.at) > rememberFor {
			_ = os.Remove(filepath.Join(dir, f.name)) // or another server did
		}
	}
}

// forget removes what nobody needs to be told any more.
func (s *Sandbox) forget() {
	root := filepath.Join(s.dir, sessionsDir)
	users, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, u := range users {
		dir := filepath.Join(root, u.Name())
		s.prune(dir, rememberMax)
		_ = os.Remove(dir) // refused while something is in it
	}
}
