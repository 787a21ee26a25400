package program

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startLimit = 60 * time.Second
	stopLimit  = 25 * time.Second // the program promises to drain in 20
)

var listening = regexp.MustCompile(`listening on (http://[^\s"]+)`)

// Build compiles the program into dir and returns its path. The module's root
// is found from the go command's own answer, so any folder may call it. tags
// are build tags, for a program that only a test may have.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	binary := filepath.Join(dir, "innerloop")
	build := exec.CommandContext(ctx, "go", "build", "-tags", strings.Join(tags, ","), "-o", binary, "./cmd/innerloop")
	build.Dir = filepath.Dir(string(bytes.TrimSpace(mod)))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return binary, nil
}

// Options say what to run. Binary and DataDir are required.
type Options struct {
	Binary      string
	DataDir     string
	DatabaseURL string   // empty: the embedded store in DataDir
	Env         []string // NAME=value, after and above the defaults
}

// env is the whole environment of the program: settings of the caller's own
// shell must not change a story.
func (o Options) env() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + o.DataDir, "XDG_STATE_HOME=" + filepath.Join(o.DataDir, "state"),
		"INNERLOOP_DATA_DIR=" + o.DataDir, "INNERLOOP_LISTEN=127.0.0.1:0", "INNERLOOP_LIMITS=off",
	}
	if o.DatabaseURL != "" {
		// PostgreSQL refuses to start on a generated key; any 32 bytes do here.
		env = append(env, "INNERLOOP_DATABASE_URL="+o.DatabaseURL, "INNERLOOP_MASTER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	}
	return append(env, o.Env...)
}

// Run runs one command of the program to its end and returns what it printed
// on standard output. The error holds what it printed on standard error.
func Run(ctx context.Context, o Options, args ...string) (string, error) {
	command := exec.CommandContext(ctx, o.Binary, args...)
	command.Env = o.env()
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("innerloop %v: %w\n%s", args, err, errs.String())
	}
	return out.String(), nil
}

// A Server is a running program. Its methods are for one caller.
type Server struct {
	URL     string // http://HOST:PORT, no slash at the end
	command *exec.Cmd
	log     *log
	done    chan error
}

// Start runs `innerloop serve` and returns when it listens.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{command: exec.Command(o.Binary, "serve"), log: newLog(), done: make(chan error, 1)}
	s.command.Env = o.env()
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.command.Stdout, s.command.Stderr = writer, writer
	if err := s.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the program: %w", err), reader.Close(), writer.Close())
	}
	writer.Close()
	read := make(chan struct{})
	go func() { s.log.read(reader); close(read) }()
	go func() { <-read; s.done <- s.command.Wait() }()

	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case s.URL = <-s.log.address:
		return s, nil
	case err := <-s.done:
		return nil, fmt.Errorf("the program ended before it listened: %v\n%s", err, s.Log())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("the program did not listen: %w\n%s", ctx.Err(), s.Log()), s.Kill())
	}
}

// Pid is the process id.
func (s *Server) Pid() int { return s.command.Process.Pid }

// Log is what the program printed so far.
func (s *Server) Log() string { return s.log.String() }

// Stop asks the program to end and fails if it did not end well in time.
func (s *Server) Stop() error {
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("ask the program to end: %w", err)
	}
	select {
	case err := <-s.done:
		if err != nil {
			return fmt.Errorf("the program ended badly: %w\n%s", err, s.Log())
		}
		return nil
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("the program did not end\n%s", s.Log()), s.Kill())
	}
}

// Kill ends the program at once, as a crash would.
func (s *Server) Kill() error {
	if err := s.command.Process.Kill(); err != nil {
		return fmt.Errorf("kill the program: %w", err)
	}
	<-s.done
	return nil
}

// A log keeps lines and hands out the address once.
type log struct {
	mu      sync.Mutex
	text    bytes.Buffer
	address chan string
}

func newLog() *log { return &log{address: make(chan string, 1)} }

func (l *log) read(from io.ReadCloser) {
	defer from.Close()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		l.mu.Lock()
		l.text.WriteString(line)
		l.mu.Unlock()
		if found := listening.FindStringSubmatch(line); found != nil {
			select {
			case l.address <- found[1]:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
