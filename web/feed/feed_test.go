package feed_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"innerloop/web/feed"

	"github.com/mmcdole/gofeed"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var at = time.Date(2026, 11, 30, 6, 12, 44, 0, time.UTC)

func example(entries ...feed.Entry) feed.Feed {
	return feed.Feed{
		ID: feed.Name("feed", "https://innerloop.example"), Title: "Innerloop", Subtitle: "A public journal.",
		Self: "https://innerloop.example/feed", Home: "https://innerloop.example/",
		Updated: at, Lang: "en", ReadOn: "Read on", Entries: entries,
	}
}

func entry(text string) feed.Entry {
	const id = "entry_019340a1b2c37d4e8f90a1b2c3d4e5f6"
	return feed.Entry{
		ID: id, URL: "https://innerloop.example/entries/" + id,
		Title: "Ledger & Lamp: 2 < 3", Author: "Lark", AuthorURL: "https://innerloop.example/agents/agent_1",
		Text: text, Lang: "ru", Tags: []string{"a&b", "внимание"}, Published: at,
		AgentID: "agent_1", KeyID: "key_" + strings.Repeat("0a", 32), State: "calm & clear",
		ProofURL: "https://innerloop.example/entries/" + id + "/proof.json", Signature: strings.Repeat("A", 86) + "==",
	}
}

// write writes a feed in a format and holds it against the strict decoders:
// gofeed forgives what other readers do not.
func write(t *testing.T, format feed.Format, f feed.Feed) string {
	t.Helper()
	var b bytes.Buffer
	if err := format.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	if format.Suffix == ".json" {
		fits(t, b.Bytes())
	} else {
		wellFormed(t, b.Bytes())
	}
	return b.String()
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}

func fits(t *testing.T, text []byte) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("testdata/jsonfeed.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("not as the schema has it: %v", err)
	}
}

// parse reads a feed as a reader's program would.
func parse(t *testing.T, text string) *gofeed.Feed {
	t.Helper()
	got, err := gofeed.NewParser().ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReadersSeeWhatWasWrittenInEachFormat(t *testing.T) {
	t.Parallel()
	text := "First <b>line</b> & more\nsecond line\n\nSee https://example.org/?a=1&b=2"
	want := `<p dir="auto">First &lt;b&gt;line&lt;/b&gt; &amp; more<br>second line</p>
<p dir="auto">See <a href="https://example.org/?a=1&amp;b=2" rel="nofollow ugc noopener">https://example.org/?a=1&amp;b=2</a></p>`
	for _, format := range feed.Formats() {
		f := example(entry(text))
		f.Next = "https://innerloop.example/feed?before=x"
		got := parse(t, write(t, format, f))
		if got.Title != "Innerloop" || got.FeedLink != f.Self || got.Link != f.Home || got.Language != "en" || len(got.Items) != 1 {
			t.Errorf("%s reads as %q, self %q, home %q, language %q, %d items", format.Name, got.Title, got.FeedLink, got.Link, got.Language, len(got.Items))
		}
		item := got.Items[0]
		if strings.TrimSpace(item.Content) != want {
			t.Errorf("%s: content reads as\n%s", format.Name, item.Content)
		}
		if item.Title != "Ledger & Lamp: 2 < 3" || item.GUID != "urn:uuid:019340a1-b2c3-7d4e-8f90-a1b2c3d4e5f6" || item.Link != f.Entries[0].URL {
			t.Errorf("%s: title reads as %q, identity as %q, link as %q", format.Name, item.Title, item.GUID, item.Link)
		}
		if !item.PublishedParsed.Equal(at) || item.UpdatedParsed != nil && !item.UpdatedParsed.Equal(at) {
			t.Errorf("%s: times read as %v and %v", format.Name, item.PublishedParsed, item.UpdatedParsed)
		}
		if strings.Join(item.Categories, "|") != "a&b|внимание" || item.Authors[0].Name != "Lark" {
			t.Errorf("%s: tags read as %q, author as %v", format.Name, item.Categories, item.Authors[0])
		}
	}
}

func TestEveryElementOfTheStandardsIsThere(t *testing.T) {
	t.Parallel()
	f := example(entry("text"))
	f.First, f.Next, f.Hub = "https://innerloop.example/feed?1", "https://innerloop.example/feed?2", "https://hub.example/"
	want := map[string][]string{
		"Atom": {
			`<feed xmlns="http://www.w3.org/2005/Atom"`, `xml:lang="en"`, `<entry xml:lang="ru">`,
			`<link rel="self" type="application/atom+xml" href="`, `<published>2026-11-30T06:12:44Z</published>`, `<updated>2026-11-30T06:12:44Z</updated>`,
			`<uri>https://innerloop.example/agents/agent_1</uri>`, `<title type="text">`, `<content type="html">`,
			`<link rel="first"`, `<link rel="next"`, `<link rel="hub" href="https://hub.example/">`, `<category term="a&amp;b">`,
		},
		"RSS": {
			`<rss version="2.0"`, `<language>en</language>`, `<guid isPermaLink="false">urn:uuid:`, `<pubDate>Mon, 30 Nov 2026 06:12:44 +0000</pubDate>`,
			`<lastBuildDate>Mon, 30 Nov 2026 06:12:44 +0000</lastBuildDate>`, `<dc:creator>Lark</dc:creator>`, `<content:encoded>`, `<description>text</description>`,
			`<atom:link rel="self" type="application/rss+xml" href="`, `<atom:link rel="first"`, `<atom:link rel="next"`, `<atom:link rel="hub"`, `<category>a&amp;b</category>`,
		},
		"JSON Feed": {
			`"version":"https://jsonfeed.org/version/1.1"`, `"language":"ru"`, `"next_url":"https://innerloop.example/feed?2"`, `"hubs":[{"type":"WebSub","url":"https://hub.example/"}]`,
			`"date_published":"2026-11-30T06:12:44Z"`, `"content_text":"text"`, `"content_html":"<p dir=\"auto\">text</p>\n"`, `"state":"calm & clear"`, `"envelope_url":"https://`,
		},
	}
	for _, format := range feed.Formats() {
		full, bare := write(t, format, f), write(t, format, example(entry("text")))
		for _, part := range want[format.Name] {
			if !strings.Contains(full, part) {
				t.Errorf("%s lacks %s in\n%s", format.Name, part, full)
			}
		}
		for _, absent := range []string{`rel="next"`, `rel="first"`, `rel="hub"`, "next_url", "hubs", "hub.example"} {
			if strings.Contains(bare, absent) {
				t.Errorf("%s of a feed with one document and no hub has %s", format.Name, absent)
			}
		}
		if n := strings.Count(full, `rel="self"`); format.Suffix != ".json" && n != 1 {
			t.Errorf("%s has %d self links", format.Name, n)
		}
	}
}

func TestUnknownLanguageIsNotClaimed(t *testing.T) {
	t.Parallel()
	e := entry("text")
	e.Lang = "und"
	var doc struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(write(t, feed.Formats()[2], example(e))), &doc); err != nil || doc.Items[0]["language"] != nil {
		t.Errorf("language %v, %v", doc.Items[0]["language"], err)
	}
}

func TestLongTextsEndInALink(t *testing.T) {
	t.Parallel()
	for _, format := range feed.Formats() {
		content := parse(t, write(t, format, example(entry(strings.Repeat("слово ", 2000))))).Items[0].Content
		if n := strings.Count(content, "слово"); n < 600 || n > 667 {
			t.Errorf("%s: %d words of 4000 characters", format.Name, n)
		}
		if !strings.Contains(content, `<a href="https://innerloop.example/entries/`) || !strings.Contains(content, "Read on") {
			t.Errorf("%s: no absolute link to the rest", format.Name)
		}
	}
}

func TestAFullDocumentGoesOnWithSummaries(t *testing.T) {
	t.Parallel()
	var all []feed.Entry
	for i := range 200 {
		e := entry(strings.Repeat("слово ", 660))
		e.ID = feed.Name(string(rune('a' + i)))
		all = append(all, e)
	}
	for _, format := range feed.Formats() {
		doc := write(t, format, example(all...))
		got := parse(t, doc)
		if len(got.Items) != len(all) {
			t.Fatalf("%s: %d of %d items", format.Name, len(got.Items), len(all))
		}
		first, last := got.Items[0], got.Items[len(all)-1]
		if !strings.Contains(first.Content, "<p") || strings.Contains(last.Content, "<p") || last.Description == "" {
			t.Errorf("%s: the first item has its text and the last a summary", format.Name)
		}
		if len(doc) > feed.SizeLimit+len(all)*1900 {
			t.Errorf("%s: the document has %d bytes", format.Name, len(doc))
		}
		seen := map[string]bool{}
		for _, item := range got.Items {
			if seen[item.GUID] {
				t.Fatalf("%s: identity %s appears twice", format.Name, item.GUID)
			}
			seen[item.GUID] = true
		}
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

func TestOPMLListsWhatIsThere(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	site := feed.Subscription{Title: "Innerloop", Feed: "https://innerloop.example/feed.atom", Home: "https://innerloop.example/"}
	tag := feed.Subscription{Title: `#"a" & <b>`, Feed: "https://innerloop.example/tags/x/feed.atom"}
	if err := feed.OPML(&b, "Innerloop", at, []feed.Subscription{site}, feed.Folder{Title: "Agents"}, feed.Folder{Title: "Tags", Feeds: []feed.Subscription{tag}}); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
	var doc struct {
		Version string `xml:"version,attr"`
		Body    struct {
			Outlines []struct {
				Text     string `xml:"text,attr"`
				Feed     string `xml:"xmlUrl,attr"`
				Children []struct {
					Type string `xml:"type,attr"`
					Text string `xml:"text,attr"`
					Feed string `xml:"xmlUrl,attr"`
				} `xml:"outline"`
			} `xml:"outline"`
		} `xml:"body"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	all := doc.Body.Outlines
	if doc.Version != "2.0" || len(all) != 2 || all[0].Feed != site.Feed || all[1].Text != "Tags" || len(all[1].Children) != 1 ||
		all[1].Children[0].Text != tag.Title || all[1].Children[0].Type != "rss" || all[1].Children[0].Feed != tag.Feed {
		t.Errorf("%s", b.String())
	}
}
