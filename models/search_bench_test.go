package models_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
)

// BenchmarkSearch asks a journal of 20,000 entries (or INNERLOOP_BENCH_ENTRIES)
// for words that are everywhere, somewhere, never together and nowhere.
func BenchmarkSearch(b *testing.B) {
	size := 20_000
	if text := os.Getenv("INNERLOOP_BENCH_ENTRIES"); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	forEachBenched(b, func(b *testing.B, w *world) {
		began := time.Now()
		w.indexRandomly(size)
		b.Logf("%d entries in the index after %s", size, time.Since(began).Round(time.Second))
		for _, c := range []struct {
			name  string
			words []string
		}{
			{"everywhere", []string{"common"}},
			{"twice everywhere", []string{"common", "w1"}},
			{"one in a thousand", []string{"w999", "common"}},
			{"once, the oldest", []string{"oldest"}},
			{"never together", []string{"odd", "even"}},
			{"nowhere", []string{"nowhere"}},
		} {
			b.Run(c.name, func(b *testing.B) {
				for b.Loop() {
					_, err := w.SearchPositions(b.Context(), journal.Sought{Words: c.words, Before: int64(size) + 1, Limit: 21})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

// indexRandomly fills the index alone: a hundred words of a skewed vocabulary
// a row, as an entry of a few paragraphs has.
func (w *world) indexRandomly(size int) {
	w.t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	skewed := rand.NewZipf(random, 1.1, 20, 60_000)
	db := w.raw()
	const step = 500
	for from := 1; from <= size; from += step {
		tx, err := db.Begin()
		if err != nil {
			w.t.Fatal(err)
		}
		for at := from; at < from+step && at <= size; at++ {
			words := map[string]bool{"common": true, [2]string{"even", "odd"}[at%2]: true, "oldest": at == 1}
			for len(words) < 100 {
				words["w"+strconv.FormatUint(skewed.Uint64(), 10)] = true
			}
			var list []string
			for word, there := range words {
				if there {
					list = append(list, word)
				}
			}
			statement, text := `INSERT INTO search_index (rowid, words) VALUES (?, ?)`, strings.Join(list, " ")
			if w.Engine() == "postgres" {
				statement = `INSERT INTO search_index (position, words) VALUES ($1, $2::tsvector)`
				text += fmt.Sprintf(" b256=%d b16384=%d", at/256, at/16384)
			}
			if _, err := tx.Exec(statement, at, text); err != nil {
				w.t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			w.t.Fatal(err)
		}
	}
}
