//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
	s := open(t, nil)
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
	var mu sync.Mutex
	now := time.Now()
	pass := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	s := open(t, func(o *sandbox.Options) {
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

func TestACallerWhoLeavesEndsTheCallAndItsSession(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	_, _ = in(t, s, "a", "x = 1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := s.Run(ctx, sandbox.Job{User: "u", Code: "open('begun', 'w').close()\nimport time\ntime.sleep(60)", Session: &sandbox.Session{Name: "a"}})
		done <- err
	}()
	begun(t, s)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r, _ := in(t, s, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, sandbox.LostCancelled)
}

// begun waits until code has made a file of that name.
func begun(t *testing.T, s *sandbox.Sandbox) {
	t.Helper()
	for {
		if _, err := s.ReadFile("u", "begun", 1); err == nil {
			return
		}
		s.EndSessions(func(sandbox.Live) string { return "" })
	}
}

// TestASessionLivesFromItsFirstCallOn: a second call that comes during the first
// one finds what it began with.
func TestASessionLivesFromItsFirstCallOn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	marks := []sandbox.Mark{{Name: "services", Value: "one"}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := s.Run(ctx, sandbox.Job{User: "u", Code: "open('begun', 'w').close()\nimport time\ntime.sleep(60)", Session: &sandbox.Session{Name: "a", Marks: marks}})
		done <- err
	}()
	begun(t, s)
	if live, ok := s.Session("u", "a"); !ok || live.Mark("services") != "one" {
		t.Errorf("%+v %v", live, ok)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if live, ok := s.Session("u", "a"); ok {
		t.Errorf("it has ended: %+v", live)
	}
}

// TestTheTimeOfACallIsKept: a run is ended in time to tell what came out, and
// one that would have none left is refused instead of begun.
func TestTheTimeOfACallIsKept(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *sandbox.Options) { o.PerUser = 1 })
	within := func(job sandbox.Job) *sandbox.Stop {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		var stop *sandbox.Stop
		if _, err := s.Run(ctx, job); !errors.As(err, &stop) {
			t.Errorf("%v", err)
			return &sandbox.Stop{}
		}
		return stop
	}
	const code = "print('before', flush=True)\nopen('begun', 'w').close()\nimport time\ntime.sleep(60)"
	for _, ses := range []*sandbox.Session{nil, {Name: "a"}} {
		stop := within(sandbox.Job{User: "u", Code: code, Timeout: 20 * time.Second, Session: ses})
		if stop.Reason != sandbox.TimedOut || stop.Partial == nil || stop.Partial.Stdout.Text != "before\n" {
			t.Errorf("%+v %+v", stop, stop.Partial)
		}
	}
	r, _ := in(t, s, "a", "import os\nos.remove('begun')")
	wantState(t, r, "", sandbox.Lost, sandbox.LostTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := s.Run(ctx, sandbox.Job{User: "u", Code: code, Timeout: time.Minute, Session: &sandbox.Session{Name: "a"}})
		done <- err
	}()
	begun(t, s)
	var all sync.WaitGroup
	for _, ses := range []*sandbox.Session{nil, {Name: "a"}, {Name: "b"}} { // for a slot, the turn, and a slot again
		all.Go(func() {
			if stop := within(sandbox.Job{User: "u", Code: "1", Session: ses}); stop.Reason != sandbox.Busy {
				t.Errorf("%+v", stop)
			}
		})
	}
	all.Wait()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestASessionAtWorkIsCutForAReason and for none other.
func TestASessionAtWorkIsCutForAReason(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	_, _ = in(t, s, "a", "x = 1")
	done := make(chan *sandbox.Result)
	go func() {
		r, err := s.Run(t.Context(), sandbox.Job{User: "u", Code: "print('before', flush=True)\nopen('begun', 'w').close()\nimport time\ntime.sleep(60)", Session: &sandbox.Session{Name: "a"}})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	begun(t, s)
	s.EndSessions(func(sandbox.Live) string { return "key revoked" })
	r := <-done
	if r == nil || r.State.Word != sandbox.Lost || r.State.Reason != "key revoked" || r.Stdout.Text != "before\n" || r.ExitCode != 137 {
		t.Errorf("%+v", r)
	}
	r, _ = in(t, s, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, "key revoked")
}

func TestSessionsMakeRoomForNewerOnes(t *testing.T) {
	t.Parallel()
	s, dir := openIn(t, t.TempDir(), func(o *sandbox.Options) { o.Sessions, o.SessionsPerUser = 3, 2 })
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
	none := open(t, func(o *sandbox.Options) { o.Sessions = -1 })
	stopped(t, none, sandbox.Job{User: "u", Code: "1", Session: &sandbox.Session{Name: "a"}}, sandbox.Invalid, "session")
	for _, name := range []string{"", "a b", "я", "../x", strings.Repeat("a", 65)} {
		stopped(t, s, sandbox.Job{User: "u", Code: "1", Session: &sandbox.Session{Name: name}}, sandbox.Invalid, "session")
	}
}

func TestAServerThatEndsLeavesNoSession(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s, dir := openIn(t, root, nil)
	_, _ = in(t, s, "a", "x = 1")
	beside, _ := openIn(t, root, nil)
	r, _ := in(t, beside, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, sandbox.LostElsewhere)
	s.Close()
	beside.Close()
	if left, err := filepath.Glob(filepath.Join(dir, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q %v", left, err)
	}
	again, _ := openIn(t, root, nil)
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

// Attack: threads and children that work between calls, handle the signal that
// continues a process and have timers send it, and bombs of them. Expectation:
// nothing goes on while a session is idle; bombs meet their limit.
func TestNothingGoesOnBetweenCalls(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const background = `
import ctypes, os, signal, threading, time
beat = os.open('beat', os.O_CREAT | os.O_WRONLY)
def work():
    while True:
        os.pwrite(beat, b'%020d' % time.monotonic_ns(), 0)
        time.sleep(0.001)
def wake():
    libc = ctypes.CDLL(None)
    for clock in (0, 1, 7):
        event, timer = (ctypes.c_int * 16)(0, 0, signal.SIGCONT, 0), ctypes.c_void_p()
        if libc.timer_create(clock, ctypes.byref(event), ctypes.byref(timer)) == 0:
            libc.timer_settime(timer, 0, ctypes.byref((ctypes.c_long * 4)(0, 50000000, 0, 50000000)), None)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
for n in range(1, 32):
    if n not in (9, 19):
        signal.signal(n, HANDLER)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
if os.fork() == 0:
    os.setsid()
    wake()
    work()
wake()
time.sleep(0.1)`
	for _, handler := range []string{"lambda *_: None", "signal.SIG_IGN"} {
		idle(t, s, strings.Replace(background, "HANDLER", handler, 1))
	}
	r, _ := in(t, s, "bomb", "import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(60)\n    n += 1\nexcept OSError: pass\nn")
	if r.State.Word != sandbox.Fresh || r.Value == "" || len(r.Value) > 2 {
		t.Errorf("a bomb of processes: %+v", r)
	}
	if r, _ = in(t, s, "bomb", "import threading\nthreading.Thread(target=print).start()"); !strings.Contains(r.Stderr.Text, "can't start new thread") {
		t.Errorf("after the bomb: %+v", r)
	}
}

// idle begins a session that keeps writing its beat, and checks that none is
// written while nobody calls.
func idle(t *testing.T, s *sandbox.Sandbox, background string) {
	t.Helper()
	_, _ = in(t, s, "a", background, func(j *sandbox.Job) { j.Session.Reset = true })
	beat := func() string {
		raw, err := s.ReadFile("u", "beat", 100)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	// A call elsewhere is time in which a moving beat would move.
	_, _ = in(t, s, "b", "import time\ntime.sleep(0.1)")
	first := beat()
	_, _ = in(t, s, "b", "import time\ntime.sleep(0.3)")
	if then := beat(); then != first {
		t.Errorf("a session works while it is idle: %s, then %s", first, then)
	}
	r, _ := in(t, s, "a", "time.sleep(0.1)\nopen('beat').read() != '"+first+"'")
	wantState(t, r, "True", sandbox.Kept, "")
}

// TestASessionThatIsContinuedEnds: a process that somebody continues between
// calls is found within seconds, also one whose first thread is gone.
func TestASessionThatIsContinuedEnds(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	name := fmt.Sprintf("awake%d", os.Getpid()) // at most 15 bytes
	code := `
import ctypes, os, threading, time
x = 1
if os.fork() == 0:
    open('/proc/self/comm', 'w').write('` + name + `')
    threading.Thread(target=time.sleep, args=(60,)).start()
    open('begun', 'w').close()
    ctypes.CDLL(None).pthread_exit(None)
while not os.path.exists('begun'): pass`
	_, _ = in(t, s, "a", code)
	pid := 0
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range names {
		if raw, err := os.ReadFile(file); err == nil && string(raw) == name+"\n" {
			pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	if pid == 0 {
		t.Fatal("it is not there")
	}
	for range 100 {
		if _, lives := s.Session("u", "a"); !lives {
			break
		}
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended by now
		_, _ = in(t, s, "b", "import time\ntime.sleep(0.1)")
	}
	r, _ := in(t, s, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, sandbox.LostAwake)
	r, _ = in(t, s, "b", "1")
	wantState(t, r, "1", sandbox.Kept, "")
}

// Attack: the code writes answers of its own, before, beside and after the
// interpreter's. Expectation: what was not asked for ends the session, and
// nothing is taken for the answer to a later question.
func TestForgedAnswersEndTheSession(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *sandbox.Options) { o.SessionsPerUser = 20; o.Sessions = 20 })
	for name, code := range map[string]string{
		"nonsense":      "import os\nos.write(5, b'x' * 100)",
		"old.ticket":    "import os\nos.write(5, b'\\0' * 16 + b'\\0' + (3).to_bytes(4, 'big') + b'bad')",
		"without.end":   "import os\nwhile True: os.write(5, b'x' * 65536)",
		"long.value":    "import os, sys\nos.write(5, sys._getframe(2).f_locals['ticket'] + b'\\0' + b'\\xff' * 4)",
		"closed.answer": "import os\nos.close(5)",
	} {
		_, _ = in(t, s, name, "x = 1")
		r, _ := in(t, s, name, code, func(j *sandbox.Job) { j.Timeout = 5 * time.Second })
		if r.State.Word != sandbox.Lost || r.Value != "" || !r.State.Ends.IsZero() {
			t.Errorf("%s: %+v", name, r)
		}
		r, _ = in(t, s, name, "'x' in globals()")
		if r.Value != "False" || r.State.Word != sandbox.Lost {
			t.Errorf("after %s: %+v", name, r)
		}
	}
	// In its own name the code may say what it likes, once.
	forge := "import os, sys\nticket = sys._getframe(2).f_locals['ticket']\nos.write(5, ticket + b'\\0' + (3).to_bytes(4, 'big') + b'\"q\"')"
	r, _ := in(t, s, "early", forge+"\nimport time\ntime.sleep(0.5)\n'late'")
	wantState(t, r, `"q"`, sandbox.Fresh, "")
	if r, _ = in(t, s, "early", "'own'"); r.Value == "'late'" {
		t.Errorf("a late answer passes for another's: %+v", r)
	}
	// The interpreter itself can be bent; what comes of it stays bounded.
	r, _ = in(t, s, "bent", "import builtins\nbuiltins.repr = lambda v: 'y' * (1 << 22)\nprint('x' * 200000)\n1")
	if r.State.Word != sandbox.Fresh || len(r.Value) > 16<<10 || !r.ValueCut || !r.Stdout.Truncated || len(r.Stdout.Text) > 70<<10 {
		t.Errorf("%d %v %d", len(r.Value), r.ValueCut, len(r.Stdout.Text))
	}
	// A child that comes out of the code answers nothing and takes no code.
	r, _ = in(t, s, "child", "import os\nname = 'child' if os.fork() == 0 else 'parent'\nname")
	wantState(t, r, "'parent'", sandbox.Fresh, "")
	for range 5 {
		r, _ = in(t, s, "child", "name")
		wantState(t, r, "'parent'", sandbox.Kept, "")
	}
}

func TestCallsOfASessionComeOneByOne(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	_, _ = in(t, s, "a", "n = 0")
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			job := sandbox.Job{User: "u", Code: fmt.Sprintf("m = n\nimport time\ntime.sleep(0.01)\nprint(%d)\nn = m + 1", i), Session: &sandbox.Session{Name: "a"}}
			r, err := s.Run(t.Context(), job)
			if err != nil || r.Stdout.Text != fmt.Sprintf("%d\n", i) {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	all.Wait()
	r, _ := in(t, s, "a", "n")
	wantState(t, r, "5", sandbox.Kept, "")
	// One at work and four that wait are all there may be.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refused := make(chan error, 6)
	for range 6 {
		all.Go(func() {
			_, err := s.Run(ctx, sandbox.Job{User: "u", Code: "import time\ntime.sleep(60)", Session: &sandbox.Session{Name: "a"}})
			refused <- err
		})
	}
	var stop *sandbox.Stop
	if err := <-refused; !errors.As(err, &stop) || stop.Reason != sandbox.Busy {
		t.Errorf("the sixth: %v", err)
	}
	cancel()
	all.Wait()
	for range 5 {
		if err := <-refused; !errors.Is(err, context.Canceled) {
			t.Errorf("one that was given up: %v", err)
		}
	}
}

// TestAProcessThatLeavesOnItsOwnIsMissed: a thread ends the process once the
// call that it was started in has its answer.
func TestAProcessThatLeavesOnItsOwnIsMissed(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for range 3 {
		_, _ = in(t, s, "a", "import os, sys, threading\nmain = threading.get_ident()\nx = 1")
		_, _ = in(t, s, "a", `
def leave():
    while sys._current_frames()[main].f_code.co_name != 'take': pass
    os._exit(0)
threading.Thread(target=leave).start()`)
		var r *sandbox.Result
		for range 100 { // it may be held up for some calls more
			if r, _ = in(t, s, "a", "'x' in globals()"); r.State.Word != sandbox.Kept {
				break
			}
			wantState(t, r, "True", sandbox.Kept, "")
		}
		if r.State.Word != sandbox.Lost || r.State.Reason != sandbox.LostExited || r.Value == "True" {
			t.Fatalf("%+v", r)
		}
		_, _ = in(t, s, "a", "import os\nos._exit(0)")
	}
}
