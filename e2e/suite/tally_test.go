package main

import (
	"bufio"
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, events, closing string
		shows                 []string
		fails                 bool
	}{
		{
			name:    "a test and two subtests count as their leaves",
			events:  `run:p:A run:p:A/x run:p:A/y run:p:B pass:p:A/x pass:p:A/y pass:p:A pass:p:B pass:p:`,
			closing: "3 passed, 0 failed", shows: []string{"ok    p  3 tests"},
		},
		{
			name:    "a failed subtest counts once and not again for its parents",
			events:  `run:p:A run:p:A/x/y run:p:A/z output:p:A/x/y:boom fail:p:A/x/y fail:p:A/x pass:p:A/z fail:p:A fail:p:`,
			closing: "1 passed, 1 failed", shows: []string{"FAIL  p A/x/y", "boom"}, fails: true,
		},
		{
			name:    "a parent that fails on its own account counts",
			events:  `run:p:A run:p:A/x pass:p:A/x output:p:A:after fail:p:A fail:p:`,
			closing: "1 passed, 1 failed", shows: []string{"FAIL  p A", "after"}, fails: true,
		},
		{
			name:    "a package that fails without a failed test counts",
			events:  `output:p::panicked run:p:A output:p:A:halfway fail:p:`,
			closing: "0 passed, 1 failed", shows: []string{"panicked", "unfinished: A", "halfway"}, fails: true,
		},
		{
			name:    "a skip is told and fails the run",
			events:  `run:p:A pass:p:A run:p:B skip:p:B pass:p:`,
			closing: "1 passed, 0 failed, 1 skipped", shows: []string{"SKIP  p B"}, fails: true,
		},
		{
			name:   "a run without tests fails",
			events: `skip:p:`, closing: "0 passed, 0 failed", fails: true,
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			tally := newTally(&out)
			if err := tally.read(bufio.NewReader(strings.NewReader(lines(row.events)))); err != nil {
				t.Fatal(err)
			}
			if err := tally.close(); (err != nil) != row.fails {
				t.Errorf("close returned %v", err)
			}
			if !strings.HasSuffix(out.String(), "\n"+row.closing+"\n") && out.String() != row.closing+"\n" {
				t.Errorf("does not end with %q:\n%s", row.closing, out.String())
			}
			for _, want := range row.shows {
				if !strings.Contains(out.String(), want) {
					t.Errorf("lacks %q:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestTallyShowsCompilerOutput(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	tally := newTally(&out)
	text := `{"ImportPath":"p [p.test]","Action":"build-output","Output":"a.go:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p [p.test]"}
`
	if err := tally.read(bufio.NewReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	if tally.failed != 1 || !strings.Contains(out.String(), "undefined: x") {
		t.Errorf("%d failed, printed:\n%s", tally.failed, out.String())
	}
}

// lines writes events given as action:package:test[:output].
func lines(short string) string {
	var text strings.Builder
	for _, word := range strings.Fields(short) {
		part := append(strings.SplitN(word, ":", 4), "")
		text.WriteString(`{"Action":"` + part[0] + `","Package":"` + part[1] + `","Test":"` + part[2] + `","Output":"` + part[3] + `\n"}` + "\n")
	}
	return text.String()
}
