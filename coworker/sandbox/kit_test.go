//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"errors"
	"flag"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"innerloop/coworker/sandbox"
)

// asNobody is set in the second process, which runs the same tests as an
// ordinary user.
const asNobody = "INNERLOOP_SANDBOX_TEST_AS_NOBODY"

const secret = "planted-secret-5d1f0c"

func TestMain(m *testing.M) {
	// What a run must not be able to read.
	if err := os.Setenv("INNERLOOP_PLANTED", secret); err != nil {
		panic(err)
	}
	// Runs wait more than they work: for a limit, for the kernel, for each other.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(1+runtime.NumCPU())); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestAsAnOrdinaryUser runs every other test of this package again in a
// process without privileges.
func TestAsAnOrdinaryUser(t *testing.T) {
	t.Parallel() // the two share nothing but the machine
	if os.Geteuid() != 0 {
		return // this is it
	}
	dir := t.TempDir()
	for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if err := os.Chown(own, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	// The folder that go test builds in is its user's alone.
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "sandbox.test")
	if err := os.WriteFile(self, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.timeout=20m")
	cmd.Dir = "/"
	cmd.Env = []string{asNobody + "=1", "TMPDIR=" + own, "PATH=/usr/bin:/bin", "HOME=" + own}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
	if n := strings.Count(string(out), "--- PASS"); n < 130 {
		t.Fatalf("only %d tests passed as an ordinary user\n%s", n, out)
	}
}

// small are limits that attacks reach in a moment.
func small() sandbox.Limits {
	l := sandbox.DefaultLimits()
	// The time is for a busy machine; who waits for its end names a shorter one.
	l.Wall, l.Home, l.HomeFiles = time.Minute, 32<<20, 2000
	l.Tmp = 32 << 20
	return l
}

func open(t *testing.T, changes ...func(*sandbox.Options)) *sandbox.Sandbox {
	t.Helper()
	s, _ := openIn(t, t.TempDir(), changes...)
	return s
}

func openIn(t *testing.T, dir string, changes ...func(*sandbox.Options)) (*sandbox.Sandbox, string) {
	t.Helper()
	o := sandbox.Options{Dir: filepath.Join(dir, "sandbox"), Limits: small(), Logger: quiet(), Slots: 8, PerUser: 8}
	for _, change := range changes {
		if change != nil {
			change(&o)
		}
	}
	s, err := sandbox.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if status := s.Status(); !status.Available {
		t.Fatalf("this machine gives no sandbox: %+v", status)
	}
	return s, o.Dir
}

// eachDriver tries the same with both drivers that keep sessions.
func eachDriver(t *testing.T, try func(t *testing.T, driver func(*sandbox.Options))) {
	t.Helper()
	for name, driver := range map[string]func(*sandbox.Options){"native": nil, "bwrap": bubbled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(t, driver)
		})
	}
}

// run does a job whose result is wanted.
func run(t *testing.T, s *sandbox.Sandbox, user, code string) *sandbox.Result {
	t.Helper()
	r, err := s.Run(t.Context(), sandbox.Job{User: user, Code: code})
	if err != nil {
		t.Fatalf("%v\n%+v", err, partial(err))
	}
	return r
}

// knock is code that goes to the way out, which heard notices.
const knock = "\nknocking = __import__('socket').create_connection(('127.0.0.1', 3128))\n"

// heard tells when the code of a job has knocked; false when it ended before.
func heard(job *sandbox.Job) <-chan bool {
	knocked := make(chan bool, 1)
	job.Serve = func(l net.Listener) {
		c, err := l.Accept()
		if knocked <- err == nil; err == nil {
			_, _ = l.Accept() // no second one comes: it waits for the end
			_ = c.Close()
		}
	}
	return knocked
}

func partial(err error) *sandbox.Result {
	var stop *sandbox.Stop
	if errors.As(err, &stop) {
		return stop.Partial
	}
	return nil
}

// stopped does a job that must be ended for a reason.
func stopped(t *testing.T, s *sandbox.Sandbox, job sandbox.Job, reason sandbox.Reason, limit string) *sandbox.Stop {
	t.Helper()
	r, err := s.Run(t.Context(), job)
	var stop *sandbox.Stop
	if !errors.As(err, &stop) || stop.Reason != reason || stop.Limit != limit {
		t.Fatalf("got %v, not %s %s\n%+v %+v", err, reason, limit, r, partial(err))
	}
	return stop
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func ownerOf(t *testing.T, name string) uint32 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}
