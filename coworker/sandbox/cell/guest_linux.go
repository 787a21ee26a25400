//go:build amd64 || arm64

package cell

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
)

// guest is the first process that gVisor's kernel starts. Three descriptors are
// all that every version of gVisor lets through, so what it is told and what it
// tells goes in frames over two of them.
func guest() int {
	runtime.LockOSThread()
	signal.Notify(make(chan os.Signal, 1))
	in, out, err := guestEnds()
	if err != nil {
		return failure
	}
	tell := &teller{to: out}
	tell.frame(frameAlive, nil)
	var status Status
	if err := tell.host(in, &status); err != nil {
		status.Failed, status.Cause = "start", err.Error()
		if s, ok := err.(*stepError); ok { //nolint:errorlint // made here
			status.Failed, status.Cause = s.step, s.cause.Error()
		}
	}
	body, err := json.Marshal(status)
	if err != nil {
		return failure
	}
	tell.frame(frameStatus, body)
	return 0
}

// guestEnds moves the descriptors to the host out of the program's way, and
// takes the places of all that have a meaning, so that no other comes to lie
// there.
func guestEnds() (in, out *os.File, err error) {
	var moved [2]int
	for i := range moved {
		fd, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(i), syscall.F_DUPFD_CLOEXEC, guestLow)
		if e != 0 {
			return nil, nil, e
		}
		moved[i] = int(fd)
	}
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	for fd := range guestLow {
		if fd == null {
			continue
		}
		if err := syscall.Dup3(null, fd, syscall.O_CLOEXEC); err != nil {
			return nil, nil, err
		}
	}
	return os.NewFile(uintptr(moved[0]), "in"), os.NewFile(uintptr(moved[1]), "out"), nil
}

// guestLow is above every descriptor that has a meaning.
const guestLow = 16

// A teller writes frames, one at a time.
type teller struct {
	mu sync.Mutex
	to io.Writer
}

func (t *teller) frame(kind byte, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = frame(t.to, kind, body) // when the host is gone, so are we
}

// host reads what to do, runs the program and tells all that it says.
func (t *teller) host(in io.Reader, status *Status) error {
	// It stays dumpable: what is not belongs to user 0 here, whom the program is.
	var c Config
	body := make([]byte, frameLongest)
	_, n, err := nextFrame(in, body)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(body[:n])).Decode(&c)
	}
	if err != nil {
		return step("read the configuration", err)
	}
	if err := os.Chdir(c.Dir); err != nil {
		return step("enter the working directory", err)
	}
	if c.Forward != "" {
		if err := forward(c.Forward); err != nil {
			return step("listen for the proxy", err)
		}
	}
	code, feed, err := os.Pipe()
	if err != nil {
		return step("make pipes", err)
	}
	places := map[int]*os.File{FDControl: code}
	var heard sync.WaitGroup
	for fd, kind := range map[int]byte{1: frameOut, 2: frameErr, FDAnswer: frameAnswer} {
		from, to, err := os.Pipe()
		if err != nil {
			return step("make pipes", err)
		}
		places[fd] = to
		heard.Add(1)
		go func() {
			defer heard.Done()
			t.stream(kind, from)
		}()
	}
	for fd, f := range places {
		// Blocking, as programs expect it; and the program's alone.
		if err := syscall.Dup3(int(f.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			return step("hand over the descriptors", err)
		}
		_ = f.Close()
	}
	for fd := range 3 {
		if _, _, e := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, 0); e != 0 {
			return step("hand over the descriptors", e)
		}
	}
	go func() {
		_, _ = io.Copy(feed, in)
		_ = feed.Close()
	}()
	err = run(&c, status)
	// Whoever is left holds the streams open. In gVisor one that is being born can
	// miss the signal; it is there when its parent has been buried.
	for {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		if _, gone := syscall.Wait4(-1, nil, 0, nil); gone != nil && gone != syscall.EINTR {
			break
		}
	}
	if err == nil {
		heard.Wait()
	}
	return err
}

// stream tells what comes out of a pipe.
func (t *teller) stream(kind byte, from *os.File) {
	body := make([]byte, frameMost)
	for {
		n, err := from.Read(body)
		if n > 0 {
			t.frame(kind, body[:n])
		}
		if err != nil {
			return
		}
	}
}
