package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A phase is one run of `go test`. The stories come last and one at a time:
// a browser and two clients share the machine badly with the race detector.
type phase struct {
	args     []string
	packages func(all []string) []string
}

var phases = []phase{
	{[]string{"-race", "-count=1", "-timeout=20m"}, func(all []string) []string { return filter(all, false) }},
	{[]string{"-race", "-count=1", "-timeout=20m", "-p=1"}, func(all []string) []string { return filter(all, true) }},
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	listed, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		return fmt.Errorf("list packages: %w", err)
	}
	tally := newTally(out)
	for _, p := range phases {
		packages := p.packages(strings.Fields(string(listed)))
		if len(packages) == 0 {
			continue
		}
		if err := test(tally, append(append([]string{"test", "-json"}, p.args...), packages...)); err != nil {
			return err
		}
	}
	return tally.close()
}

// filter keeps the packages that are, or are not, stories.
func filter(all []string, stories bool) []string {
	var kept []string
	for _, name := range all {
		if strings.HasSuffix(name, "/e2e") == stories {
			kept = append(kept, name)
		}
	}
	return kept
}

// test feeds one run's events to the tally. A run that ends badly without any
// event that says why is counted as a failure of its own.
func test(t *tally, args []string) error {
	command := exec.Command("go", args...)
	command.Stderr = os.Stderr
	pipe, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start go test: %w", err)
	}
	before := t.failed
	readErr := t.read(bufio.NewReader(pipe))
	waitErr := command.Wait()
	if waitErr != nil && t.failed == before {
		t.failed++
		fmt.Fprintln(t.out, "FAIL  go test ended with:", waitErr)
	}
	return readErr
}
