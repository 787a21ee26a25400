package models_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"innerloop/journal"
	"innerloop/seal"
)

func sameKeys(a, b seal.PublicKey) bool { return a == b }

func TestChallengeLivesFromOfferToReceipt(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		a := w.unregistered()
		n := a.registration()
		for range 2 {
			if err := w.FailChallenge(t.Context(), n.ChallengeID); err != nil {
				t.Fatal(err)
			}
		}
		open, err := w.Challenge(t.Context(), n.ChallengeID)
		if err != nil || open.Completed() || open.Failures != 2 || !open.ExpiresAt.Equal(w.now().Add(5*time.Minute)) {
			t.Fatalf("%+v %v", open, err)
		}
		if err := w.CompleteRegistration(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		done, err := w.Challenge(t.Context(), n.ChallengeID)
		if err != nil {
			t.Fatal(err)
		}
		want := open
		want.AgentID, want.KeyID, want.Signature = a.id, journal.KeyID(a.public.ID()), n.Signature
		if diff := cmp.Diff(want, done, cmp.Comparer(sameKeys)); diff != "" {
			t.Error(diff)
		}
		key, err := w.SigningKey(t.Context(), a.id, journal.KeyID(a.public.ID()))
		if err != nil || key != (journal.SigningKey{Key: a.public, Active: true, Registered: n.At}) {
			t.Errorf("%+v %v", key, err)
		}
		again := a.registration()
		again.AgentID = w.unregistered().id
		if err := w.CompleteRegistration(t.Context(), again); !errors.Is(err, journal.ErrKeyTaken) {
			t.Errorf("a key was registered twice: %v", err)
		}
		if c, err := w.Challenge(t.Context(), again.ChallengeID); err != nil || c.Completed() {
			t.Errorf("a refused registration completed its challenge: %+v %v", c, err)
		}
	})
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		secret := w.publish(ada.writes(journal.Private, "mine"))
		lookups := map[string]func() error{
			"challenge": func() error {
				_, err := w.Challenge(t.Context(), "00000000-0000-4000-8000-000000000000")
				return err
			},
			"challenge that is no id":        func() error { _, err := w.Challenge(t.Context(), "x\x00"); return err },
			"completion without a challenge": func() error { return w.CompleteRegistration(t.Context(), journal.NewAgent{Key: ada.public}) },
			"receipt": func() error {
				_, err := w.EntryReceipt(t.Context(), bob.id, secret.IdempotencyKey)
				return err
			},
			"key of another agent": func() error {
				_, err := w.SigningKey(t.Context(), bob.id, journal.KeyID(ada.public.ID()))
				return err
			},
			"key of an unknown agent": func() error {
				_, err := w.SigningKey(t.Context(), "agent_none", journal.KeyID(ada.public.ID()))
				return err
			},
			"private entry":      func() error { _, err := w.PublicEntry(t.Context(), secret.EntryID); return err },
			"unknown entry":      func() error { _, err := w.PublicEntry(t.Context(), "entry_none"); return err },
			"entry that is none": func() error { _, err := w.PublicEntry(t.Context(), "\xff"); return err },
			"agent with private entries only": func() error {
				_, err := w.PublicAgent(t.Context(), ada.id)
				return err
			},
			"unknown agent": func() error { _, err := w.PublicAgent(t.Context(), "agent_none"); return err },
		}
		for name, lookup := range lookups {
			if err := lookup(); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, q := range []journal.Range{{Limit: 5}, {Limit: 5, Tag: "\x00"}, {Limit: 5, Agent: "\xff"}} {
			if page, err := w.PublicEntries(t.Context(), q); err != nil || len(page) != 0 {
				t.Errorf("%+v: %d entries, %v", q, len(page), err)
			}
		}
	})
}

// Of several registrations at once, with one challenge or with one key, one
// is made and the others are told why not.
func TestRegistrationsAtOnceMakeOneAgent(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		for range 25 {
			a, b := w.unregistered(), w.unregistered()
			first := a.registration()
			sameChallenge := first
			sameChallenge.AgentID, sameChallenge.Key = b.id, b.public
			sameKey := a.registration()
			sameKey.AgentID = w.unregistered().id
			results := make([]error, 3)
			var all sync.WaitGroup
			start := make(chan struct{})
			for i, n := range []journal.NewAgent{first, sameChallenge, sameKey} {
				all.Go(func() {
					<-start
					results[i] = w.CompleteRegistration(t.Context(), n)
				})
			}
			close(start)
			all.Wait()
			for i, err := range results {
				if err != nil && !errors.Is(err, journal.ErrChallengeDone) && !errors.Is(err, journal.ErrKeyTaken) {
					t.Fatalf("%d: %v", i, err)
				}
			}
			// One challenge completes once; one key is registered once.
			if results[0] == nil && (results[1] == nil || results[2] == nil) {
				t.Fatalf("%v", results)
			}
			if results[0] != nil && results[1] != nil && results[2] != nil {
				t.Fatalf("nobody won: %v", results)
			}
		}
	})
}
