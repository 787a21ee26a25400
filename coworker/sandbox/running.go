package sandbox

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Running is a run under way, of this server or another on the same folder.
type Running struct {
	ID      string    `json:"run_id"`
	User    string    `json:"user_id"`
	Label   string    `json:"label"`
	Server  int       `json:"server_pid"`
	Started time.Time `json:"started_at"`
	Timeout int64     `json:"timeout_ms"`
	// Session is the name of a session; Idle is since when nothing runs in it.
	Session string     `json:"session,omitempty"`
	Idle    *time.Time `json:"idle_since,omitempty"`
}

// noteName is what a run says of itself in its folder.
const noteName = "run.json"

// Runs lists what runs below a sandbox folder, also from another process that
// may read it; at most a thousand. Never nil.
func Runs(dir string) ([]Running, error) {
	list := []Running{}
	entries, err := os.ReadDir(filepath.Join(dir, runsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, err
	}
	for _, entry := range entries {
		name := filepath.Join(dir, runsDir, entry.Name())
		raw, err := os.ReadFile(filepath.Join(name, noteName))
		var r Running
		if err != nil || json.Unmarshal(raw, &r) != nil || !alive(name) {
			continue // ended meanwhile, or left by a server that is gone
		}
		if list = append(list, r); len(list) == 1000 {
			break
		}
	}
	return list, nil
}

// probeUser begins the name of a home that is a server's own, made at its start
// and removed.
const probeUser = "probe-"

// Users lists who has a home.
func (s *Sandbox) Users() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, s.own))
	if err != nil {
		return nil, err
	}
	var users []string
	for _, entry := range entries {
		if entry.IsDir() && validUser(entry.Name()) && !strings.HasPrefix(entry.Name(), probeUser) {
			users = append(users, entry.Name())
		}
	}
	return users, nil
}

// Limits are what every run gets.
func (s *Sandbox) Limits() Limits { return s.limits }
