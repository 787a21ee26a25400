package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program and both documented scripts say the same of the same documents,
// to the letter, and end alike.
func TestThreeCheckersAgree(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "docs", "verify")
	text, err := os.ReadFile(filepath.Join(folder, "samples", "verdicts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	checkers := map[string][]string{
		"innerloop": {binary, "verify"},
		"node":      {nodeBinary(t), filepath.Join(folder, "verify.mjs")},
		"shell":     {"bash", filepath.Join(folder, "verify.sh")},
	}
	for line := range strings.Lines(string(text)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), "\t")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for checker, words := range checkers {
				command := exec.CommandContext(t.Context(), words[0], append(words[1:], filepath.Join(folder, "samples", name))...)
				out, err := command.CombinedOutput()
				got := strings.TrimPrefix(strings.TrimSuffix(string(out), "\n"), "innerloop: ")
				// Of a line of an export the scripts name the rule alone.
				if checker != "innerloop" && strings.HasPrefix(want, "line ") && strings.HasPrefix(want, got+": ") {
					got = want
				}
				if got != want || command.ProcessState.Success() != strings.HasPrefix(want, "every entry proves") {
					t.Errorf("%s: %v\ngot  %s\nwant %s", checker, err, got, want)
				}
			}
		})
	}
}
