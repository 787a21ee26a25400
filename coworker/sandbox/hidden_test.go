//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"innerloop/coworker/sandbox"
)

// TestAProgramCannotHideWhatItHolds: descriptors that the server cannot see are
// over the limit.
func TestAProgramCannotHideWhatItHolds(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	r := run(t, s, "u", prelude+`
if libc.prctl(4, 0, 0, 0, 0) == 0: print("BROKEN dumpable")
fd = os.open("x", os.O_CREAT | os.O_RDWR)
if libc.fallocate(fd, 1, ctypes.c_long(0), ctypes.c_long(64 << 20)) == 0: print("BROKEN", os.fstat(fd).st_blocks)
os.posix_fallocate(fd, 0, 4096)`)
	if r.Stdout.Text != "" || r.ExitCode != 0 {
		t.Error(r.Stdout.Text, r.Stderr.Text)
	}
	code := `
import os, shutil
shutil.copy("/bin/sleep", "unreadable")
os.chmod("unreadable", 0o111)
os.execv("unreadable", ["unreadable", `
	if os.Geteuid() == 0 {
		if r := run(t, s, "u", code+`"3"])`); r.ExitCode != 0 { // the server sees it all the same
			t.Error(r.Stderr.Text)
		}
		return
	}
	stopped(t, s, sandbox.Job{User: "u", Code: code + `"15"])`, Timeout: 20 * time.Second}, sandbox.OverLimit, "disk")
}

// TestWhatARestingSessionHoldsIsItsUsers: files without a name that it keeps open
// count with the home, for whoever runs beside it.
func TestWhatARestingSessionHoldsIsItsUsers(t *testing.T) {
	t.Parallel()
	s := open(t)
	in(t, s, "a", "import os\nkept = []\nfor i in range(5):\n    f = open('x', 'w+b')\n    os.unlink('x')\n    f.write(b'x' * (4 << 20))\n    f.flush()\n    kept.append(f)")
	code := "import time\nfor i in range(5): open(f'f{i}', 'wb').write(b'x' * (4 << 20))\ntime.sleep(%s)\n'done'"
	stopped(t, s, sandbox.Job{User: "u", Code: fmt.Sprintf(code, "20")}, sandbox.OverLimit, "disk")
	r, _ := in(t, s, "a", "len(kept)")
	wantState(t, r, "5", sandbox.Kept, "")
	if r := run(t, s, "other", fmt.Sprintf(code, "0.3")); r.Value != "'done'" {
		t.Errorf("another user: %+v", r)
	}
	in(t, s, "a", "1", func(j *sandbox.Job) { j.Session.Reset = true })
	if r := run(t, s, "u", fmt.Sprintf(code, "0.3")); r.Value != "'done'" {
		t.Errorf("after its end: %+v", r)
	}
}

// TestMemoryThatBelongsToNoProcess is not to be had where no control group
// counts it.
func TestMemoryThatBelongsToNoProcess(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *sandbox.Options) {
		o.Limits.Memory, o.Limits.Tmp, o.Limits.FileSize = 64<<20, 256<<20, 64<<20
	})
	if s.Status().Memory != "watchdog" {
		if r := run(t, s, "u", "import os\nos.close(os.memfd_create('x'))"); r.ExitCode != 0 {
			t.Error(r.Stderr.Text)
		}
		return
	}
	r := run(t, s, "u", prelude+`
refused("memfd", lambda: os.memfd_create("x"))
if libc.shmget(0, 4096, 0o1600) >= 0: print("BROKEN shm")
if libc.msgget(0, 0o1600) >= 0: print("BROKEN msg")`)
	if r.Stdout.Text != "" || r.ExitCode != 0 {
		t.Error(r.Stdout.Text, r.Stderr.Text)
	}
	stopped(t, s, sandbox.Job{User: "u", Code: "import time\nfor i in range(4):\n    open(f'/tmp/{i}', 'wb').write(b'x' * (48 << 20))\ntime.sleep(20)"}, sandbox.OverLimit, "memory")
}
