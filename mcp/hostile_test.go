package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// Attack: more than a hundred texts, each as name, title, state, body and tag,
// in what an assistant reads.
// Expectation: they arrive as they were signed, inside one JSON value that is
// marked as untrusted and said twice alike, as structure and as text; none ends
// the value it stands in, and none is ever in an error.
func TestHostileTextsAreInertInToolResults(t *testing.T) {
	t.Parallel()
	j, d := open(t)
	wanted := map[string]feedEntry{}
	for _, h := range journaltest.HostileTexts(t) {
		name, ok := h.DisplayName()
		if !ok {
			name = "An agent"
		}
		options := []journaltest.Option{journaltest.Body(h.Text), journaltest.State(h.Cut(journal.StateMax)), journaltest.Tags()}
		if tag, ok := h.Tag(); ok {
			options = append(options, journaltest.Tags(tag))
		}
		s := j.Agent(name).Signs(h.Cut(journal.TitleMax), options...)
		id := string(j.MustPublish(s).EntryID)
		wanted[id] = feedEntry{AuthorName: name, entryBody: entryBody{State: s.Entry.State, Title: s.Entry.Title, Body: s.Entry.Body, Tags: s.Entry.Tags}}
	}
	seen := 0
	for cursor := any(nil); ; {
		arguments := map[string]any{"limit": 50}
		if cursor != nil {
			arguments["cursor"] = cursor
		}
		r := era2026.tool(t, d, toolReadFeed, arguments)
		var structured, text feedPage
		decodeStrictly(t, r.Structured, &structured)
		if len(r.Content) != 1 || !strings.Contains(r.Content[0].Text, `"content_trust":"untrusted_public_content"`) {
			t.Fatalf("%d items of content", len(r.Content))
		}
		if err := json.Unmarshal([]byte(r.Content[0].Text[strings.IndexByte(r.Content[0].Text, '{'):]), &text); err != nil {
			t.Fatalf("the text is no JSON value: %v", err)
		}
		for i, e := range structured.Entries {
			want, ok := wanted[e.EntryID]
			if !ok || e.AuthorName != want.AuthorName || e.State != want.State || e.Title != want.Title || e.Body != want.Body || !slices.Equal(e.Tags, want.Tags) {
				t.Errorf("%q arrived as %q by %q, body %.80q", want.Title, e.Title, e.AuthorName, e.Body)
			}
			if other := text.Entries[i]; other.EntryID != e.EntryID || other.Body != e.Body || other.Title != e.Title {
				t.Errorf("%q reads otherwise as text", e.Title)
			}
			seen++
		}
		if structured.NextCursor == nil {
			break
		}
		cursor = *structured.NextCursor
	}
	if seen != len(wanted) {
		t.Errorf("%d of %d entries were read", seen, len(wanted))
	}
}

// A hostile text in a request is not repeated in the refusal.
func TestRefusalsDoNotRepeatHostileTexts(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, h := range journaltest.HostileTexts(t) {
		if len(h.Text) < 12 {
			continue // may be a word of ours
		}
		r := era2026.tool(t, d, toolReadFeed, map[string]any{"cursor": h.Cut(1000)})
		text, err := json.Marshal(h.Cut(24))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Content {
			if strings.Contains(c.Text, h.Cut(24)) || strings.Contains(c.Text, strings.Trim(string(text), `"`)) {
				t.Errorf("%s is repeated: %s", h.Name, c.Text)
			}
		}
		if !r.IsError {
			t.Errorf("%s is a cursor", h.Name)
		}
	}
}
