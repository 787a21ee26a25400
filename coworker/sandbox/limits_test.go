//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"innerloop/coworker/sandbox"
)

func TestEachLimitEndsTheRunAndIsNamed(t *testing.T) {
	t.Parallel()
	limited(t, func(*sandbox.Options) {}, 0)
}

// limited runs over each limit in turn. start is what a driver's own start may
// take of the time of a run.
func limited(t *testing.T, driver func(*sandbox.Options), start time.Duration) {
	t.Helper()
	s := open(t, func(o *sandbox.Options) {
		driver(o)
		o.Limits.Memory, o.Limits.HomeFiles = 200<<20, 400
	})
	hasty := open(t, func(o *sandbox.Options) {
		driver(o)
		o.Limits.CPU = time.Second
	})
	for name, c := range map[string]struct {
		code    string
		timeout time.Duration
		reason  sandbox.Reason
		limit   string
		out     string // how standard output begins
	}{
		"wall":              {"print('before')\nimport time\ntime.sleep(60)", time.Second, sandbox.TimedOut, "wall", "before\n"},
		"wall, all stopped": {"import os, signal\nprint('before')\nos.kill(os.getpid(), signal.SIGSTOP)", time.Second, sandbox.TimedOut, "wall", "before\n"},
		"wall, deaf": {`
import os, signal, sys, time
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("before"); sys.stdout.flush()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: pass
while True: time.sleep(60)`, time.Second, sandbox.TimedOut, "wall", "before\n"},
		"cpu":                 {"print('before')\nwhile True: pass", time.Minute, sandbox.OverLimit, "cpu", "before\n"},
		"cpu, signal ignored": {"import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nprint('before')\nwhile True: pass", time.Minute, sandbox.OverLimit, "cpu", "before\n"},
		"memory of many": {`
import os, time
print("before", flush=True)
for _ in range(6):
    if os.fork() == 0:
        x = bytearray(60 << 20)
        for i in range(0, len(x), 4096): x[i] = 1
        time.sleep(30)
        os._exit(0)
x = bytearray(60 << 20)
for i in range(0, len(x), 4096): x[i] = 1
for _ in range(6):
    if os.waitstatus_to_exitcode(os.wait()[1]) == -9: os.kill(os.getpid(), 9)
`, time.Minute, sandbox.OverLimit, "memory", "before\n"},
		"output":                      {"while True: print('x' * 10000)", time.Minute, sandbox.OverLimit, "output", "xxxx"},
		"errors":                      {"import sys\nwhile True: sys.stderr.write('x' * 10000)", time.Minute, sandbox.OverLimit, "output", ""},
		"home":                        {"print('before')\nimport time\nfor i in range(99): open(f'f{i}', 'wb').write(b'x' * (4 << 20))\ntime.sleep(30)", time.Minute, sandbox.OverLimit, "disk", "before\n"},
		"files without a name":        {"print('before')\nimport os, time\nkept = []\nfor i in range(20):\n    f = open('x', 'w+b')\n    os.unlink('x')\n    f.write(b'x' * (4 << 20))\n    f.flush()\n    kept.append(f)\ntime.sleep(30)", time.Minute, sandbox.OverLimit, "disk", "before\n"},
		"mapped files without a name": {"print('before')\nimport mmap, os, time\nkept = []\nfor i in range(20):\n    f = os.open('x', os.O_RDWR | os.O_CREAT)\n    os.unlink('x')\n    os.write(f, b'x' * (4 << 20))\n    kept.append(mmap.mmap(f, 4 << 20))\n    os.close(f)\nfor fd in range(7, 200):\n    try: os.close(fd)\n    except OSError: pass\ntime.sleep(30)", time.Minute, sandbox.OverLimit, "disk", "before\n"},
		"a page of each file":         {"print('before')\nimport mmap, os, time\nkept = []\nfor i in range(20):\n    f = os.open('x', os.O_RDWR | os.O_CREAT)\n    os.unlink('x')\n    os.write(f, b'x' * (4 << 20))\n    kept.append(mmap.mmap(f, 4096))\n    os.close(f)\n    os.closerange(6, 30)\ntime.sleep(30)", time.Minute, sandbox.OverLimit, "disk", "before\n"},
		"files on their way":          {"print('before')\nimport os, socket, time\nkept = socket.socketpair()\nfor i in range(20):\n    f = os.open('x', os.O_RDWR | os.O_CREAT)\n    os.unlink('x')\n    os.write(f, b'x' * (4 << 20))\n    socket.send_fds(kept[0], [b'x'], [f])\n    os.close(f)\ntime.sleep(30)", time.Minute, sandbox.OverLimit, "disk", "before\n"},
		"files on their way in another": {`
print("before", flush=True)
import os, socket, time
kept, inner = socket.socketpair(), socket.socketpair()
socket.send_fds(kept[0], [b"x"], [inner[1].fileno()]) # one is seen, and counts as one file
inner[1].close()
for i in range(9):
    f = os.open("x", os.O_RDWR | os.O_CREAT)
    os.unlink("x")
    os.write(f, b"x" * (4 << 20))
    socket.send_fds(inner[0], [b"x"], [f])
    os.close(f)
time.sleep(20)`, time.Minute, sandbox.OverLimit, "disk", "before\n"},
		"files of a thread that outlives the first": {`
print("before", flush=True)
import ctypes, os, threading, time
kept = []
def work():
    for i in range(20):
        f = open("x", "w+b")
        os.unlink("x")
        f.write(b"x" * (4 << 20))
        f.flush()
        kept.append(f)
    time.sleep(20)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)`, time.Minute, sandbox.OverLimit, "disk", "before\n"},
		"files of a home":  {"print('before')\nimport time\nfor i in range(9000): open(f'f{i}', 'wb')\ntime.sleep(30)", time.Minute, sandbox.OverLimit, "files", "before\n"},
		"depth of a home":  {"print('before')\nimport os, time\nfor i in range(9000):\n    os.mkdir('d')\n    os.chdir('d')\ntime.sleep(30)", time.Minute, sandbox.OverLimit, "files", "before\n"},
		"answer in pieces": {"import os, time\nprint('before')\nwhile True:\n    os.write(5, b'x' * 65536)", 2 * time.Second, sandbox.TimedOut, "wall", "before\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := strings.Map(func(r rune) rune {
				if r == ' ' || r == ',' {
					return '-'
				}
				return r
			}, name)
			s := s
			if c.limit == "cpu" {
				s = hasty
			}
			stop := stopped(t, s, sandbox.Job{User: user, Code: c.code, Timeout: c.timeout + start}, c.reason, c.limit)
			if stop.Partial == nil || !strings.HasPrefix(stop.Partial.Stdout.Text, c.out) {
				t.Errorf("partial result %+v", stop.Partial)
			}
			if stop.Allowed <= 0 || stop.Hint == "" {
				t.Errorf("the limit is not told: %+v", stop)
			}
			if err := s.RemoveHome(user); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNothingIsLeftOfARun: no process, no folder, no control group, however the
// run ended.
func TestNothingIsLeftOfARun(t *testing.T) {
	t.Parallel()
	leavesNothing(t, "native", nil)
}

func leavesNothing(t *testing.T, name string, driver func(*sandbox.Options)) {
	t.Helper()
	s, dir := openIn(t, t.TempDir(), driver)
	before, _ := filepath.Glob(filepath.Join(dir, "runs", "*"))
	mark := "left-behind-" + name + strconv.Itoa(os.Getpid())
	code := fmt.Sprintf(`
import os, sys, time
sys.argv = ["%s"]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: pass
    os.execv("/bin/sleep", ["%s", "300"])
%%s`, mark, mark)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	whole := func(err error) bool { return err == nil }
	timedOut := func(err error) bool {
		var stop *sandbox.Stop
		return errors.As(err, &stop) && stop.Reason == sandbox.TimedOut
	}
	for name, row := range map[string]struct {
		ctx context.Context
		job sandbox.Job
		end func(error) bool
	}{
		"by itself":     {t.Context(), sandbox.Job{User: "a"}, whole},
		"by time":       {t.Context(), sandbox.Job{User: "b", Code: "time.sleep(300)", Timeout: time.Second}, timedOut},
		"by a signal":   {t.Context(), sandbox.Job{User: "c", Code: "os.kill(os.getpid(), 9)"}, whole},
		"by its caller": {ctx, sandbox.Job{User: "d", Code: knock + "time.sleep(300)"}, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		job, ids := row.job, []string(nil)
		job.Code = fmt.Sprintf(code, job.Code)
		job.Serve = func(l net.Listener) {
			list, err := sandbox.Runs(dir)
			if err != nil {
				t.Error(err)
			}
			for _, r := range list {
				ids = append(ids, r.ID)
			}
			if c, err := l.Accept(); err == nil { // only who is ended by its caller comes
				cancel()
				_ = c.Close()
			}
		}
		if _, err := s.Run(row.ctx, job); !row.end(err) {
			t.Errorf("%s: ended with %v", name, err)
		}
		if len(ids) != 1 {
			t.Errorf("%s: %d runs were seen", name, len(ids))
		}
		if found := commands(t, mark); len(found) > 0 {
			t.Errorf("%s: %d processes live on", name, len(found))
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "runs", "*")); len(left) > len(before) {
			t.Errorf("%s: %d folders stay", name, len(left)-len(before))
		}
		for _, id := range ids {
			if left := groupsOf(t, id); len(left) > 0 {
				t.Errorf("%s: control groups stay: %v", name, left)
			}
		}
	}
}

// groupsOf are the control groups of this machine that bear the name of a run.
func groupsOf(t *testing.T, id string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == id {
			found = append(found, name)
		}
		return nil // a group that goes meanwhile is not this run's
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// commands are the processes of this machine with a word in their command line.
func commands(t *testing.T, word string) []int {
	t.Helper()
	var found []int
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, _ := os.ReadFile(name)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if strings.HasPrefix(string(raw), word) && syscall.Kill(pid, 0) == nil {
			found = append(found, pid)
		}
	}
	return found
}

func TestRunsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *sandbox.Options) { o.Slots, o.PerUser, o.Queue = 2, 1, 1 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan error, 1)
	job := sandbox.Job{User: "u", Code: knock + "import time\ntime.sleep(60)"}
	began := heard(&job)
	go func() {
		_, err := s.Run(ctx, job)
		first <- err
	}()
	<-began
	if r := run(t, s, "other", "1 + 1"); r.Value != "2" { // another user is not held up
		t.Errorf("got %q", r.Value)
	}
	// The queue holds one of two; the other is told that it is full.
	two := make(chan error)
	waiting, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	for range 2 {
		go func() {
			_, err := s.Run(waiting, sandbox.Job{User: "u", Code: "1"})
			two <- err
		}()
	}
	var stop *sandbox.Stop
	if err := <-two; !errors.As(err, &stop) || stop.Reason != sandbox.Busy {
		t.Errorf("one too many ended with %v", err)
	}
	giveUp()
	if err := <-two; !errors.Is(err, context.Canceled) {
		t.Errorf("the waiting one ended with %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the running one ended with %v", err)
	}
	if r := run(t, s, "u", "2 + 2"); r.Value != "4" {
		t.Errorf("got %q", r.Value)
	}
}
