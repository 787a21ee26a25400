//go:build linux && (amd64 || arm64)

package repl_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/coworker/repl"
	"innerloop/coworker/sandbox"
)

// in runs code in a session and checks what the answer says of it.
func (w *world) in(who coworker.Caller, q repl.Request, result, state, reason string) {
	w.t.Helper()
	if q.Session == "" {
		q.Session = "a"
	}
	a := w.ran(who, q)
	got := ""
	if a.Result != nil {
		got = *a.Result
	}
	if got != result || a.State != state || a.Reason != reason || a.Ends == "" {
		w.t.Errorf("%s: %q, %s %q until %q; not %q, %s %q\n%s", q.Code, got, a.State, a.Reason, a.Ends, result, state, reason, a.Stderr)
	}
}

func (w *world) chores() {
	w.t.Helper()
	if err := w.Chores(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

const gone = "'x' in globals()"

func TestASessionDoesNotOutliveItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *sandbox.Options) { o.SessionsPerUser = 5 })
	o := w.acme.Organization.ID
	lives := func(who coworker.Caller) bool {
		_, ok := w.o.Sandbox.Session(string(who.User), "a")
		return ok
	}
	begin := func() (coworker.Caller, coworker.Key) {
		t.Helper()
		key, secret := w.Key(w.acme, coworker.NewKey{})
		who := w.Caller(secret)
		w.ran(who, repl.Request{Session: "a", Reset: true, Code: "x = 1"})
		w.chores()
		w.in(who, repl.Request{Code: "x"}, "1", "kept", "")
		return who, key
	}
	who, key := begin()
	if _, err := w.RevokeKey(t.Context(), coworker.Operator(), o, key.ID); err != nil {
		t.Fatal(err)
	}
	if w.chores(); lives(who) {
		t.Error("a session outlives its key")
	}
	next := w.with(coworker.NewKey{})
	w.in(next, repl.Request{Code: gone}, "False", "lost", "key revoked")

	who, key = begin()
	class := coworker.ClassWrite
	if _, err := w.UpdateKey(t.Context(), coworker.Operator(), o, key.ID, coworker.Change{Class: &class}); err != nil {
		t.Fatal(err)
	}
	if w.chores(); lives(who) {
		t.Error("a session outlives the class of its key")
	}
	w.in(next, repl.Request{Code: gone}, "False", "lost", "scopes changed")

	who, _ = begin()
	w.J.Clock.Advance(400 * 24 * 3600e9)
	if w.chores(); lives(who) {
		t.Error("a session outlives an expired key")
	}
	w.in(w.with(coworker.NewKey{}), repl.Request{Code: gone}, "False", "lost", "key expired")

	user, err := w.AddUser(t.Context(), coworker.Operator(), o, "Second")
	if err != nil {
		t.Fatal(err)
	}
	second := w.with(coworker.NewKey{User: user.ID})
	w.in(second, repl.Request{Code: gone}, "False", "fresh", "")
	if err := w.RemoveUser(t.Context(), coworker.Operator(), o, user.ID); err != nil {
		t.Fatal(err)
	}
	if w.chores(); lives(second) {
		t.Error("a session outlives its user")
	}
}

func TestASessionHasWhatItBeganWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).connected()
	o := w.acme.Organization.ID
	w.learn(o, "one", map[string]string{"scripts/run.py": "1"})
	w.learn(o, "two", nil)
	who := w.with(coworker.NewKey{})
	const has = "import os\nx = 1\n('WILDBERRIES_API_KEY' in os.environ, os.listdir('/mnt/skills'))"
	w.in(who, repl.Request{Code: has, Services: []string{"wildberries"}, Skills: []string{"one"}}, "(True, ['one'])", "fresh", "")
	w.in(who, repl.Request{Code: has}, "(True, ['one'])", "kept", "")
	w.in(who, repl.Request{Code: has, Services: []string{"wildberries"}}, "(True, ['one'])", "kept", "")
	w.in(who, repl.Request{Code: gone, Skills: []string{"two"}}, "False", "lost", "skills changed")
	w.in(who, repl.Request{Code: has, Reset: true}, "", "lost", "reset") // nothing was named: /mnt/skills is not there
	// A rule that takes credentials away holds for what is kept as well.
	w.in(who, repl.Request{Code: "x = 1", Session: "b", Services: []string{"wildberries"}}, "", "fresh", "")
	if _, err := w.keeper.ChangeSettings(t.Context(), coworker.Operator(), o, connect.SettingsChange{BrokerOnly: new(true)}); err != nil {
		t.Fatal(err)
	}
	w.in(who, repl.Request{Code: gone + ", 'WILDBERRIES_API_KEY' in __import__('os').environ", Session: "b"}, "(False, False)", "lost", "credentials changed")
}

// Attack: code keeps a connection to the broker open, and threads that go on
// asking. Expectation: each call has its own budget, and none is spent, and
// nobody asked, between calls.
func TestTheWayOutIsEachCallsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).connected()
	asked := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.asked)
	}
	w.serve = func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write([]byte(`{}`)) }
	who := w.with(coworker.NewKey{})
	w.in(who, repl.Request{Code: `
import coworker, http.client, threading, time
kept = http.client.HTTPConnection('127.0.0.1', 3128)
def ask(c):
    c.request('POST', '/coworker/call', '{"service":"wildberries","method":"GET","path":"/ping","module":"common"}')
    return c.getresponse().read()[:9]
def bother():
    while True:
        try: ask(http.client.HTTPConnection('127.0.0.1', 3128, timeout=1))
        except Exception: pass
        time.sleep(0.02)
first = ask(kept)
threading.Thread(target=bother, daemon=True).start()
while b'error' not in ask(http.client.HTTPConnection('127.0.0.1', 3128)): pass
first`}, "b'{\"answer\"'", "fresh", "")
	before := asked()
	w.ran(who, repl.Request{Session: "other", Code: "import time\ntime.sleep(0.3)"})
	if after := asked(); after != before {
		t.Errorf("asked %d times between calls", after-before)
	}
	w.in(who, repl.Request{Code: `
try: said = ask(kept)
except OSError: said = 'closed'
said, ask(http.client.HTTPConnection('127.0.0.1', 3128))`}, "('closed', b'{\"answer\"')", "kept", "")
}

// Attack: code leaves more connections open than there may be, with questions
// that nobody answers. Expectation: its call ends all the same.
func TestOpenConnectionsHoldNoCallUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).connected()
	answer := make(chan struct{})
	t.Cleanup(func() { close(answer) })
	w.serve = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}
	who := w.with(coworker.NewKey{})
	const code = `
import socket
ask = b'{"service":"wildberries","method":"GET","path":"/ping","module":"common"}'
kept = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(40)]
for one in kept: one.sendall(b'POST /coworker/call HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s' % (len(ask), ask))
len(kept)`
	for _, session := range []string{"", "a", "a"} {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		a, _, err := w.Run(ctx, who, repl.Request{Code: code, Session: session, Timeout: 15 * time.Second})
		if err != nil || a.Result == nil || *a.Result != "40" {
			t.Errorf("%+v %v", a, err)
		}
		if ctx.Err() != nil {
			t.Error("it ended with its caller's time alone")
		}
		cancel()
	}
}
