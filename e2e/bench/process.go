package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a server that this program started.
type process struct {
	cmd    *exec.Cmd
	origin string // http://HOST:PORT
	done   chan error
}

var listening = regexp.MustCompile(`listening on (http://[0-9.:\[\]a-f]+)`)

// start runs a server and waits for the line that names its address.
func start(ctx context.Context, env []string, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	logs, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = io.Discard
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(logs)
		var last string
		for lines.Scan() {
			last = lines.Text()
			if m := listening.FindStringSubmatch(last); m != nil {
				select {
				case found <- m[1]:
				default:
				}
			}
		}
		if err := p.cmd.Wait(); err != nil {
			p.done <- fmt.Errorf("%w: %s", err, last)
		} else {
			p.done <- nil
		}
	}()
	select {
	case p.origin = <-found:
		return p, nil
	case err := <-p.done:
		return nil, fmt.Errorf("%s ended before it listened: %w", name, err)
	case <-ctx.Done():
	case <-time.After(time.Minute):
	}
	_ = p.cmd.Process.Kill()
	return nil, errors.New("the server did not come up")
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := <-p.done
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM {
		return nil // it ended by the signal itself, as a bare server does
	}
	return err
}

// cpu is the processor time that the process has used, to the nanosecond: the
// ticks of its stat are too coarse for a few dozen pages. Threads that ended are
// not in it; a Go server keeps its own.
func (p *process) cpu() (time.Duration, error) {
	files, err := filepath.Glob("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/task/*/schedstat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		ran, _, _ := strings.Cut(string(raw), " ")
		n, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += time.Duration(n)
	}
	if sum == 0 {
		return 0, errors.New("this kernel does not tell the processor time of threads (schedstat)")
	}
	return sum, nil
}

// rss is the resident memory of the process in MiB.
func (p *process) rss() (float64, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/statm")
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(raw))[1], 64)
	return pages * float64(os.Getpagesize()) / (1 << 20), err
}

func threadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
