package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

const hubURL = "https://hub.example/push?a=1"

// A heard is a hub that keeps what it is told.
type heard struct {
	mu     sync.Mutex
	topics []string
	calls  int
	broken bool
}

func (h *heard) post(_ context.Context, address string, form url.Values) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	switch {
	case address != hubURL || len(form) != 2 || form.Get("hub.mode") != "publish":
		return fmt.Errorf("told at %s with %v", address, form)
	case h.broken:
		return errors.New("no hub here")
	}
	h.topics = append(h.topics, form.Get("hub.url"))
	return nil
}

func (h *heard) breaks(broken bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = broken
}

// since returns what was told since it was last asked, sorted, and the calls.
func (h *heard) since() ([]string, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	topics, calls := h.topics, h.calls
	h.topics, h.calls = nil, 0
	slices.Sort(topics)
	return topics, calls
}

// withHub serves a journal with a hub. The returned function runs rounds to
// their end: the tick after a round is taken when the round is done.
func withHub(t *testing.T) (*door, *heard, func(rounds int)) {
	t.Helper()
	h := &heard{}
	d := open(t, func(o *handlers.Options) { o.Hub = handlers.Hub{URL: hubURL, Post: h.post} })
	ticks := make(chan time.Time)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { d.server.TellHub(ctx, ticks) })
	t.Cleanup(func() { cancel(); running.Wait() })
	run := func(rounds int) {
		for range rounds {
			ticks <- time.Time{}
		}
	}
	run(1)
	return d, h, run
}

func feedsAt(bases ...string) []string {
	var all []string
	for _, base := range bases {
		for suffix := range feedSuffixes {
			all = append(all, origin+base+"/feed"+suffix)
		}
	}
	slices.Sort(all)
	return all
}

// The hub hears once of every feed that has a new public entry, however many
// came between two rounds, and of nothing else.
func TestHubHearsOfWhatWasPublished(t *testing.T) {
	t.Parallel()
	d, h, run := withHub(t)
	ada, bob := d.Agent("Ada"), d.Agent("Bob")
	run(2)
	if topics, calls := h.since(); calls != 0 {
		t.Fatalf("told of %q before anything was published", topics)
	}
	for i := range 60 { // more than a page
		d.MustPublish(ada.Signs(fmt.Sprint("Entry ", i), journaltest.Tags("a/b", "ы")))
	}
	d.MustPublish(bob.Signs("Mine", journaltest.Private))
	run(2)
	if topics, _ := h.since(); !slices.Equal(topics, feedsAt("", "/agents/"+string(ada.ID), "/tags/a%2Fb", "/tags/%D1%8B")) {
		t.Errorf("told of %q", topics)
	}
	if err := d.SuspendAgent(t.Context(), ada.ID, "test"); err != nil {
		t.Fatal(err)
	}
	run(3)
	if topics, _ := h.since(); !slices.Equal(topics, feedsAt("", "/agents/"+string(ada.ID), "/tags/a%2Fb", "/tags/%D1%8B")) {
		t.Errorf("told of %q after an agent was suspended", topics)
	}
	run(2)
	if topics, calls := h.since(); calls != 0 {
		t.Errorf("told of %q after nothing changed", topics)
	}
	d.MustPublish(bob.Signs("Ours", journaltest.Tags()))
	run(2)
	if topics, _ := h.since(); !slices.Equal(topics, feedsAt("", "/agents/"+string(bob.ID))) {
		t.Errorf("told of %q", topics)
	}
}

// A reader of a hub hears that a text is gone, and that it is back, as soon as
// of a new one.
func TestHubHearsOfWhatWasWithdrawn(t *testing.T) {
	t.Parallel()
	d, h, run := withHub(t)
	ada, bob := d.Agent("Ada"), d.Agent("Bob")
	hidden := d.MustPublish(ada.Signs("One", journaltest.Tags("calm"))).EntryID
	erased := d.MustPublish(bob.Signs("Two", journaltest.Tags("loud"))).EntryID
	run(3)
	h.since()
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"hidden", func() error { return d.HideEntry(t.Context(), hidden, "spam") }, feedsAt("", "/agents/"+string(ada.ID), "/tags/calm")},
		{"shown again", func() error { return d.UnhideEntry(t.Context(), hidden, "other") }, feedsAt("", "/agents/"+string(ada.ID), "/tags/calm")},
		{"erased", func() error {
			_, err := d.DeleteEntry(t.Context(), bob.Asks(seal.ActionEntryDelete, journaltest.Deletes(erased)))
			return err
		}, feedsAt("", "/agents/"+string(bob.ID), "/tags/loud")},
		{"untouched", func() error { return nil }, nil},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		run(2)
		if topics, _ := h.since(); !slices.Equal(topics, step.want) {
			t.Errorf("%s: told of %q", step.name, topics)
		}
	}
}

// A hub that does not answer is asked ever more rarely, and hears all of it
// once it is back.
func TestHubThatIsAwayHearsLater(t *testing.T) {
	t.Parallel()
	d, h, run := withHub(t)
	h.breaks(true)
	ada := d.Agent("Ada")
	d.MustPublish(ada.Signs("One", journaltest.Tags()))
	run(102)
	if _, calls := h.since(); calls < 3 || calls > 9 {
		t.Errorf("asked %d times in 100 rounds", calls)
	}
	if log := d.Log.String(); !strings.Contains(log, "no hub here") || strings.Contains(log, "One") {
		t.Errorf("the log says %s", log)
	}
	h.breaks(false)
	run(70)
	if topics, calls := h.since(); calls != 6 || !slices.Equal(topics, feedsAt("", "/agents/"+string(ada.ID))) {
		t.Errorf("told of %q in %d calls", topics, calls)
	}
}

// What waits for the hub is bounded, and so is each round; the journal's own
// feeds are told of first.
func TestHubQueueIsBounded(t *testing.T) {
	t.Parallel()
	d, h, run := withHub(t)
	ada := d.Agent("Ada")
	for i := range 30 {
		var tags []string
		for n := range 8 {
			tags = append(tags, fmt.Sprintf("t%d-%d", i, n))
		}
		d.MustPublish(ada.Signs(fmt.Sprint("Entry ", i), journaltest.Tags(tags...)))
	}
	run(2)
	topics, first := h.since() // of one round, and of a part of the next
	if first < 60 || first > 120 || !slices.Contains(topics, origin+"/feed.atom") {
		t.Errorf("%d calls in a round", first)
	}
	run(50)
	if _, calls := h.since(); first+calls != 500 {
		t.Errorf("%d calls in all, want 500", first+calls)
	}
	if !strings.Contains(d.Log.String(), "too many feeds changed") {
		t.Error("the log does not tell")
	}
}

func TestFeedsNameTheHub(t *testing.T) {
	t.Parallel()
	d, _, _ := withHub(t)
	ada := d.Agent("Ada")
	d.MustPublish(ada.Signs("One"))
	for _, address := range feedsAt("", "/agents/"+string(ada.ID), "/tags/notes") {
		path := strings.TrimPrefix(address, origin)
		r := d.get(path)
		want := []string{"<" + hubURL + `>; rel="hub"`, "<" + address + `>; rel="self"`}
		if got := r.Header.Values("Link"); !slices.Equal(got, want) {
			t.Errorf("%s: link %q", path, got)
		}
		if strings.Count(r.Body, hubURL) != 1 {
			t.Errorf("%s names the hub %d times", path, strings.Count(r.Body, hubURL))
		}
		again := d.get(path, "If-None-Match", r.Header.Get("ETag"))
		if got := again.Header.Values("Link"); again.Status != http.StatusNotModified || !slices.Equal(got, want) {
			t.Errorf("%s unchanged: %d, link %q", path, again.Status, got)
		}
	}
	for _, path := range []string{"/feed.atom?lang=en", "/opml", "/feed.atom?before=x", "/agents/x/feed.rss", "/"} {
		if r := d.get(path); len(r.Header.Values("Link")) != 0 || strings.Contains(r.Body, "hub.example") {
			t.Errorf("%s names the hub", path)
		}
	}
	without := open(t)
	without.MustPublish(without.Agent("Ada").Signs("One"))
	for suffix := range feedSuffixes {
		if r := without.get("/feed" + suffix); len(r.Header.Values("Link")) != 0 || strings.Contains(r.Body, "hub") {
			t.Errorf("a feed names a hub where there is none: %v", r.Header)
		}
	}
}
