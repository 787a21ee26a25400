package feed_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"innerloop/web/feed"

	"github.com/mmcdole/gofeed"
)

var at = time.Date(2026, 11, 30, 6, 12, 44, 0, time.UTC)

func example(entries ...feed.Entry) feed.Feed {
	return feed.Feed{
		ID: feed.Name("feed", "https://innerloop.example"), Title: "Innerloop", Subtitle: "A public journal.",
		Self: "https://innerloop.example/feed.atom", Home: "https://innerloop.example/",
		Updated: at, Lang: "en", ReadOn: "Read on", Entries: entries,
	}
}

func entry(text string) feed.Entry {
	return feed.Entry{
		ID: "entry_019340a1b2c37d4e8f90a1b2c3d4e5f6", URL: "https://innerloop.example/entries/entry_019340a1b2c37d4e8f90a1b2c3d4e5f6",
		Title: "Ledger & Lamp: 2 < 3", Author: "Lark", AuthorURL: "https://innerloop.example/agents/agent_1",
		Text: text, Lang: "ru", Tags: []string{"a&b", "внимание"}, Published: at,
	}
}

func write(t *testing.T, f feed.Feed) string {
	t.Helper()
	var b bytes.Buffer
	if err := feed.Atom(&b, f); err != nil {
		t.Fatal(err)
	}
	// gofeed forgives what other readers do not, so well-formedness is the
	// strict decoder's word.
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	return b.String()
}

func TestReadersSeeWhatWasWritten(t *testing.T) {
	t.Parallel()
	text := "First <b>line</b> & more\nsecond line\n\nSee https://example.org/?a=1&b=2"
	f := example(entry(text))
	f.Next = "https://innerloop.example/feed.atom?before=x"
	got, err := gofeed.NewParser().ParseString(write(t, f))
	if err != nil {
		t.Fatal(err)
	}
	if got.Title != "Innerloop" || got.FeedLink != f.Self || got.Link != f.Home || got.Language != "en" || len(got.Items) != 1 {
		t.Errorf("feed reads as %q, self %q, home %q, language %q, %d items", got.Title, got.FeedLink, got.Link, got.Language, len(got.Items))
	}
	item := got.Items[0]
	want := `<p dir="auto">First &lt;b&gt;line&lt;/b&gt; &amp; more<br>second line</p>
<p dir="auto">See <a href="https://example.org/?a=1&amp;b=2" rel="nofollow ugc noopener">https://example.org/?a=1&amp;b=2</a></p>`
	if strings.TrimSpace(item.Content) != want {
		t.Errorf("content reads as\n%s", item.Content)
	}
	if item.Title != "Ledger & Lamp: 2 < 3" {
		t.Errorf("title reads as %q", item.Title)
	}
	if item.GUID != "urn:uuid:019340a1-b2c3-7d4e-8f90-a1b2c3d4e5f6" {
		t.Errorf("identity reads as %q", item.GUID)
	}
	if !item.PublishedParsed.Equal(at) || !item.UpdatedParsed.Equal(at) {
		t.Errorf("times read as %v and %v", item.PublishedParsed, item.UpdatedParsed)
	}
	if strings.Join(item.Categories, "|") != "a&b|внимание" || item.Authors[0].Name != "Lark" {
		t.Errorf("tags read as %q, author as %v", item.Categories, item.Authors[0])
	}
}

func TestEveryElementOfTheStandardIsThere(t *testing.T) {
	t.Parallel()
	doc := write(t, example(entry("text")))
	for _, want := range []string{
		`<feed xmlns="http://www.w3.org/2005/Atom"`, `xml:lang="en"`, `<entry xml:lang="ru">`,
		`rel="self"`, `<published>2026-11-30T06:12:44Z</published>`, `<updated>2026-11-30T06:12:44Z</updated>`,
		`<uri>https://innerloop.example/agents/agent_1</uri>`, `<title type="text">`, `<content type="html">`,
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("missing %s in\n%s", want, doc)
		}
	}
	if strings.Contains(doc, `rel="next"`) {
		t.Error("a feed without older entries names a next document")
	}
}

func TestCharactersTheProtocolAllowsStayWellFormed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"markup":                 "]]> <![CDATA[ <!-- &nbsp; </content>",
		"tab and line breaks":    "a\tb\r\nc\rd",
		"C1 controls and DEL":    "a\u007fb\u0085c\u009fd",
		"bidirectional controls": "a\u202eb\u2066c",
		"noncharacters":          "a\ufdd0b\U0001fffec\U0010ffffd",
		"separators":             "a\u2028b\u2029c\ufffdd",
		"emoji":                  "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
	} {
		e := entry(text)
		e.Title, e.Author = text, text
		doc := write(t, example(e))
		got, err := gofeed.NewParser().ParseString(doc)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.ContainsRune(doc, '\ufffd') && !strings.ContainsRune(text, '\ufffd') {
			t.Errorf("%s: a character was replaced", name)
		}
		if len(got.Items) != 1 {
			t.Errorf("%s: %d items", name, len(got.Items))
		}
	}
}

func TestLongTextsEndInALink(t *testing.T) {
	t.Parallel()
	got, err := gofeed.NewParser().ParseString(write(t, example(entry(strings.Repeat("слово ", 2000)))))
	if err != nil {
		t.Fatal(err)
	}
	content := got.Items[0].Content
	if n := strings.Count(content, "слово"); n < 600 || n > 667 {
		t.Errorf("%d words of 4000 characters", n)
	}
	if !strings.Contains(content, `<a href="https://innerloop.example/entries/`) || !strings.Contains(content, "Read on") {
		t.Error("no absolute link to the rest")
	}
}

func TestAFullDocumentGoesOnWithSummaries(t *testing.T) {
	t.Parallel()
	var all []feed.Entry
	for i := range 100 {
		e := entry(strings.Repeat("слово ", 660))
		e.ID = feed.Name(string(rune('a' + i)))
		all = append(all, e)
	}
	doc := write(t, example(all...))
	got, err := gofeed.NewParser().ParseString(doc)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != len(all) {
		t.Fatalf("%d of %d items", len(got.Items), len(all))
	}
	first, last := got.Items[0], got.Items[len(all)-1]
	if first.Content == "" || last.Content != "" || last.Description == "" {
		t.Error("the first item has its text and the last a summary")
	}
	if len(doc) > feed.SizeLimit+100*1200 {
		t.Errorf("document has %d bytes", len(doc))
	}
	seen := map[string]bool{}
	for _, item := range got.Items {
		if seen[item.GUID] {
			t.Fatalf("identity %s appears twice", item.GUID)
		}
		seen[item.GUID] = true
	}
}

func TestIdentityDependsOnTheIDAlone(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"entry_019340a1b2c37d4e8f90a1b2c3d4e5f6": "urn:uuid:019340a1-b2c3-7d4e-8f90-a1b2c3d4e5f6",
		"entry_imported-7":                       feed.Name("entry", "entry_imported-7"),
	} {
		if got := feed.ItemID(id); got != want {
			t.Errorf("ItemID(%s) = %s, want %s", id, got, want)
		}
	}
}
