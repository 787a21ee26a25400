//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"innerloop/coworker/sandbox"
)

// Attack: threads and children that work between calls, handle the signal that
// continues a process and have timers send it, and bombs of them. Expectation:
// nothing goes on while a session is idle; bombs meet their limit.
func TestNothingGoesOnBetweenCalls(t *testing.T) {
	t.Parallel()
	eachDriver(t, nothingGoesOnBetweenCalls)
}

func nothingGoesOnBetweenCalls(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver)
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
	eachDriver(t, aSessionThatIsContinuedEnds)
}

func aSessionThatIsContinuedEnds(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver)
	name := fmt.Sprintf("awake%d", os.Getpid()) // at most 15 bytes
	code := `
import ctypes, os, threading, time
x = 1
told, tell = os.pipe()
if os.fork() == 0:
    open('/proc/self/comm', 'w').write('` + name + `')
    threading.Thread(target=time.sleep, args=(60,)).start()
    os.write(tell, b'.')
    ctypes.CDLL(None).pthread_exit(None)
os.read(told, 1)`
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
	eachDriver(t, forgedAnswersEndTheSession)
}

func forgedAnswersEndTheSession(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver, func(o *sandbox.Options) { o.SessionsPerUser = 20; o.Sessions = 20 })
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

// TestAProcessThatLeavesOnItsOwnIsMissed: a thread ends the process once the
// call that it was started in has its answer.
func TestAProcessThatLeavesOnItsOwnIsMissed(t *testing.T) {
	t.Parallel()
	eachDriver(t, aProcessThatLeavesOnItsOwnIsMissed)
}

func aProcessThatLeavesOnItsOwnIsMissed(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver)
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
