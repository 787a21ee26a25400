package models_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"innerloop/journal"
)

// A loop of queries shows here.
func TestReadsTakeAFixedNumberOfStatements(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		agents, public := fill(w, 40)
		author := journal.AgentID(agents[0].id)
		w.turns(w.now())
		var some journal.NewEntry
		for _, e := range public {
			if e.AgentID == author {
				some = e
			}
		}
		for name, c := range map[string]struct {
			most int
			read func() error
		}{
			"page": {1, func() error { _, err := w.PublicEntries(t.Context(), journal.Range{Limit: 51}); return err }},
			"agent's page": {1, func() error {
				_, err := w.PublicEntries(t.Context(), journal.Range{Agent: author, Limit: 51})
				return err
			}},
			"tag's page": {1, func() error {
				_, err := w.PublicEntries(t.Context(), journal.Range{Tag: "dawn", Limit: 51})
				return err
			}},
			"entry":    {3, func() error { _, err := w.PublicEntry(t.Context(), some.EntryID); return err }},
			"agent":    {3, func() error { _, err := w.PublicAgent(t.Context(), author); return err }},
			"writings": {1, func() error { _, err := w.Writings(t.Context(), author, w.now()); return err }},
			"week": {1, func() error {
				tags, err := w.WeekTags(t.Context(), w.now(), 2)
				if len(tags) != 2 {
					t.Errorf("%d tags of the week", len(tags))
				}
				return err
			}},
			"version": {1, func() error { _, err := w.PublicVersion(t.Context()); return err }},
			"events":  {1, func() error { _, err := w.PublicEvents(t.Context(), 0, 256); return err }},
			"receipt": {1, func() error { _, err := w.EntryReceipt(t.Context(), author, some.IdempotencyKey); return err }},
			"signing key": {1, func() error {
				_, err := w.SigningKey(t.Context(), author, journal.KeyID(agents[0].public.ID()))
				return err
			}},
			"scan": {5, func() error { _, err := w.Scan(t.Context(), journal.Place{}, 40); return err }},
			// One of them reads the switch for writes, when its lease is over.
			"publication": {18, func() error { w.publish(agents[0].writes(journal.Public, "one", "a", "b", "c")); return nil }},
			"batch of 128": {20, func() error {
				var batch []journal.NewEntry
				for range 128 {
					batch = append(batch, agents[0].writes(journal.Public, "one", "a"))
				}
				w.append(batch...)
				return nil
			}},
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

func shortened(statements []string) string {
	var b strings.Builder
	for _, s := range statements {
		b.WriteString(s[:min(len(s), 100)] + "\n")
	}
	return b.String()
}

// On SQLite every public read goes by an index and sorts nothing, which is
// what keeps a page as cheap at a billion rows.
func TestPublicReadsWalkIndexes(t *testing.T) {
	t.Parallel()
	w := openWorld(t, engines(t)["sqlite"](t))
	agents, public := fill(w, 8)
	w.queries.take()
	for _, read := range []func() error{
		func() error { _, err := w.PublicEntries(t.Context(), journal.Range{Limit: 51}); return err },
		func() error {
			_, err := w.PublicEntries(t.Context(), journal.Range{Agent: agents[0].id, Limit: 51})
			return err
		},
		func() error {
			_, err := w.PublicEntries(t.Context(), journal.Range{Tag: "dawn", Limit: 51})
			return err
		},
		func() error {
			_, err := w.PublicEntries(t.Context(), journal.Range{Language: "ru", Limit: 51})
			return err
		},
		func() error {
			_, err := w.PublicEntries(t.Context(), journal.Range{Agent: agents[0].id, Language: "ru", Limit: 51})
			return err
		},
		func() error {
			_, err := w.PublicEntries(t.Context(), journal.Range{Tag: "dawn", Language: "ru", Limit: 51})
			return err
		},
		func() error { _, err := w.PublicEntry(t.Context(), public[0].EntryID); return err },
		func() error { _, err := w.PublicAgent(t.Context(), agents[0].id); return err },
		func() error { _, err := w.Writings(t.Context(), agents[0].id, w.now()); return err },
		func() error { _, err := w.WeekTags(t.Context(), w.now(), 6); return err },
		func() error { _, err := w.PublicVersion(t.Context()); return err },
		func() error { _, err := w.PublicEvents(t.Context(), 1, 256); return err },
		func() error { _, err := w.NewestEvent(t.Context()); return err },
		func() error { _, err := w.Landmarks(t.Context(), 0, 10_000); return err },
		func() error { _, err := w.ShownAgents(t.Context(), "agent_0", "agent_1", 50); return err },
		func() error { _, err := w.CommonTags(t.Context(), 3, 50); return err },
		func() error { _, err := w.Scan(t.Context(), journal.Place{}, 4); return err },
		func() error { _, err := w.Sketches(t.Context(), agents[0].id, "n", w.now(), 200); return err },
		func() error { _, _, err := w.Tidy(t.Context(), w.now(), 500); return err },
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range w.queries.take() {
		rows, err := w.raw().Query("EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			sortsKeys := step == "USE TEMP B-TREE FOR ORDER BY" && (strings.Contains(text, "agent_keys") || strings.Contains(text, "ORDER BY tag"))
			if strings.Contains(text, "t.language = ") && strings.HasPrefix(step, "SEARCH t ") &&
				!strings.Contains(step, "language=? AND position<?") && !strings.Contains(step, "language=? AND rowid<?") {
				t.Errorf("%s\n  passes other languages in %s", step, text)
			}
			if !strings.HasPrefix(step, "SEARCH") && !strings.HasPrefix(step, "LIST SUBQUERY") && !strings.HasPrefix(step, "SCALAR SUBQUERY") && !strings.HasPrefix(step, "CORRELATED SCALAR SUBQUERY") && !sortsKeys {
				t.Errorf("%s\n  in %s", step, text)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// OFFSET and count(*) cost as much as the rows they pass.
func TestNoStatementCountsOrSkipsRows(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`(?i)\boffset\b|\bcount\s*\(|\.Offset\(|\.Count\(|AutoMigrate`)
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sql") {
			return err
		}
		text, err := os.ReadFile(path)
		for n, line := range strings.Split(string(text), "\n") {
			if forbidden.MatchString(line) {
				t.Errorf("%s:%d: %s", path, n+1, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
