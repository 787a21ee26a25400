package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"innerloop/coworker/sandbox"
)

const (
	starts     = 50 // of each kind, in turn
	atOnce     = 8
	python     = "/usr/bin/python3"
	printsOne  = "print(1)"
	staysAlive = "print(1)\nimport time\ntime.sleep(0.4)"
)

// sandboxes measures the start of one line of Python in the sandbox, beside the
// bare interpreter and bubblewrap, one after the other so that each meets the
// same neighbours; then what a run holds in memory, and eight at once. The
// limits on how many may run are raised for it, those of a run are the shipped
// ones.
func (b *bench) sandboxes(ctx context.Context, scratch string) error {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := sandbox.New(ctx, sandbox.Options{Dir: filepath.Join(scratch, "sandbox"), Slots: atOnce, PerUser: atOnce, Logger: log})
	if err != nil {
		return err
	}
	defer s.Close()
	if status := s.Status(); !status.Available {
		fmt.Fprintf(os.Stderr, "no sandbox on this machine, so none is measured: %s: %s\n", status.Failed, status.Cause)
		return nil
	}
	inside := func(code string) func(context.Context) error {
		return func(ctx context.Context) error {
			r, err := s.Run(ctx, sandbox.Job{User: "bench", Code: code})
			if err == nil && r.Stdout.Text != "1\n" {
				err = fmt.Errorf("the sandbox answered %q %q", r.Stdout.Text, r.Stderr.Text)
			}
			return err
		}
	}
	bare := func(ctx context.Context) error { return prints(ctx, python, "-c", printsOne) }
	kinds := []kind{{"bare", bare}, {"sandbox", inside(printsOne)}}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		kinds = append(kinds, kind{"bwrap", func(ctx context.Context) error { return prints(ctx, bwrap, bubble(scratch)...) }})
	} else {
		fmt.Fprintln(os.Stderr, "bwrap is not installed (Debian package bubblewrap), so it is not measured")
	}
	took, err := inTurn(ctx, kinds)
	if err != nil {
		return err
	}
	ms := func(name string) float64 { return median(took[name]).Seconds() * 1000 }
	about := fmt.Sprintf("start of `%s`, median of %d taken in turn, ms: ", printsOne, starts)
	b.record.add("sandbox_start_ms", about+"in the sandbox", ms("sandbox"))
	b.record.add("bare_start_ms", about+"`python3 -c` alone", ms("bare"))
	b.record.add("sandbox_start_per_bare", "the first over the second", ms("sandbox")/ms("bare"))
	b.record.add("sandbox_start_over_twice_bare_ms", "the first less twice the second, ms (wanted: at most 15)", ms("sandbox")-2*ms("bare"))
	if len(kinds) > 2 {
		b.record.add("bwrap_start_ms", about+"in bubblewrap's namespaces, without limits or a filter", ms("bwrap"))
	}
	if err := b.sandboxMemory(ctx, inside(staysAlive)); err != nil {
		return err
	}
	for _, k := range kinds[:2] {
		began := time.Now()
		if err := together(ctx, k.start); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		b.record.add(k.name+"_8_at_once_ms", "eight starts at once, until the last has ended, ms: "+k.name, time.Since(began).Seconds()*1000)
	}
	return nil
}

// A kind is one way to start the line.
type kind struct {
	name  string
	start func(context.Context) error
}

func inTurn(ctx context.Context, kinds []kind) (map[string][]time.Duration, error) {
	took := map[string][]time.Duration{}
	for range starts {
		for _, k := range kinds {
			began := time.Now()
			if err := k.start(ctx); err != nil {
				return nil, fmt.Errorf("start %s: %w", k.name, err)
			}
			took[k.name] = append(took[k.name], time.Since(began))
		}
	}
	return took, nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// prints runs a command that must print 1, with an empty environment.
func prints(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil && string(out) != "1\n" {
		err = fmt.Errorf("printed %q", out)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, errs.String())
	}
	return nil
}

// bubble are bubblewrap's arguments for what its users give a program: all
// namespaces, the system read-only, and one folder to write to.
func bubble(scratch string) []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr"}
	for _, dir := range []string{"/bin", "/lib", "/lib64"} {
		if to, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", to, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	return append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", scratch, "/home/user", python, "-c", printsOne)
}

func together(ctx context.Context, start func(context.Context) error) error {
	ends := make(chan error)
	for range atOnce {
		go func() { ends <- start(ctx) }()
	}
	var errs []error
	for range atOnce {
		errs = append(errs, <-ends)
	}
	return errors.Join(errs...)
}

// sandboxMemory looks at the processes of a run until it has ended.
func (b *bench) sandboxMemory(ctx context.Context, stays func(context.Context) error) error {
	before := residentBelow(os.Getpid()) // a database of ours, say
	ended := make(chan error, 1)
	go func() { ended <- stays(ctx) }()
	var most float64
	for {
		select {
		case err := <-ended:
			if err == nil && most == 0 {
				err = errors.New("the processes of a run were not seen")
			}
			b.record.add("sandbox_rss_mb", "resident memory of one run: its first process and Python, MiB", most)
			return err
		case <-time.After(5 * time.Millisecond):
			most = max(most, residentBelow(os.Getpid())-before)
		}
	}
}

// residentBelow is the resident memory of all that descends from a process, in
// MiB. What they share is counted for each.
func residentBelow(root int) float64 {
	children, resident := map[int][]int{}, map[int]float64{}
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // it ended
		}
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		parent, _ := strconv.Atoi(fields[1])
		pages, _ := strconv.ParseFloat(fields[21], 64)
		children[parent] = append(children[parent], pid)
		resident[pid] = pages * float64(os.Getpagesize()) / (1 << 20)
	}
	var sum float64
	for next := children[root]; len(next) > 0; next = next[1:] {
		sum += resident[next[0]]
		next = append(next, children[next[0]]...)
	}
	return sum
}
