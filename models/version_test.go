package models_test

import (
	"sync"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/models"
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
