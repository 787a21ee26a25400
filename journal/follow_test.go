package journal_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// hears follows until it was told of n events, and returns them as "kind id".
func hears(t *testing.T, f *journal.Follower, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var told []string
	for len(told) < n {
		bell := f.Bell()
		h, err := f.Next(ctx)
		if err != nil {
			t.Fatalf("after %q: %v", told, err)
		}
		for _, e := range h.Events {
			told = append(told, e.Kind+" "+string(e.EntryID))
		}
		if h.More || len(told) >= n {
			continue
		}
		select {
		case <-bell:
		case <-ctx.Done():
			t.Fatalf("heard only %q", told)
		}
	}
	return told
}

func follow(t *testing.T, j *journal.Journal, after ...int64) *journal.Follower {
	t.Helper()
	var from *int64
	if len(after) > 0 {
		from = &after[0]
	}
	f, err := j.Follow(t.Context(), journal.Caller{}, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// silent fails if there is anything to hear.
func silent(t *testing.T, f *journal.Follower) {
	t.Helper()
	if h, err := f.Next(t.Context()); err != nil || len(h.Events) != 0 {
		t.Errorf("heard %v (%v), want nothing", h.Events, err)
	}
}

func TestFollowersHearEveryPublicEntryOnce(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	before := "entry " + string(j.MustPublish(ada.Signs("before")).EntryID)
	now := follow(t, j.Journal)
	const entries = 600 // more than two steps
	ids := make(chan string, entries)
	go func() {
		defer close(ids)
		for n := range entries {
			r, err := j.PublishEntry(t.Context(), ada.Signs(fmt.Sprint("entry ", n)))
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := j.PublishEntry(t.Context(), ada.Signs("mine", journaltest.Private)); err != nil {
				t.Error(err)
				return
			}
			ids <- "entry " + string(r.EntryID)
		}
	}()
	told := hears(t, now, entries)
	want := make([]string, 0, entries)
	for id := range ids {
		want = append(want, id)
	}
	if !slices.Equal(told, want) {
		t.Errorf("heard %d events that are not the %d entries in order", len(told), len(want))
	}
	silent(t, now)
	if at := now.Position(); at != entries+1 {
		t.Errorf("the position is %d after %d public events: private ones were counted", at, entries+1)
	}
	if got := hears(t, follow(t, j.Journal, 0), entries+1); !slices.Equal(got, append([]string{before}, want...)) {
		t.Errorf("from the beginning: %d events that are not all entries in order", len(got))
	}
	if got := hears(t, follow(t, j.Journal, entries-1), 2); !slices.Equal(got, want[entries-2:]) {
		t.Errorf("resumed: %q", got)
	}
	silent(t, follow(t, j.Journal, 1<<40))
}

func TestWithdrawnEntriesAreNotReplayed(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada, eve := j.Agent("Ada"), j.Agent("Eve")
	hidden, kept := j.MustPublish(ada.Signs("hidden")).EntryID, j.MustPublish(ada.Signs("kept")).EntryID
	later, suspended := j.MustPublish(ada.Signs("later")).EntryID, j.MustPublish(eve.Signs("suspended")).EntryID
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(j.HideEntry(t.Context(), hidden, "spam"))
	must(j.SuspendAgent(t.Context(), eve.ID, "spam"))
	live := follow(t, j.Journal)
	replay := follow(t, j.Journal, 0)
	if got, want := hears(t, replay, 2), []string{"entry " + string(kept), "entry " + string(later)}; !slices.Equal(got, want) {
		t.Errorf("replayed %q, want %q", got, want)
	}
	silent(t, replay)
	silent(t, live)

	// Who is there hears of it, and of what comes back.
	must(j.HideEntry(t.Context(), later, "other"))
	must(j.UnhideEntry(t.Context(), hidden, "other"))
	must(j.RestoreAgent(t.Context(), eve.ID, "other"))
	for _, f := range []*journal.Follower{live, replay} {
		want := []string{"withdrawn " + string(later), "restored " + string(hidden), "restored " + string(suspended)}
		if got := hears(t, f, 3); !slices.Equal(got, want) {
			t.Errorf("heard %q, want %q", got, want)
		}
		silent(t, f)
	}
	afterwards := follow(t, j.Journal, 0)
	again := hears(t, afterwards, 3)
	want := []string{"entry " + string(hidden), "entry " + string(kept), "entry " + string(suspended)}
	if !slices.Equal(again, want) {
		t.Errorf("replayed after all that: %q, want %q", again, want)
	}
	silent(t, afterwards) // each once, whatever happened between
}

// Attack on "every public entry exactly once": a reader comes by while an agent
// is suspended, so that its place moves past entries that it was never told of.
// Expectation: when the suspension is lifted it hears of each of them, also when
// it was away at that moment, and of none that was withdrawn for another reason.
func TestLiftedSuspensionsAreHeard(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada, eve := j.Agent("Ada"), j.Agent("Eve")
	one, two := j.MustPublish(eve.Signs("one")).EntryID, j.MustPublish(eve.Signs("two")).EntryID
	hidden, last := j.MustPublish(eve.Signs("hidden")).EntryID, j.MustPublish(ada.Signs("last")).EntryID
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(j.HideEntry(t.Context(), hidden, "spam"))
	live := follow(t, j.Journal)
	must(j.SuspendAgent(t.Context(), eve.ID, "spam"))
	if got, want := hears(t, live, 2), []string{"withdrawn " + string(one), "withdrawn " + string(two)}; !slices.Equal(got, want) {
		t.Errorf("at the suspension heard %q, want %q", got, want)
	}
	silent(t, live)
	passing := follow(t, j.Journal, 0)
	if got := hears(t, passing, 1); got[0] != "entry "+string(last) {
		t.Errorf("heard %q", got)
	}
	silent(t, passing)
	away := passing.Position()

	must(j.RestoreAgent(t.Context(), eve.ID, "other"))
	want := []string{"restored " + string(one), "restored " + string(two)}
	for name, f := range map[string]*journal.Follower{"live": live, "passing": passing, "back again": follow(t, j.Journal, away)} {
		if got := hears(t, f, 2); !slices.Equal(got, want) {
			t.Errorf("%s: heard %q, want %q", name, got, want)
		}
		silent(t, f)
	}
	// A second suspension leaves nothing to hear of the first.
	must(j.SuspendAgent(t.Context(), eve.ID, "spam"))
	silent(t, follow(t, j.Journal, away))
}

// A withdrawal between a follower's steps is in force at the next one, also
// when another follower has read the same stretch before.
func TestSharedStepsEndWithTheVersion(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	id := j.MustPublish(ada.Signs("seen, then hidden")).EntryID
	first, second := follow(t, j.Journal, 0), follow(t, j.Journal, 0)
	if got := hears(t, first, 1); got[0] != "entry "+string(id) {
		t.Fatalf("heard %q", got)
	}
	if err := j.HideEntry(t.Context(), id, "spam"); err != nil {
		t.Fatal(err)
	}
	if got := hears(t, second, 1); got[0] != "withdrawn "+string(id) {
		t.Errorf("heard %q of a hidden entry", got)
	}
}

// A counting store counts how often followers read it.
type countingStore struct {
	journal.Store
	reads atomic.Int64
}

func (c *countingStore) PublicEvents(ctx context.Context, after int64, limit int) ([]journal.PublicEvent, error) {
	c.reads.Add(1)
	return c.Store.PublicEvents(ctx, after, limit)
}

func TestFollowersAtOnePlaceReadOnce(t *testing.T) {
	t.Parallel()
	base := journaltest.Open(t)
	counting := &countingStore{Store: base.Store}
	j := journaltest.Around(t, base.Store, counting)
	ada := j.Agent("Ada")
	var crowd []*journal.Follower
	for range 200 {
		crowd = append(crowd, follow(t, j.Journal))
	}
	j.MustPublish(ada.Signs("for all"))
	counting.reads.Store(0)
	var listening sync.WaitGroup
	for _, f := range crowd {
		listening.Go(func() {
			if h, err := f.Next(t.Context()); err != nil || len(h.Events) != 1 {
				t.Errorf("heard %v (%v)", h.Events, err)
			}
		})
	}
	listening.Wait()
	if n := counting.reads.Load(); n != 1 {
		t.Errorf("200 followers read the store %d times, want once", n)
	}
}

func TestFollowersHearOtherProcesses(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "journal.db")
	j := journaltest.OpenOn(t, url)
	f := follow(t, j.Journal)
	other := j.Beside(url, nil)
	ada := other.Agent("Ada")
	for range 3 {
		id := other.MustPublish(ada.Signs("from beside")).EntryID
		if got := hears(t, f, 1); got[0] != "entry "+string(id) {
			t.Errorf("heard %q", got)
		}
	}
}

func TestFollowersAreCapped(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	limits := limit.Defaults()
	limits.Numbers[limit.LiveReadersPerNetwork], limits.Numbers[limit.LiveReaders] = 2, 3
	j.Limit(limits)
	one, two := journaltest.From(t, "203.0.113.7"), journaltest.From(t, "198.51.100.7")
	enter := func(c journal.Caller) (*journal.Follower, error) { return j.Follow(t.Context(), c, nil) }
	refused := func(c journal.Caller, code journal.Code) {
		t.Helper()
		_, err := enter(c)
		journaltest.WantFault(t, err, code)
		if fault, ok := journal.AsFault(err); ok && fault.RetryAfter <= 0 {
			t.Error("the refusal names no wait")
		}
	}
	var in []*journal.Follower
	for _, c := range []journal.Caller{one, one, two} {
		f, err := enter(c)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, f)
	}
	refused(two, journal.ServiceUnavailable)
	in[2].Close()
	refused(one, journal.RateLimited)
	in[0].Close()
	f, err := enter(one)
	if err != nil {
		t.Fatalf("a place was free: %v", err)
	}
	f.Close()
	in[1].Close()
	// The last has left; the next begins anew.
	again := follow(t, j.Journal)
	id := j.MustPublish(j.Agent("Ada").Signs("after a pause")).EntryID
	if got := hears(t, again, 1); got[0] != "entry "+string(id) {
		t.Errorf("heard %q", got)
	}
}
