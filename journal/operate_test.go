package journal_test

import (
	"strings"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// F.10: what a suspended agent may and may not do, and that its public traces
// vanish and come back.
func TestSuspendedAgent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		id := j.MustPublish(ada.Signs("shown")).EntryID
		gone := j.MustPublish(ada.Signs("goes")).EntryID
		before, _ := j.Version(t.Context())
		j.Clock.Advance(time.Minute)
		if err := j.SuspendAgent(t.Context(), ada.ID, "noise"); err != nil {
			t.Fatal(err)
		}
		if after, _ := j.Version(t.Context()); after <= before {
			t.Error("the version stands still")
		}
		j.Clock.Advance(time.Minute)
		if err := j.SuspendAgent(t.Context(), ada.ID, "again"); err != nil {
			t.Fatal(err)
		}
		_, err := j.Entry(t.Context(), id)
		if f, ok := journal.AsFault(err); !ok || f.Code != journal.EntryWithdrawn || f.Withdrawal.By != "operator" || !f.Withdrawal.WithdrawnAt.Equal(journaltest.Start.Add(time.Minute)) {
			t.Errorf("got %v", err)
		}
		_, err = j.PublicAgent(t.Context(), ada.ID)
		journaltest.WantFault(t, err, journal.AgentNotFound)
		if page, err := j.Feed(t.Context(), journal.FeedQuery{Limit: 50}); err != nil || len(page.Entries) > 0 {
			t.Errorf("%d entries in the feed, %v", len(page.Entries), err)
		}

		_, err = j.PublishEntry(t.Context(), ada.Signs("barred"))
		journaltest.WantFault(t, err, journal.AgentSuspended)
		_, _, err = j.UpdateProfile(t.Context(), ada.Asks(seal.ActionProfileSet, journaltest.Bio("barred")))
		journaltest.WantFault(t, err, journal.AgentSuspended)
		page, err := j.ExportEntries(t.Context(), ada.Asks(seal.ActionEntryExport, journaltest.ExportAll(500, nil)))
		if err != nil || len(page.Entries) != 2 {
			t.Errorf("export: %+v, %v", page, err)
		}
		mustDelete(t, j, ada, gone)
		private, public := journaltest.Key(t, t.Name())
		if _, err := j.RotateKey(t.Context(), ada.Asks(seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, private, public))); err != nil {
			t.Error("rotate:", err)
		}
		ada = ada.Becomes(private, public)
		if _, err := j.DeleteIdentity(t.Context(), ada.Asks(seal.ActionIdentityDelete, map[string]any{"confirm_agent_id": string(ada.ID), "reason_code": "owner_request"})); err != nil {
			t.Error("delete itself:", err)
		}

		if err := j.RestoreAgent(t.Context(), ada.ID, "settled"); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Entry(t.Context(), id); err != nil {
			t.Error(err)
		}
		if a, err := j.PublicAgent(t.Context(), ada.ID); err != nil || a.PublicEntries != 1 {
			t.Errorf("%+v, %v", a, err)
		}
		j.Check()
	})
}

// 11.2: a hidden entry leaves every public reading, its owner sees it marked,
// and it comes back to its place.
func TestHiddenEntry(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		titles := func() string {
			var seen []string
			for _, q := range []journal.FeedQuery{{Limit: 50}, {Limit: 50, Tag: "notes"}, {Limit: 50, Agent: ada.ID}} {
				page, err := j.Feed(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Entries {
					seen = append(seen, e.Entry.Title)
				}
			}
			return strings.Join(seen, "")
		}
		j.MustPublish(ada.Signs("a"))
		j.Clock.Advance(time.Minute)
		id := j.MustPublish(ada.Signs("b")).EntryID
		j.Clock.Advance(time.Minute)
		j.MustPublish(ada.Signs("c"))
		if err := j.HideEntry(t.Context(), id, "spam"); err != nil {
			t.Fatal(err)
		}
		if got := titles(); got != "cacaca" {
			t.Errorf("readings %s", got)
		}
		_, err := j.Entry(t.Context(), id)
		journaltest.WantFault(t, err, journal.EntryWithdrawn)
		e, err := j.ReadOwnEntry(t.Context(), ada.Asks(seal.ActionEntryRead, map[string]any{"entry_id": string(id)}))
		if err != nil || e.Status != "hidden" || e.Entry.Title != "b" {
			t.Errorf("%+v, %v", e, err)
		}
		j.Check()
		for range 2 {
			if err := j.UnhideEntry(t.Context(), id, "a mistake"); err != nil {
				t.Fatal(err)
			}
		}
		if got := titles(); got != "cbacbacba" {
			t.Errorf("readings %s", got)
		}
		if a, err := j.PublicAgent(t.Context(), ada.ID); err != nil || a.PublicEntries != 3 || !a.FirstPublicAt.Equal(journaltest.Start) {
			t.Errorf("%+v, %v", a, err)
		}
		if err := j.HideEntry(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		mustDelete(t, j, ada, id)
		journaltest.WantFault(t, j.UnhideEntry(t.Context(), id, ""), journal.EntryNotFound)
		if a, err := j.PublicAgent(t.Context(), ada.ID); err != nil || a.PublicEntries != 2 {
			t.Errorf("%+v, %v", a, err)
		}
		j.Check()
	})
}

func TestOperationsOnNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		secret := j.MustPublish(j.Agent("Ada").Signs("secret", journaltest.Private)).EntryID
		journaltest.WantFault(t, j.HideEntry(t.Context(), secret, ""), journal.EntryNotFound)
		journaltest.WantFault(t, j.HideEntry(t.Context(), "entry_none", ""), journal.EntryNotFound)
		journaltest.WantFault(t, j.UnhideEntry(t.Context(), "no id", ""), journal.EntryNotFound)
		journaltest.WantFault(t, j.SuspendAgent(t.Context(), "agent_none", ""), journal.AgentNotFound)
		journaltest.WantFault(t, j.RestoreAgent(t.Context(), "agent_none", strings.Repeat("x", 501)), journal.ValidationFailed)
	})
}
