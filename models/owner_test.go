package models_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/internal/keyring"
	"innerloop/journal"
	"innerloop/models"
	"innerloop/seal"
)

// asks makes a proven mutation. The payload's words are the journal's matter;
// the store looks at the change.
func (a *agent) asks(action string, change journal.Change) journal.Mutation {
	a.w.t.Helper()
	nonce, payload := a.w.digest(), []byte(`{}`)
	envelope := seal.Envelope{
		ActorID: string(a.id), Action: action, PayloadHash: seal.PayloadHash(payload), Nonce: hex.EncodeToString(nonce[:]),
		IssuedAt: "2026-09-01T10:00:00.000Z", ExpiresAt: "2026-09-01T10:05:00.000Z", KeyID: a.public.ID(),
	}
	proven, err := seal.Prove(a.public, payload, envelope, seal.Sign(a.private, envelope.Canonical()))
	if err != nil {
		a.w.t.Fatal(err)
	}
	return journal.Mutation{
		Proven: proven, Agent: a.id, Action: action, Nonce: nonce, At: a.w.now(), Change: change,
		Payload: keyring.Mac{KeyID: "0badcafe", Sum: nonce[:]}, Submission: keyring.Mac{KeyID: "0badcafe", Sum: nonce[:]},
	}
}

func (w *world) apply(m journal.Mutation) journal.MutationOutcome {
	w.t.Helper()
	o, err := w.Apply(w.t.Context(), m)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func TestNothingUnprovenIsApplied(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		good := ada.asks(seal.ActionEntryDelete, journal.Cancellation{Kind: "deletion"})
		for name, spoil := range map[string]func(*journal.Mutation){
			"no proof":       func(m *journal.Mutation) { m.Proven = seal.Proven{} },
			"another agent":  func(m *journal.Mutation) { m.Agent = bob.id },
			"another action": func(m *journal.Mutation) { m.Action = seal.ActionKeyRevoke },
		} {
			m := good
			spoil(&m)
			if _, err := w.Apply(t.Context(), m); !errors.Is(err, models.ErrUnproven) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A refusal leaves neither nonce nor receipt; a success leaves both, and the
// receipt reads back as it was given.
func TestRefusedMutationLeavesNothing(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		m := ada.asks(seal.ActionPendingCancel, journal.Cancellation{Kind: "deletion"})
		if o := w.apply(m); o.Refusal != journal.NothingPending {
			t.Fatalf("%+v", o)
		}
		if _, err := w.OwnerReceipt(t.Context(), ada.id, m.Action, m.Nonce); !errors.Is(err, journal.ErrNotFound) {
			t.Error(err)
		}
		due := w.now().Add(72 * time.Hour)
		if o := w.apply(ada.asks(seal.ActionIdentityDelete, journal.IdentityDeletion{EffectiveAt: due})); !o.Effect.EffectiveAt.Equal(due) {
			t.Fatalf("%+v", o)
		}
		o := w.apply(m)
		if o.Effect.Kind != "deletion" || o.Existing != nil {
			t.Fatalf("the same mutation, now that something waits: %+v", o)
		}
		r, err := w.OwnerReceipt(t.Context(), ada.id, m.Action, m.Nonce)
		if err != nil || !r.Effect.At.Equal(m.At) || r.Effect.Kind != "deletion" || string(r.Payload.Sum) != string(m.Payload.Sum) {
			t.Errorf("%+v, %v", r, err)
		}
		if again := w.apply(m); again.Existing == nil || again.Existing.Effect.Kind != "deletion" {
			t.Errorf("%+v", again)
		}
		if _, err := w.OwnerReceipt(t.Context(), ada.id, seal.ActionKeyRevoke, m.Nonce); !errors.Is(err, journal.ErrNotFound) {
			t.Error("a receipt belongs to its action:", err)
		}
		if fresh, err := w.UseReadNonce(t.Context(), ada.id, m.Nonce, w.now()); err != nil || fresh {
			t.Errorf("the nonce of a mutation is free for a read: %t, %v", fresh, err)
		}
	})
}

// Owners' reads and changes take a fixed number of statements.
func TestOwnerStatements(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		var ids []journal.EntryID
		for range 40 {
			ids = append(ids, w.publish(ada.writes(journal.Public, "one", "a", "b")).EntryID)
		}
		for name, c := range map[string]struct {
			most int
			run  func() error
		}{
			"page": {1, func() error {
				_, err := w.OwnerEntries(t.Context(), journal.OwnerRange{Agent: ada.id, Limit: 40})
				return err
			}},
			"entry":   {1, func() error { _, err := w.OwnerEntry(t.Context(), ada.id, ids[0]); return err }},
			"keys":    {1, func() error { _, err := w.AgentKeys(t.Context(), ada.id); return err }},
			"chain":   {1, func() error { _, err := w.KeyChain(t.Context(), ada.id, journal.KeyID(ada.public.ID())); return err }},
			"profile": {1, func() error { _, err := w.Profile(t.Context(), ada.id); return err }},
			"nonce":   {1, func() error { _, err := w.UseReadNonce(t.Context(), ada.id, w.digest(), w.now()); return err }},
			"deletion": {28, func() error {
				w.apply(ada.asks(seal.ActionEntryDelete, journal.EntryDeletion{EntryID: ids[7]}))
				return nil
			}},
		} {
			w.queries.take()
			if err := c.run(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if ran := w.queries.take(); len(ran) == 0 || len(ran) > c.most {
				t.Errorf("%s took %d statements, want at most %d:\n%s", name, len(ran), c.most, strings.Join(ran, "\n"))
			}
		}
	})
}

// Everything at once on one agent, through two processes: counters, lists and
// pins agree with the entries in the end.
func TestOwnersAndOperatorsAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, stores := w.agent(), []*models.Store{w.Store, w.open()}
		var ids []journal.EntryID
		for n := range 24 {
			ids = append(ids, w.publish(ada.writes(journal.Public, fmt.Sprint("entry ", n), "a", "b")).EntryID)
		}
		var all sync.WaitGroup
		for n, id := range ids {
			store, ctx := stores[n%2], t.Context()
			pin := id
			deletion := ada.asks(seal.ActionEntryDelete, journal.EntryDeletion{EntryID: id})
			pinning := ada.asks(seal.ActionProfileSet, journal.ProfileChange{PinnedEntryID: &pin})
			more := ada.writes(journal.Public, "more", "b")
			run := func(do func() error) {
				all.Go(func() {
					if err := do(); err != nil && !errors.Is(err, journal.ErrNotFound) {
						t.Error(err)
					}
				})
			}
			run(func() error { _, err := store.Apply(ctx, pinning); return err })
			run(func() error { return store.HideEntry(ctx, id, "", w.now()) })
			run(func() error { _, err := store.AppendEntries(ctx, []journal.NewEntry{more}); return err })
			if n%3 == 0 {
				run(func() error { _, err := store.Apply(ctx, deletion); return err })
			} else {
				run(func() error { return store.UnhideEntry(ctx, id, "", w.now()) })
			}
		}
		all.Wait()
		active := int64(0)
		for _, e := range scanAll(t, w) {
			if shown := e.Status == "active"; e.Listed != shown || (len(e.ListedTags) > 0) != shown {
				t.Errorf("%s is %s, listed %t under %v", e.EntryID, e.Status, e.Listed, e.ListedTags)
			}
			if e.Status == "active" {
				active++
			}
		}
		a, err := w.PublicAgent(t.Context(), ada.id)
		if err != nil || a.PublicEntries != active {
			t.Errorf("%d counted, %d active, %v", a.PublicEntries, active, err)
		}
		if a.PinnedEntryID != "" {
			if _, err := w.PublicEntry(t.Context(), a.PinnedEntryID); err != nil {
				t.Error("the pin is not shown to anyone:", err)
			}
		}
	})
}
