//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"innerloop/coworker/sandbox"
)

func TestWhatARunAnswers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for name, c := range map[string]struct {
		code, out, err, value string
		exit                  int
	}{
		"output and value":     {"print('a')\nx = 2\nx * 21", "a\n", "", "42", 0},
		"no value":             {"x = 1", "", "", "", 0},
		"None is no value":     {"print('a')", "a\n", "", "", 0},
		"text is shown quoted": {"'я' + chr(0x1F600)", "", "", "'я😀'", 0},
		"lone surrogate":       {"'\\ud800'", "", "", `'\ud800'`, 0},
		"both streams":         {"import sys\nprint('e', file=sys.stderr)\nprint('o')", "o\n", "e\n", "", 0},
		"exit code":            {"import sys\nsys.exit(97)", "", "", "", 97},
		"exit with a text":     {"import sys\nsys.exit('no')", "", "no\n", "", 1},
		"signal":               {"import os\nos.kill(os.getpid(), 11)", "", "", "", 128 + 11},
		"main module":          {"__name__", "", "", "'__main__'", 0},
		"nothing of ours":      {"sorted(n for n in globals() if not n.startswith('__'))", "", "", "[]", 0},
		"input is empty":       {"import sys\nsys.stdin.read()", "", "", "''", 0},
		"unpickle":             {"import pickle\nclass A: pass\ntype(pickle.loads(pickle.dumps(A()))).__name__", "", "", "'A'", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, s, "u", c.code)
			got := []any{r.Stdout.Text, r.Stderr.Text, r.Value, r.ExitCode}
			if d := cmp.Diff([]any{c.out, c.err, c.value, c.exit}, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAnExceptionIsAResultWithItsLine(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	r := run(t, s, "u", "print('before')\ndef f():\n    return 1 / 0\nf()")
	if r.ExitCode != 1 || r.Stdout.Text != "before\n" || !strings.Contains(r.Stderr.Text, "return 1 / 0") ||
		!strings.HasSuffix(r.Stderr.Text, "ZeroDivisionError: division by zero\n") || strings.Contains(r.Stderr.Text, "driver") {
		t.Errorf("%+v", r)
	}
	r = run(t, s, "u", "x = 1\ndef f(:\n")
	if r.ExitCode != 1 || !strings.Contains(r.Stderr.Text, `File "<code>", line 2`) {
		t.Errorf("%+v", r)
	}
}

func TestAHomePersistsAndIsItsUsersAlone(t *testing.T) {
	t.Parallel()
	s, dir := openIn(t, t.TempDir(), nil)
	r := run(t, s, "ada", "import os\nos.makedirs('a/b')\nopen('a/b/c.txt', 'w').write('kept')\nopen('mine.py', 'w').write('x = 7')")
	want := []sandbox.Change{{Path: "a/b/c.txt", Size: 4}, {Path: "mine.py", Size: 5}}
	if d := cmp.Diff(want, r.Changed); d != "" {
		t.Error(d)
	}
	r = run(t, s, "ada", "import mine, os\nos.remove('mine.py')\n(open('a/b/c.txt').read(), mine.x)")
	if r.Value != "('kept', 7)" {
		t.Errorf("the next run sees %s", r.Value)
	}
	if d := cmp.Diff([]sandbox.Change{{Path: "mine.py", Removed: true}}, r.Changed); d != "" {
		t.Error(d)
	}
	if r := run(t, s, "bob", "import os\nos.listdir()"); r.Value != "[]" {
		t.Errorf("another user sees %s", r.Value)
	}
	if os.Geteuid() == 0 {
		a, b := ownerOf(t, filepath.Join(dir, "homes", "ada")), ownerOf(t, filepath.Join(dir, "homes", "bob"))
		if a == b || a == 0 || b == 0 {
			t.Errorf("homes belong to %d and %d", a, b)
		}
	}
}

func TestInputsAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	job := sandbox.Job{
		User: "u", Code: "open('in/data.csv', 'a').write('3')\nopen('in/data.csv').read()",
		Files: []sandbox.File{{Path: "in/data.csv", Body: []byte("1,2,")}},
	}
	// Whatever stands at the place is replaced and not followed.
	run(t, s, "u", "import os\nos.mkdir('in')\nos.symlink('/etc/passwd', 'in/data.csv')")
	if r, err := s.Run(t.Context(), job); err != nil || r.Value != "'1,2,3'" {
		t.Errorf("%+v %v", r, err)
	}
	run(t, s, "u", "import os\nos.remove('in/data.csv')\nos.mkfifo('in/data.csv')")
	if r, err := s.Run(t.Context(), job); err != nil || r.Value != "'1,2,3'" {
		t.Errorf("%+v %v", r, err)
	}
	for _, path := range []string{"", "/x", "../x", "a/../../x", "./x", "."} {
		job.Files[0].Path = path
		stopped(t, s, job, sandbox.Invalid, "files")
	}
	// Nor does a folder that leads elsewhere.
	run(t, s, "u", "import os\nos.symlink('/tmp', 'out')")
	job.Files[0].Path = "out/x"
	stopped(t, s, job, sandbox.Invalid, "files")
}

func TestALongOutputIsCutAndKept(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	r := run(t, s, "u", "for i in range(20000): print('line', i)")
	if !r.Stdout.Truncated || len(r.Stdout.Text) > 65<<10 || r.Stdout.File != "outputs/stdout.txt" ||
		!strings.HasPrefix(r.Stdout.Text, "line 0\n") || !strings.HasSuffix(r.Stdout.Text, "line 19999\n") {
		t.Errorf("%d bytes, %v, %q", len(r.Stdout.Text), r.Stdout.Truncated, r.Stdout.File)
	}
	if r := run(t, s, "u", "open('outputs/stdout.txt').read().count('\\n')"); r.Value != "20000" {
		t.Errorf("the file holds %s lines", r.Value)
	}
	if r := run(t, s, "u", "'x' * 100000"); !r.ValueCut || len(r.Value) != 16<<10 {
		t.Errorf("a value of %d bytes, %v", len(r.Value), r.ValueCut)
	}
	if r := run(t, s, "u", "import os\nos.write(1, b'\\xff\\xfe')"); r.Stdout.Text != "\uFFFD" {
		t.Errorf("bytes that are no text: %q", r.Stdout.Text)
	}
}

// TestTheServerIsNotLedOut: a link that a run left in a home leads nowhere when
// the server follows it.
func TestTheServerIsNotLedOut(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	run(t, s, "u", "import os\nos.symlink('/etc/passwd', 'a')\nos.symlink('../../../../../../etc/passwd', 'b')\nos.symlink('/proc/self/environ', 'c')")
	home, err := s.Home("u")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = home.Close() }()
	for _, name := range []string{"a", "b", "c"} {
		if f, err := home.Open(name); err == nil {
			_ = f.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

func TestFoldersAreShownReadOnly(t *testing.T) {
	t.Parallel()
	s, dir := openIn(t, t.TempDir(), nil)
	if err := os.MkdirAll(filepath.Join(dir, "skills", "report", "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "skills", "report", "scripts", "sum.py"), []byte("print(sum([1, 2]))"), 0o644); err != nil {
		t.Fatal(err)
	}
	job := sandbox.Job{
		User: "u", Mounts: []sandbox.Folder{{Source: "skills/report/scripts", Target: "/mnt/skills/report/scripts"}},
		Code: "exec(open('/mnt/skills/report/scripts/sum.py').read())\ntry:\n    open('/mnt/skills/report/scripts/x', 'w')\nexcept OSError as e:\n    print(e.errno)",
	}
	r, err := s.Run(t.Context(), job)
	if err != nil || r.Stdout.Text != "3\n30\n" { // EROFS
		t.Errorf("%+v %v", r, err)
	}
}

// TestTheOnlyWayOutIsTheProxy carries a request through the socket of the run.
func TestTheOnlyWayOutIsTheProxy(t *testing.T) {
	t.Parallel()
	s, dir := openIn(t, t.TempDir(), nil)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sockets, err := filepath.Glob(filepath.Join(dir, "runs", "*", "proxy.sock"))
		if err != nil || len(sockets) != 1 {
			t.Errorf("%q %v", sockets, err)
			return
		}
		info, err := os.Stat(sockets[0])
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
		_, _ = io.WriteString(w, "asked for "+r.URL.String())
	})}
	t.Cleanup(func() { _ = server.Close() })
	r, err := s.Run(t.Context(), sandbox.Job{
		User: "u", Serve: func(l net.Listener) { _ = server.Serve(l) },
		Modules: []sandbox.File{{Path: "handed.py", Body: []byte("word = 'in'")}},
		Trees: []sandbox.Tree{{Target: "/mnt/t", Fill: func(add func(string, []byte) error) error {
			if add("../out", nil) == nil {
				t.Error("a tree reaches out of its folder")
			}
			return add("a/b.txt", []byte("tree"))
		}}},
		Code: "import handed, urllib.request\ntry:\n open('/mnt/t/a/b.txt', 'a')\nexcept OSError as e: print(e.errno in (13, 30))\nhanded.word, open('/mnt/t/a/b.txt').read(), urllib.request.urlopen('http://allowed.example/x').read().decode()",
	})
	if err != nil || r.Value != "('in', 'tree', 'asked for http://allowed.example/x')" || r.Stdout.Text != "True\n" {
		t.Errorf("%+v %v", r, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q %v", left, err)
	}
}

// TestConnectionsOfTheWayOutMayStay keeps some open for many looks at the run:
// their other ends are the server's, and are not what nobody holds.
func TestConnectionsOfTheWayOutMayStay(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	t.Cleanup(func() { _ = server.Close() })
	code := `
import http.client, time
many = [http.client.HTTPConnection('127.0.0.1', 3128) for _ in range(5)]
def ask(c):
    c.request('GET', 'http://allowed.example/')
    return c.getresponse().read()
said = [ask(c) for c in many]
time.sleep(2)
said + [ask(c) for c in many] == [b'ok'] * 10`
	for _, session := range []*sandbox.Session{nil, {Name: "kept"}} {
		r, err := s.Run(t.Context(), sandbox.Job{User: "u", Session: session, Code: code, Serve: func(l net.Listener) { _ = server.Serve(l) }})
		if err != nil || r.Value != "True" {
			t.Errorf("session %v: %+v %v", session, r, err)
		}
	}
}

// TestWhatRunsCanBeSeen looks from outside while a run waits.
func TestWhatRunsCanBeSeen(t *testing.T) {
	t.Parallel()
	s, dir := openIn(t, t.TempDir(), nil)
	var seen []sandbox.Running
	_, err := s.Run(t.Context(), sandbox.Job{
		User: "u", Label: "of whom", Timeout: 20 * time.Second, Code: "import urllib.request\nurllib.request.urlopen('http://x.example/')",
		Serve: func(l net.Listener) {
			if c, err := l.Accept(); err == nil {
				seen, err = sandbox.Runs(dir)
				if err != nil {
					t.Error(err)
				}
				_ = c.Close()
			}
		},
	})
	if err != nil || len(seen) != 1 || seen[0].User != "u" || seen[0].Label != "of whom" || seen[0].Timeout != 20_000 || seen[0].ID == "" || seen[0].Server != os.Getpid() {
		t.Errorf("%+v %v", seen, err)
	}
	if seen, err = sandbox.Runs(dir); err != nil || len(seen) > 0 {
		t.Errorf("after its end: %+v %v", seen, err)
	}
	if seen, err = sandbox.Runs(filepath.Join(dir, "nowhere")); err != nil || seen == nil || len(seen) > 0 {
		t.Errorf("without a folder: %+v %v", seen, err)
	}
}

// TestAFileOfAHomeIsReadWithoutTrust asks for what is no plain file, or too
// large, and for one behind a link that leads out.
func TestAFileOfAHomeIsReadWithoutTrust(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	run(t, s, "u", "import os\nopen('plain', 'w').write('12345')\nos.symlink('/etc/passwd', 'out')\nos.symlink('plain', 'in')\nos.mkfifo('pipe')\nos.mkdir('d')")
	if raw, err := s.ReadFile("u", "plain", 5); err != nil || string(raw) != "12345" {
		t.Errorf("%q %v", raw, err)
	}
	for name, most := range map[string]int64{"plain": 4, "out": 9, "in": 9, "pipe": 9, "d": 9, "none": 9, "../u/plain": 9, "/etc/passwd": 9} {
		if raw, err := s.ReadFile("u", name, most); err == nil {
			t.Errorf("%s was read: %q", name, raw)
		}
	}
}

func TestAJobIsCheckedBeforeItRuns(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for field, job := range map[string]sandbox.Job{
		"user":            {User: "../x", Code: "1"},
		"code":            {User: "u"},
		"timeout_seconds": {User: "u", Code: "1", Timeout: 1e12},
	} {
		stopped(t, s, job, sandbox.Invalid, field)
	}
	stopped(t, s, sandbox.Job{User: "u", Code: strings.Repeat("#", 256<<10+1)}, sandbox.Invalid, "code")
}

func TestWithoutAnInterpreterNothingRuns(t *testing.T) {
	t.Parallel()
	s, err := sandbox.New(t.Context(), sandbox.Options{Dir: filepath.Join(t.TempDir(), "s"), Python: "/usr/bin/no-such-python", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	_, err = s.Run(t.Context(), sandbox.Job{User: "u", Code: "1"})
	var stop *sandbox.Stop
	if !errors.As(err, &stop) || stop.Reason != sandbox.Unavailable || stop.Hint != "find the Python interpreter" || strings.Contains(stop.Hint, "/") {
		t.Errorf("%v", err)
	}
}

// A server that was started with a low priority cannot raise it for a run.
func TestCodeRunsUnderAServerOfLowPriority(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "nice", "-n", "12", self, "-test.v", "-test.run=^TestAnExceptionIsAResultWithItsLine$")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAnExceptionIsAResultWithItsLine") {
		t.Fatalf("%v\n%s", err, out)
	}
}
