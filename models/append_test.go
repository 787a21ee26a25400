package models_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"innerloop/journal"
	"innerloop/models"
	"innerloop/seal"
)

func TestAppendedEntryReadsBackExactly(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		e := w.publish(ada.writes(journal.Public, "first light", "dawn", "light"))
		got, err := w.PublicEntry(t.Context(), e.EntryID)
		if err != nil {
			t.Fatal(err)
		}
		want := journal.PublicEntry{
			EntryID: e.EntryID, AuthorID: ada.id, DisplayName: "Ada", FirstKeyID: journal.KeyID(ada.public.ID()),
			Entry: e.Entry, Language: "en", CreatedAt: e.CreatedAt, Position: got.Position,
			Signed: journal.Signed{
				CanonicalEntry: e.Proven.Payload(), CanonicalEnvelope: e.Proven.CanonicalEnvelope(),
				Signature: e.Proven.Signature(), Key: ada.public,
			},
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b seal.PublicKey) bool { return a == b })); diff != "" {
			t.Error(diff)
		}
		r, err := w.EntryReceipt(t.Context(), ada.id, e.IdempotencyKey)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e.Receipt, r); diff != "" {
			t.Error(diff)
		}
	})
}

func TestIdenticalSubmissionsAtOnceStoreOne(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, other := w.agent(), w.open()
		for round := range 200 {
			first := ada.writes(journal.Public, "again")
			second := first
			second.EntryID = ada.writes(journal.Public, "again").EntryID
			second.Receipt.EntryID = second.EntryID
			outcomes := make([]journal.Outcome, 2)
			var both sync.WaitGroup
			start := make(chan struct{})
			for i, e := range []journal.NewEntry{first, second} {
				store := w.Store
				if i == 1 && round%2 == 0 {
					store = other // another process
				}
				both.Go(func() {
					<-start
					o, err := store.AppendEntries(t.Context(), []journal.NewEntry{e})
					if err != nil {
						t.Error(err)
						return
					}
					outcomes[i] = o[0]
				})
			}
			close(start)
			both.Wait()
			won, lost := 0, 1
			if outcomes[0].Clash != journal.None {
				won, lost = 1, 0
			}
			ids := []journal.EntryID{first.EntryID, second.EntryID}
			if outcomes[won].Clash != journal.None || outcomes[lost].Clash != journal.ReceiptExists || outcomes[lost].Receipt.EntryID != ids[won] {
				t.Fatalf("round %d: %+v", round, outcomes)
			}
		}
		if n := len(scanAll(t, w)); n != 200 {
			t.Errorf("%d entries stored by 200 rounds", n)
		}
	})
}

func scanAll(t *testing.T, w *world) []journal.StoredEntry {
	t.Helper()
	var all []journal.StoredEntry
	var place journal.Place
	for {
		page, err := w.Scan(t.Context(), place, 17)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		place = journal.Place{Agent: page[len(page)-1].AgentID, Entry: page[len(page)-1].EntryID}
	}
}

func TestItemsOfABatchClashAsIfTheyCameOneByOne(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		old := w.publish(ada.writes(journal.Private, "old"))
		fresh := ada.writes(journal.Public, "fresh")
		sameNonce := ada.writes(journal.Public, "same nonce")
		sameNonce.Nonce = fresh.Nonce
		// Free again, since the item before it was refused.
		sameKey := ada.writes(journal.Public, "key of a refused item")
		sameKey.IdempotencyKey = sameNonce.IdempotencyKey
		repeat := ada.writes(journal.Public, "repeat")
		repeat.IdempotencyKey = fresh.IdempotencyKey
		oldNonce := ada.writes(journal.Public, "old nonce")
		oldNonce.Nonce = old.Nonce
		oldKey := ada.writes(journal.Public, "old key")
		oldKey.IdempotencyKey = old.IdempotencyKey
		elsewhere := bob.writes(journal.Private, "another agent may use the same")
		elsewhere.Nonce, elsewhere.IdempotencyKey = old.Nonce, old.IdempotencyKey

		got := w.append(fresh, sameNonce, sameKey, repeat, oldNonce, oldKey, elsewhere)
		want := []journal.Clash{
			journal.None, journal.NonceUsed, journal.None, journal.ReceiptExists, journal.NonceUsed, journal.ReceiptExists, journal.None,
		}
		if diff := cmp.Diff(want, clashes(got)); diff != "" {
			t.Fatal(diff)
		}
		if got[3].Receipt.EntryID != fresh.EntryID || got[5].Receipt.EntryID != old.EntryID {
			t.Error("a clash must carry the receipt of the earlier submission")
		}
		if n := len(scanAll(t, w)); n != 4 {
			t.Errorf("%d entries stored, want 4", n)
		}
		for _, refused := range []journal.NewEntry{sameNonce, oldNonce} {
			r, err := w.EntryReceipt(t.Context(), ada.id, refused.IdempotencyKey)
			if err == nil && r.EntryID == refused.EntryID {
				t.Error("a refused item left its receipt")
			}
		}
		// What a refused item brought may be used by the next one.
		again := ada.writes(journal.Public, "again")
		again.Nonce, again.IdempotencyKey = repeat.Nonce, oldNonce.IdempotencyKey
		w.publish(again)
	})
}

func TestLargeBatchKeepsOrder(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		var batch []journal.NewEntry
		var want []journal.EntryID
		for n := range 301 {
			author, visibility := ada, journal.Public
			if n%3 == 0 {
				author = bob
			}
			if n%5 == 0 {
				visibility = journal.Private
			}
			e := author.writes(visibility, "many", "a", "b")
			batch = append(batch, e)
			if visibility == journal.Public {
				want = append(want, e.EntryID)
			}
		}
		w.append(batch...)
		page, err := w.PublicEntries(t.Context(), journal.Range{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(want)
		if diff := cmp.Diff(want, idsOf(page)); diff != "" {
			t.Error(diff)
		}
		a, err := w.PublicAgent(t.Context(), ada.id)
		if err != nil {
			t.Fatal(err)
		}
		mine, err := w.PublicEntries(t.Context(), journal.Range{Agent: ada.id, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if a.PublicEntries != int64(len(mine)) || !a.FirstPublicAt.Equal(mine[len(mine)-1].CreatedAt) || !a.LastPublicAt.Equal(mine[0].CreatedAt) {
			t.Errorf("counters %+v do not fit %d entries", a, len(mine))
		}
	})
}

func idsOf(page []journal.PublicEntry) []journal.EntryID {
	var ids []journal.EntryID
	for _, e := range page {
		ids = append(ids, e.EntryID)
	}
	return ids
}

func TestUnprovenEntriesAreRefused(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		unproven := ada.writes(journal.Public, "unproven")
		unproven.Proven = seal.Proven{}
		borrowed := ada.writes(journal.Public, "proven for another")
		borrowed.AgentID = bob.id
		for _, bad := range []journal.NewEntry{unproven, borrowed} {
			_, err := w.AppendEntries(t.Context(), []journal.NewEntry{ada.writes(journal.Public, "good"), bad})
			if !errors.Is(err, models.ErrUnproven) {
				t.Errorf("got %v", err)
			}
		}
		if n := len(scanAll(t, w)); n != 0 {
			t.Errorf("%d entries stored", n)
		}
	})
}

func TestKeyAndAgentAreLookedAtInsideTheTransaction(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		kept := w.publish(ada.writes(journal.Public, "before"))
		w.must(`UPDATE agent_keys SET revoked_at = 1 WHERE key_id = '%s'`, ada.public.ID())
		w.must(`UPDATE agents SET suspended_at = 1 WHERE agent_id = '%s'`, bob.id)
		got := w.append(ada.writes(journal.Public, "revoked"), bob.writes(journal.Public, "suspended"), kept)
		want := []journal.Clash{journal.KeyRevoked, journal.AgentIsSuspended, journal.ReceiptExists}
		if diff := cmp.Diff(want, clashes(got)); diff != "" {
			t.Error(diff)
		}
		if n := len(scanAll(t, w)); n != 1 {
			t.Errorf("%d entries stored, want 1", n)
		}
	})
}

func TestConcurrentCallsEachGetTheirOwnOutcome(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, taken := w.agent(), w.agent()
		used := w.publish(taken.writes(journal.Public, "used"))
		stranger := &agent{w: w, id: "agent_unknown", private: ada.private, public: ada.public}
		var calls sync.WaitGroup
		for n := range 60 {
			good, bad, unknown := ada.writes(journal.Public, "good"), taken.writes(journal.Public, "bad"), stranger.writes(journal.Public, "unknown")
			bad.Nonce = used.Nonce
			broken := ada.writes(journal.Public, "broken")
			broken.Receipt.Payload.Sum = nil // the database refuses the whole transaction
			calls.Go(func() {
				got, err := w.AppendEntries(t.Context(), []journal.NewEntry{good, bad, unknown})
				want := []journal.Clash{journal.None, journal.NonceUsed, journal.KeyRevoked}
				if err != nil || !slices.Equal(clashes(got), want) {
					t.Errorf("call %d: %v %v", n, clashes(got), err)
				}
			})
			calls.Go(func() {
				if _, err := w.AppendEntries(t.Context(), []journal.NewEntry{broken}); err == nil {
					t.Error("a broken item was stored")
				}
			})
		}
		calls.Wait()
		if n := len(scanAll(t, w)); n != 61 {
			t.Errorf("%d entries stored, want 61", n)
		}
	})
}

func TestClosedStoreAndEndedContextsAreRefused(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := w.AppendEntries(ended, []journal.NewEntry{ada.writes(journal.Public, "late")}); !errors.Is(err, context.Canceled) {
			t.Errorf("ended context: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.AppendEntries(t.Context(), []journal.NewEntry{ada.writes(journal.Public, "late")}); !errors.Is(err, models.ErrClosed) {
			t.Errorf("closed store: %v", err)
		}
	})
}
