package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// An event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// A tally counts tests by their leaves: a test with subtests counts only when
// it failed on its own account.
type tally struct {
	out                     io.Writer
	passed, failed, skipped int
	packages                map[string]*ledger
	builds                  map[string][]string // compiler output by import path
}

type ledger struct {
	verdicts map[string]string   // pass, fail or skip by test name
	output   map[string][]string // by test name; "" is the package itself
	parents  map[string]bool
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, packages: map[string]*ledger{}, builds: map[string][]string{}}
}

// read takes events until the end. A line that is no event is shown as it is.
func (t *tally) read(lines *bufio.Reader) error {
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(t.out, "%s", line)
			} else {
				t.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read go test output: %w", err)
		}
	}
}

func (t *tally) take(e event) {
	if strings.HasPrefix(e.Action, "build-") {
		t.builds[e.ImportPath] = append(t.builds[e.ImportPath], e.Output)
		return
	}
	l := t.packages[e.Package]
	if l == nil {
		l = &ledger{verdicts: map[string]string{}, output: map[string][]string{}, parents: map[string]bool{}}
		t.packages[e.Package] = l
	}
	switch e.Action {
	case "output":
		l.output[e.Test] = append(l.output[e.Test], e.Output)
	case "run":
		for name := e.Test; strings.Contains(name, "/"); {
			name = name[:strings.LastIndex(name, "/")]
			l.parents[name] = true
		}
	case "pass", "fail", "skip":
		if e.Test != "" {
			l.verdicts[e.Test] = e.Action
			if e.Action == "pass" {
				delete(l.output, e.Test)
			}
			return
		}
		t.settle(e, l)
	}
}

// settle counts a finished package and prints its line.
func (t *tally) settle(e event, l *ledger) {
	passed, skipped := 0, 0
	var failures []string
	for _, name := range slices.Sorted(maps.Keys(l.verdicts)) {
		switch verdict := l.verdicts[name]; {
		case verdict == "fail" && !l.failedBelow(name):
			failures = append(failures, name)
		case l.parents[name] || verdict == "fail":
		case verdict == "skip":
			skipped++
			fmt.Fprintf(t.out, "SKIP  %s %s\n", e.Package, name)
			t.print(l.output[name])
		default:
			passed++
		}
	}
	// A package can fail without a failed test: it did not build, it
	// panicked, it ran out of time.
	if e.Action == "fail" && len(failures) == 0 {
		failures = []string{""}
	}
	t.passed += passed
	t.skipped += skipped
	t.failed += len(failures)
	for _, name := range failures {
		fmt.Fprintf(t.out, "FAIL  %s %s\n", e.Package, name)
		t.print(l.output[name])
		if name == "" {
			for name, verdict := range unfinished(l) {
				fmt.Fprintf(t.out, "      unfinished: %s%s\n", name, verdict)
			}
			for path, lines := range t.builds {
				if strings.HasPrefix(path, e.Package) {
					t.print(lines)
				}
			}
		}
	}
	if e.Action == "pass" && passed+skipped > 0 {
		fmt.Fprintf(t.out, "ok    %s  %d tests  %.1f s\n", e.Package, passed, e.Elapsed)
	}
}

// failedBelow tells whether a subtest of the named test failed.
func (l *ledger) failedBelow(name string) bool {
	for other, verdict := range l.verdicts {
		if verdict == "fail" && strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// unfinished lists tests that spoke but never ended, with what they said.
func unfinished(l *ledger) map[string]string {
	open := map[string]string{}
	for name, lines := range l.output {
		if name != "" && l.verdicts[name] == "" {
			open[name] = "\n" + strings.Join(lines, "")
		}
	}
	return open
}

func (t *tally) print(lines []string) {
	for _, line := range lines {
		fmt.Fprint(t.out, "      ", strings.TrimRight(line, "\n"), "\n")
	}
}

// close prints the closing line. A skipped test or an empty run is no success.
func (t *tally) close() error {
	line := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		line += fmt.Sprintf(", %d skipped", t.skipped)
	}
	fmt.Fprintln(t.out, line)
	switch {
	case t.failed > 0:
		return errors.New("tests failed")
	case t.skipped > 0:
		return errors.New("tests were skipped")
	case t.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}
