//go:build amd64 || arm64

package cell

import (
	"bytes"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// stage becomes bubblewrap, once the server has put it into its control group
// and told it what to build. As root it opens what is mounted first, since the
// user it becomes may not go there.
func stage() int {
	runtime.LockOSThread()
	var c Config
	err := closeOthers()
	if err == nil {
		err = readConfig(&c)
	}
	if err == nil {
		err = wrap(&c)
	}
	status := Status{Failed: "start bwrap", Cause: "it returned"}
	if s, ok := err.(*stepError); ok { //nolint:errorlint // made here
		status.Failed, status.Cause = s.step, s.cause.Error()
	}
	_ = json.NewEncoder(os.NewFile(FDStatus, "status")).Encode(status)
	return failure
}

func wrap(c *Config) error {
	b := c.Bubble
	if b == nil {
		return step("read the configuration", syscall.EINVAL)
	}
	sources, program, err := b.sources(c.Mounts)
	if err != nil {
		return err
	}
	args, err := bubbleArgs(c, sources, program, inMemory)
	if err != nil {
		return step("describe the mounts", err)
	}
	c.Mounts, c.Bubble = nil, nil
	rest, err := json.Marshal(c)
	if err != nil {
		return step("pass the configuration on", err)
	}
	for fd, what := range map[int][]byte{FDConfig: rest, fdArgs: []byte(strings.Join(args, "\x00") + "\x00")} {
		held, err := inMemory(what)
		if err == nil {
			err = syscall.Dup3(held, fd, 0)
		}
		if err != nil {
			return step("pass the configuration on", err)
		}
	}
	for fd := FDStatus; fd <= FDAnswer; fd++ {
		if _, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, 0); e != 0 {
			return step("pass the configuration on", e)
		}
	}
	if os.Geteuid() == 0 {
		if err := become(b.UID); err != nil {
			return step("become the user of the home", err)
		}
	}
	return step("start bwrap", syscall.Exec(b.Path, []string{"bwrap", "--args", strconv.Itoa(fdArgs), NameInner}, []string{}))
}

// fdArgs is where bubblewrap reads its arguments, which nobody else shall.
const fdArgs = 9

func become(uid int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(uid, uid, uid); err != nil {
		return err
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return err
	}
	// It went with the old user.
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0); e != 0 {
		return e
	}
	return nil
}

// sources tells where each mount can be found by the user that bubblewrap runs
// as, and the server's own program; "" for what is not there.
func (b *Bubble) sources(mounts []Mount) ([]string, string, error) {
	out := make([]string, len(mounts))
	if os.Geteuid() != 0 {
		here, err := os.Getwd()
		if err != nil {
			return nil, "", step("stand in the sandbox folder", err)
		}
		for i, m := range mounts {
			if m.Kind != Bind && m.Kind != Optional {
				continue
			}
			out[i] = m.Source
			if !filepath.IsAbs(m.Source) {
				out[i] = filepath.Join(here, m.Source)
			}
			if _, err := os.Lstat(out[i]); err != nil && m.Kind == Optional {
				out[i] = ""
			}
		}
		program, err := os.Readlink("/proc/self/exe")
		return out, program, step("find the program", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return nil, "", step("make mounts private", err)
	}
	// By its path: the link leads into the mounts of the server, not into these.
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, "", step("find the program", err)
	}
	opened := make([]int, len(mounts)+1)
	for i := range opened {
		name, flags := exe, oPath|syscall.O_CLOEXEC
		if i < len(mounts) {
			name, flags = mounts[i].Source, flags|syscall.O_NOFOLLOW
		}
		opened[i] = -1
		if i < len(mounts) && mounts[i].Kind != Bind && mounts[i].Kind != Optional {
			continue
		}
		fd, err := syscall.Open(name, flags, 0)
		if err != nil && (i == len(mounts) || mounts[i].Kind != Optional) {
			return nil, "", step("open what is mounted", err)
		}
		opened[i] = fd
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_NOSUID, "size=1m,nr_inodes=512,mode=755"); err != nil {
		return nil, "", step("mount a stage", err)
	}
	program := root + "/program"
	for i, fd := range opened {
		if fd < 0 {
			continue
		}
		target := program
		if i < len(mounts) {
			target = root + "/" + strconv.Itoa(i)
			out[i] = target
		}
		if err := bind(target, fd, false); err != nil {
			return nil, "", step("mount a stage", err)
		}
	}
	return out, program, nil
}

// bubbleArgs are bubblewrap's arguments for a configuration. hold keeps bytes
// under a descriptor that it inherits.
func bubbleArgs(c *Config, sources []string, program string, hold func([]byte) (int, error)) ([]string, error) {
	args := []string{
		"--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--clearenv",
		"--uid", "1000", "--gid", "1000", "--hostname", c.Hostname,
	}
	for i, m := range c.Mounts {
		switch m.Kind {
		case Bind, Optional:
			how := "--bind"
			if m.ReadOnly {
				how = "--ro-bind"
			}
			if strings.HasPrefix(m.Target, "/dev/") {
				how = "--dev-bind"
			}
			if sources[i] != "" {
				args = append(args, how, sources[i], m.Target)
			}
		case Tmpfs:
			size, _, _ := strings.Cut(strings.TrimPrefix(m.Data, "size="), ",")
			args = append(args, "--perms", "1777", "--size", size, "--tmpfs", m.Target)
		case Proc:
			args = append(args, "--proc", m.Target)
		case Link:
			args = append(args, "--symlink", m.Data, m.Target)
		case Seal:
			args = append(args, "--ro-bind-try", m.Target, m.Target)
		case Text:
			fd, err := hold([]byte(m.Data))
			if err != nil {
				return nil, err
			}
			args = append(args, "--perms", "0644", "--ro-bind-data", strconv.Itoa(fd), m.Target)
		}
	}
	return append(args, "--ro-bind", program, NameInner, "--remount-ro", "/", "--chdir", c.Dir), nil
}

// inMemory makes a file without a name that holds bytes, to be inherited. Its
// descriptor is none of those that have a meaning.
func inMemory(what []byte) (int, error) {
	name := []byte("cell\x00")
	made, _, e := syscall.RawSyscall(sysMemfdCreate, uintptr(unsafe.Pointer(&name[0])), 1, 0)
	if e != 0 {
		return -1, e
	}
	f := os.NewFile(made, "cell")
	defer func() { _ = f.Close() }()
	if _, err := bytes.NewReader(what).WriteTo(f); err != nil {
		return -1, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		return -1, err
	}
	fd, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_DUPFD, fdArgs+1)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}

// inner is what bubblewrap starts: it starts the program and waits for its end.
func inner() int {
	runtime.LockOSThread()
	signal.Notify(make(chan os.Signal, 1))
	var c Config
	var status Status
	err := closeOthers()
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); e != 0 && err == nil {
		err = step("hide the first process", e)
	}
	if err == nil {
		err = readConfig(&c)
	}
	if err == nil {
		go watchLife()
		if c.Forward != "" {
			err = step("listen for the proxy", forward(c.Forward))
		}
	}
	if err == nil {
		err = run(&c, &status)
	}
	return report(status, err)
}
