package models_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/models"
)

// quota is a budget of one day.
func (w *world) quota(scope, subject string, limit int64) journal.Quota {
	from := w.now().Truncate(24 * time.Hour)
	return journal.Quota{Code: journal.DailyAgentSpent, Scope: scope, Subject: subject, From: from, Until: from.Add(24 * time.Hour), Limit: limit}
}

func (w *world) used(scope, subject string) int64 {
	w.t.Helper()
	var used int64
	query := "SELECT coalesce(sum(used), 0) FROM quotas WHERE scope = '" + scope + "' AND subject = '" + subject + "'"
	if err := w.raw().QueryRow(query).Scan(&used); err != nil {
		w.t.Fatal(err)
	}
	return used
}

func with(e journal.NewEntry, quotas ...journal.Quota) journal.NewEntry {
	e.Quotas = quotas
	return e
}

func TestARefusedItemLeavesNoTraceInItsBatch(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		own := func(a *agent) journal.Quota { return w.quota("agent", string(a.id), 2) }
		all := w.quota("all", "", 3)
		batch := []journal.NewEntry{
			with(ada.writes(journal.Public, "1"), own(ada), all),
			with(ada.writes(journal.Private, "2"), own(ada), all),
			with(ada.writes(journal.Public, "3"), own(ada), all), // the agent's own is spent
			with(bob.writes(journal.Public, "4"), own(bob), all),
			with(bob.writes(journal.Public, "5"), own(bob), all), // everybody's is spent
			bob.writes(journal.Public, "6"),                      // counts nowhere
		}
		outcomes := w.append(batch...)
		want := []journal.Clash{journal.None, journal.None, journal.QuotaIsSpent, journal.None, journal.QuotaIsSpent, journal.None}
		if got := clashes(outcomes); !slices.Equal(got, want) {
			t.Fatalf("outcomes %v, want %v", got, want)
		}
		if outcomes[2].Quota.Scope != "agent" || outcomes[4].Quota.Scope != "all" {
			t.Errorf("spent: %q and %q", outcomes[2].Quota.Scope, outcomes[4].Quota.Scope)
		}
		if a, b, all := w.used("agent", string(ada.id)), w.used("agent", string(bob.id)), w.used("all", ""); a != 2 || b != 1 || all != 3 {
			t.Errorf("used %d, %d and %d, want 2, 1 and 3", a, b, all)
		}
		for _, i := range []int{2, 4} {
			if _, err := w.EntryReceipt(t.Context(), batch[i].AgentID, batch[i].IdempotencyKey); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("item %d left a receipt: %v", i, err)
			}
		}
		// The very same submissions go through once there is room.
		later := with(batch[2], w.quota("agent", string(ada.id), 3))
		if got := clashes(w.append(later, batch[0])); !slices.Equal(got, []journal.Clash{journal.None, journal.ReceiptExists}) {
			t.Errorf("later: %v", got)
		}
	})
}

// Of two identical submissions in one batch the second is the repeat of
// nothing when the first was refused.
func TestATwinOfARefusedItemIsDecidedForItself(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		full := w.quota("agent", string(ada.id), 1)
		first := with(ada.writes(journal.Public, "first"), full)
		twin := with(ada.writes(journal.Public, "second"), full)
		if got := clashes(w.append(first, twin, twin)); !slices.Equal(got, []journal.Clash{journal.None, journal.QuotaIsSpent, journal.QuotaIsSpent}) {
			t.Errorf("outcomes %v", got)
		}
		if used := w.used("agent", string(ada.id)); used != 1 {
			t.Errorf("used %d", used)
		}
	})
}

// D.1: four processes on one database never admit more than the limit.
func TestQuotasHoldAcrossProcesses(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		const processes, tries, most = 4, 20, 25
		agents := []*agent{w.agent(), w.agent(), w.agent()}
		stores := []*models.Store{w.Store}
		for len(stores) < processes {
			stores = append(stores, w.open())
		}
		var entries, registrations atomic.Int64
		var work sync.WaitGroup
		for _, store := range stores {
			for n := range tries {
				a := agents[n%len(agents)]
				e := with(a.writes(journal.Public, "flood"), w.quota("agent", string(a.id), 12), w.quota("all", "", most))
				r := w.unregistered().registration()
				r.Quotas = []journal.Quota{w.quota("network", "n", 7), w.quota("registrations", "", 100)}
				work.Go(func() {
					outcomes, err := store.AppendEntries(t.Context(), []journal.NewEntry{e})
					switch {
					case err != nil:
						t.Error(err)
					case outcomes[0].Clash == journal.None:
						entries.Add(1)
					case outcomes[0].Clash != journal.QuotaIsSpent:
						t.Errorf("clash %d", outcomes[0].Clash)
					}
				})
				work.Go(func() {
					err := store.CompleteRegistration(t.Context(), r)
					spent := (*journal.QuotaSpent)(nil)
					switch {
					case err == nil:
						registrations.Add(1)
					case !errors.As(err, &spent) || spent.Quota.Scope != "network":
						t.Error(err)
					}
				})
			}
		}
		work.Wait()
		if entries.Load() != most || registrations.Load() != 7 {
			t.Errorf("%d entries and %d registrations were admitted, want %d and 7", entries.Load(), registrations.Load(), most)
		}
		if all, network, service := w.used("all", ""), w.used("network", "n"), w.used("registrations", ""); all != most || network != 7 || service != 7 {
			t.Errorf("used %d, %d and %d", all, network, service)
		}
	})
}

func TestARefusedRegistrationLeavesNoTrace(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		first := w.unregistered().registration()
		first.Quotas = []journal.Quota{w.quota("service", "", 5), w.quota("network", "n", 1)}
		if err := w.CompleteRegistration(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		second := w.unregistered().registration()
		second.Quotas = first.Quotas
		spent := (*journal.QuotaSpent)(nil)
		if err := w.CompleteRegistration(t.Context(), second); !errors.As(err, &spent) || spent.Quota.Scope != "network" {
			t.Fatalf("second: %v", err)
		}
		if w.used("service", "") != 1 {
			t.Errorf("the refused registration used %d of the service's", w.used("service", ""))
		}
		c, err := w.Challenge(t.Context(), second.ChallengeID)
		if err != nil || c.Completed() {
			t.Errorf("the challenge is %+v, %v", c, err)
		}
		second.Quotas = nil
		if err := w.CompleteRegistration(t.Context(), second); err != nil {
			t.Errorf("the same registration without limits: %v", err)
		}
	})
}

func TestOpenChallengesOfANetworkAreCapped(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		open := func(network string, at time.Time) (journal.Challenge, error) {
			a := w.unregistered()
			c := w.challenge(a.public)
			c.ID = journal.ChallengeID(string(c.ID[:24]) + w.hex()[:12])
			c.Network, c.Open, c.IssuedAt, c.ExpiresAt = network, 2, at, at.Add(5*time.Minute)
			return c, w.SaveChallenge(t.Context(), c)
		}
		first, err := open("n", w.now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open("n", w.now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		spent := (*journal.QuotaSpent)(nil)
		if _, err := open("n", w.now()); !errors.As(err, &spent) || !spent.Quota.Until.Equal(first.ExpiresAt) {
			t.Errorf("the third: %v", err)
		}
		if _, err := open("m", w.now()); err != nil {
			t.Errorf("another network: %v", err)
		}
		if _, err := open("n", first.ExpiresAt); err != nil {
			t.Errorf("once the first expired: %v", err)
		}
		removed, more, err := w.Tidy(t.Context(), w.now().Add(time.Hour), 100)
		if err != nil || removed == 0 || more {
			t.Errorf("tidied %d, more %v, %v", removed, more, err)
		}
		if _, err := w.Challenge(t.Context(), first.ID); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("an expired challenge after tidying: %v", err)
		}
	})
}

func TestTidyRemovesWhatHasEndedInSteps(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		e := with(ada.writes(journal.Public, "one"), w.quota("agent", string(ada.id), 9), w.quota("all", "", 9))
		e.Sketch = &journal.Sketch{Network: "n", Values: []byte{1, 2, 3, 4}, Until: w.now().Add(48 * time.Hour)}
		w.publish(e)
		done, more, err := w.Tidy(t.Context(), w.now(), 1)
		if err != nil || done != 0 || more {
			t.Errorf("too early: %d, %v, %v", done, more, err)
		}
		total := 0
		for more = true; more; total += done {
			if done, more, err = w.Tidy(t.Context(), w.now().Add(48*time.Hour), 1); err != nil || done > 3 {
				t.Fatalf("%d at once, %v", done, err)
			}
		}
		if total != 3 {
			t.Errorf("removed %d rows, want two quotas and a sketch", total)
		}
		if _, err := w.EntryReceipt(t.Context(), ada.id, e.IdempotencyKey); err != nil {
			t.Errorf("the receipt went too: %v", err)
		}
	})
}

func TestSketchesOfAgentAndNetwork(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		sketched := func(a *agent, visibility, network string, mark byte) journal.NewEntry {
			e := a.writes(visibility, "x")
			e.Sketch = &journal.Sketch{Network: network, Values: []byte{0, 0, 0, mark}, Until: e.CreatedAt.Add(time.Hour)}
			return w.publish(e)
		}
		first := sketched(ada, journal.Public, "n", 1)
		sketched(bob, journal.Public, "n", 2)
		sketched(bob, journal.Public, "m", 3)
		sketched(bob, journal.Public, "", 4)
		marks := func(a *agent, network string, after time.Time, most int) []byte {
			list, err := w.Sketches(t.Context(), a.id, network, after, most)
			if err != nil {
				t.Fatal(err)
			}
			var marks []byte
			for _, s := range list {
				marks = append(marks, s.Values[3])
			}
			return marks
		}
		for _, row := range []struct {
			name string
			got  []byte
			want []byte
		}{
			{"by agent and network", marks(ada, "n", w.now(), 9), []byte{1, 2, 1}},
			{"an unknown network", marks(bob, "", w.now(), 9), []byte{4, 3, 2}},
			{"the newest", marks(bob, "n", w.now(), 1), []byte{4, 2}},
			{"the recent", marks(ada, "n", first.CreatedAt, 9), []byte{2}},
		} {
			if !slices.Equal(row.got, row.want) {
				t.Errorf("%s: %v, want %v", row.name, row.got, row.want)
			}
		}
	})
}

// A.8: what one process switches, the others do within a second.
func TestTheSwitchHoldsEverywhereWithinASecond(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		var now atomic.Int64
		now.Store(w.now().UnixNano())
		other, err := models.Open(t.Context(), models.Options{URL: w.url, Now: func() time.Time { return time.Unix(0, now.Load()) }})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close() }()
		ada := w.agent()
		publish := func(e journal.NewEntry) journal.Clash {
			outcomes, err := other.AppendEntries(t.Context(), []journal.NewEntry{e})
			if err != nil {
				t.Fatal(err)
			}
			return outcomes[0].Clash
		}
		stored := ada.writes(journal.Public, "before")
		if clash := publish(stored); clash != journal.None {
			t.Fatalf("clash %d", clash)
		}
		if err := w.SetWrites(t.Context(), false, w.now()); err != nil {
			t.Fatal(err)
		}
		if on, err := w.Writes(t.Context()); on || err != nil {
			t.Errorf("the process that switched: %v, %v", on, err)
		}
		now.Add(int64(time.Second))
		e := with(ada.writes(journal.Public, "during"), w.quota("agent", string(ada.id), 5))
		if clash := publish(e); clash != journal.WritesAreOff {
			t.Errorf("a second later: clash %d", clash)
		}
		if clash := publish(stored); clash != journal.ReceiptExists {
			t.Errorf("an exact repeat: clash %d", clash)
		}
		if w.used("agent", string(ada.id)) != 0 {
			t.Error("a refused entry was counted")
		}
		if err := w.SetWrites(t.Context(), true, w.now()); err != nil {
			t.Fatal(err)
		}
		now.Add(int64(time.Second))
		if clash := publish(e); clash != journal.None {
			t.Errorf("the same entry once writes are on: clash %d", clash)
		}
	})
}
