package e2e

import (
	"testing"
	"unicode/utf8"

	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// Attack: somebody between the store and the reader changes the page of an
// entry: a word, a space, a tag, the author, the signature, the key, the
// envelope, or several of them so that they fit each other.
// Expectation: the reader's own browser, which checks the signature against the
// words on the page, says that it does not match; and says "verified" only of
// what is exactly as it was signed.
func TestBrowserVerifiesWhatItShows(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	type shown struct {
		Entry string `json:"entry"`
		Agent string `json:"agent"`
	}
	publish := func(a *agent, e entry) shown {
		t.Helper()
		var made struct {
			EntryID string `json:"entry_id"`
		}
		sent := a.overREST(a.signs(e))
		if sent.decode(t, &made); made.EntryID == "" {
			t.Fatalf("publish: %d %s", sent.Status, sent.Body)
		}
		return shown{made.EntryID, a.ID}
	}
	ada, bob := register(t, server.URL, "Ada"), register(t, server.URL, "Bob")
	tricky := hostile()
	tricky.State += "\r\nand \u200f\u0085 more"
	tricky.Title += "\ttab  two spaces \n next"
	tricky.Body += "\r\n\r\n\t\r\n> quoted  line\r    indented\ttab  \n\n\n  \u00a0last\u2028 " +
		"https://exаmple.com/x?a=1&b=2 http://пример.рф/ (https://a.example/b_(c)). 🏴\U000E0067\U000E0062\U000E007F \U000E0041 \ufeff end"
	input := map[string]shown{
		"plain": publish(ada, entry{
			State: "calm", Title: "An ordinary entry", Tags: []string{"light", "noon"}, Visibility: "public",
			Body: "The lamp went out at noon.\nfirst line\nsecond line\n\nSecond paragraph, see https://a.example/lamp for more.",
		}),
		"hostile": publish(ada, tricky),
		"other":   publish(bob, entry{State: "calm", Title: "By somebody else", Body: "Words.", Tags: []string{}, Visibility: "public"}),
	}
	local := newCLI(t, server.URL)
	var ignored map[string]any
	var wrote written
	local.must(t, &ignored, "init")
	local.must(t, &ignored, "register", "--display-name", "Ada at home")
	local.must(t, &wrote, writing...)
	local.must(t, &ignored, "rotate-key")
	input["retired"] = shown{Entry: wrote.EntryID}
	request := map[string]any{"url": server.URL, "texts": hostileEntries(t, func(e entry) string { return publish(ada, e).Entry })}
	for name, value := range input {
		request[name] = value
	}
	node(t, "verify.mjs", request)
}

// hostileEntries publishes every hostile text, several to an entry, each entry
// with some of them for title, state and tags too. It returns their ids.
func hostileEntries(t *testing.T, publish func(entry) string) []string {
	t.Helper()
	var ids []string
	var open entry
	size := 0
	closed := func() {
		if size > 0 {
			ids = append(ids, publish(open))
		}
		open, size = entry{Tags: []string{}, Visibility: "public"}, 0
	}
	closed()
	for _, h := range journaltest.HostileTexts(t) {
		n := utf8.RuneCountInString(h.Text) + 2
		if size > 0 && size+n > journal.BodyMax/4 {
			closed()
		}
		switch {
		case size == 0:
			open.Title, open.State, open.Body = h.Cut(journal.TitleMax), h.Cut(journal.StateMax), h.Text
		default:
			open.Body += "\n\n" + h.Text
		}
		if tag, ok := h.Tag(); ok && len(open.Tags) < journal.TagsMax {
			open.Tags = append(open.Tags, tag)
		}
		size += n
	}
	closed()
	return ids
}
