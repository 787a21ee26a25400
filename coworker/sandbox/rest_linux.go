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
// be late, and ends them when they are found to have run again. Whatever may continue a
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
			if !ses.restless(nil) || !ses.try() {
				continue
			}
			if since := ses.rests.Load(); !ses.over && ses.warned != since {
				if ses.restless(nil) {
					p := ses.running.Load()
					_, _ = p.life.Write([]byte{cell.LifeStop})
					ses.warned, ses.ran = since, p.ran()
				}
			} else if !ses.over && ses.restless(ses.ran) {
				ses.end(LostAwake)
			}
			ses.leave()
		}
	}
}

// restless tells whether something runs in a session that nobody uses. What had
// run as long when it was told to stop waits for a processor to stop on.
func (ses *session) restless(ran map[string]string) bool {
	p, since := ses.running.Load(), ses.rests.Load()
	if p == nil || since == 0 || time.Since(time.Unix(0, since)) < restEvery {
		return false
	}
	for pid := range p.rows() {
		if pid != p.cmd.Process.Pid && awake(tasks(pid), ran) {
			return ses.rests.Load() == since
		}
	}
	return false
}

// ran tells how long each thread has run, in nanoseconds, by its folder.
func (p *process) ran() map[string]string {
	times := map[string]string{}
	for pid := range p.rows() {
		for _, thread := range threads(tasks(pid)) {
			if spent := ranFor(thread); spent != "" {
				times[thread] = spent
			}
		}
	}
	return times
}

// ranFor is how long a thread has run; empty where the kernel does not tell.
func ranFor(thread string) string {
	raw, err := os.ReadFile(filepath.Join(thread, "schedstat"))
	if err != nil {
		return ""
	}
	spent, _, _ := bytes.Cut(raw, []byte(" "))
	return string(spent)
}

// tasks is where the kernel tells of the threads of a process.
func tasks(pid int) string { return "/proc/" + strconv.Itoa(pid) + "/task" }

func threads(tasks string) []string {
	names, err := filepath.Glob(filepath.Join(tasks, "*"))
	if err != nil {
		return nil
	}
	return names
}

// awake tells whether a thread of a process is neither stopped, ended, waiting
// for a disk, where no code of its own runs, nor still about to stop.
func awake(tasks string, ran map[string]string) bool {
	for _, thread := range threads(tasks) {
		raw, err := os.ReadFile(filepath.Join(thread, "stat"))
		if err != nil {
			continue
		}
		// The second field is a name in parentheses that may hold anything.
		_, state, found := bytes.Cut(raw[max(bytes.LastIndexByte(raw, ')'), 0):], []byte(") "))
		if !found || len(state) == 0 || bytes.ContainsRune([]byte("TtZXD"), rune(state[0])) {
			continue
		}
		if before, known := ran[thread]; known && state[0] == 'R' && ranFor(thread) == before {
			continue
		}
		return true
	}
	return false
}
