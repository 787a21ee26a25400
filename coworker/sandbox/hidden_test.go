//go:build linux && (amd64 || arm64)

package sandbox_test

import (
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
