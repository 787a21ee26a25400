//go:build amd64 || arm64

package cell

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"path"
	"runtime"
	"strconv"
	"syscall"
)

func init() {
	if len(os.Args) != 1 {
		return
	}
	switch os.Args[0] {
	case NameInit:
		os.Exit(first())
	case NameStage:
		os.Exit(stage())
	case NameInner:
		os.Exit(inner())
	case NameGuest:
		os.Exit(guest())
	}
}

// failure ends a start; 97 is seen by nobody but a reader of process lists.
const failure = 97

// A stepError names the step that failed, in words for the operator.
type stepError struct {
	step  string
	cause error
}

func (e *stepError) Error() string { return e.step + ": " + e.cause.Error() }

func step(name string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{name, err}
}

// first is PID 1: it builds the file tree, starts the program, and reaps until
// the program has ended. The kernel ends everything else with it.
func first() int {
	// Namespaces are left by threads, not by processes.
	runtime.LockOSThread()
	// The program may send any signal here; none means anything.
	signal.Notify(make(chan os.Signal, 1))
	var c Config
	var status Status
	err := closeOthers()
	if err == nil {
		err = readConfig(&c)
	}
	if err == nil {
		go watchLife()
		// Now that the server has put this process into its control group,
		// that group is made the top of what can be seen.
		err = step("hide the control group", syscall.Unshare(cloneNewCgroup))
	}
	if err == nil {
		err = build(&c)
	}
	switch {
	case err != nil:
	case c.Gvisor != nil:
		err = keep(&c, &status)
	default:
		err = run(&c, &status)
	}
	return report(status, err)
}

// report tells the server how it went.
func report(status Status, err error) int {
	if err != nil {
		status.Failed, status.Cause = "start", err.Error()
		if s, ok := err.(*stepError); ok { //nolint:errorlint // made here
			status.Failed, status.Cause = s.step, s.cause.Error()
		}
	}
	out := os.NewFile(FDStatus, "status")
	if json.NewEncoder(out).Encode(status) != nil || err != nil {
		return failure
	}
	return 0
}

// closeOthers sees to it that nothing the server had open goes further.
func closeOthers() error {
	_, _, e := syscall.RawSyscall(sysCloseRange, FDStatus, uintptr(^uint32(0)), closeRangeCloexec)
	if e != 0 {
		return step("close what was inherited", e)
	}
	return nil
}

func readConfig(into any) error {
	in := os.NewFile(FDConfig, "config")
	defer in.Close()
	raw, err := io.ReadAll(in)
	if err != nil {
		return step("read the configuration", err)
	}
	return step("read the configuration", json.Unmarshal(raw, into))
}

// watchLife ends the cell when the server is gone, however it went: the write
// end of the pipe is the server's alone. Until then a byte from it stops or
// continues everything in the cell but this process.
func watchLife() {
	var b [1]byte
	for {
		n, err := syscall.Read(FDLife, b[:])
		switch {
		case err == syscall.EINTR:
		case err == nil && n == 1 && b[0] == LifeStop:
			_ = syscall.Kill(-1, syscall.SIGSTOP) // fails when there is nothing else
		case err == nil && n == 1 && b[0] == LifeContinue:
			_ = syscall.Kill(-1, syscall.SIGCONT)
		default:
			os.Exit(failure)
		}
	}
}

const (
	root = "/tmp" // exists everywhere; the new root covers it

	// On every architecture.
	sysMountSetattr = 442
	sysCloseRange   = 436

	closeRangeCloexec = 4
	cloneNewCgroup    = 0x02000000
	atRecursive       = 0x8000
	attrReadOnly      = 1
	attrNoSuid        = 2
	attrNoDev         = 4
	attrNoExec        = 8

	prSetDumpable = 4
	oPath         = 0x200000
)

func build(c *Config) error {
	// Nothing inside may read the memory or the descriptors of this process.
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); e != 0 {
		return step("hide the first process", e)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return step("make mounts private", err)
	}
	// Opened before the new root covers what they name.
	sources := make([]int, len(c.Mounts))
	for i, m := range c.Mounts {
		sources[i] = -1
		if m.Kind != Bind && m.Kind != Optional {
			continue
		}
		fd, err := syscall.Open(m.Source, oPath|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
		if err != nil {
			if m.Kind == Optional {
				continue
			}
			return step("open what is mounted at "+m.Target, err)
		}
		sources[i] = fd
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=1m,nr_inodes=512,mode=755"); err != nil {
		return step("mount a new root", err)
	}
	for i, m := range c.Mounts {
		if err := place(m, sources[i]); err != nil {
			return step("mount "+m.Target, err)
		}
	}
	return enter(c)
}

func place(m Mount, source int) error {
	target := root + m.Target
	if m.Kind == Seal {
		err := syscall.Mount(target, target, "", syscall.MS_BIND, "")
		if err == syscall.ENOENT {
			return nil
		}
		if err != nil {
			return err
		}
		return restrict(target, attrReadOnly|attrNoSuid|attrNoDev|attrNoExec, 0)
	}
	if m.Kind != Optional || source >= 0 {
		if err := os.MkdirAll(path.Dir(target), 0o755); err != nil {
			return err
		}
	}
	switch m.Kind {
	case Link:
		return os.Symlink(m.Data, target)
	case Text:
		return os.WriteFile(target, []byte(m.Data), 0o644)
	case Tmpfs:
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		return syscall.Mount("tmpfs", target, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, m.Data)
	case Proc:
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		return syscall.Mount("proc", target, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, m.Data)
	}
	if source < 0 {
		return nil
	}
	return bind(target, source, m.ReadOnly)
}

func bind(target string, source int, readOnly bool) error {
	from := "/proc/self/fd/" + strconv.Itoa(source)
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else {
		err = os.WriteFile(target, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := syscall.Mount(from, target, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return err
	}
	attributes := uint64(attrNoSuid | attrNoDev)
	if info.Mode()&os.ModeDevice != 0 {
		attributes = attrNoSuid // a device is bound to be used
	}
	if readOnly {
		attributes |= attrReadOnly
	}
	return restrict(target, attributes, atRecursive)
}

// enter makes the new root the only one.
func enter(c *Config) error {
	if err := os.Chdir(root); err != nil {
		return step("enter the new root", err)
	}
	if err := syscall.PivotRoot(".", "."); err != nil {
		return step("enter the new root", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return step("leave the old root", err)
	}
	if err := os.Chdir("/"); err != nil {
		return step("enter the new root", err)
	}
	if err := restrict("/", attrReadOnly, 0); err != nil {
		return step("make the root read-only", err)
	}
	if err := syscall.Sethostname([]byte(c.Hostname)); err != nil {
		return step("name the host", err)
	}
	if err := loopbackUp(); err != nil {
		return step("bring the loopback interface up", err)
	}
	if c.Forward != "" {
		if err := forward(c.Forward); err != nil {
			return step("listen for the proxy", err)
		}
	}
	return step("enter the working directory", os.Chdir(c.Dir))
}

// run starts the program in a user namespace of its own, where it is an
// ordinary user over whom this process stands, and waits for its end.
func run(c *Config, status *Status) error {
	// Ends without a word when the program takes over.
	word, says, err := os.Pipe()
	if err != nil {
		return step("start the program", err)
	}
	b, err := newBirth(&c.Limit, int(says.Fd()))
	if err != nil {
		return err
	}
	pid, e := b.fork()
	if e != 0 {
		return step("start the program in a namespace of its own", e)
	}
	// The program's alone from here on: its end must be seen.
	for _, fd := range []int{0, 1, 2, FDControl, FDAnswer} {
		_ = syscall.Close(fd)
	}
	_ = says.Close()
	if failed, err := io.ReadAll(word); err != nil || len(failed) > 0 {
		return step(told(failed), errors.New("refused by the kernel"))
	}
	for {
		var ws syscall.WaitStatus
		var use syscall.Rusage
		done, err := syscall.Wait4(-1, &ws, 0, &use)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return step("wait for the program", err)
		case done != pid:
			continue
		}
		status.Exited, status.Code = ws.Exited(), ws.ExitStatus()
		if ws.Signaled() {
			status.Code, status.Signal = 0, int(ws.Signal())
		}
		status.CPUMillis = (use.Utime.Nano() + use.Stime.Nano()) / 1e6
		status.MaxRSSBytes = use.Maxrss << 10
		return nil
	}
}

func told(failed []byte) string {
	if len(failed) == 1 && int(failed[0]) < len(births) {
		return births[failed[0]]
	}
	return "put the limits on"
}
