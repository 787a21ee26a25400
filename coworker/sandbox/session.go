package sandbox

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A Session asks for a process that lives from one job to the next, with its
// variables. It belongs to one user; another user's of the same name is
// another.
type Session struct {
	Name  string // 1 to 64 of letters, digits, "_", "-" and "."
	Reset bool   // begin anew
	// Marks are what the process depends on. One that has another value than
	// when it began ends it, with the mark's name and "changed" as the reason.
	Marks []Mark
}

// SessionLimits bound sessions; All is 0 when there are none.
type SessionLimits struct {
	All, PerUser int
	Idle, Age    time.Duration
}

// SessionLimits tells what every session gets.
func (s *Sandbox) SessionLimits() SessionLimits {
	return SessionLimits{All: max(s.sessionsMax, 0), PerUser: s.sessionsPerUser, Idle: s.sessionIdle, Age: s.sessionAge}
}

// A Mark is a fact that a session is tied to.
type Mark struct{ Name, Value string }

// A Live is a session that lives.
type Live struct {
	User, Name, Label string
	Marks             []Mark
}

// Mark is the value of a mark, or "".
func (l Live) Mark(name string) string {
	for _, m := range l.Marks {
		if m.Name == name {
			return m.Value
		}
	}
	return ""
}

// A State says what became of the variables of earlier jobs of a session.
type State struct {
	Word   string    // Fresh, Kept or Lost
	Reason string    // why they were lost, in a few words
	Ends   time.Time // when the session ends unless it is used; zero when there is none any more
}

// The words of a State.
const (
	Fresh = "fresh" // there were none, or there is no session
	Kept  = "kept"  // they are there
	Lost  = "lost"  // they are gone
)

// Why variables were lost. Beside these there are the changed marks, and
// limits ("memory limit").
const (
	LostReset     = "reset"
	LostExpired   = "expired" // idle or old for too long
	LostTimeout   = "timeout"
	LostRestarted = "server restarted"
	LostExited    = "exited"            // the code ended its process
	LostCancelled = "cancelled"         // the caller did not wait for the answer
	LostBroken    = "channel broken"    // the code answered in place of the interpreter
	LostDisplaced = "displaced"         // a newer session took its place
	LostElsewhere = "on another server" // another process on the same folder has it
	LostUser      = "user removed"
	LostAwake     = "ran while idle" // something in it was at work though nobody called
)

// Bounds of sessions.
const (
	sessionsDir  = "sessions" // what is remembered of them
	sessionsWait = 4          // jobs that wait for one session
	rememberFor  = 24 * time.Hour
	rememberMax  = 20 // names of a user
)

func validSession(name string) bool {
	if len(name) < 1 || len(name) > 64 {
		return false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.' {
			return false
		}
	}
	return true
}

// A board passes the connections of a session's way out to the job that runs;
// between jobs it closes them.
type board struct {
	mu  sync.Mutex
	tap *tap
}

func (b *board) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, say
			time.Sleep(50 * time.Millisecond)
			continue
		}
		b.mu.Lock()
		t := b.tap
		b.mu.Unlock()
		if t == nil {
			_ = c.Close()
			continue
		}
		select {
		case t.conns <- c:
		case <-t.done:
			_ = c.Close()
		}
	}
}

// open lets one job have the connections until its listener is closed.
func (b *board) open(of net.Addr) *tap {
	t := &tap{of: of, conns: make(chan net.Conn), done: make(chan struct{})}
	t.close = sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.tap = nil
		close(t.done)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tap = t
	return t
}

// A tap is the listener of one job.
type tap struct {
	of    net.Addr
	conns chan net.Conn
	done  chan struct{}
	close func()
}

func (t *tap) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.done:
		return nil, net.ErrClosed
	}
}

func (t *tap) Close() error {
	t.close()
	return nil
}

func (t *tap) Addr() net.Addr { return t.of }
