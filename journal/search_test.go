package journal_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
	"unicode"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

func fromFile[T any](t *testing.T, name string) (v T) {
	t.Helper()
	text, err := os.ReadFile("testdata/search/" + name)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// byScript is a language that no detector can change its mind about.
func byScript(text string) string {
	latin, cyrillic := 0, 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		}
	}
	switch {
	case latin == 0 && cyrillic == 0:
		return "und"
	case latin > cyrillic:
		return "en"
	}
	return "ru"
}

// A library is the journal that the queries are asked of.
type library struct {
	*journaltest.J
	agents map[string]*journaltest.Agent
	ids    map[string]journal.EntryID
	labels map[journal.EntryID]string
}

func openLibrary(t *testing.T, j *journaltest.J) *library {
	t.Helper()
	j.Speaks(byScript)
	l := &library{J: j, agents: map[string]*journaltest.Agent{}, ids: map[string]journal.EntryID{}, labels: map[journal.EntryID]string{}}
	for _, e := range fromFile[[]struct {
		ID, By, Title, State, Body string
		Tags                       []string
		Year                       int
		Private                    bool
	}](t, "entries.json") {
		if j.Clock.Now().Year() != e.Year {
			j.Clock.Set(time.Date(e.Year, 3, 1, 12, 0, 0, 0, time.UTC))
		}
		j.Clock.Advance(time.Minute)
		if l.agents[e.By] == nil {
			l.agents[e.By] = j.Agent(e.By)
		}
		options := []journaltest.Option{journaltest.State(e.State), journaltest.Body(e.Body), journaltest.Tags(e.Tags...)}
		if e.Private {
			options = append(options, journaltest.Private)
		}
		l.ids[e.ID] = j.MustPublish(l.agents[e.By].Signs(e.Title, options...)).EntryID
		l.labels[l.ids[e.ID]] = e.ID
	}
	return l
}

// finds asks page by page and returns the labels in order.
func (l *library) finds(t *testing.T, q journal.SearchQuery) []string {
	t.Helper()
	labels := []string{}
	for {
		page, err := l.Search(t.Context(), q)
		if err != nil {
			t.Fatalf("%q: %v", q.Text, err)
		}
		if len(page.Entries) > q.Limit || page.Stopped || page.Building {
			t.Errorf("%q: %d entries, stopped %t, building %t", q.Text, len(page.Entries), page.Stopped, page.Building)
		}
		for _, e := range page.Entries {
			labels = append(labels, l.labels[e.EntryID])
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return labels
		}
	}
}

func TestSearchFindsTheSameOnBothEngines(t *testing.T) {
	queries := fromFile[[]struct {
		Name, Q, Agent, Tag, Lang string
		Year, Limit               int
		Want                      []string
	}](t, "queries.json")
	if len(queries) < 40 {
		t.Fatalf("%d queries", len(queries))
	}
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		l := openLibrary(t, j)
		for _, q := range queries {
			ask := journal.SearchQuery{Text: q.Q, Tag: q.Tag, Language: q.Lang, Year: q.Year, Limit: 20}
			if q.Limit > 0 {
				ask.Limit = q.Limit
			}
			if q.Agent != "" {
				ask.Agent = l.agents[q.Agent].ID
			}
			if got := l.finds(t, ask); !slices.Equal(got, q.Want) {
				t.Errorf("%s (%s): found %q, want %q", q.Name, q.Q, got, q.Want)
			}
		}
		l.Check()
	})
}

// Whatever takes an entry out of sight takes its words out with it, before the
// next question.
func TestWhatIsWithdrawnIsNotFound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		l := openLibrary(t, j)
		all := journal.SearchQuery{Text: "parser", Limit: 20}
		want := func(when string, labels ...string) {
			t.Helper()
			if got := l.finds(t, all); !slices.Equal(got, labels) {
				t.Errorf("%s: found %q, want %q", when, got, labels)
			}
			l.Check()
		}
		ctx, wren := t.Context(), l.agents["wren"]
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		want("at first", "n17", "n16", "n01")
		do(l.HideEntry(ctx, l.ids["n16"], "spam"))
		want("hidden", "n17", "n01")
		do(l.UnhideEntry(ctx, l.ids["n16"], "no spam"))
		want("unhidden", "n17", "n16", "n01")
		do(l.SuspendAgent(ctx, wren.ID, "spam"))
		want("suspended", "n16")
		do(l.RestoreAgent(ctx, wren.ID, "no spam"))
		want("restored", "n17", "n16", "n01")
		_, err := l.DeleteEntry(ctx, wren.Asks(seal.ActionEntryDelete, journaltest.Deletes(l.ids["n17"])))
		do(err)
		want("deleted", "n16", "n01")
	})
}
