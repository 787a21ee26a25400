package journal_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

const (
	rotation = "innerloop-key-rotation-v1"
	addition = "innerloop-key-add-v1"
	recovery = "innerloop-recovery-v1"
)

// 6.5 list: newest first, filters, tombstones on demand, keyset pages.
func TestOwnerListsItsOwn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, eve := j.Agent("Ada"), j.Agent("Eve")
		var ids []journal.EntryID
		for i := range 5 {
			options := []journaltest.Option{}
			if i%2 == 1 {
				options = append(options, journaltest.Private)
			}
			ids = append(ids, j.MustPublish(ada.Signs(fmt.Sprintf("entry %d", i), options...)).EntryID)
			j.Clock.Advance(time.Second)
		}
		j.MustPublish(eve.Signs("hers"))
		mustDelete(t, j, ada, ids[2])
		list := func(payload map[string]any) []string {
			t.Helper()
			var seen []string
			for {
				page, err := j.ListEntries(t.Context(), ada.Asks(seal.ActionEntryList, payload))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Entries {
					seen = append(seen, fmt.Sprintf("%d %s %s", slices.Index(ids, e.EntryID), e.Visibility, e.Status))
				}
				if page.NextCursor == "" {
					return seen
				}
				payload["cursor"] = page.NextCursor
			}
		}
		for _, row := range []struct {
			visibility string
			deleted    bool
			want       string
		}{
			{"all", true, "4 public active,3 private active,2 public deleted,1 private active,0 public active"},
			{"all", false, "4 public active,3 private active,1 private active,0 public active"},
			{"public", true, "4 public active,2 public deleted,0 public active"},
			{"private", false, "3 private active,1 private active"},
		} {
			for _, limit := range []int{1, 2, 50} {
				got := strings.Join(list(map[string]any{"visibility": row.visibility, "include_deleted": row.deleted, "limit": limit, "cursor": nil}), ",")
				if got != row.want {
					t.Errorf("%s, deleted %t, by %d: got %s, want %s", row.visibility, row.deleted, limit, got, row.want)
				}
			}
		}
	})
}

func mustDelete(t *testing.T, j *journaltest.J, a *journaltest.Agent, id journal.EntryID) journal.Done {
	t.Helper()
	done, err := j.DeleteEntry(t.Context(), a.Asks(seal.ActionEntryDelete, journaltest.Deletes(id)))
	if err != nil {
		t.Fatal("delete:", err)
	}
	return done
}

// A cursor belongs to one list with one filter of one agent.
func TestOwnerCursorFitsItsListAlone(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada, eve := j.Agent("Ada"), j.Agent("Eve")
	for range 3 {
		j.MustPublish(ada.Signs("hers"))
		j.MustPublish(eve.Signs("theirs"))
	}
	page, err := j.ListEntries(t.Context(), ada.Asks(seal.ActionEntryList, journaltest.ListAll(1, nil)))
	if err != nil || page.NextCursor == "" {
		t.Fatal(page, err)
	}
	other := journaltest.ListAll(1, page.NextCursor)
	other["include_deleted"] = false
	_, err = j.ListEntries(t.Context(), ada.Asks(seal.ActionEntryList, other))
	journaltest.WantFault(t, err, journal.ValidationFailed)
	_, err = j.ListEntries(t.Context(), eve.Asks(seal.ActionEntryList, journaltest.ListAll(1, page.NextCursor)))
	journaltest.WantFault(t, err, journal.ValidationFailed)
	_, err = j.ExportEntries(t.Context(), ada.Asks(seal.ActionEntryExport, journaltest.ExportAll(1, page.NextCursor)))
	journaltest.WantFault(t, err, journal.ValidationFailed)
	_, err = j.ListEntries(t.Context(), ada.Asks(seal.ActionEntryList, journaltest.ListAll(1, page.NextCursor[:len(page.NextCursor)-1]+"!")))
	journaltest.WantFault(t, err, journal.ValidationFailed)
}

// 6.5 limits: list 1 to 50, export 1 to 500.
func TestOwnerPageLimits(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	for _, limit := range []int{0, 51, -1} {
		_, err := j.ListEntries(t.Context(), ada.Asks(seal.ActionEntryList, journaltest.ListAll(limit, nil)))
		journaltest.WantFault(t, err, journal.ValidationFailed)
	}
	_, err := j.ExportEntries(t.Context(), ada.Asks(seal.ActionEntryExport, journaltest.ExportAll(501, nil)))
	journaltest.WantFault(t, err, journal.ValidationFailed)
	if _, err = j.ExportEntries(t.Context(), ada.Asks(seal.ActionEntryExport, journaltest.ExportAll(500, nil))); err != nil {
		t.Error(err)
	}
	if _, err = j.ListEntries(t.Context(), ada.Asks(seal.ActionEntryList, journaltest.ListAll(50, nil))); err != nil {
		t.Error(err)
	}
}

// 6.5: a captured read request is worth nothing, and a nonce is unique over
// entries, mutations and reads.
func TestReadRequestIsUsedUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, eve := j.Agent("Ada"), j.Agent("Eve")
		entry := ada.Signs("first")
		id := j.MustPublish(entry).EntryID
		read := ada.Asks(seal.ActionEntryRead, map[string]any{"entry_id": string(id)})
		if _, err := j.ReadOwnEntry(t.Context(), read); err != nil {
			t.Fatal(err)
		}
		_, err := j.ReadOwnEntry(t.Context(), read)
		journaltest.WantFault(t, err, journal.NonceReplayed)
		same := func(nonce string) journaltest.Ask {
			return journaltest.AskWith(func(e *seal.Envelope) { e.Nonce = nonce })
		}
		_, err = j.ReadProfile(t.Context(), ada.Asks(seal.ActionProfileRead, nil, same(entry.Envelope.Nonce)))
		journaltest.WantFault(t, err, journal.NonceReplayed)
		_, err = j.DeleteEntry(t.Context(), ada.Asks(seal.ActionEntryDelete, journaltest.Deletes(id), same(read.Envelope.Nonce)))
		journaltest.WantFault(t, err, journal.NonceReplayed)
		if _, err = j.ReadProfile(t.Context(), eve.Asks(seal.ActionProfileRead, nil, same(read.Envelope.Nonce))); err != nil {
			t.Error("a nonce counts per agent:", err)
		}
		second := ada.Signs("second", journaltest.Envelope(func(e *seal.Envelope) { e.Nonce = read.Envelope.Nonce }))
		_, err = j.PublishEntry(t.Context(), second)
		journaltest.WantFault(t, err, journal.NonceReplayed)
	})
}

// 6.5: a tombstone is read; another's entry and none are one answer.
func TestOwnerReadsEntryAndTombstone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, eve := j.Agent("Ada"), j.Agent("Eve")
		id := j.MustPublish(ada.Signs("mine", journaltest.Private)).EntryID
		read := func(a *journaltest.Agent, id journal.EntryID) (journal.OwnerEntry, error) {
			return j.ReadOwnEntry(t.Context(), a.Asks(seal.ActionEntryRead, map[string]any{"entry_id": string(id)}))
		}
		e, err := read(ada, id)
		if err != nil || e.Entry.Title != "mine" || e.Status != "active" || e.Signed.Key != ada.Public {
			t.Errorf("got %+v, %v", e, err)
		}
		_, foreign := read(eve, id)
		_, none := read(eve, "entry_none")
		journaltest.WantFault(t, foreign, journal.EntryNotFound)
		if foreign.Error() != none.Error() {
			t.Errorf("%v and %v differ", foreign, none)
		}
		j.Clock.Advance(time.Minute)
		mustDelete(t, j, ada, id)
		e, err = read(ada, id)
		if err != nil || e.Status != "deleted" || e.Entry.Title != "" || len(e.Signed.CanonicalEntry) > 0 || !e.WithdrawnAt.Equal(journaltest.Start.Add(time.Minute)) {
			t.Errorf("got %+v, %v", e, err)
		}
	})
}

// 6.6: all four fields are replaced; A, B, A are three operations; only the
// same request is a repeat.
func TestProfileUpdateIsPerRequest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		var requests []journal.OwnerRequest
		for i, bio := range []string{"A", "B", "A"} {
			j.Clock.Advance(time.Second)
			requests = append(requests, ada.Asks(seal.ActionProfileSet, journaltest.Bio(bio)))
			p, replayed, err := j.UpdateProfile(t.Context(), requests[i])
			if err != nil || replayed || *p.Bio != bio || !p.UpdatedAt.Equal(j.Clock.Now()) {
				t.Fatalf("%d: %+v, %t, %v", i, p, replayed, err)
			}
		}
		j.Clock.Advance(time.Hour)
		p, replayed, err := j.UpdateProfile(t.Context(), requests[1])
		if err != nil || !replayed || *p.Bio != "B" || !p.UpdatedAt.Equal(journaltest.Start.Add(2*time.Second)) {
			t.Errorf("repeat: %+v, %t, %v", p, replayed, err)
		}
		now, err := j.ReadProfile(t.Context(), ada.Asks(seal.ActionProfileRead, nil))
		if err != nil || *now.Bio != "A" || now.Purpose != nil || !now.UpdatedAt.Equal(journaltest.Start.Add(3*time.Second)) {
			t.Errorf("now: %+v, %v", now, err)
		}
	})
}

// 3.5: the rules of profile fields.
func TestProfileFieldRules(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	for _, row := range []struct {
		field, value string
		good         bool
	}{
		{"bio", "", false},
		{"bio", " a", false},
		{"bio", strings.Repeat("é", 1200), true},
		{"bio", strings.Repeat("é", 1201), false},
		{"bio", "two\nlines", true},
		{"purpose", "two\nlines", false},
		{"purpose", "a\tb", false},
		{"purpose", strings.Repeat("\U0001f600", 280), true},
		{"purpose", strings.Repeat("a", 281), false},
		{"owner_url", "https://example.org/a", true},
		{"owner_url", "http://example.org", false},
		{"owner_url", "HTTPS://example.org", false},
		{"owner_url", "https://user@example.org", false},
		{"owner_url", "https://u:p@example.org", false},
		{"owner_url", `https://example.org/\`, false},
		{"owner_url", "https://example.org/a b", false},
		{"owner_url", "https://example.org/\u202e", false},
		{"owner_url", "https://", false},
		{"owner_url", "https://example.org/" + strings.Repeat("\U0001f600", 1020), false},
		{"pinned_entry_id", "nonsense", false},
	} {
		payload := map[string]any{"bio": nil, "purpose": nil, "owner_url": nil, "pinned_entry_id": nil}
		payload[row.field] = row.value
		_, _, err := j.UpdateProfile(t.Context(), ada.Asks(seal.ActionProfileSet, payload))
		if row.good && err != nil {
			t.Errorf("%s %.40q: %v", row.field, row.value, err)
		}
		if !row.good {
			journaltest.WantFault(t, err, journal.ValidationFailed)
		}
	}
}

// 6.6: the pin is the agent's own, public and active; it goes with the entry.
func TestPinnedEntry(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, eve := j.Agent("Ada"), j.Agent("Eve")
		kept := j.MustPublish(ada.Signs("kept")).EntryID
		pinned := j.MustPublish(ada.Signs("pinned")).EntryID
		pin := func(id journal.EntryID) error {
			payload := journaltest.Bio("x")
			payload["pinned_entry_id"] = string(id)
			_, _, err := j.UpdateProfile(t.Context(), ada.Asks(seal.ActionProfileSet, payload))
			return err
		}
		shown := func() journal.EntryID {
			a, err := j.PublicAgent(t.Context(), ada.ID)
			if err != nil {
				t.Fatal(err)
			}
			return a.PinnedEntryID
		}
		for name, id := range map[string]journal.EntryID{
			"private": j.MustPublish(ada.Signs("secret", journaltest.Private)).EntryID,
			"foreign": j.MustPublish(eve.Signs("hers")).EntryID,
			"unknown": "entry_none",
		} {
			if f, ok := journal.AsFault(pin(id)); !ok || f.Code != journal.InvalidPinnedEntry {
				t.Errorf("%s: %v", name, f)
			}
		}
		if err := pin(pinned); err != nil || shown() != pinned {
			t.Fatal(err, shown())
		}
		if err := j.HideEntry(t.Context(), pinned, "spam"); err != nil {
			t.Fatal(err)
		}
		if shown() != "" {
			t.Error("the pin of a hidden entry is shown")
		}
		journaltest.WantFault(t, pin(pinned), journal.InvalidPinnedEntry)
		if err := pin(kept); err != nil {
			t.Fatal(err)
		}
		mustDelete(t, j, ada, kept)
		journaltest.WantFault(t, pin(kept), journal.InvalidPinnedEntry)
		if _, err := j.PublicAgent(t.Context(), ada.ID); err == nil {
			t.Error("an agent without active public entries is shown")
		}
		j.Check()
	})
}

// 6.7: text and signature go, the tombstone and the receipts stay; asked anew
// the answer has the original time.
func TestDeletionLeavesATombstone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		j.MustPublish(ada.Signs("stays"))
		s := ada.Signs("goes", journaltest.Tags("gone"))
		published := j.MustPublish(s)
		before, _ := j.Version(t.Context())
		j.Clock.Advance(time.Minute)
		request := ada.Asks(seal.ActionEntryDelete, journaltest.Deletes(published.EntryID))
		first, err := j.DeleteEntry(t.Context(), request)
		if err != nil || first.Replayed || first.Effect.Visibility != journal.Public || !first.Effect.At.Equal(j.Clock.Now()) {
			t.Fatalf("%+v, %v", first, err)
		}
		if after, _ := j.Version(t.Context()); after <= before {
			t.Error("the public version stands still after a withdrawal")
		}
		_, err = j.Entry(t.Context(), published.EntryID)
		f, ok := journal.AsFault(err)
		if !ok || f.Code != journal.EntryWithdrawn || f.Withdrawal.By != "author" {
			t.Errorf("got %v", err)
		}
		page, err := j.Feed(t.Context(), journal.FeedQuery{Limit: 50, Tag: "gone"})
		if err != nil || len(page.Entries) > 0 {
			t.Errorf("%d entries under its tag, %v", len(page.Entries), err)
		}
		agent, err := j.PublicAgent(t.Context(), ada.ID)
		if err != nil || agent.PublicEntries != 1 || !agent.LastPublicAt.Equal(journaltest.Start) {
			t.Errorf("%+v, %v", agent, err)
		}
		j.Clock.Advance(time.Hour)
		again, err := j.DeleteEntry(t.Context(), request)
		if err != nil || !again.Replayed || again.Effect.At != first.Effect.At {
			t.Errorf("exact repeat: %+v, %v", again, err)
		}
		fresh := mustDelete(t, j, ada, published.EntryID)
		if fresh.Replayed || !fresh.Effect.At.Equal(first.Effect.At) {
			t.Errorf("fresh request: %+v", fresh)
		}
		repeat := j.MustPublish(s)
		if !repeat.Replayed || repeat.EntryID != published.EntryID {
			t.Errorf("the entry's own receipt: %+v", repeat)
		}
		if seen := j.Check(); seen.Tombstones != 1 || seen.Proved != 1 {
			t.Errorf("%+v", seen)
		}
	})
}

// 11.2: a private deletion leaves no public event.
func TestPrivateChangesLeaveNoPublicEvent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		id := j.MustPublish(ada.Signs("secret", journaltest.Private)).EntryID
		before, err := j.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustDelete(t, j, ada, id)
		if _, _, err := j.UpdateProfile(t.Context(), ada.Asks(seal.ActionProfileSet, journaltest.Bio("quiet"))); err != nil {
			t.Fatal(err)
		}
		private, public := journaltest.Key(t, "next")
		if _, err := j.RotateKey(t.Context(), ada.Asks(seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, private, public))); err != nil {
			t.Fatal(err)
		}
		if err := j.SuspendAgent(t.Context(), ada.ID, ""); err != nil {
			t.Fatal(err)
		}
		if after, _ := j.Version(t.Context()); after != before {
			t.Errorf("version moved from %d to %d", before, after)
		}
	})
}

// 6.10: two identical mutations at once are one, whatever the action.
func TestTwinMutations(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		for round := range 50 {
			private, public := journaltest.Key(t, fmt.Sprint("round ", round))
			request := ada.Asks(seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, private, public))
			type answer struct {
				done journal.Done
				err  error
			}
			answers, start := make(chan answer, 2), make(chan struct{})
			for range 2 {
				go func() {
					<-start
					done, err := j.RotateKey(context.WithoutCancel(t.Context()), request)
					answers <- answer{done, err}
				}()
			}
			close(start)
			one, two := <-answers, <-answers
			if one.err != nil || two.err != nil || one.done.Replayed == two.done.Replayed || one.done.Effect.ActiveKey != two.done.Effect.ActiveKey {
				t.Fatalf("round %d: %+v and %+v", round, one, two)
			}
			ada = ada.Becomes(private, public)
		}
		keys, err := j.ListKeys(t.Context(), ada.Asks(seal.ActionKeyList, nil))
		if err != nil || len(keys) != 51 {
			t.Errorf("%d keys, %v", len(keys), err)
		}
	})
}
