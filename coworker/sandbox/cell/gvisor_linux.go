//go:build amd64 || arm64

package cell

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
)

// keep starts gVisor in the file tree that was built, hands it the program's
// configuration and code, and carries on what comes back. What it reads comes
// from the guest, which the program may have taken over: it is bounded, and
// says nothing of anybody else.
func keep(c *Config, status *Status) error {
	g := c.Gvisor
	if err := os.MkdirAll(bundle, 0o700); err != nil {
		return step("write gVisor's bundle", err)
	}
	spec, err := json.Marshal(Spec(c))
	if err == nil {
		err = os.WriteFile(bundle+"/config.json", spec, 0o600)
	}
	if err != nil {
		return step("write gVisor's bundle", err)
	}
	inside := *c
	inside.Mounts, inside.Gvisor = nil, nil
	first, err := json.Marshal(&inside)
	if err != nil {
		return step("pass the configuration on", err)
	}
	in, to, err := os.Pipe()
	if err != nil {
		return step("start runsc", err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		return step("start runsc", err)
	}
	says, complaints, err := os.Pipe()
	if err != nil {
		return step("start runsc", err)
	}
	runsc, err := os.StartProcess(g.Path, append(append([]string{"runsc"}, g.Flags...), "run", "-bundle", bundle, "cell"), &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + bundle}, Files: []*os.File{in, out, complaints},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	for _, f := range []*os.File{in, out, complaints} {
		_ = f.Close()
	}
	if err != nil {
		return step("start runsc", err)
	}
	go func() {
		defer to.Close()
		if frame(to, frameConfig, first) != nil {
			return
		}
		_, _ = io.Copy(to, os.NewFile(FDControl, "control"))
	}()
	heard := make(chan string)
	go func() {
		begin, _ := io.ReadAll(io.LimitReader(says, 2<<10))
		_, _ = io.Copy(io.Discard, says)
		heard <- strings.TrimSpace(string(begin))
	}()
	began, told := carryOn(from, status)
	_, _ = io.Copy(io.Discard, from) // after a frame that was none
	end, err := runsc.Wait()
	switch complaint := <-heard; {
	case err != nil:
		return step("wait for runsc", err)
	case told:
		return nil
	case !began:
		return step("start runsc", errors.New(end.String()+": "+complaint))
	}
	status.Signal = int(syscall.SIGKILL) // gVisor is gone, and the program with it
	return nil
}

// carryOn carries the guest's frames to where they belong, and tells whether
// the guest came to life and whether it told its end.
func carryOn(from io.Reader, status *Status) (began, told bool) {
	body := make([]byte, frameMost)
	for {
		kind, n, err := nextFrame(from, body)
		if err != nil {
			return began, told
		}
		began = true
		switch kind {
		case frameOut:
			writeAll(1, body[:n])
		case frameErr:
			writeAll(2, body[:n])
		case frameAnswer:
			writeAll(FDAnswer, body[:n])
		case frameStatus:
			told = json.Unmarshal(body[:n], status) == nil
		}
	}
}

// writeAll writes to a descriptor. Whoever does not read any more has ended.
func writeAll(fd int, what []byte) {
	for len(what) > 0 {
		n, err := syscall.Write(fd, what)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return
		}
		what = what[n:]
	}
}

// A frame is a byte for its kind, four for its length, and its bytes.
const (
	frameConfig = 'c'
	frameOut    = 'o'
	frameErr    = 'e'
	frameAnswer = 'a'
	frameStatus = 's'
	frameAlive  = 'b'

	frameMost = 64 << 10
)

func frame(to io.Writer, kind byte, body []byte) error {
	if len(body) > frameLongest {
		return syscall.EMSGSIZE
	}
	whole := make([]byte, 5, 5+len(body))
	whole[0] = kind
	binary.BigEndian.PutUint32(whole[1:], uint32(len(body)))
	_, err := to.Write(append(whole, body...))
	return err
}

// frameLongest is a configuration: filter, environment and arguments.
const frameLongest = 4 << 20

// nextFrame reads a frame into a buffer, which a longer one ends.
func nextFrame(from io.Reader, into []byte) (kind byte, n int, err error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, 0, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if uint64(size) > uint64(len(into)) {
		return 0, 0, syscall.EMSGSIZE
	}
	_, err = io.ReadFull(from, into[:size])
	return head[0], int(size), err
}

// bundle is on the scratch space of the cell, which that of the guest covers.
const bundle = "/tmp/bundle"

// A Bundle is what gVisor is told, an OCI runtime configuration.
type Bundle struct {
	Version  string        `json:"ociVersion"`
	Process  BundleProcess `json:"process"`
	Root     BundleRoot    `json:"root"`
	Hostname string        `json:"hostname"`
	Mounts   []BundleMount `json:"mounts"`
	Linux    BundleLinux   `json:"linux"`
}

// A BundleProcess is the guest's first process.
type BundleProcess struct {
	User         map[string]int      `json:"user"`
	Args         []string            `json:"args"`
	Env          []string            `json:"env"`
	Dir          string              `json:"cwd"`
	Capabilities map[string][]string `json:"capabilities"`
	NoPrivileges bool                `json:"noNewPrivileges"`
}

// A BundleRoot is the guest's file tree.
type BundleRoot struct {
	Path     string `json:"path"`
	ReadOnly bool   `json:"readonly"`
}

// A BundleMount is one thing that the guest has of its own, or may write.
type BundleMount struct {
	Target  string   `json:"destination"`
	Type    string   `json:"type"`
	Source  string   `json:"source"`
	Options []string `json:"options,omitempty"`
}

// A BundleLinux names the namespaces.
type BundleLinux struct {
	Namespaces []map[string]string `json:"namespaces"`
}

// guestID is a user whom the program is not, so that gVisor keeps the two apart.
const guestID = 1

// Spec is gVisor's configuration for a cell that has been built: its root is the
// cell's, read-only; what may be written is the home, and scratch space of the
// guest's own kernel.
func Spec(c *Config) Bundle {
	s := Bundle{
		Version: "1.0.0", Hostname: c.Hostname, Root: BundleRoot{Path: "/", ReadOnly: true},
		Process: BundleProcess{
			User: map[string]int{"uid": guestID, "gid": guestID}, Args: []string{NameGuest}, Env: []string{}, Dir: "/",
			Capabilities: map[string][]string{}, NoPrivileges: true,
		},
	}
	for _, kind := range []string{"pid", "network", "ipc", "uts", "mount"} {
		s.Linux.Namespaces = append(s.Linux.Namespaces, map[string]string{"type": kind})
	}
	add := func(target, kind, source string, options ...string) {
		s.Mounts = append(s.Mounts, BundleMount{target, kind, source, append(options, "nosuid", "nodev")})
	}
	for _, m := range c.Mounts {
		switch {
		case m.Kind == Proc:
			add(m.Target, "proc", "proc", "noexec")
		case m.Kind == Tmpfs:
			size, _, _ := strings.Cut(m.Data, ",")
			add(m.Target, "tmpfs", "tmpfs", size, "mode=1777")
		case m.Kind == Bind && !m.ReadOnly && m.Target == c.Dir:
			add(m.Target, "bind", m.Target, "rw")
		}
	}
	// To become the program's user in a namespace where that one is mapped, to enter
	// its home for it, and to end what it left.
	for _, set := range []string{"bounding", "effective", "inheritable", "permitted", "ambient"} {
		s.Process.Capabilities[set] = []string{"CAP_DAC_OVERRIDE", "CAP_KILL", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETUID"}
	}
	return s
}
