//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"cell"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// restEvery is how often idle sessions are looked at, and how long after its
// last call one must be at rest.
const restEvery = time.Second

// keepRest stops idle sessions that do not rest once more, as a busy machine may
// be late, and ends them when they are found so again. Whatever may continue a
// stopped process is refused by the filter as far as it is known; but a group
// whose leader ends is continued by the kernel itself. It works as long as there
// are sessions.
func (s *Sandbox) keepRest() {
	for {
		time.Sleep(restEvery)
		s.sessions.mu.Lock()
		if len(s.sessions.live) == 0 {
			s.sessions.watched = false
			s.sessions.mu.Unlock()
			return
		}
		s.sessions.mu.Unlock()
		for _, ses := range s.listSessions() {
			// Looked at without its turn, so that no call meets a session that is
			// only being looked at; what is found is looked at again.
			if !ses.restless() || !ses.try() {
				continue
			}
			if !ses.over && ses.restless() {
				if since := ses.rests.Load(); ses.warned != since {
					ses.warned = since
					_, _ = ses.running.Load().life.Write([]byte{cell.LifeStop})
				} else {
					ses.end(LostAwake)
				}
			}
			ses.leave()
		}
	}
}

// restless tells whether something runs in a session that nobody uses.
func (ses *session) restless() bool {
	p, since := ses.running.Load(), ses.rests.Load()
	if p == nil || since == 0 || time.Since(time.Unix(0, since)) < restEvery {
		return false
	}
	for pid := range p.rows() {
		if pid != p.cmd.Process.Pid && awake(pid) {
			return ses.rests.Load() == since
		}
	}
	return false
}

// awake tells whether a thread of a process is neither stopped, ended nor
// waiting for a disk, where no code of its own runs.
func awake(pid int) bool {
	names, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	if err != nil {
		return false
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// The second field is a name in parentheses that may hold anything.
		_, state, found := bytes.Cut(raw[max(bytes.LastIndexByte(raw, ')'), 0):], []byte(") "))
		if found && len(state) > 0 && !bytes.ContainsRune([]byte("TtZXD"), rune(state[0])) {
			return true
		}
	}
	return false
}
