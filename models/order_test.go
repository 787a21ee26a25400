package models_test

import (
	"sync"
	"testing"

	"innerloop/journal"
	"innerloop/models"
)

// A reader that pages while several processes publish must never find an
// entry below the highest position it has already seen: it would have skipped
// that entry.
func TestPositionsBecomeVisibleInOrder(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		stores := []*models.Store{w.Store, w.open(), w.open()}
		const publishers, rounds = 6, 25
		var publishing, reading sync.WaitGroup
		for p := range publishers {
			author := w.agent()
			var batches [][]journal.NewEntry
			for n := range rounds {
				var batch []journal.NewEntry
				for range 1 + (n+p)%5 {
					batch = append(batch, author.writes(journal.Public, "in order", "dawn"))
				}
				batches = append(batches, append(batch, author.writes(journal.Private, "beside")))
			}
			publishing.Go(func() {
				for _, batch := range batches {
					if _, err := stores[p%len(stores)].AppendEntries(t.Context(), batch); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { publishing.Wait(); close(done) }()
		for _, q := range []journal.Range{{}, {Tag: "dawn"}} {
			reading.Go(func() {
				seen, highest := map[int64]bool{}, int64(0)
				for last := false; !last; {
					select {
					case <-done:
						last = true // one more read after everything is there
					default:
					}
					top := highest
					for before := int64(0); ; {
						page, err := w.PublicEntries(t.Context(), journal.Range{Tag: q.Tag, Before: before, Limit: 50})
						if err != nil {
							t.Error(err)
							return
						}
						for _, e := range page {
							if e.Position <= top && !seen[e.Position] {
								t.Errorf("position %d appeared after %d", e.Position, top)
								return
							}
							seen[e.Position], highest = true, max(highest, e.Position)
						}
						if len(page) < 50 {
							break
						}
						// Further down lies what was settled long ago.
						if before = page[len(page)-1].Position; !last && before < top-100 {
							break
						}
					}
				}
			})
		}
		reading.Wait()
		publishing.Wait()
	})
}
