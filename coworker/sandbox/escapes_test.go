//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// An escape is an attack. Those that do no harm outside are tried there too: an
// attack that nothing holds must print BROKEN.
type escape struct {
	code     string
	harmless bool // outside of the sandbox, as root
}

// moreCalls are numbers of system calls that attacks need beside the others.
func moreCalls() string {
	if runtime.GOARCH == "arm64" {
		return "N.update(memfd_create=279, adjtimex=171, clock_adjtime=266, io_uring_enter=426, process_madvise=440, pidfd_open=434, sched_setscheduler=119, ioprio_set=30, fsmount=432, fsconfig=431, fallocate=47)\n"
	}
	return "N.update(memfd_create=319, adjtimex=159, clock_adjtime=305, io_uring_enter=426, process_madvise=440, pidfd_open=434, sched_setscheduler=144, ioprio_set=251, fsmount=432, fsconfig=431, fallocate=285, modify_ldt=154, iopl=172, ioperm=173)\n"
}

// escapes are tried in a home of their own each. %SOCK is an abstract socket of
// the server's process, %PORT a port it listens on, and %NS its namespaces.
var escapes = map[string]escape{
	"io_uring in earnest": {`
params = ctypes.create_string_buffer(120)
denied("io_uring_setup", N["io_uring_setup"], 4, ctypes.byref(params))
denied("io_uring_enter", N["io_uring_enter"], 3, 1, 0, 0, 0, 0)`, true},
	"bpf in earnest": {`
attr = (ctypes.c_uint32 * 18)(2, 4, 8, 1) # BPF_MAP_CREATE of an array
denied("bpf", N["bpf"], 0, ctypes.byref(attr), 72)`, true},
	"perf in earnest": {`
attr = (ctypes.c_uint32 * 32)(1, 128) # the software clock of this process
denied("perf_event_open", N["perf_event_open"], ctypes.byref(attr), 0, -1, -1, 0)`, true},
	"userfaultfd in earnest": {`
denied("userfaultfd", N["userfaultfd"], 1)`, true},
	"keys of the kernel": {`
denied("join", N["keyctl"], 1, 0)
denied("add", N["add_key"], b"user", b"innerloop", b"x", 1, -3)
denied("search", N["request_key"], b"user", b"innerloop", 0, -3)`, true},
	"a sibling is traced": {`
import time
child = os.fork()
if child == 0: time.sleep(20); os._exit(0)
for how in (16, 0x4206): # PTRACE_ATTACH, PTRACE_SEIZE
    denied("ptrace", N["ptrace"], how, child, 0, 0)
spot = ctypes.create_string_buffer(8)
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(spot), 8)
for n in ("process_vm_readv", "process_vm_writev"):
    denied(n, N[n], child, ctypes.byref(vector), 1, ctypes.byref(vector), 1, 0)
os.kill(child, 9)`, true},
	"handles of files": {`
handle = (ctypes.c_uint32 * 40)(128)
mount = ctypes.c_int()
denied("name", N["name_to_handle_at"], -100, b"/usr", ctypes.byref(handle), ctypes.byref(mount), 0)
handle = (ctypes.c_uint32 * 40)(8, 1, 2, 0) # the root of a file system
denied("open", N["open_by_handle_at"], os.open("/usr", os.O_RDONLY), ctypes.byref(handle), 0)`, true},
	"mount propagation": {`
for line in open("/proc/self/mountinfo"):
    optional = line.split(" - ")[0].split()[6:]
    if [o for o in optional if o.startswith(("shared", "master", "propagate"))]: print("BROKEN", line)
    where = line.split()[4]
    if where.startswith(("/sys", "/run", "/boot", "/var", "/root", "/old")): print("BROKEN", line)`, false},
	"the new way to mount": {`
for n in ("fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "move_mount", "mount_setattr"):
    denied(n, N[n], b"tmpfs" if n == "fsopen" else -100, 0, 0, 0, 0)
denied("open_tree", N["open_tree"], -100, b"/usr", 1)
denied("bind", N["mount"], b"/usr", b"/tmp", 0, 4096, 0)
denied("remount", N["mount"], 0, b"/usr", 0, 32 | 4096, 0)`, false},
	"pivot_root and chroot": {`
os.mkdir("r")
denied("pivot_root", N["pivot_root"], b"r", b"r")
denied("chroot", N["chroot"], b"r")
os.rmdir("r")`, false},
	"namespaces of others": {`
for kind in os.listdir("/proc/self/ns"):
    refused("open " + kind, lambda: os.open("/proc/1/ns/" + kind, os.O_RDONLY))
denied("setns", N["setns"], os.open("/proc/self/ns/mnt", os.O_RDONLY), 0)
denied("pidfd", N["setns"], call(N["pidfd_open"], 1, 0)[0], 0x20000)`, true},
	"namespaces shared with the server": {`
host = dict(pair.split("=") for pair in "%NS".split())
for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
    if os.readlink("/proc/self/ns/" + kind) == host[kind]: print("BROKEN", kind)`, true},
	"the way back up": {`
fd = os.open("/", os.O_RDONLY)
os.fchdir(fd)
for _ in range(100): os.chdir("..")
for p in ("etc/shadow", "root", "sys", "boot"):
    if os.path.exists(p): print("BROKEN", p)
for p in ("/proc/1/root", "/proc/1/cwd", "/proc/self/root/..", "/proc/self/cwd/../../.."):
    for f in ("etc/shadow", "root", "var"):
        if os.path.exists(p + "/" + f): print("BROKEN", p, f)`, true},
	"settings of any kind": {`
for top in os.listdir("/proc"):
    if top.isdigit() or top in ("self", "thread-self", "net"): continue
    todo = [os.path.join("/proc", top)]
    while todo:
        p = todo.pop()
        if os.path.isdir(p) and not os.path.islink(p):
            try: todo += [os.path.join(p, f) for f in os.listdir(p)]
            except OSError: pass
            continue
        try: os.close(os.open(p, os.O_WRONLY | os.O_NONBLOCK))
        except OSError: continue
        print("BROKEN", p)`, true},
	"a handler for crashes": {`
refused("core_pattern", lambda: open("/proc/sys/kernel/core_pattern", "w"))
refused("modprobe", lambda: open("/proc/sys/kernel/modprobe", "w"))
child = os.fork()
if child == 0: os.abort()
status = os.waitpid(child, 0)[1]
if os.WCOREDUMP(status) or [f for f in os.listdir(".") if "core" in f]: print("BROKEN a core", os.listdir("."))`, true},
	"words of the kernel": {`
for p in ("/proc/kcore", "/proc/kmsg", "/dev/kmsg", "/dev/mem", "/dev/port", "/proc/kpagecount"):
    refused(p, lambda: os.read(os.open(p, os.O_RDONLY | os.O_NONBLOCK), 1))
denied("syslog", N["syslog"], 3, 0, 0)
with open("/proc/kallsyms") as f:
    if f.readline().split()[0].strip("0"): print("BROKEN addresses")`, true},
	"every family of sockets": {`
import socket
for family in range(0, 46):
    if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6): continue
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        refused(family, lambda: socket.socket(family, kind))`, true},
	"ciphers of the kernel": {`
import socket
refused("AF_ALG", lambda: socket.socket(38, socket.SOCK_SEQPACKET))
refused("AF_VSOCK", lambda: socket.socket(40, socket.SOCK_STREAM))
refused("AF_XDP", lambda: socket.socket(44, socket.SOCK_RAW))
refused("AF_NETLINK", lambda: socket.socket(16, socket.SOCK_RAW, 0))`, true},
	"echo requests": {`
import socket
for family, proto in ((socket.AF_INET, 1), (socket.AF_INET6, 58)):
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        refused("icmp", lambda: socket.socket(family, kind, proto))`, true},
	"interfaces beside loopback": {`
names = {line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line}
if names != {"lo"}: print("BROKEN", names)
if open("/proc/net/route").read().count("\n") > 1: print("BROKEN routes")`, true},
	"sockets of the host are seen": {`
if "%SOCK" in open("/proc/net/unix").read(): print("BROKEN a socket")
if ":%04X " % %PORT in open("/proc/net/tcp").read(): print("BROKEN a port")`, true},
	"names are asked for": {`
import socket
for address in (("127.0.0.53", 53), ("127.0.0.1", 53), ("8.8.8.8", 53)):
    def ask():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.5)
        s.connect(address); s.send(b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01"); s.recv(512)
    refused(address, ask)
if os.path.exists("/etc/resolv.conf"): print("BROKEN resolv.conf")`, true},
	"a packet with a forged sender": {`
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
refused("transparent", lambda: s.setsockopt(0, 19, 1))
refused("mark", lambda: s.setsockopt(socket.SOL_SOCKET, 36, 1))
refused("device", lambda: s.setsockopt(socket.SOL_SOCKET, 25, b"eth0"))
refused("send buffer", lambda: s.setsockopt(socket.SOL_SOCKET, 32, 1 << 30))`, true},
	"a program without a file": {`
fd = call(N["memfd_create"], b"x", 0)[0]
if fd >= 0:
    os.write(fd, open("/bin/cat", "rb").read())
    r, w = os.pipe()
    if os.fork() == 0:
        os.dup2(w, 1); os.execv(f"/proc/self/fd/{fd}", ["cat", "/proc/self/status"])
    os.close(w)
    told = open(r).read()
    for want in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"):
        if want not in told: print("BROKEN", want)`, true},
	"rights on a file": {`
open("f", "w").close()
rights = bytes.fromhex("0100000200400000000000000000000000000000")
refused("setcap", lambda: os.setxattr("f", "security.capability", rights))
refused("trusted", lambda: os.setxattr("f", "trusted.x", b"1"))
for uid in (0, 1, 65534, 700000001):
    refused("chown", lambda: os.chown("f", uid, -1))
    refused("chgrp", lambda: os.chown("f", -1, uid))`, true},
	"rights on itself": {`
PR_SET_SECUREBITS, PR_SET_MM, PR_CAP_AMBIENT = 28, 35, 47
for name, args in (("securebits", (PR_SET_SECUREBITS, 1)), ("mm", (PR_SET_MM, 6, 0)), ("ambient", (PR_CAP_AMBIENT, 2, 21, 0, 0))):
    ctypes.set_errno(0)
    if libc.prctl(*[ctypes.c_ulong(a) for a in args]) == 0: print("BROKEN", name)
for capability in range(41):
    if libc.prctl(23, ctypes.c_ulong(capability)) != 0: print("BROKEN bounding set", capability)
if libc.prctl(38, ctypes.c_ulong(0), 0, 0, 0) == 0: print("BROKEN new privileges")`, true},
	"time of the machine": {`
spot = (ctypes.c_long * 32)()
denied("clock_settime", N["clock_settime"], 0, ctypes.byref(spot))
denied("settimeofday", N["settimeofday"], ctypes.byref(spot), 0)
spot[0] = 1 # an offset
for n, args in (("adjtimex", ()), ("clock_adjtime", (0,))): denied(n, N[n], *args, ctypes.byref(spot))`, false},
	"the end of the machine": {`
denied("reboot", N["reboot"], 0xfee1dead, 672274793, 0x89ABCDEF, 0)
denied("kexec_load", N["kexec_load"], 0, 0, 0, 0)
denied("swapon", N["swapon"], b"big", 0)
denied("swapoff", N["swapoff"], b"/dev/vda2")
denied("acct", N["acct"], b"f")`, false},
	"a place before others": {`
priority = ctypes.c_int(50)
for policy in (1, 2): denied("realtime", N["sched_setscheduler"], 0, policy, ctypes.byref(priority))
denied("ioprio", N["ioprio_set"], 1, 0, (1 << 13) | 0)
refused("nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -1))
refused("init", lambda: os.setpriority(os.PRIO_PROCESS, 1, -20))`, true},
	"old doors of the processor": {`
for n in ("modify_ldt", "iopl", "ioperm"):
    if n in N: denied(n, N[n], 0, 16, 1)
denied("personality", N["personality"], 0x0040000)
denied("vhangup", N["vhangup"]) if os.getppid() == 1 else None`, true},
	"a terminal is typed into": {`
import fcntl
for fd in (0, 1, 2):
    for request in (0x5412, 0x541C, 0x5414, 0x5432): # TIOCSTI, TIOCLINUX, TIOCSWINSZ, TCGETX
        refused("ioctl", lambda: fcntl.ioctl(fd, request, b"\x02" + b"x" * 15))
refused("/dev/tty", lambda: os.open("/dev/tty", os.O_RDWR))
refused("/dev/ptmx", lambda: os.open("/dev/ptmx", os.O_RDWR))`, false},
	"devices in the home": {`
for name, mode, number in (("mem", 0o20666, 0x101), ("null", 0o20666, 0x103), ("disk", 0o60666, 0xfe00), ("tun", 0o20666, 0xac8)):
    denied(name, N["mknodat"], -100, name.encode(), mode, number)`, true},
	"a file of a terabyte": {`
import resource
open("sparse", "w").close()
refused("truncate", lambda: os.truncate("sparse", 1 << 40))
refused("seek", lambda: os.pwrite(os.open("sparse", os.O_WRONLY), b"x", 1 << 40))
if os.stat("sparse").st_size > 16 << 20: print("BROKEN", os.stat("sparse").st_size)
os.remove("sparse")`, true},
	"addresses without number": {`
import mmap
refused("mapping", lambda: mmap.mmap(-1, 1 << 34, flags=mmap.MAP_PRIVATE | 0x4000))`, true},
	"pipes without bottom": {`
import fcntl
r, w = os.pipe()
refused("pipe size", lambda: fcntl.fcntl(w, 1031, 64 << 20))`, false},
	"children that nobody buries": {`
dead = 0
try:
    for _ in range(300):
        if os.fork() == 0: os._exit(0)
        dead += 1
except OSError as e:
    if e.errno != errno.EAGAIN: print("BROKEN", e)
if dead > 40: print("BROKEN", dead)`, true},
	"orphans": {`
import time
made = 0
for _ in range(100):
    try: child = os.fork()
    except OSError: continue
    if child == 0:
        try:
            for _ in range(5):
                if os.fork() == 0: time.sleep(30); os._exit(0)
        except OSError: pass
        os._exit(0)
    os.waitpid(child, 0)
alive = [p for p in os.listdir("/proc") if p.isdigit()]
if len(alive) > 34: print("BROKEN", len(alive))`, false},
	"everybody is killed": {`
import signal
child = os.fork()
if child == 0:
    os.setsid()
    os.kill(-1, signal.SIGKILL)
    os._exit(0)
os.waitpid(child, 0)
print("BROKEN and lived")`, false},
	"the environment": {`
known = {"HOME", "USER", "PATH", "LANG", "TZ", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "PYTHONSAFEPATH", "PYTHONNOUSERSITE", "MPLBACKEND", "MPLCONFIGDIR", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "LC_CTYPE"}
if set(os.environ) - known: print("BROKEN", set(os.environ) - known)`, true},
	"the program of the server": {`
import glob
for p in glob.glob("/proc/[0-9]*/exe"):
    try: to = os.readlink(p)
    except OSError: continue
    if "python" not in to: print("BROKEN", to)
refused("/proc/1/exe", lambda: os.open("/proc/1/exe", os.O_RDONLY))
refused("/proc/1/mem", lambda: os.open("/proc/1/mem", os.O_RDWR))
for fd in range(12): refused("/proc/1/fd", lambda: os.open(f"/proc/1/fd/{fd}", os.O_RDONLY))`, true},
}

func TestEscapesAreHeld(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
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

// TestAnEscapeWouldBeSeen tries outside what does no harm there. What holds
// nowhere but in the sandbox must be told, or the attack proves nothing.
func TestAnEscapeWouldBeSeen(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // much of it is held for an ordinary user by the kernel itself
	}
	for name, e := range escapes {
		if !e.harmless {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside(t, prelude+calls()+moreCalls()+surroundings(t).Replace(e.code))
		})
	}
}

// outside runs an attack where nothing holds it.
func outside(t *testing.T, code string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", "-c", code)
	cmd.Dir = t.TempDir()
	out, _ := cmd.CombinedOutput() // many end in an exception there
	if !strings.Contains(string(out), "BROKEN") {
		t.Errorf("held outside as well:\n%s", out)
	}
}

// surroundings are what the attacks look for: a socket, a port, and the
// namespaces of this process.
func surroundings(t *testing.T) *strings.Replacer {
	t.Helper()
	abstract := fmt.Sprintf("innerloop-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	socket, err := net.Listen("unix", "@"+abstract)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	var spaces []string
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		to, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		spaces = append(spaces, kind+"="+to)
	}
	return strings.NewReplacer("%SOCK", abstract, "%PORT", port, "%NS", strings.Join(spaces, " "))
}
