//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A session is not taken for awake while a thread that was told to stop waits
// for a processor: it is runnable and has not run since.
func TestWhatIsLateIsNotAwake(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		state, ran, before string
		awake              bool
	}{
		"stopped":                     {"T", "10", "10", false},
		"stopped after it had run":    {"T", "11", "10", false},
		"late":                        {"R", "10", "10", false},
		"ran on":                      {"R", "11", "10", true},
		"new":                         {"R", "10", "", true},
		"sleeps, so it went to sleep": {"S", "10", "10", true},
	} {
		tasks := t.TempDir()
		thread := filepath.Join(tasks, "7")
		if err := os.Mkdir(thread, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"stat": "7 (a) R b) " + row.state + " 1 7 7", "schedstat": row.ran + " 5 6\n"} {
			if err := os.WriteFile(filepath.Join(thread, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ran := map[string]string{}
		if row.before != "" {
			ran[thread] = row.before
		}
		if got := awake(tasks, ran); got != row.awake {
			t.Errorf("%s: awake is %v", name, got)
		}
		if row.state == "R" && !awake(tasks, nil) {
			t.Errorf("%s: not awake though nothing is known of it", name)
		}
	}
	if spent := ranFor(filepath.Join(tasks(os.Getpid()), "self")); spent != "" {
		t.Errorf("a thread that is not there has run for %q", spent)
	}
	if spent := ranFor(threads(tasks(os.Getpid()))[0]); spent == "" || spent == "0" {
		t.Errorf("the first thread has run for %q", spent)
	}
}
