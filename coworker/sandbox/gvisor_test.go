//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"cell"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"innerloop/coworker/sandbox"
)

func guarded(o *sandbox.Options) { o.Driver = sandbox.Runsc }

// TestGvisorRunsTheSame: what a run answers does not depend on the driver.
func TestGvisorRunsTheSame(t *testing.T) {
	t.Parallel()
	needsGvisor(t)
	s, dir := openIn(t, t.TempDir(), guarded)
	if got := s.Status().Driver; got != "runsc" {
		t.Errorf("the driver is %q", got)
	}
	r := run(t, s, "u", "import sys\nopen('kept', 'w').write('x')\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
	if r.Stdout.Text != "out\n" || r.Stderr.Text != "err\n" || r.Value != "42" || r.ExitCode != 0 || len(r.Changed) != 1 {
		t.Errorf("%+v", r)
	}
	r = run(t, s, "u", "import os, socket\nos.getuid(), os.getcwd(), open('kept').read(), socket.gethostname(), os.listdir('/home')")
	if r.Value != "(1000, '/home/user', 'x', 'sandbox', ['user'])" {
		t.Errorf("%+v", r)
	}
	if os.Geteuid() == 0 && ownerOf(t, filepath.Join(dir, "homes", "u", "kept")) != ownerOf(t, filepath.Join(dir, "homes", "u")) {
		t.Error("a file of the home is not its user's")
	}
	if r := run(t, s, "u", "for i in range(20000): print('line', i)\n'x' * 100000"); !r.Stdout.Truncated || !r.ValueCut ||
		r.Stdout.File != "outputs/stdout.txt" || !strings.HasSuffix(r.Stdout.Text, "line 19999\n") {
		t.Errorf("%d bytes, %v, %q", len(r.Stdout.Text), r.Stdout.Truncated, r.Stdout.File)
	}
	for code, exit := range map[string]int{"import os\nos.kill(os.getpid(), 11)": 128 + 11, "import sys\nsys.exit(97)": 97, "1 / 0": 1} {
		if r := run(t, s, "u", code); r.ExitCode != exit {
			t.Errorf("%q: %+v", code, r)
		}
	}
}

// TestAttacksAreHeldByGvisor and TestEscapesAreHeldByGvisor try the same as with
// the other drivers. A guest takes a second to start, so those that leave others
// alone share one, each in a process of its own.
func TestAttacksAreHeldByGvisor(t *testing.T) {
	t.Parallel()
	needsGvisor(t)
	s, dir := openIn(t, t.TempDir(), guarded)
	fill := target(t, s, dir)
	shared := map[string]string{}
	for name, code := range attacks {
		if beyondGvisor[name] {
			continue
		}
		code = ofGvisor.Replace(prelude + calls() + fill.Replace(code))
		if !apart[name] {
			shared[name] = code
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silent(t, run(t, s, "mallory", code))
		})
	}
	together(t, s, "mallory", shared)
}

func TestEscapesAreHeldByGvisor(t *testing.T) {
	t.Parallel()
	needsGvisor(t)
	s := open(t, guarded)
	around := surroundings(t)
	shared := map[string]string{}
	for name, e := range escapes {
		if beyondGvisor[name] {
			continue
		}
		code := ofGvisor.Replace(prelude + calls() + moreCalls() + around.Replace(e.code))
		if !apart[name] {
			shared[name] = code
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, s, strings.ReplaceAll(name, " ", "-"), code)
			if name == "everybody is killed" && r.ExitCode == 128+9 {
				r.ExitCode = 0
			}
			silent(t, r)
		})
	}
	together(t, s, "eve", shared)
}

// apart are attacks that need a guest of their own: they fill it, or end it.
var apart = map[string]bool{
	"scratch space": true, "fork bomb": true, "thread bomb": true, "more memory than there may be": true, "processes of the host": true,
	"everybody is killed": true, "orphans": true, "children that nobody buries": true, "open files without number": true,
}

// together tries many attacks in one run.
func together(t *testing.T, s *sandbox.Sandbox, user string, rows map[string]string) {
	t.Helper()
	body, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), sandbox.Job{User: user, Files: []sandbox.File{{Path: "rows.json", Body: body}}, Code: `
import json, os, sys, traceback
rows = json.load(open("rows.json"))
os.remove("rows.json")
told = {}
for name, code in rows.items():
    r, w = os.pipe()
    sys.stdout.flush()
    if os.fork() == 0:
        os.dup2(w, 1); os.dup2(w, 2); os.closerange(r, w + 1)
        try: exec(code, {"__name__": "__main__"})
        except SystemExit: pass
        except BaseException: traceback.print_exc()
        sys.stdout.flush()
        os._exit(0)
    os.close(w)
    told[name] = open(r, errors="replace").read()
    how = os.waitstatus_to_exitcode(os.wait()[1])
    if how: told[name] += f"ended with {how}"
print(json.dumps(told))`})
	if err != nil {
		t.Fatalf("%v %+v", err, partial(err))
	}
	told := map[string]string{}
	if err := json.Unmarshal([]byte(r.Stdout.Text), &told); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	for name := range rows {
		t.Run(name, func(t *testing.T) {
			if said, tried := told[name]; said != "" || !tried {
				t.Errorf("%v %s", tried, said)
			}
		})
	}
}

func silent(t *testing.T, r *sandbox.Result) {
	t.Helper()
	if r.Stdout.Text != "" || r.ExitCode != 0 {
		t.Errorf("exit %d\n%s%s", r.ExitCode, r.Stdout.Text, r.Stderr.Text)
	}
}

// ofGvisor takes out of the attacks what reaches nothing but gVisor's own
// kernel, which belongs to the run: devices and settings that it makes up.
var ofGvisor = strings.NewReplacer(
	`"/dev/x", `, "", `, "/dev/fuse", "/dev/tty", "/dev/ptmx"`, "", `"/sys", `, "", `("/sys", "/run"`, `("/run"`,
	`("etc/shadow", "root", "sys", "boot")`, `("etc/shadow", "root", "boot")`, `"/sys", "/run"`, `"/run"`,
	`refused("/dev/ptmx"`, `(lambda *a: 0)("/dev/ptmx"`, `refused("cgroup", lambda: os.listdir("/sys/fs/cgroup"))`, "",
	`refused("nice", lambda: os.nice(-20))`, "", `range(41)`, `range(38)`, `, "NoNewPrivs:\t1"`, "", `"NoNewPrivs:\t1", `, "",
	`"CapAmb:\t0000000000000000", `, "", `"/proc/kallsyms"`, `"/dev/null"`, `f.readline().split()[0].strip("0")`, `f.read()`,
)

// beyondGvisor are attacks that ask for what gVisor's kernel gives freely,
// since it is the run's alone, or that it answers in words of its own.
var beyondGvisor = map[string]bool{
	"files without number in scratch space": true, // bounded by memory alone
	"namespaces shared with the server":     true, // it shows no mnt, net and cgroup of its own
	"namespaces of others":                  true,
	"settings of any kind":                  true, // of its own network and debugger
	"echo requests":                         true, // to itself
	"a packet with a forged sender":         true, // to itself
	"the first process is closed":           true, // Debian 12's shows what it has open; TestGvisorKeepsItsOwn tells what that is worth
	"the program of the server":             true,
	"a place before others":                 true, // a priority that it keeps to itself
}

// TestGvisorKeepsItsOwn: the program looks at the first process of the guest,
// which is another user's, and at what holds gVisor itself, which is not there.
func TestGvisorKeepsItsOwn(t *testing.T) {
	t.Parallel()
	needsGvisor(t)
	s := open(t, guarded)
	silent(t, run(t, s, "u", prelude+calls()+moreCalls()+`
for fd in range(64):
    for how in (os.O_RDONLY, os.O_WRONLY):
        try: got = os.open(f"/proc/1/fd/{fd}", how)
        except OSError: continue
        if os.readlink(f"/proc/self/fd/{got}") != "/dev/null": print("BROKEN", fd, os.readlink(f"/proc/self/fd/{got}"))
for f in ("mem", "oom_score_adj"): refused(f, lambda: open("/proc/1/" + f, "r+b"))
refused("killed", lambda: os.kill(1, 9))
seen = [p for p in os.listdir("/proc") if p.isdigit()]
if len(seen) > 3: print("BROKEN", seen)
for p in seen:
    try: name = open(f"/proc/{p}/cmdline").read() + open(f"/proc/{p}/environ").read()
    except OSError: continue
    if "runsc" in name or "`+secret+`" in name: print("BROKEN", name)
for p in ("/tmp/bundle", "/tmp/runsc", "/proc/1/root/tmp/bundle"): refused(p, lambda: os.stat(p))
denied("no new privileges", N["prctl"], 38, 0, 0, 0, 0, want=(errno.EINVAL, errno.EPERM))
if libc.prctl(39, 0, 0, 0, 0) != 1: print("BROKEN new privileges")`))
}

func TestEachLimitEndsTheRunAndIsNamedByGvisor(t *testing.T) {
	t.Parallel()
	needsGvisor(t)
	limited(t, guarded, 8*time.Second)
}

func TestNothingIsLeftOfARunInGvisor(t *testing.T) {
	t.Parallel()
	needsGvisor(t)
	leavesNothing(t, "runsc", guarded)
}

// TestTheOnlyWayOutOfGvisorIsTheProxy, and only of a run that was given one.
func TestTheOnlyWayOutOfGvisorIsTheProxy(t *testing.T) {
	t.Parallel()
	needsGvisor(t)
	s := open(t, guarded)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "asked for "+r.URL.String())
	})}
	t.Cleanup(func() { _ = server.Close() })
	r, err := s.Run(t.Context(), sandbox.Job{
		User: "u", Serve: func(l net.Listener) { _ = server.Serve(l) },
		Modules: []sandbox.File{{Path: "handed.py", Body: []byte("word = 'in'")}},
		Trees:   []sandbox.Tree{{Target: "/mnt/t", Fill: func(add func(string, []byte) error) error { return add("a.txt", []byte("tree")) }}},
		Code:    "import handed, urllib.request\nprint(handed.word, open('/mnt/t/a.txt').read())\nprint(urllib.request.urlopen('http://example.org/x').read().decode())",
	})
	if err != nil || r.Stdout.Text != "in tree\nasked for http://example.org/x\n" {
		t.Errorf("%+v %v", r, err)
	}
}

// TestGvisorOffersNoSessions and says so.
func TestGvisorOffersNoSessions(t *testing.T) {
	t.Parallel()
	needsGvisor(t)
	s := open(t, guarded)
	_, err := s.Run(t.Context(), sandbox.Job{User: "u", Code: "1", Session: &sandbox.Session{Name: "work"}})
	var stop *sandbox.Stop
	if !errors.As(err, &stop) || stop.Reason != sandbox.Invalid || stop.Limit != "session" {
		t.Errorf("%v", err)
	}
}

// TestARunscThatCannotRunIsRefused: a program at its place that is none is told,
// and nothing runs without it.
func TestARunscThatCannotRunIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // the users of runs pass through
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "runsc"), []byte("#!/bin/sh\necho no platform here >&2\nexit 128\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	s, err := sandbox.New(t.Context(), sandbox.Options{Dir: filepath.Join(t.TempDir(), "s"), Driver: sandbox.Runsc, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	_, err = s.Run(t.Context(), sandbox.Job{User: "u", Code: "open('ran', 'w')"})
	var stop *sandbox.Stop
	status := s.Status()
	if !errors.As(err, &stop) || stop.Reason != sandbox.Unavailable || stop.Hint != "start runsc" || status.Driver != "" || status.Available {
		t.Errorf("%v %+v", err, status)
	}
	if !strings.Contains(status.Cause, "no platform here") {
		t.Errorf("the cause is not told: %+v", status)
	}
}

// TestWhatGvisorIsTold: of what it is given, the home alone may be written.
func TestWhatGvisorIsTold(t *testing.T) {
	t.Parallel()
	got := cell.Spec(&cell.Config{
		Hostname: "sandbox", Dir: "/home/user",
		Mounts: []cell.Mount{
			{Kind: cell.Bind, Source: "/usr", Target: "/usr", ReadOnly: true},
			{Kind: cell.Bind, Source: "/dev/null", Target: "/dev/null"},
			{Kind: cell.Proc, Target: "/proc"},
			{Kind: cell.Tmpfs, Target: "/tmp", Data: "size=1024,nr_inodes=9,mode=1777"},
			{Kind: cell.Bind, Source: "homes/u", Target: "/home/user"},
			{Kind: cell.Bind, Source: "runs/1/proxy.sock", Target: "/run/proxy.sock"},
		},
	})
	want := []cell.BundleMount{
		{Target: "/proc", Type: "proc", Source: "proc", Options: []string{"noexec", "nosuid", "nodev"}},
		{Target: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: []string{"size=1024", "mode=1777", "nosuid", "nodev"}},
		{Target: "/home/user", Type: "bind", Source: "/home/user", Options: []string{"rw", "nosuid", "nodev"}},
	}
	if d := cmp.Diff(want, got.Mounts); d != "" {
		t.Error(d)
	}
	if !got.Root.ReadOnly || !got.Process.NoPrivileges || len(got.Process.Env) != 0 || got.Process.User["uid"] == 0 {
		t.Errorf("%+v", got)
	}
	for set, list := range got.Process.Capabilities {
		if slices.ContainsFunc(list, func(c string) bool {
			return slices.Contains([]string{"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_PTRACE", "CAP_MKNOD"}, c)
		}) {
			t.Error(set, list)
		}
	}
}

func needsGvisor(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("runsc"); err != nil {
		t.Fatal("runsc is missing: e2e/setup.sh sandbox installs it")
	}
}
