// Command dev is `make dev`: it builds the program, fills a throw-away journal
// with demo entries, serves it, and builds and restarts when a source changes.
// The address stays the same over restarts; the journal goes when dev ends.
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
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	pollEvery = 500 * time.Millisecond
	stopLimit = 25 * time.Second
)

var (
	listening = regexp.MustCompile(`listening on http://([^\s"]+)`)
	sources   = []string{".go", ".templ", ".sql", ".css", ".js", ".svg", ".md", ".txt", ".json"}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dev:", err)
		os.Exit(1)
	}
}

// A workshop holds what lives as long as dev does.
type workshop struct {
	root, dir, listen string
	server            *exec.Cmd
}

func run(ctx context.Context) error {
	root, err := filepath.Abs("..") // make starts us in tools/
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "innerloop-dev-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := &workshop{root: root, dir: dir, listen: "127.0.0.1:0"}
	defer w.stop()

	if err := w.build(ctx, true); err != nil {
		return err
	}
	if err := w.command(ctx, w.binary(), "seed").Run(); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	if err := w.start(); err != nil {
		return err
	}
	state := snapshot(root)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollEvery):
		}
		now := snapshot(root)
		if now == state {
			continue
		}
		templates := now.templates != state.templates
		if err := w.build(ctx, templates); err != nil {
			fmt.Fprintln(os.Stderr, "dev:", err)
		} else {
			w.stop()
			if err := w.start(); err != nil {
				fmt.Fprintln(os.Stderr, "dev:", err)
			}
		}
		state = snapshot(root) // generated code is no change of its own
	}
}

func (w *workshop) binary() string { return filepath.Join(w.dir, "innerloop") }

// build leaves the running program alone when it fails.
func (w *workshop) build(ctx context.Context, templates bool) error {
	if templates {
		if err := w.command(ctx, "go", "tool", "-modfile=tools/go.mod", "templ", "generate", "-log-level=warn").Run(); err != nil {
			return fmt.Errorf("templ generate: %w", err)
		}
	}
	if err := w.command(ctx, "go", "build", "-o", w.binary(), "./cmd/innerloop").Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

func (w *workshop) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = w.root
	c.Env = append(os.Environ(), "INNERLOOP_DATA_DIR="+filepath.Join(w.dir, "data"),
		"INNERLOOP_LISTEN="+w.listen, "INNERLOOP_LIMITS=off")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c
}

// start serves, passes the log on and learns the address from it.
func (w *workshop) start() error {
	c := w.command(context.Background(), w.binary(), "serve")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-c reaches us alone; we stop it
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	c.Stdout, c.Stderr = write, write
	if err := errors.Join(c.Start(), write.Close()); err != nil {
		return err
	}
	w.server = c
	address := make(chan string, 1)
	go relay(read, address)
	select {
	case w.listen = <-address:
	case <-time.After(stopLimit):
		return errors.New("the program does not listen")
	}
	return nil
}

func relay(from io.ReadCloser, address chan<- string) {
	defer from.Close()
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		fmt.Println(lines.Text())
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			select {
			case address <- found[1]:
			default:
			}
		}
	}
}

// stop ends the program we started, gently first.
func (w *workshop) stop() {
	if w.server == nil {
		return
	}
	c := w.server
	w.server = nil
	hard := time.AfterFunc(stopLimit, func() { c.Process.Kill() })
	defer hard.Stop()
	c.Process.Signal(syscall.SIGTERM)
	c.Wait()
}

// A stamp changes when a source is added, removed or written.
type stamp struct {
	files, templates int
	newest           time.Time
}

func snapshot(root string) stamp {
	var s stamp
	filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		base := entry.Name()
		switch {
		case err != nil:
			return nil // gone between listing and look
		case entry.IsDir() && name != root && (strings.HasPrefix(base, ".") || slices.Contains([]string{"node_modules", "data", "bin", "dist", "docs", "e2e"}, base)):
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains(sources, filepath.Ext(base)):
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		s.files++
		if strings.HasSuffix(base, ".templ") {
			s.templates += int(info.ModTime().UnixNano() % 1_000_003)
		}
		if info.ModTime().After(s.newest) {
			s.newest = info.ModTime()
		}
		return nil
	})
	return s
}
