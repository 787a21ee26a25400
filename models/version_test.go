package models_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/models"
	"innerloop/seal"
)

// Whoever publishes sees the version moved by the very next question, however
// many others ask at the same time.
func TestPublicVersionIsNeverBehindOurOwnCommits(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		var group sync.WaitGroup
		for range 4 {
			ada := w.agent()
			group.Go(func() {
				for range 25 {
					before, err := w.PublicVersion(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					w.publish(ada.writes(journal.Public, "one"))
					after, err := w.PublicVersion(t.Context())
					if err != nil || after <= before {
						t.Errorf("version %d after a publication, %d before it (%v)", after, before, err)
						return
					}
				}
			})
		}
		group.Wait()
	})
}

// Another process's publication shows when the lease has run out; until then
// the version costs no statement.
func TestPublicVersionIsRememberedForItsLease(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		now := w.now()
		log := &queryLog{}
		reader, err := models.Open(t.Context(), models.Options{URL: w.url, Observe: log.add, Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
		}()
		version := func() int64 {
			v, err := reader.PublicVersion(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		first := version()
		log.take()
		w.publish(w.agent().writes(journal.Public, "elsewhere"))
		if again := version(); again != first || len(log.take()) != 0 {
			t.Errorf("within the lease the version was asked for again: %d, then %d", first, again)
		}
		mu.Lock()
		now = now.Add(200 * time.Millisecond)
		mu.Unlock()
		if later := version(); later <= first {
			t.Errorf("after the lease the version is still %d", later)
		}
	})
}

// A withdrawal on PostgreSQL answers when no other process can remember the
// time before it; nothing else waits.
func TestWithdrawalOutlivesTheLease(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		var waited []time.Duration
		s, err := models.Open(t.Context(), models.Options{URL: w.url, Wait: func(_ context.Context, d time.Duration) error {
			waited = append(waited, d)
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		want := 1
		if s.Engine() == "sqlite" {
			want = 0
		}
		ada := w.agent()
		public, private, third := ada.writes(journal.Public, "one"), ada.writes(journal.Private, "two"), ada.writes(journal.Public, "three")
		w.publish(public)
		w.publish(private)
		w.publish(third)
		ctx := t.Context()
		for _, c := range []struct {
			name string
			want int
			do   func() error
		}{
			{"the deletion of a public entry", want, func() error {
				_, err := s.Apply(ctx, ada.asks(seal.ActionEntryDelete, journal.EntryDeletion{EntryID: public.EntryID}))
				return err
			}},
			{"the deletion of a private entry", 0, func() error {
				_, err := s.Apply(ctx, ada.asks(seal.ActionEntryDelete, journal.EntryDeletion{EntryID: private.EntryID}))
				return err
			}},
			{"hiding", want, func() error { return s.HideEntry(ctx, third.EntryID, "spam", w.now()) }},
			{"showing again", 0, func() error { return s.UnhideEntry(ctx, third.EntryID, "other", w.now()) }},
			{"suspension", want, func() error { return s.SuspendAgent(ctx, ada.id, "spam", w.now()) }},
			{"its end", 0, func() error { return s.RestoreAgent(ctx, ada.id, "other", w.now()) }},
		} {
			waited = nil
			if err := c.do(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if len(waited) != c.want || c.want == 1 && waited[0] < 200*time.Millisecond {
				t.Errorf("%s waited %v, want %d waits of the lease", c.name, waited, c.want)
			}
		}
	})
}
