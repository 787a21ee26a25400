//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"innerloop/coworker/sandbox"
)

// unkept are what a run left that is in the way of the folder for outputs: the
// output is then cut, and not kept.
var unkept = map[string]bool{
	"a link for the outputs": true, "a link out of the home": true, "links in a ring": true,
}

// unmade are what a run is not allowed to leave.
var unmade = map[string]bool{"a pipe for an output": true, "a pipe for the outputs": true}

// TestWhatARunLeavesTrapsNobody lets a run leave something in its home, and
// then has the server and a later run of the same user meet it: an input is put
// at its place, an output is kept, the home is counted and read.
func TestWhatARunLeavesTrapsNobody(t *testing.T) {
	t.Parallel()
	s, dir := openIn(t, t.TempDir(), nil)
	outside := filepath.Join(dir, "outside")
	if err := os.MkdirAll(outside, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(outside, 0o777); err != nil { // as if a folder of the host were open to everybody
		t.Fatal(err)
	}
	for name, leave := range map[string]string{
		"a link for the outputs":              "os.symlink('" + outside + "', 'outputs')",
		"a link out of the home":              "os.symlink('../../outside', 'outputs'); os.symlink('../../outside/x', 'in.txt')",
		"a link for an output":                "os.mkdir('outputs'); os.symlink('" + outside + "/stdout.txt', 'outputs/stdout.txt')",
		"links in a ring":                     "os.symlink('outputs', 'in.txt'); os.symlink('in.txt', 'outputs')",
		"a chain of links":                    "[os.symlink(f'l{i + 1}', f'l{i}') for i in range(60)]; os.symlink('l0', 'in.txt')",
		"a pipe for an output":                "os.mkdir('outputs'); os.mkfifo('outputs/stdout.txt'); os.mkfifo('in.txt')",
		"a pipe for the outputs":              "os.mkfifo('outputs')",
		"a socket for an input":               "import socket; socket.socket(socket.AF_UNIX).bind('in.txt')",
		"a folder for an output":              "os.makedirs('outputs/stdout.txt/x'); os.makedirs('in.txt/x')",
		"a folder nobody may enter":           "os.mkdir('shut'); open('shut/x', 'w').close(); os.chmod('shut', 0); os.mkdir('outputs'); os.chmod('outputs', 0)",
		"a home nobody may enter":             "os.chmod('.', 0)",
		"names on several lines":              "open('a\\nb', 'w').close(); open('\\r\\x1b[2J', 'w').close(); open(b'\\xff\\xfe', 'w').close(); open('\\u202e', 'w').close()",
		"long names":                          "open('n' * 255, 'w').close(); os.mkdir('m' * 255)",
		"names of the server's own":           "open('.incoming-1', 'w').close(); open('.lock', 'w').close(); open('core.new', 'w').close(); os.mkdir('.new')",
		"a large folder":                      "[open(f'f{i}', 'w').close() for i in range(1500)]",
		"a deep folder":                       "[(os.mkdir('d'), os.chdir('d')) for _ in range(60)]",
		"a file with holes":                   "open('holes', 'wb').truncate(16 << 20); [open(f'h{i}', 'wb').truncate(16 << 20) for i in range(50)]",
		"a file of many names":                "open('one', 'wb').write(b'x' * 100000); [os.link('one', f'name{i}') for i in range(500)]",
		"rights of a program":                 "open('su', 'wb').write(open('/usr/bin/id', 'rb').read()); os.chmod('su', 0o6777)",
		"a module that takes another's place": "open('os.py', 'w').write('print(\"BROKEN\")'); open('site.py', 'w').write('print(\"BROKEN\")'); open('sitecustomize.py', 'w').write('print(\"BROKEN\")'); open('linecache.py', 'w').write('print(\"BROKEN\")')",
		"settings of the interpreter":         "open('.pythonrc', 'w').write('print(\"BROKEN\")'); os.makedirs('.local/lib/python3.11/site-packages'); open('.local/lib/python3.11/site-packages/usercustomize.py', 'w').write('print(\"BROKEN\")'); open('.local/lib/python3.11/site-packages/x.pth', 'w').write('import os; print(\"BROKEN\")')",
		"a lock on a file":                    "import fcntl; f = open('in.txt', 'w'); fcntl.flock(f, fcntl.LOCK_EX)\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(30)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := strings.NewReplacer(" ", "-", "'", "").Replace(name)
			if r := run(t, s, user, "import os\n"+leave); (r.ExitCode != 0) != unmade[name] {
				t.Fatalf("left with %d\n%s", r.ExitCode, r.Stderr.Text)
			}
			r, err := s.Run(t.Context(), sandbox.Job{
				User: user, Files: []sandbox.File{{Path: "in.txt", Body: []byte("given")}},
				Code: "import os\nprint(open('in.txt').read(), 'x' * 100000)",
			})
			var stop *sandbox.Stop
			if name == "a folder for an output" { // and for the input: a folder is not replaced by a file
				if !errors.As(err, &stop) || stop.Reason != sandbox.Invalid || stop.Limit != "files" {
					t.Fatalf("%v\n%+v", err, r)
				}
			} else if err != nil || r.ExitCode != 0 || !strings.HasPrefix(r.Stdout.Text, "given x") {
				t.Fatalf("%v\n%+v", err, r)
			}
			if r != nil && (r.Stdout.File == "") != unkept[name] {
				t.Errorf("the output is in %q", r.Stdout.File)
			}
			if r != nil {
				if said := fmt.Sprintf("%.300s %.300s", r.Stdout.Text, r.Stderr.Text); strings.Contains(said, "BROKEN") {
					t.Error(said)
				}
				if len(r.Changed) > 100 {
					t.Errorf("%d changes are told", len(r.Changed))
				}
			}
			if raw, err := s.ReadFile(user, "outputs/stdout.txt", 1<<20); err == nil && !strings.HasPrefix(string(raw), "given x") {
				t.Errorf("kept %.40q", raw)
			}
			if err := s.RemoveHome(user); err != nil {
				t.Errorf("a home stays: %v", err)
			}
		})
	}
	t.Cleanup(func() { // after all of them
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("the server wrote outside: %v %v", left, err)
		}
	})
}

// TestAnInputThatNobodyMovedGoes: a server that is killed between the writing of
// an input and its moving leaves it under a name of its own.
func TestAnInputThatNobodyMovedGoes(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	r := run(t, s, "u", `
import os, time
for name, age in ((".incoming-0123456789abcdef", 100), (".incoming-0123456789abcde0", 0), (".incoming-mine", 100), ("kept", 100)):
    open(name, "w").close()
    os.utime(name, (time.time() - age,) * 2)
os.mkdir(".incoming-0123456789abcde1")
os.utime(".incoming-0123456789abcde1", (1, 1))`)
	if r.ExitCode != 0 {
		t.Fatal(r.Stderr.Text)
	}
	r = run(t, s, "u", "import os\nsorted(os.listdir())")
	if r.Value != "['.incoming-0123456789abcde0', '.incoming-0123456789abcde1', '.incoming-mine', 'kept']" {
		t.Error(r.Value)
	}
}
