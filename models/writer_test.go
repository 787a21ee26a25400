package models_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"innerloop/journal"
	"innerloop/models"
)

// A panic inside a batch is that batch's failure: nothing of it is stored, and
// the writer serves the next caller.
func TestThePanicOfABatchEndsNothingElse(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		var armed atomic.Bool
		s, err := models.Open(t.Context(), models.Options{URL: w.url, Observe: func(statement string) {
			if strings.Contains(statement, "INSERT INTO timeline") && armed.CompareAndSwap(true, false) {
				panic("text of a caller")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		entry := w.agent().writes(journal.Public, "one")
		armed.Store(true)
		if _, err := s.AppendEntries(t.Context(), []journal.NewEntry{entry}); err == nil || strings.Contains(err.Error(), "caller") {
			t.Fatalf("got %v, want a failure that quotes nothing", err)
		}
		outcomes, err := s.AppendEntries(t.Context(), []journal.NewEntry{entry})
		if err != nil || outcomes[0].Clash != journal.None {
			t.Fatalf("the retry: %v, %v", outcomes, err)
		}
	})
}
