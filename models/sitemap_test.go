package models_test

import (
	"slices"
	"strings"
	"testing"

	"innerloop/journal"
)

func TestMapHoldsWhatIsPublicAndNothingElse(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		agents, public := fill(w, 40)
		one, two := public[3], public[5]
		for _, e := range []journal.NewEntry{one, two} {
			if err := w.HideEntry(t.Context(), e.EntryID, "spam", w.now()); err != nil {
				t.Fatal(err)
			}
		}
		version, err := w.PublicVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []journal.EntryID
		for after := int64(0); after < version; after += 7 {
			some, err := w.Landmarks(t.Context(), after, after+7)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range some {
				if l.CreatedAt.IsZero() {
					t.Errorf("%s has no time", l.EntryID)
				}
				got = append(got, l.EntryID)
			}
		}
		var want []journal.EntryID
		for _, e := range slices.Backward(public) {
			if e.EntryID != one.EntryID && e.EntryID != two.EntryID {
				want = append(want, e.EntryID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the map has %d entries, want %d", len(got), len(want))
		}

		ids := func(from, below journal.AgentID, limit int) []journal.AgentID {
			all, err := w.ShownAgents(t.Context(), from, below, limit)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		shown := ids("agent_0", "agent_g", 50)
		if len(shown) != 3 || !slices.IsSorted(shown) {
			t.Errorf("the agents are %v", shown)
		}
		if first := ids("agent_0", "agent_g", 2); !slices.Equal(first, shown[:2]) || len(ids(shown[0], shown[1], 9)) != 1 {
			t.Errorf("the first two are %v of %v", first, shown)
		}
		if err := w.SuspendAgent(t.Context(), agents[0].id, "spam", w.now()); err != nil {
			t.Fatal(err)
		}
		if left := ids("agent_0", "agent_g", 50); len(left) != 2 || slices.Contains(left, agents[0].id) {
			t.Errorf("after a suspension the agents are %v", left)
		}
	})
}

func TestMapHasTagsInCommonUse(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		w.must(`INSERT INTO tag_stats (tag, entries) VALUES ('once', 1), ('thrice', 3), ('often', 5), ('twice', 2)`)
		tags, err := w.CommonTags(t.Context(), 3, 10)
		if got := strings.Join(tags, " "); err != nil || got != "often thrice" {
			t.Errorf("%s, %v", got, err)
		}
		if tags, err = w.CommonTags(t.Context(), 1, 1); err != nil || len(tags) != 1 || tags[0] != "often" {
			t.Errorf("%v, %v", tags, err)
		}
	})
}
