//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/coworker/sandbox"
)

// in does a job in a session, whatever comes of it.
func in(t *testing.T, s *sandbox.Sandbox, name, code string, change ...func(*sandbox.Job)) (*sandbox.Result, *sandbox.Stop) {
	t.Helper()
	job := sandbox.Job{User: "u", Code: code, Session: &sandbox.Session{Name: name}}
	for _, c := range change {
		c(&job)
	}
	r, err := s.Run(t.Context(), job)
	var stop *sandbox.Stop
	if errors.As(err, &stop) {
		if stop.Partial == nil {
			t.Fatalf("%+v", stop)
		}
		return stop.Partial, stop
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, nil
}

// wantState checks an answer's state and value.
func wantState(t *testing.T, r *sandbox.Result, value, word, reason string) {
	t.Helper()
	if r.Value != value || r.State.Word != word || r.State.Reason != reason {
		t.Errorf("got %q, %+v, not %q, %s %q\n%s", r.Value, r.State, value, word, reason, r.Stderr.Text)
	}
}

func user(name string) func(*sandbox.Job) { return func(j *sandbox.Job) { j.User = name } }

func TestASessionKeepsItsVariables(t *testing.T) {
	t.Parallel()
	eachDriver(t, aSessionKeepsItsVariables)
}

func aSessionKeepsItsVariables(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver)
	r, _ := in(t, s, "a", "x = 41\nimport json\ndef f(): return x + 1")
	wantState(t, r, "", sandbox.Fresh, "")
	if r.State.Ends.IsZero() {
		t.Error("its end is not told")
	}
	r, _ = in(t, s, "a", "print('out')\nimport sys\nprint('err', file=sys.stderr)\nf()")
	wantState(t, r, "42", sandbox.Kept, "")
	if r.Stdout.Text != "out\n" || r.Stderr.Text != "err\n" || r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	// An exception, an exit and a broken text keep it, and name the right line.
	r, _ = in(t, s, "a", "x += 1\nf() / 0")
	wantState(t, r, "", sandbox.Kept, "")
	if r.ExitCode != 1 || !strings.Contains(r.Stderr.Text, "f() / 0") || strings.Contains(r.Stderr.Text, "serve") {
		t.Errorf("%+v", r)
	}
	r, _ = in(t, s, "a", "import sys\nsys.exit(3)")
	if wantState(t, r, "", sandbox.Kept, ""); r.ExitCode != 3 {
		t.Errorf("exit %d", r.ExitCode)
	}
	if r, _ = in(t, s, "a", "def g(:"); r.ExitCode != 1 || !strings.Contains(r.Stderr.Text, "SyntaxError") {
		t.Errorf("%+v", r)
	}
	r, _ = in(t, s, "a", "def g(): return f() + nothing\n")
	wantState(t, r, "", sandbox.Kept, "")
	if r, _ = in(t, s, "a", "g()"); !strings.Contains(r.Stderr.Text, "return f() + nothing") {
		t.Errorf("the line of an earlier call: %s", r.Stderr.Text)
	}
	r, _ = in(t, s, "a", "x")
	wantState(t, r, "42", sandbox.Kept, "")
	// Another name and another user know nothing of it, nor does a plain run.
	r, _ = in(t, s, "b", "'x' in globals()")
	wantState(t, r, "False", sandbox.Fresh, "")
	r, _ = in(t, s, "a", "'x' in globals()", user("other"))
	wantState(t, r, "False", sandbox.Fresh, "")
	if r := run(t, s, "u", "'x' in globals()"); r.Value != "False" || r.State.Word != sandbox.Fresh {
		t.Errorf("%+v", r)
	}
	// Files are the user's, and changes are told call by call.
	r, _ = in(t, s, "a", "open('f', 'w').write('1')")
	if len(r.Changed) != 1 || r.Changed[0].Path != "f" {
		t.Errorf("%+v", r.Changed)
	}
	if r, _ = in(t, s, "b", "open('f').read()"); r.Value != "'1'" || len(r.Changed) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestWhyVariablesAreLost(t *testing.T) {
	t.Parallel()
	eachDriver(t, whyVariablesAreLost)
}

func whyVariablesAreLost(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	var mu sync.Mutex
	now := time.Now()
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	s := open(t, driver, func(o *sandbox.Options) {
		o.SessionsPerUser, o.Limits.CPU, o.Limits.Memory = 4, 2*time.Second, 200<<20
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	marks := func(m ...sandbox.Mark) func(*sandbox.Job) {
		return func(j *sandbox.Job) { j.Session.Marks = m }
	}
	begin := func(name string, change ...func(*sandbox.Job)) {
		t.Helper()
		_, _ = in(t, s, name, "x = 1", change...)
		r, _ := in(t, s, name, "x", change...)
		wantState(t, r, "1", sandbox.Kept, "")
	}
	const gone = "'x' in globals()"
	// Each ending call says so itself, and so does the next.
	for _, row := range []struct {
		name, code, reason, limit string
		reset                     bool
		timeout                   time.Duration
	}{
		{name: "reset", code: gone, reason: sandbox.LostReset, reset: true},
		{name: "timeout", code: "print('before')\nwhile True: import time; time.sleep(1)", reason: sandbox.LostTimeout, limit: "wall", timeout: time.Second},
		{name: "exit", code: "import os\nprint('before')\nos._exit(7)", reason: sandbox.LostExited},
		{name: "signal", code: "import os\nprint('before', flush=True)\nos.kill(os.getpid(), 9)", reason: sandbox.LostExited},
		{name: "cpu", code: "print('before')\nwhile True: pass", reason: "cpu limit", limit: "cpu"},
		{name: "output", code: "print('before')\nwhile True: print('x' * 10000)", reason: "output limit", limit: "output"},
		{name: "memory", code: "import os, time\nprint('before', flush=True)\nfor _ in range(6):\n  if os.fork() == 0:\n    x = b'x' * (60 << 20)\n    time.sleep(9)\nx = b'x' * (60 << 20)\nfor _ in range(6):\n  if os.waitstatus_to_exitcode(os.wait()[1]) == -9: os.kill(os.getpid(), 9)", reason: "memory limit", limit: "memory"},
	} {
		begin(row.name)
		r, stop := in(t, s, row.name, row.code, func(j *sandbox.Job) { j.Session.Reset, j.Timeout = row.reset, row.timeout })
		if r.State.Word != sandbox.Lost || r.State.Reason != row.reason || (stop == nil) != (row.limit == "") || stop != nil && stop.Limit != row.limit {
			t.Errorf("%s: %+v %v", row.name, r.State, stop)
		}
		if row.reset {
			wantState(t, r, "False", sandbox.Lost, row.reason)
			continue
		}
		if !r.State.Ends.IsZero() || !strings.HasPrefix(r.Stdout.Text, "before\n") {
			t.Errorf("%s: %+v", row.name, r)
		}
		r, _ = in(t, s, row.name, gone)
		wantState(t, r, "False", sandbox.Lost, row.reason)
		r, _ = in(t, s, row.name, gone)
		wantState(t, r, "False", sandbox.Kept, "")
		_, _ = in(t, s, row.name, "import os\nos._exit(0)")
	}
	begin("key", marks(sandbox.Mark{Name: "key", Value: "1"}))
	r, _ := in(t, s, "key", gone, marks(sandbox.Mark{Name: "key", Value: "2"}))
	wantState(t, r, "False", sandbox.Lost, "key changed")
	// Idle for too long, and too old however busy.
	begin("idle")
	pass(9 * time.Minute)
	r, _ = in(t, s, "idle", "x")
	wantState(t, r, "1", sandbox.Kept, "")
	pass(10*time.Minute + time.Second)
	r, _ = in(t, s, "idle", gone)
	wantState(t, r, "False", sandbox.Lost, sandbox.LostExpired)
	for range 7 {
		pass(9 * time.Minute)
		r, _ = in(t, s, "idle", gone)
	}
	wantState(t, r, "False", sandbox.Lost, sandbox.LostExpired)
	// What is due goes without a call, and what a judge says.
	begin("judged")
	if live, ok := s.Session("u", "judged"); !ok || live.Name != "judged" {
		t.Errorf("%+v %v", live, ok)
	}
	s.EndSessions(func(l sandbox.Live) string {
		if l.Name == "judged" {
			return "key revoked"
		}
		return ""
	})
	if _, ok := s.Session("u", "judged"); ok {
		t.Error("it lives on")
	}
	r, _ = in(t, s, "judged", gone)
	wantState(t, r, "False", sandbox.Lost, "key revoked")
	pass(25 * time.Hour)
	s.EndSessions(func(sandbox.Live) string { t.Error("judged though due"); return "" })
	pass(25 * time.Hour)
	r, _ = in(t, s, "judged", gone)
	wantState(t, r, "False", sandbox.Fresh, "")
}

func TestSessionsMakeRoomForNewerOnes(t *testing.T) {
	t.Parallel()
	eachDriver(t, sessionsMakeRoomForNewerOnes)
}

func sessionsMakeRoomForNewerOnes(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s, dir := openIn(t, t.TempDir(), driver, func(o *sandbox.Options) { o.Sessions, o.SessionsPerUser = 3, 2 })
	for _, name := range []string{"a", "b", "a", "c"} {
		_, _ = in(t, s, name, "x = 1")
	}
	r, _ := in(t, s, "a", "x")
	wantState(t, r, "1", sandbox.Kept, "")
	_, _ = in(t, s, "a", "x = 2", user("v"))
	_, _ = in(t, s, "a", "x = 2", user("w")) // the fourth of all: the oldest goes
	r, _ = in(t, s, "c", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, sandbox.LostDisplaced)
	runs, err := sandbox.Runs(dir)
	if err != nil || len(runs) != 3 {
		t.Errorf("%+v %v", runs, err)
	}
	for _, r := range runs {
		if r.Session == "" || r.Idle == nil {
			t.Errorf("%+v", r)
		}
	}
	none := open(t, driver, func(o *sandbox.Options) { o.Sessions = -1 })
	stopped(t, none, sandbox.Job{User: "u", Code: "1", Session: &sandbox.Session{Name: "a"}}, sandbox.Invalid, "session")
	for _, name := range []string{"", "a b", "я", "../x", strings.Repeat("a", 65)} {
		stopped(t, s, sandbox.Job{User: "u", Code: "1", Session: &sandbox.Session{Name: name}}, sandbox.Invalid, "session")
	}
}

func TestAServerThatEndsLeavesNoSession(t *testing.T) {
	t.Parallel()
	eachDriver(t, aServerThatEndsLeavesNoSession)
}

func aServerThatEndsLeavesNoSession(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	root := t.TempDir()
	s, dir := openIn(t, root, driver)
	_, _ = in(t, s, "a", "x = 1")
	beside, _ := openIn(t, root, driver)
	r, _ := in(t, beside, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, sandbox.LostElsewhere)
	s.Close()
	beside.Close()
	if left, err := filepath.Glob(filepath.Join(dir, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q %v", left, err)
	}
	again, _ := openIn(t, root, driver)
	r, _ = in(t, again, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, sandbox.LostRestarted)
	if err := again.RemoveHome("u"); err != nil {
		t.Fatal(err)
	}
	r, _ = in(t, again, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Fresh, "")
	if info, err := os.Stat(filepath.Join(dir, "sessions")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
}
