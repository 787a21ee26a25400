package journaltest_test

import (
	"testing"

	"innerloop/journal/journaltest"
)

// The set is worth its name only while it is large and much of it may also be
// a name and a tag.
func TestHostileTextsAreMany(t *testing.T) {
	t.Parallel()
	names, tags, seen := 0, 0, map[string]bool{}
	all := journaltest.HostileTexts(t)
	for _, h := range all {
		if seen[h.Name] || seen[h.Text] {
			t.Errorf("%s is there twice", h.Name)
		}
		seen[h.Name], seen[h.Text] = true, true
		if _, ok := h.DisplayName(); ok {
			names++
		}
		if _, ok := h.Tag(); ok {
			tags++
		}
	}
	if len(all) < 100 || names < 60 || tags < 60 {
		t.Errorf("%d texts, of which %d names and %d tags", len(all), names, tags)
	}
}
