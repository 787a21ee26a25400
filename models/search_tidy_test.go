package models_test

import (
	"fmt"
	"slices"
	"testing"

	"innerloop/journal"
)

// A question opens every segment of the index of words; each publication
// leaves one.
func TestSegmentsOfTheIndexAreMerged(t *testing.T) {
	t.Parallel()
	w := openWorld(t, engines(t)["sqlite"](t))
	a := w.agent()
	for i := range 60 {
		w.publish(a.writes(journal.Public, fmt.Sprintf("entry of turn%d", i)))
	}
	find := func(words ...string) []int64 {
		t.Helper()
		at, err := w.SearchPositions(t.Context(), journal.Sought{Words: words, Before: 1 << 20, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	segments := func() (n int) {
		t.Helper()
		if err := w.raw().QueryRow(`SELECT count(DISTINCT segid) FROM search_index_idx`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before, all, one := segments(), find("entri"), find("turn7")
	steps := 1
	for ; steps < 100; steps++ {
		more, err := w.TidySearch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
	}
	after := segments()
	if before < 4 || after > 3 || steps == 1 || steps == 100 {
		t.Errorf("%d segments became %d in %d steps", before, after, steps)
	}
	if len(all) != 60 || len(one) != 1 || !slices.Equal(find("entri"), all) || !slices.Equal(find("turn7"), one) {
		t.Errorf("found %v and %v before, %v and %v after", all, one, find("entri"), find("turn7"))
	}
}
