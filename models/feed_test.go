package models_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"innerloop/journal"
	"innerloop/seal"
)

// fill publishes entries of three agents under a few tags, some of them
// private, and returns the public ones, newest first.
func fill(w *world, n int) (agents []*agent, public []journal.NewEntry) {
	w.t.Helper()
	agents = []*agent{w.agent(), w.agent(), w.agent()}
	tags := [][]string{{}, {"dawn"}, {"dawn", "light"}, {"light", "night", "сон"}}
	for i := range n {
		visibility := journal.Public
		if i%4 == 3 {
			visibility = journal.Private
		}
		e := agents[i%3].writes(visibility, "entry", tags[i%len(tags)]...)
		e.Language = [...]string{"en", "en", "ru", "en", "und", "ru", "en"}[i%7]
		w.publish(e)
		if visibility == journal.Public {
			public = append(public, e)
		}
	}
	slices.Reverse(public)
	return agents, public
}

func TestPagesTogetherAreTheWholeOrder(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		agents, public := fill(w, 60)
		for name, c := range map[string]struct {
			q    journal.Range
			want func(journal.NewEntry) bool
		}{
			"all":        {journal.Range{}, func(journal.NewEntry) bool { return true }},
			"an agent":   {journal.Range{Agent: agents[1].id}, func(e journal.NewEntry) bool { return e.AgentID == agents[1].id }},
			"a tag":      {journal.Range{Tag: "light"}, func(e journal.NewEntry) bool { return slices.Contains(e.Entry.Tags, "light") }},
			"no tag":     {journal.Range{Tag: "ligh"}, func(journal.NewEntry) bool { return false }},
			"a language": {journal.Range{Language: "ru"}, func(e journal.NewEntry) bool { return e.Language == "ru" }},
			"an agent in a language": {
				journal.Range{Agent: agents[1].id, Language: "en"},
				func(e journal.NewEntry) bool { return e.AgentID == agents[1].id && e.Language == "en" },
			},
			"a tag in a language": {
				journal.Range{Tag: "light", Language: "ru"},
				func(e journal.NewEntry) bool { return slices.Contains(e.Entry.Tags, "light") && e.Language == "ru" },
			},
			"no language": {journal.Range{Language: "r"}, func(journal.NewEntry) bool { return false }},
		} {
			var want, got []journal.EntryID
			for _, e := range public {
				if c.want(e) {
					want = append(want, e.EntryID)
				}
			}
			if len(want) == 0 != strings.HasPrefix(name, "no ") {
				t.Fatalf("%s: %d entries are there", name, len(want))
			}
			for c.q.Limit = 7; ; {
				page, err := w.PublicEntries(t.Context(), c.q)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, idsOf(page)...)
				if len(page) < c.q.Limit {
					break
				}
				c.q.Before = page[len(page)-1].Position
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

func TestNeighboursAreTheSameAgentsPublicEntries(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		first := w.publish(ada.writes(journal.Public, "one"))
		w.publish(bob.writes(journal.Public, "between"))
		w.publish(ada.writes(journal.Private, "secret"))
		middle := w.publish(ada.writes(journal.Public, "two"))
		last := w.publish(ada.writes(journal.Public, "three"))
		for _, c := range []struct {
			of             journal.NewEntry
			earlier, later *journal.Neighbour
		}{
			{first, nil, &journal.Neighbour{EntryID: middle.EntryID, Title: "two"}},
			{middle, &journal.Neighbour{EntryID: first.EntryID, Title: "one"}, &journal.Neighbour{EntryID: last.EntryID, Title: "three"}},
			{last, &journal.Neighbour{EntryID: middle.EntryID, Title: "two"}, nil},
		} {
			e, err := w.PublicEntry(t.Context(), c.of.EntryID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]*journal.Neighbour{c.earlier, c.later}, []*journal.Neighbour{e.Earlier, e.Later}); diff != "" {
				t.Errorf("%s: %s", c.of.Entry.Title, diff)
			}
		}
	})
}

func TestWithdrawnEntriesTellOnlyThatTheyWere(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		deleted, hidden := w.publish(ada.writes(journal.Public, "deleted", "dawn")), w.publish(ada.writes(journal.Public, "hidden", "dawn"))
		suspended := w.publish(bob.writes(journal.Public, "suspended", "dawn"))
		secret := w.publish(bob.writes(journal.Private, "secret"))
		w.must(`UPDATE entries SET status = 'deleted', canonical_entry = NULL, canonical_envelope = NULL, signature = NULL,
			withdrawn_at = 1000, withdrawn_by = 'author' WHERE entry_id = '%s'`, deleted.EntryID)
		w.must(`UPDATE entries SET status = 'hidden', withdrawn_at = 2000, withdrawn_by = 'operator' WHERE entry_id = '%s'`, hidden.EntryID)
		w.must(`UPDATE agents SET suspended_at = 3000 WHERE agent_id = '%s'`, bob.id)
		for _, c := range []struct {
			of journal.NewEntry
			at int64
			by string
		}{{deleted, 1000, "author"}, {hidden, 2000, "operator"}, {suspended, 3000, "operator"}} {
			_, err := w.PublicEntry(t.Context(), c.of.EntryID)
			fault, ok := journal.AsFault(err)
			if !ok || fault.Code != journal.EntryWithdrawn {
				t.Fatalf("%s: %v", c.of.Entry.Title, err)
			}
			want := &journal.Withdrawal{EntryID: c.of.EntryID, PublishedAt: c.of.CreatedAt, WithdrawnAt: time.UnixMilli(c.at).UTC(), By: c.by}
			if diff := cmp.Diff(want, fault.Withdrawal); diff != "" {
				t.Error(diff)
			}
		}
		if _, err := w.PublicEntry(t.Context(), secret.EntryID); err != journal.ErrNotFound {
			t.Errorf("private entry of a suspended agent: %v", err)
		}
		for _, q := range []journal.Range{{}, {Agent: bob.id}, {Agent: ada.id}, {Tag: "dawn"}} {
			q.Limit = 10
			if page, err := w.PublicEntries(t.Context(), q); err != nil || len(page) != 0 {
				t.Errorf("%+v shows %d withdrawn entries, %v", q, len(page), err)
			}
		}
		if _, err := w.PublicAgent(t.Context(), bob.id); err != journal.ErrNotFound {
			t.Errorf("suspended agent: %v", err)
		}
	})
}

func TestPublicVersionCountsPublicEventsOnly(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		version := func() int64 {
			v, err := w.PublicVersion(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		ada := w.agent()
		if version() != 0 {
			t.Error("registration is not a public event")
		}
		w.publish(ada.writes(journal.Public, "one"))
		before := version()
		w.publish(ada.writes(journal.Private, "two"))
		if version() != before {
			t.Error("a private entry changed the public version")
		}
		e := w.publish(ada.writes(journal.Public, "three"))
		got, err := w.PublicEntry(t.Context(), e.EntryID)
		if err != nil || got.Position != before+1 || version() != before+1 {
			t.Errorf("position %d after %d: a gap shows a private write (%v)", got.Position, before, err)
		}
	})
}

func TestPublicAgentShowsProfileAndKeyHistory(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		first := w.publish(ada.writes(journal.Public, "one"))
		last := w.publish(ada.writes(journal.Public, "two"))
		_, second := w.key()
		w.must(`UPDATE agent_keys SET revoked_at = 5000 WHERE key_id = '%s'`, ada.public.ID())
		w.must(`INSERT INTO agent_keys (agent_id, key_id, public_key, kind, created_at) VALUES ('%s', '%s', '%s', 'rotated', %d)`,
			ada.id, second.ID(), second, w.now().UnixMilli()+1)
		w.must(`UPDATE agents SET bio = 'b', purpose = 'p', owner_url = 'https://example.org/', pinned_entry_id = '%s', profile_updated_at = 6000
			WHERE agent_id = '%s'`, first.EntryID, ada.id)
		got, err := w.PublicAgent(t.Context(), ada.id)
		if err != nil {
			t.Fatal(err)
		}
		want := journal.PublicAgent{
			AgentID: ada.id, DisplayName: "Ada", Bio: "b", Purpose: "p", OwnerURL: "https://example.org/", PinnedEntryID: first.EntryID,
			UpdatedAt: time.UnixMilli(6000).UTC(), FirstPublicAt: first.CreatedAt, LastPublicAt: last.CreatedAt, PublicEntries: 2,
			FirstKeyID: journal.KeyID(ada.public.ID()),
			Keys: []journal.AgentKey{
				{KeyID: journal.KeyID(ada.public.ID()), Kind: "first", CreatedAt: w.now(), RevokedAt: time.UnixMilli(5000).UTC()},
				{KeyID: journal.KeyID(second.ID()), Kind: "rotated", CreatedAt: w.now().Add(time.Millisecond)},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		written, err := w.Writings(t.Context(), ada.id, w.now())
		today := last.CreatedAt.Truncate(24 * time.Hour)
		if err != nil || len(written.Days) != 1 || !written.Days[0].Equal(today) || len(written.Keys) != 1 || written.Keys[journal.KeyID(ada.public.ID())] != 2 {
			t.Errorf("writings %+v, %v", written, err)
		}
		if written, err = w.Writings(t.Context(), ada.id, today.AddDate(0, 0, 1)); err != nil || len(written.Days) != 0 || len(written.Keys) != 1 {
			t.Errorf("writings of tomorrow: %+v, %v", written, err)
		}
		e, err := w.PublicEntry(t.Context(), first.EntryID)
		if err != nil || !e.Signed.KeyRevokedAt.Equal(time.UnixMilli(5000)) || e.Signed.Key != ada.public {
			t.Errorf("signed by %+v, %v", e.Signed, err)
		}
	})
}

func TestScanShowsTheRecordAndItsListings(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		fill(w, 24)
		ada := w.agent()
		gone := w.publish(ada.writes(journal.Public, "gone", "dawn"))
		w.must(`UPDATE entries SET status = 'deleted', canonical_entry = NULL, canonical_envelope = NULL, signature = NULL WHERE entry_id = '%s'`, gone.EntryID)
		w.must(`DELETE FROM timeline WHERE entry_id = '%s'`, gone.EntryID)
		w.must(`DELETE FROM tag_timeline WHERE entry_id = '%s'`, gone.EntryID)
		wrong := w.publish(ada.writes(journal.Public, "under a wrong tag", "light"))
		w.must(`INSERT INTO tag_timeline (tag, position, agent_id, entry_id) SELECT 'wrong', position, agent_id, entry_id FROM timeline WHERE entry_id = '%s'`, wrong.EntryID)
		all := scanAll(t, w)
		if len(all) != 26 {
			t.Fatalf("%d entries, want 26", len(all))
		}
		sorted := slices.IsSortedFunc(all, func(a, b journal.StoredEntry) int {
			if c := strings.Compare(string(a.AgentID), string(b.AgentID)); c != 0 {
				return c
			}
			return strings.Compare(string(a.EntryID), string(b.EntryID))
		})
		if !sorted {
			t.Error("not in key order")
		}
		for _, e := range all {
			switch e.EntryID {
			case gone.EntryID:
				want := journal.StoredEntry{
					AgentID: ada.id, EntryID: gone.EntryID, Visibility: journal.Public, Status: "deleted",
					CreatedAt: gone.CreatedAt, Language: "en", KeyID: journal.KeyID(ada.public.ID()), Key: ada.public, FirstKeyID: journal.KeyID(ada.public.ID()),
				}
				if diff := cmp.Diff(want, e, cmp.Comparer(sameKeys)); diff != "" {
					t.Error(diff)
				}
				continue
			case wrong.EntryID:
				if !slices.Equal(e.ListedTags, []string{"light", "wrong"}) {
					t.Errorf("tags %q", e.ListedTags)
				}
				continue
			}
			envelope, err := seal.ParseEnvelope(e.Signed.CanonicalEnvelope)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := seal.Prove(e.Key, e.Signed.CanonicalEntry, envelope, e.Signed.Signature); err != nil {
				t.Error(err)
			}
			entry, err := seal.ParseEntry(e.Signed.CanonicalEntry)
			if err != nil {
				t.Fatal(err)
			}
			public := e.Visibility == journal.Public
			if e.Listed != public || public && !slices.Equal(e.ListedTags, entry.Tags) && len(entry.Tags) > 0 {
				t.Errorf("listed %v under %q, tags are %q", e.Listed, e.ListedTags, entry.Tags)
			}
		}
	})
}

// A row of a public list that does not belong there shows nothing, and is found.
func TestStrayRowsShowNothing(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		secret := w.publish(ada.writes(journal.Private, "secret", "dawn"))
		shown := w.publish(ada.writes(journal.Public, "shown", "dawn"))
		if id, err := w.Stray(t.Context()); !errors.Is(err, journal.ErrNotFound) {
			t.Fatalf("%q, %v", id, err)
		}
		for name, c := range map[string]struct {
			list, values string
			id           journal.EntryID
		}{
			"a private entry":                {"timeline", `(7, 'AGENT', 'SECRET', 'en')`, secret.EntryID},
			"a private entry under a tag":    {"tag_timeline", `('dawn', 7, 'AGENT', 'SECRET', 'en')`, secret.EntryID},
			"an entry in a second place":     {"timeline", `(7, 'AGENT', 'SHOWN', 'en')`, shown.EntryID},
			"an entry under a tag elsewhere": {"tag_timeline", `('dawn', 7, 'AGENT', 'SHOWN', 'en')`, shown.EntryID},
			"an entry that never was":        {"timeline", `(7, 'AGENT', 'entry_never', 'en')`, "entry_never"},
		} {
			values := strings.NewReplacer("AGENT", string(ada.id), "SECRET", string(secret.EntryID), "SHOWN", string(shown.EntryID)).Replace(c.values)
			w.must(`INSERT INTO %s VALUES %s`, c.list, values)
			if id, err := w.Stray(t.Context()); err != nil || id != c.id {
				t.Errorf("%s: found %q, %v", name, id, err)
			}
			for _, q := range []journal.Range{{Limit: 9}, {Agent: ada.id, Limit: 9}, {Tag: "dawn", Limit: 9}} {
				page, err := w.PublicEntries(t.Context(), q)
				if ids := idsOf(page); err != nil || !slices.Equal(ids, []journal.EntryID{shown.EntryID}) {
					t.Errorf("%s: %+v shows %q, %v", name, q, ids, err)
				}
			}
			w.must(`DELETE FROM %s WHERE position = 7`, c.list)
		}
		w.must(`UPDATE timeline SET language = 'ru' WHERE entry_id = '%s'`, shown.EntryID)
		if id, err := w.Stray(t.Context()); err != nil || id != shown.EntryID {
			t.Errorf("an entry listed in another language: found %q, %v", id, err)
		}
	})
}
