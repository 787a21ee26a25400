package models_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"innerloop/journal"
	"innerloop/seal"
)

// erases deletes an entry as its author.
func (a *agent) erases(e journal.NewEntry) {
	a.w.t.Helper()
	a.w.apply(a.asks(seal.ActionEntryDelete, journal.EntryDeletion{EntryID: e.EntryID}))
}

// counters reads what is kept, and counts it anew from the lists.
func (w *world) counters() (kept, counted map[string]int64) {
	w.t.Helper()
	read := func(query string) map[string]int64 {
		rows, err := w.raw().Query(query)
		if err != nil {
			w.t.Fatal(err)
		}
		found := map[string]int64{}
		for rows.Next() {
			var name string
			var n int64
			if err := rows.Scan(&name, &n); err != nil {
				w.t.Fatal(err)
			}
			found[name] = n
		}
		if err := rows.Err(); err != nil {
			w.t.Fatal(err)
		}
		return found
	}
	kept = read(`SELECT 'tag ' || tag, entries FROM tag_stats UNION ALL SELECT agent_id || ' ' || tag, entries FROM agent_tags
UNION ALL SELECT agent_id, public_entries FROM agent_stats
UNION ALL SELECT agent_id || ' on ' || CAST(day AS TEXT) || key_id, entries FROM agent_tally
UNION ALL SELECT tag || ' on ' || CAST(day AS TEXT), entries FROM tag_days WHERE day >= (SELECT max(since) FROM weeks)
UNION ALL SELECT tag || ' until ' || CAST(until AS TEXT), entries FROM tag_weeks WHERE until IN (SELECT until FROM weeks)`)
	counted = read(`SELECT 'tag ' || t.tag, count(*) FROM tag_timeline t JOIN agents a ON a.agent_id = t.agent_id
WHERE a.suspended_at IS NULL GROUP BY t.tag
UNION ALL SELECT agent_id || ' ' || tag, count(*) FROM tag_timeline GROUP BY agent_id, tag
UNION ALL SELECT agent_id, count(*) FROM timeline GROUP BY agent_id
UNION ALL SELECT t.agent_id || ' on ' || CAST(e.created_at / 86400000 AS TEXT), count(*) FROM timeline t
JOIN entries e ON e.agent_id = t.agent_id AND e.entry_id = t.entry_id GROUP BY t.agent_id, e.created_at / 86400000
UNION ALL SELECT t.agent_id || ' on 1000000' || e.key_id, count(*) FROM timeline t
JOIN entries e ON e.agent_id = t.agent_id AND e.entry_id = t.entry_id GROUP BY t.agent_id, e.key_id
UNION ALL SELECT tag || ' on ' || CAST(day AS TEXT), count(*) FROM (` + taggedDays + `) d
WHERE day >= (SELECT max(since) FROM weeks) GROUP BY tag, day
UNION ALL SELECT tag || ' until ' || CAST(until AS TEXT), count(*) FROM weeks JOIN (` + taggedDays + `) d
ON day BETWEEN until - 6 AND until AND (whole = 1 OR tag <= upto) GROUP BY until, tag`)
	return kept, counted
}

// taggedDays is each use of a tag by an agent in good standing, with its day.
const taggedDays = `SELECT t.tag, e.created_at / 86400000 AS day FROM tag_timeline t
JOIN entries e ON e.agent_id = t.agent_id AND e.entry_id = t.entry_id JOIN agents a ON a.agent_id = t.agent_id
WHERE a.suspended_at IS NULL`

// indexes reads the positions in the index of words and in the timeline.
func (w *world) indexes() (words, listed []int64) {
	w.t.Helper()
	read := func(query string) (positions []int64) {
		rows, err := w.raw().Query(query)
		if err != nil {
			w.t.Fatal(err)
		}
		for rows.Next() {
			var at int64
			if err := rows.Scan(&at); err != nil {
				w.t.Fatal(err)
			}
			positions = append(positions, at)
		}
		if err := rows.Err(); err != nil {
			w.t.Fatal(err)
		}
		slices.Sort(positions)
		return positions
	}
	column := "rowid"
	if w.Engine() == "postgres" {
		column = "position"
	}
	return read(`SELECT ` + column + ` FROM search_index`), read(`SELECT position FROM timeline`)
}

// A counter that is kept must be what counting would give, after whatever
// happened in whatever order; and so must the index of words.
func TestCountersAndWordsFollowTheLists(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		random := rand.New(rand.NewPCG(5, 3))
		agents := []*agent{w.agent(), w.agent(), w.agent()}
		tags := []string{"dawn", "light", "night", "сон", "утро"}
		var entries []journal.NewEntry
		var clock time.Duration // days pass, and the week turns step by step
		for step := range 320 {
			var err error
			clock += time.Duration(random.IntN(6)) * time.Hour
			if now := w.now().Add(clock); random.IntN(2) == 0 {
				if _, err := w.TurnWeek(t.Context(), now, 3); err != nil {
					t.Fatal(err)
				}
			}
			a := agents[random.IntN(len(agents))]
			switch at := random.IntN(13); {
			case at < 5 || len(entries) == 0:
				random.Shuffle(len(tags), func(i, j int) { tags[i], tags[j] = tags[j], tags[i] })
				visibility := journal.Public
				if random.IntN(4) == 0 {
					visibility = journal.Private
				}
				late := time.Duration(random.IntN(3)*random.IntN(100)) * time.Hour
				e := arriving(a.writes(visibility, fmt.Sprint("entry ", step), tags[:random.IntN(4)]...), w.now().Add(clock-late))
				if w.append(e)[0].Clash == journal.None {
					entries = append(entries, e)
				}
			case at < 7:
				e := entries[random.IntN(len(entries))]
				for _, author := range agents {
					if author.id == e.AgentID {
						author.erases(e)
					}
				}
			case at < 9:
				err = w.HideEntry(t.Context(), entries[random.IntN(len(entries))].EntryID, "spam", w.now())
			case at < 10:
				err = w.UnhideEntry(t.Context(), entries[random.IntN(len(entries))].EntryID, "no spam", w.now())
			case at < 11:
				err = w.SuspendAgent(t.Context(), a.id, "spam", w.now())
			case at < 12:
				err = w.RestoreAgent(t.Context(), a.id, "no spam", w.now())
			default:
				agents, entries = w.takesIn(agents, entries, w.now().Add(clock), tags)
			}
			if err != nil && !errors.Is(err, journal.ErrNotFound) {
				t.Fatal(err)
			}
			if step%20 != 19 {
				continue
			}
			kept, counted := w.counters()
			if diff := cmp.Diff(counted, kept); diff != "" {
				t.Fatalf("after step %d: %s", step, diff)
			}
			words, listed := w.indexes()
			if diff := cmp.Diff(listed, words); diff != "" {
				t.Fatalf("after step %d: %s", step, diff)
			}
			if id, err := w.Stray(t.Context()); !errors.Is(err, journal.ErrNotFound) {
				t.Fatalf("after step %d: %s is a stray, %v", step, id, err)
			}
		}
	})
}

// On the embedded engine the bytes of an erased word are gone from the file.
func TestAnErasedWordLeavesTheFile(t *testing.T) {
	t.Parallel()
	w := openWorld(t, engines(t)["sqlite"](t))
	ada := w.agent()
	for i := range 40 {
		w.publish(ada.writes(journal.Public, fmt.Sprintf("ordinary words number %d", i), "dawn"))
	}
	erased := w.publish(ada.writes(journal.Public, "the password is qzxjkvbn and квзщхж, today", "wqqzdawn"))
	hidden := w.publish(ada.writes(journal.Public, "another zzqhidden word", "dawn"))
	for i := range 40 {
		w.publish(ada.writes(journal.Public, fmt.Sprintf("later words number %d", i), "dawn"))
	}
	holds := func(word string) bool {
		w.must(`PRAGMA wal_checkpoint(TRUNCATE)`)
		file, err := os.ReadFile(strings.TrimPrefix(w.url, "sqlite:"))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(file, []byte(word))
	}
	if !holds("qzxjkvbn") || !holds("квзщхж") {
		t.Fatal("the words are not in the file at first")
	}
	ada.erases(erased)
	if err := w.HideEntry(t.Context(), hidden.EntryID, "spam", w.now()); err != nil {
		t.Fatal(err)
	}
	ada.erases(hidden)
	for _, word := range []string{"qzxjkvbn", "zxjkvbn", "квзщхж", "wqqzdawn", "zzqhidden", "zqhidden"} {
		if holds(word) {
			t.Errorf("%q is still in the file", word)
		}
	}
}

func TestWordsLeftBehindAreFound(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		erased := w.publish(ada.writes(journal.Public, "one", "dawn"))
		ada.erases(erased)
		if id, err := w.Stray(t.Context()); !errors.Is(err, journal.ErrNotFound) {
			t.Fatalf("%q, %v", id, err)
		}
		column := "rowid"
		if w.Engine() == "postgres" {
			column = "position"
		}
		w.must(`INSERT INTO search_index (%s, words) SELECT position, 'left' FROM entries WHERE entry_id = '%s'`, column, erased.EntryID)
		if id, err := w.Stray(t.Context()); err != nil || id != erased.EntryID {
			t.Errorf("found %q, %v", id, err)
		}
	})
}

// A journal from before the index is taken into it in steps, while it is in
// use, and search says so until it is whole.
func TestTheIndexIsBuiltInSteps(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		agents, public := fill(w, 60)
		w.must(`DELETE FROM search_index`)
		w.must(`UPDATE search_state SET below = (SELECT max(position) + 1 FROM timeline)`)
		w.Store = w.open() // the one before has seen it whole
		whole := func() bool {
			t.Helper()
			whole, err := w.SearchIsWhole(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return whole
		}
		if whole() {
			t.Fatal("an empty index is whole")
		}
		oldest, hidden := public[len(public)-1], public[len(public)-2]
		hide := func(do func() error) {
			t.Helper()
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		hide(func() error { return w.HideEntry(t.Context(), hidden.EntryID, "spam", w.now()) })
		steps := 0
		for more := true; more; steps++ {
			var n int
			var err error
			if n, more, err = w.IndexEntries(t.Context(), 7); err != nil || n > 7 {
				t.Fatal(n, err)
			}
			if steps == 1 {
				hide(func() error { return w.UnhideEntry(t.Context(), hidden.EntryID, "no spam", w.now()) })
				w.publish(agents[0].writes(journal.Public, "while it was built"))
				for _, a := range agents {
					if a.id == oldest.AgentID {
						a.erases(oldest)
					}
				}
			}
			if whole() == more {
				t.Errorf("step %d: whole is %t, more is %t", steps, whole(), more)
			}
		}
		if words, listed := w.indexes(); !slices.Equal(words, listed) || steps < 5 {
			t.Errorf("%d steps put %d of %d in", steps, len(words), len(listed))
		}
	})
}

func TestSearchTakesFewStatements(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		fill(w, 40)
		for name, c := range map[string]struct {
			most int
			read func() error
		}{
			"a frequent word": {1, func() error {
				at, err := w.SearchPositions(t.Context(), journal.Sought{Words: []string{"entri"}, Before: 100, Limit: 21})
				if len(at) != 21 {
					t.Errorf("%d positions", len(at))
				}
				return err
			}},
			"a word that is not there": {3, func() error {
				_, err := w.SearchPositions(t.Context(), journal.Sought{Words: []string{"nowher"}, Before: 1 << 20, Limit: 21})
				return err
			}},
			"entries": {1, func() error {
				found, err := w.EntriesAt(t.Context(), []int64{1, 2, 3, 4, 5, 6, 7})
				if len(found) != 7 {
					t.Errorf("%d entries", len(found))
				}
				return err
			}},
			"agents": {1, func() error { _, err := w.ListedAgents(t.Context(), journal.DirectoryPlace{}, 51); return err }},
			"tags":   {1, func() error { _, err := w.ListedTags(t.Context(), journal.DirectoryPlace{}, 51); return err }},
			"tag":    {1, func() error { _, err := w.TagEntries(t.Context(), "dawn"); return err }},
			"beside": {1, func() error { _, err := w.TagsBeside(t.Context(), "dawn", 200); return err }},
		} {
			w.queries.take()
			if err := c.read(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if ran := w.queries.take(); len(ran) == 0 || len(ran) > c.most {
				t.Errorf("%s took %d statements, at most %d are allowed:\n%s", name, len(ran), c.most, shortened(ran))
			}
		}
	})
}
