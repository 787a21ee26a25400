//go:build unix

package models_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"innerloop/journal"
)

const crashVariable = "INNERLOOP_TEST_CRASH_DATABASE"

// A process dies between commit and answer. The entry is there, and the retry
// of its author finds the receipt.
func TestCrashBetweenCommitAndAnswerLosesNothing(t *testing.T) {
	if url := os.Getenv(crashVariable); url != "" {
		crash(t, url)
	}
	forEachAddress(t, func(t *testing.T, url string) {
		w := openWorld(t, url)
		e := crashEntry(w)
		child := exec.Command(os.Args[0], "-test.run=^TestCrashBetweenCommitAndAnswerLosesNothing$")
		child.Env = append(os.Environ(), crashVariable+"="+url)
		out, err := child.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the other process did not die as it should: %v %s", err, out)
		}
		outcome := w.append(e)[0]
		if outcome.Clash != journal.ReceiptExists || outcome.Receipt.EntryID != e.EntryID {
			t.Errorf("%+v", outcome)
		}
		if all := scanAll(t, w); len(all) != 1 || all[0].EntryID != e.EntryID {
			t.Errorf("%d entries", len(all))
		}
	})
}

// crashEntry registers nothing and gives the same entry in both processes.
func crashEntry(w *world) journal.NewEntry {
	w.serial.Store(1000)
	return w.unregistered().writes(journal.Public, "just before", "dawn")
}

func crash(t *testing.T, url string) {
	w := openWorld(t, url)
	w.serial.Store(1000)
	author := w.unregistered()
	e := author.writes(journal.Public, "just before", "dawn")
	if err := w.CompleteRegistration(t.Context(), author.registration()); err != nil {
		t.Fatal(err)
	}
	w.append(e) // committed; nobody hears of it
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {}
}
