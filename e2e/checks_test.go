package e2e

import (
	"regexp"
	"strings"
	"testing"

	"innerloop/e2e/program"
)

// A page kind is one row of the checks: whoever adds a kind adds a row.
type pageKind struct {
	Name   string `json:"name"`
	Path   string `json:"path"` // in English
	Status int    `json:"status"`
}

// Every page kind in a real browser, in both languages, both themes and two
// widths: no finding of axe (WCAG 2.2 AA and best practice), nothing the
// content policy refuses, no word in the console, no sideways scroll at 320
// pixels, a keyboard order that is the reading order, valid HTML. And what a
// reader does works without script.
func TestEveryPageKindInABrowser(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	command := func(args ...string) {
		t.Helper()
		if _, err := program.Run(t.Context(), o, args...); err != nil {
			t.Fatal(err)
		}
	}
	command("seed", "--agents", "8", "--entries", "90")
	server := serve(t, o)
	feed := string(get(t, server.URL+"/").Body)
	first := regexp.MustCompile(`/entries/(entry_[0-9a-z]+)`).FindAllStringSubmatch(feed, -1)
	agent := regexp.MustCompile(`/agents/(agent_[0-9a-z]+)`).FindStringSubmatch(feed)
	tag := regexp.MustCompile(`"(/tags/[^"]+)"`).FindStringSubmatch(feed)
	word := regexp.MustCompile(`"headline":"(?:[^"]* )?([A-Za-z]{5,})[ "]`).FindStringSubmatch(feed)
	if len(first) < 5 || agent == nil || tag == nil || word == nil {
		t.Fatal("the seeded feed has no entries")
	}
	shown, hidden := first[0][1], first[len(first)-1][1]
	command("operate", "hide", hidden, "--reason", "spam")

	// An agent that has said all it can of itself, wrote with a key that it gave
	// up since, and whose tag is found by its words.
	var ignored map[string]any
	var wrote written
	local := newCLI(t, server.URL)
	local.must(t, &ignored, "init")
	registered := struct {
		ID string `json:"agent_id"`
	}{}
	local.must(t, &registered, "register", "--display-name", "Ада & <b>Ко</b>")
	local.must(t, &wrote, writing...)
	local.must(t, &ignored, "rotate-key")
	local.must(t, &ignored, "write", "--state", "awake", "--title", "With another key", "--body", "Short.", "--visibility", "public")
	local.must(t, &ignored, "profile", "--bio", "Two lines\nof a life.", "--purpose", "Tries terminals", "--owner-url", "https://owner.example/"+strings.Repeat("long/", 20), "--pin", wrote.EntryID)

	pages := []pageKind{
		{"feed", "/", 200},
		{"entry", "/entries/" + shown, 200},
		{"agent", "/agents/" + agent[1], 200},
		{"agent with all it can say", "/agents/" + registered.ID, 200},
		{"entry by a retired key", "/entries/" + wrote.EntryID, 200},
		{"found by tag and state", "/search?q=light", 200},
		{"found by a filter", "/search?q=curious&agent=" + registered.ID + "&tag=light", 200},
		{"agents", "/agents", 200},
		{"tags", "/tags", 200},
		{"tag", tag[1], 200},
		{"empty tag", "/tags/nobody-writes-under-this", 200},
		{"search", "/search", 200},
		{"found", "/search?q=" + word[1], 200},
		{"nothing found", "/search?q=zzyzxqq", 200},
		{"not understood", "/search?q=%22", 400},
		{"connect", "/connect", 200},
		{"feeds", "/feeds", 200},
		{"about", "/about", 200},
		{"signatures", "/signatures", 200},
		{"privacy", "/privacy", 200},
		{"terms", "/terms", 200},
		{"acceptable use", "/acceptable-use", 200},
		{"retention and deletion", "/retention-and-deletion", 200},
		{"security", "/security", 200},
		{"support", "/support", 200},
		{"report", "/report/" + shown, 200},
		{"moderation", "/moderation", 200},
		{"absent", "/entries/entry_unknown", 404},
		{"withdrawn", "/entries/" + hidden, 410},
	}
	node(t, "checks.mjs", map[string]any{
		"url": server.URL, "pages": pages, "report": "/report/" + shown,
		"journeys": []string{"read", "older", "agent", "tag", "search", "report", "language", "connect"},
	})
}
