//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"innerloop/coworker/sandbox"
)

func bubbled(o *sandbox.Options) { o.Driver = sandbox.Bwrap }

// TestBubblewrapRunsTheSame: what a run answers does not depend on the driver.
func TestBubblewrapRunsTheSame(t *testing.T) {
	t.Parallel()
	needsBubblewrap(t)
	s, dir := openIn(t, t.TempDir(), bubbled)
	if got := s.Status().Driver; got != "bwrap" {
		t.Errorf("the driver is %q", got)
	}
	r := run(t, s, "u", "open('kept', 'w').write('x')\nprint('out')\n6 * 7")
	if r.Stdout.Text != "out\n" || r.Value != "42" || r.ExitCode != 0 || len(r.Changed) != 1 {
		t.Errorf("%+v", r)
	}
	r = run(t, s, "u", "import os, socket\nos.getuid(), os.getcwd(), open('kept').read(), socket.gethostname(), os.listdir('/home')")
	if r.Value != "(1000, '/home/user', 'x', 'sandbox', ['user'])" {
		t.Errorf("%+v", r)
	}
	mark := "bubble-left-" + strconv.Itoa(os.Getpid())
	code := fmt.Sprintf("import os, time\nprint('before', flush=True)\nif os.fork() == 0:\n    os.setsid()\n    os.execv('/bin/sleep', ['%s', '300'])\ntime.sleep(300)", mark)
	stop := stopped(t, s, sandbox.Job{User: "u", Code: code, Timeout: time.Second}, sandbox.TimedOut, "wall")
	if stop.Partial == nil || stop.Partial.Stdout.Text != "before\n" {
		t.Errorf("%+v", stop.Partial)
	}
	if found := commands(t, mark); len(found) > 0 {
		t.Errorf("%d processes live on", len(found))
	}
	if left, err := filepath.Glob(filepath.Join(dir, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q %v", left, err)
	}
}

// TestAttacksAreHeldByBubblewrap and TestEscapesAreHeldByBubblewrap try the same
// with the other driver.
func TestAttacksAreHeldByBubblewrap(t *testing.T) {
	t.Parallel()
	needsBubblewrap(t)
	s, dir := openIn(t, t.TempDir(), bubbled)
	attack(t, s, dir, beyondBubblewrap)
}

func TestEscapesAreHeldByBubblewrap(t *testing.T) {
	t.Parallel()
	needsBubblewrap(t)
	s := open(t, bubbled)
	for name, e := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := strings.ReplaceAll(strings.ToLower(name), " ", "-")
			r := run(t, s, user, prelude+calls()+moreCalls()+surroundings(t).Replace(e.code))
			killed := name == "everybody is killed" && r.ExitCode == 128+9
			if r.Stdout.Text != "" || r.ExitCode != 0 && !killed {
				t.Errorf("exit %d\n%s%s", r.ExitCode, r.Stdout.Text, r.Stderr.Text)
			}
		})
	}
}

func TestEachLimitEndsTheRunAndIsNamedByBubblewrap(t *testing.T) {
	t.Parallel()
	needsBubblewrap(t)
	limited(t, bubbled, 0)
}

func TestNothingIsLeftOfARunInBubblewrap(t *testing.T) {
	t.Parallel()
	needsBubblewrap(t)
	leavesNothing(t, "bwrap", bubbled)
}

// TestAMissingDriverIsRefused and nothing else takes its place.
func TestAMissingDriverIsRefused(t *testing.T) {
	for driver, step := range map[sandbox.Driver]string{sandbox.Bwrap: "find bwrap", sandbox.Runsc: "find runsc"} {
		t.Setenv("PATH", t.TempDir())
		s, err := sandbox.New(t.Context(), sandbox.Options{Dir: filepath.Join(t.TempDir(), "s"), Driver: driver, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		_, err = s.Run(t.Context(), sandbox.Job{User: "u", Code: "1"})
		var stop *sandbox.Stop
		if !errors.As(err, &stop) || stop.Reason != sandbox.Unavailable || stop.Hint != step || s.Status().Driver != "" {
			t.Errorf("%s: %v %+v", driver, err, s.Status())
		}
	}
}

func needsBubblewrap(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Fatal("bwrap is missing: e2e/setup.sh sandbox installs it")
	}
}
