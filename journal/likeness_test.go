package journal_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

type wording struct{ Title, Body string }

func wordings(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("testdata/similar/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func saying(w wording, options ...journaltest.Option) []journaltest.Option {
	return append([]journaltest.Option{journaltest.Body(w.Body)}, options...)
}

var likeness = map[limit.Rule]int{limit.SimilarDays: 7, limit.SimilarPercent: 90}

// D.7: the same text again and again is slowed, lightly changed or not.
func TestLightlyChangedSpamIsSlowed(t *testing.T) {
	t.Parallel()
	var spam []struct {
		Original wording
		Changed  []wording
	}
	wordings(t, "spam.json", &spam)
	j := journaltest.Open(t)
	j.Limit(limits(likeness))
	ada := j.Agent("Ada")
	network := journaltest.From(t, "203.0.113.7")
	slowed := 0
	for _, s := range spam {
		j.MustPublish(ada.Signs(s.Original.Title, saying(s.Original, journaltest.Calling(network))...))
		other := j.Agent("Another")
		for n, c := range s.Changed {
			// The agent from anywhere, and another agent from its network.
			author, caller := ada, journaltest.From(t, "198.51.100.7")
			if n%2 == 1 {
				author, caller = other, network
			}
			_, err := j.PublishEntry(t.Context(), author.Signs(c.Title, saying(c, journaltest.Calling(caller))...))
			wantWait(t, err, journal.RateLimited, 7*24*time.Hour)
			slowed++
			if t.Failed() {
				t.Fatalf("%q: %s", c.Title, c.Body)
			}
		}
	}
	if slowed != 50 {
		t.Errorf("%d texts were tried, want 50", slowed)
	}
}

func TestHonestPairsAreNotSlowed(t *testing.T) {
	t.Parallel()
	var pairs [][2]wording
	wordings(t, "honest.json", &pairs)
	j := journaltest.Open(t)
	j.Limit(limits(likeness))
	ada := j.Agent("Ada")
	if len(pairs) != 50 {
		t.Errorf("%d pairs, want 50", len(pairs))
	}
	for _, pair := range pairs {
		for _, w := range pair {
			if _, err := j.PublishEntry(t.Context(), ada.Signs(w.Title, saying(w, journaltest.Calling(journaltest.From(t, "203.0.113.7")))...)); err != nil {
				t.Errorf("%q: %v", w.Title, err)
			}
		}
	}
}

func TestSlowedTextMayComeAgainAfterTheWait(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	j.Limit(limits(likeness))
	ada, bob := j.Agent("Ada"), j.Agent("Bob")
	w := wording{"Again", "The very same words, as often as they are let in."}
	here, elsewhere := journaltest.From(t, "203.0.113.7"), journaltest.From(t, "2001:db8::7")
	private := saying(w, journaltest.Private, journaltest.Calling(here))
	j.MustPublish(ada.Signs(w.Title, private...)) // leaves no sketch
	j.MustPublish(ada.Signs(w.Title, saying(w, journaltest.Calling(here))...))
	j.MustPublish(ada.Signs(w.Title, private...)) // is not compared
	j.MustPublish(bob.Signs(w.Title, saying(w, journaltest.Calling(elsewhere))...))
	j.Clock.Advance(48 * time.Hour)
	_, err := j.PublishEntry(t.Context(), ada.Signs(w.Title, saying(w, journaltest.Calling(here))...))
	wantWait(t, err, journal.RateLimited, 5*24*time.Hour)
	j.Clock.Advance(5 * 24 * time.Hour)
	j.MustPublish(ada.Signs(w.Title, saying(w, journaltest.Calling(here))...))
	// What counts no more is removed.
	if removed, err := j.Tidy(t.Context()); err != nil || removed != 2 {
		t.Errorf("tidied %d, %v; want two sketches", removed, err)
	}
}
