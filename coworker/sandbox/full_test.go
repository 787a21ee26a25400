//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"innerloop/coworker/sandbox"
)

// overfull are ways to leave a home over its limit, and what it then lacks.
var overfull = map[string]struct{ code, limit string }{
	"disk":  {"for i in range(3): open(f'f{i}', 'wb').write(b'x' * (16 << 20))", "disk"},
	"files": {"for i in range(2500): open(f'f{i}', 'wb')", "files"},
	"depth": {"for i in range(70):\n    os.mkdir('d')\n    os.chdir('d')", "files"},
}

// count tells what a home holds, from inside.
const count = `
def count():
    files = held = 0
    for folder, folders, names in os.walk("/home/user"):
        for name in folders + names:
            files += 1
            held += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return files, held
`

// TestAFullHomeIsEmptiedByItsUser and grows no further until then, whoever calls
// and however often.
func TestAFullHomeIsEmptiedByItsUser(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for name, c := range overfull {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := "full-" + name
			code := "import os\nopen('/home/user/holes', 'wb').truncate(16 << 20)\nopen('/home/user/plain', 'wb').write(b'x')\n" + c.code + "\nimport time\ntime.sleep(20)"
			stopped(t, s, sandbox.Job{User: user, Code: code}, sandbox.OverLimit, c.limit)
			before := run(t, s, user, "import os"+count+"count()").Value
			job := sandbox.Job{User: user, Code: "print('ran')", Files: []sandbox.File{{Path: "in/x", Body: make([]byte, 100_000)}}}
			for range 2 {
				if stop := stopped(t, s, job, sandbox.OverLimit, c.limit); stop.Partial != nil || !strings.Contains(stop.Hint, "no input files") {
					t.Errorf("inputs: %+v", stop)
				}
			}
			// What would add to it is refused, and none of it in words that blame the code.
			r := run(t, s, user, prelude+calls()+moreCalls()+growing+count+"count()")
			if r.Stdout.Text != "" || r.Value != before {
				t.Errorf("%s\n%s%s, %s before", r.Stdout.Text, r.Stderr.Text, r.Value, before)
			}
			run(t, s, user, "print('y' * 200_000)")
			if now := run(t, s, user, "import os"+count+"count()").Value; now != before {
				t.Errorf("%s, %s before", now, before)
			}
			in(t, s, "work", "import os\nos.rename('plain', 'moved')", func(j *sandbox.Job) { j.User = user })
			r, _ = in(t, s, "work", "import os, shutil, subprocess\nfor n in os.listdir():\n    shutil.rmtree(n, True) if os.path.isdir(n) else os.remove(n)", func(j *sandbox.Job) { j.User = user })
			wantState(t, r, "", sandbox.Lost, c.limit+" limit")
			r, stop := in(t, s, "work", "open('a', 'w').write('b')\nsorted(__import__('os').listdir())", func(j *sandbox.Job) {
				j.User, j.Files = user, job.Files
			})
			if stop != nil {
				t.Fatal(stop)
			}
			if r.Value != "['a', 'in']" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// growing is what adds to a home.
const growing = `
import mmap, socket
os.chdir("/home/user")
full = errno.EDQUOT, errno.EFBIG
def no(name, do):
    try: got = do()
    except OSError as e:
        if e.errno in full: return
        got = e
    print("BROKEN", name, got)
no("new", lambda: open("new", "w"))
no("open", lambda: os.open("new", os.O_CREAT | os.O_WRONLY))
no("nameless", lambda: os.open(".", os.O_TMPFILE | os.O_RDWR))
no("folder", lambda: os.mkdir("new"))
no("link", lambda: os.link("plain", "new"))
no("symbolic link", lambda: os.symlink("plain", "new"))
no("socket", lambda: socket.socket(socket.AF_UNIX).bind("new"))
no("append", lambda: os.write(os.open("plain", os.O_WRONLY | os.O_APPEND), b"x" * 100000))
no("hole", lambda: os.pwrite(os.open("holes", os.O_RDWR), b"x" * 100000, 4096))
no("mapped hole", lambda: mmap.mmap(os.open("holes", os.O_RDWR), 1 << 20))
no("longer", lambda: os.truncate("plain", 100000))
no("reserved", lambda: os.posix_fallocate(os.open("holes", os.O_RDWR), 0, 1 << 20))
no("attribute", lambda: os.setxattr("plain", "user.x", b"x" * 2000))
denied("fallocate", N["fallocate"], os.open("holes", os.O_RDWR), 1, 0, 1 << 20, want=full)
import subprocess
if subprocess.run(["/bin/cat", "plain"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, capture_output=False, stdout=subprocess.PIPE).stdout != b"x": print("BROKEN nothing is read")
`

// TestASessionInAHomeThatBecameFull keeps its variables, and is not ended for
// what another did.
func TestASessionInAHomeThatBecameFull(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	in(t, s, "work", "x = 41")
	stopped(t, s, sandbox.Job{User: "u", Code: overfull["disk"].code + "\nimport time\ntime.sleep(20)"}, sandbox.OverLimit, "disk")
	r, stop := in(t, s, "work", "import time\ntime.sleep(0.5)\nx + 1")
	if stop != nil {
		t.Fatal(stop)
	}
	wantState(t, r, "42", sandbox.Kept, "")
	_, stop = in(t, s, "work", fmt.Sprintf("open('more', 'wb').write(b'x' * %d)\ntime.sleep(20)", 15<<20))
	if stop == nil || stop.Limit != "disk" {
		t.Errorf("grew: %v", stop)
	}
	r, _ = in(t, s, "work", "import os\nfor n in os.listdir(): os.remove(n)")
	if r.State.Word != sandbox.Lost {
		t.Errorf("%+v", r.State)
	}
	r, _ = in(t, s, "work", "open('new', 'w').write('x')")
	if r.Value != "1" {
		t.Errorf("%+v", r)
	}
}
