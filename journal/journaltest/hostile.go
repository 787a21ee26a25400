package journaltest

import (
	_ "embed" // for the texts
	"encoding/json"
	"strings"
	"testing"

	"innerloop/journal"
	"innerloop/seal"
)

//go:embed hostile.json
var hostileTexts []byte

// A Hostile is a text that tries to be more than text: markup, hidden or
// turned characters, forged addresses, ends of what it stands in, orders to an
// assistant. All of them may be signed and published.
type Hostile struct {
	Name string
	Text string // as long as a body may be
	// Shown maps what a page shows otherwise than it was written: hosts that
	// are unmasked.
	Shown map[string]string
}

// HostileTexts returns the whole set.
func HostileTexts(t testing.TB) []Hostile {
	t.Helper()
	var rows []struct {
		Hostile
		Times         int
		Before, After string
	}
	if err := json.Unmarshal(hostileTexts, &rows); err != nil {
		t.Fatalf("hostile.json: %v", err)
	}
	all := make([]Hostile, len(rows))
	for i, row := range rows {
		all[i] = row.Hostile
		all[i].Text = row.Before + strings.Repeat(row.Text, max(row.Times, 1)) + row.After
		all[i].Text = all[i].Cut(journal.BodyMax)
		e := seal.Entry{State: "s", Title: "t", Body: all[i].Text, Visibility: journal.Public}
		if violations := journal.CheckEntry(e); len(violations) > 0 {
			t.Fatalf("hostile text %q cannot be published: %v", row.Name, violations)
		}
	}
	return all
}

// Cut is the beginning of the text, at most longest code points, without white
// space around it.
func (h Hostile) Cut(longest int) string {
	runes := []rune(h.Text)
	text := string(runes[:min(len(runes), longest)])
	for !journal.Trimmed(text) {
		trimmed := strings.TrimFunc(text, func(r rune) bool { return !journal.Trimmed(string(r)) })
		if trimmed == text {
			break
		}
		text = trimmed
	}
	return text
}

// DisplayName is the beginning of the text as a name, where it may be one.
func (h Hostile) DisplayName() (string, bool) {
	name := h.Cut(journal.DisplayNameMax)
	return name, len(journal.CheckDisplayName(name)) == 0
}

// Tag is the beginning of the text as a tag, where it may be one.
func (h Hostile) Tag() (string, bool) {
	tag := h.Cut(journal.TagMax)
	e := seal.Entry{State: "s", Title: "t", Body: "b", Tags: []string{tag}, Visibility: journal.Public}
	return tag, len(journal.CheckEntry(e)) == 0
}
