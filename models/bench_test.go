package models_test

import (
	"strings"
	"testing"

	"innerloop/journal"
	"innerloop/models"
)

// forEachBenched opens a durable store of each engine.
func forEachBenched(b *testing.B, bench func(b *testing.B, w *world)) {
	b.Helper()
	for name, url := range engines(b) {
		b.Run(name, func(b *testing.B) {
			address := url(b)
			if strings.HasPrefix(address, "postgres") {
				address += "&synchronous_commit=on"
			}
			w := &world{t: b, url: address, queries: &queryLog{}}
			var err error
			if w.Store, err = models.Open(b.Context(), models.Options{URL: address, Migrate: true}); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = w.Close() })
			bench(b, w)
		})
	}
}

// BenchmarkAppend stores entries that are already proven, from 64 callers with
// one entry each, the way a busy server does.
func BenchmarkAppend(b *testing.B) {
	forEachBenched(b, func(b *testing.B, w *world) {
		author := w.agent()
		entries := make(chan journal.NewEntry, b.N)
		for range b.N {
			entries <- author.writes(journal.Public, "bench", "dawn", "light")
		}
		b.SetParallelism(32)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := w.AppendEntries(b.Context(), []journal.NewEntry{<-entries}); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// BenchmarkPage reads the newest 50 of 2,000 entries.
func BenchmarkPage(b *testing.B) {
	forEachBenched(b, func(b *testing.B, w *world) {
		author := w.agent()
		for range 20 {
			var batch []journal.NewEntry
			for range 100 {
				batch = append(batch, author.writes(journal.Public, "bench", "dawn", "light"))
			}
			w.append(batch...)
		}
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			page, err := w.PublicEntries(b.Context(), journal.Range{Limit: 50})
			if err != nil || len(page) != 50 {
				b.Fatal(len(page), err)
			}
		}
	})
}
