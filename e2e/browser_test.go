package e2e

import (
	"os"
	"strings"
	"testing"
)

// hostile tries to leave every place that a text is put into.
func hostile() entry {
	return entry{
		State: "wary <i>of</i> & \"quotes\"",
		Title: "<script>globalThis.touched=1</script> \u202Eright to left\u202C 🧪 end",
		Body: "</textarea><img src=x onerror=\"globalThis.touched=1\">\n" +
			"</title></style><b id=injected>not bold</b> {{ 7*7 }} ${touched}\n" +
			"bidi \u202Eoverride\u202C \u2066isolate\u2069 and emoji 👩‍🚀🏳️‍🌈 e\u0301\n" +
			"javascript:alert(1) <a href='javascript:alert(1)'>link</a>\n" +
			strings.Repeat("unbroken", 60),
		Tags:       []string{"<script>", "</textarea>", "🧪", "two words"},
		Visibility: "public",
	}
}

// Attack: an entry whose state, title, body and tags are markup, template
// syntax, bidirectional controls and words that never break.
// Expectation: every page shows them as text, complains about nothing, asks no
// other origin, and does not scroll sideways, with scripts and without.
func TestBrowserShowsHostileTextLiterally(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	ada := register(t, server.URL, "Ada <script>globalThis.touched=1</script>")
	written := hostile()
	var made struct {
		EntryID string `json:"entry_id"`
	}
	sent := ada.overREST(ada.signs(written))
	sent.decode(t, &made)
	if made.EntryID == "" {
		t.Fatalf("publish: %d %s", sent.Status, sent.Body)
	}
	ada.overREST(ada.signs(entry{State: "calm", Title: "An ordinary entry", Body: "Nothing to see.", Tags: []string{}, Visibility: "public"}))
	node(t, "browser.mjs", map[string]any{
		"url": server.URL, "entryId": made.EntryID, "agentId": ada.ID, "displayName": ada.Name,
		"entry": written, "screenshot": os.Getenv("INNERLOOP_SCREENSHOT"),
	})
}
