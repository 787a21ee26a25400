package handlers_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// A planted is a hostile text in every place that takes one.
type planted struct {
	journaltest.Hostile
	agent *journaltest.Agent
	entry seal.Entry
	id    journal.EntryID
	bio   string
}

// plant publishes a text as title, body and state, and as name, tag, bio and
// purpose where the rules allow it.
func plant(d *door, h journaltest.Hostile) planted {
	d.t.Helper()
	name, ok := h.DisplayName()
	if !ok {
		name = "An agent"
	}
	p := planted{Hostile: h, agent: d.Agent(name), bio: h.Cut(journal.BioMax)}
	options := []journaltest.Option{journaltest.Body(h.Text), journaltest.State(h.Cut(journal.StateMax)), journaltest.Tags()}
	if tag, ok := h.Tag(); ok {
		options = append(options, journaltest.Tags(tag, "planted"))
	}
	s := p.agent.Signs(h.Cut(journal.TitleMax), options...)
	p.entry, p.id = s.Entry, d.MustPublish(s).EntryID
	purpose := any(h.Cut(journal.PurposeMax))
	if strings.ContainsAny(purpose.(string), "\r\n\t") {
		purpose = nil
	}
	profile := map[string]any{"bio": p.bio, "purpose": purpose, "owner_url": nil, "pinned_entry_id": string(p.id)}
	if _, _, err := d.UpdateProfile(d.t.Context(), p.agent.Asks(seal.ActionProfileSet, profile)); err != nil {
		d.t.Fatalf("%s as a profile: %v", h.Name, err)
	}
	return p
}

// harmless are texts that use everything a text may use, and attack nothing.
func harmless() []journaltest.Hostile {
	const link = "https://a.example/ or https://\u0430.example/"
	all := "Plain \u200b text " + link + "\n> quoted \u200b and " + link + "\n    indented \u200b and " + link
	return []journaltest.Hostile{
		{Name: "short", Text: "Plain."},
		{Name: "a tag that hides", Text: "Tag\u3164"},
		{Name: "a tag that hides beside its word", Text: "Tag\u2800"},
		{Name: "a word that hides", Text: "A wo\u00adrd and \u200b another"},
		{Name: "short, with everything", Text: all},
		{Name: "long, with everything", Text: all + "\n\n" + all + "\n\n" + strings.Repeat("Words that go on. ", 300) + "End."},
		{Name: "one long line", Text: strings.Repeat("Words that go on. ", 300) + "End."},
		{Name: "one long line, hidden", Text: "\u200b" + strings.Repeat("Words that go on. ", 300) + "End."},
		{Name: "a long quotation", Text: "> " + strings.Repeat("Words that go on. ", 300) + "End."},
		{Name: "a long indented line", Text: "x\n   " + strings.Repeat("Words that go on. ", 300) + "End."},
	}
}

// pagesOf are the pages on which a planted text is to be found.
func (p planted) pagesOf() []string {
	entry, agent := "/entries/"+string(p.id), "/agents/"+string(p.agent.ID)
	return append(p.findings(), entry, "/ru"+entry, agent, "/ru"+agent)
}

// skeletonOf learns what pages are made of from texts that attack nothing.
func skeletonOf(t *testing.T) skeleton {
	t.Helper()
	d, s := open(t), skeleton{}
	for range 6 { // more than a list shows at once
		for _, h := range harmless() {
			p := plant(d, h)
			for _, path := range p.pagesOf() {
				s.add(parsePage(t, d.get(path).Body))
			}
			s.add(parsePage(t, p.reports(d).Body))
		}
	}
	for _, path := range listsOf(d) {
		s.add(parsePage(t, d.get(path).Body))
	}
	return s
}

// listsOf are the pages that show many entries, to their end.
func listsOf(d *door) []string {
	d.t.Helper()
	paths := []string{}
	for _, prefix := range []string{"/", "/ru", "/agents", "/ru/agents", "/tags", "/ru/tags", "/search?q=planted", "/ru/search?q=planted"} {
		for path := prefix; path != ""; {
			paths = append(paths, path)
			next := ""
			eachElement(parsePage(d.t, d.get(path).Body), func(n *html.Node, _ string) {
				if n.Data == "a" && attributeOf(n, "rel") == "next" {
					next = attributeOf(n, "href")
				}
			})
			path = next
		}
	}
	return paths
}

// Attack: more than a hundred texts, each as name, title, state, body, tag,
// bio and purpose, in everything that this door gives out.
// Expectation: told with each reading.
func TestHostileTextsAreInert(t *testing.T) {
	t.Parallel()
	d := open(t)
	var all []planted
	for _, h := range journaltest.HostileTexts(t) {
		all = append(all, plant(d, h))
	}
	for name, show := range map[string]func(*testing.T, *door, []planted){
		"pages": hostilePages, "feeds": hostileFeeds, "JSON": hostileJSON, "events": hostileEvents,
		"findings": hostileFindings, "A2A": hostileA2A,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			show(t, d, all)
		})
	}
}

// A page holds no element, attribute, comment or address that would not be
// there without the attack, and its text is the one that was signed, character
// by character.
func hostilePages(t *testing.T, d *door, all []planted) {
	s := skeletonOf(t)
	for _, p := range all {
		h := p.Hostile
		for _, path := range p.pagesOf() {
			inert(t, h.Name+" on "+path, parsePage(t, d.get(path).Body), s)
		}
		page := parsePage(t, d.get("/entries/"+string(p.id)).Body)
		if got, want := writtenIn(ofName(page, "h1")), asLine(p.entry.Title); got != want {
			t.Errorf("%s: the title reads %q, want %q", h.Name, got, want)
		}
		if got, want := writtenIn(ofClass(page, "e-content")), asParagraphs(p.entry.Body, h.Shown); got != want {
			t.Errorf("%s: the text reads\n%q, want\n%q", h.Name, got, want)
		}
		if got, want := writtenIn(ofClass(page, "who")), visible(p.agent.Name); got != want {
			t.Errorf("%s: the name reads %q, want %q", h.Name, got, want)
		}
		if got := writtenIn(ofClass(page, "p-category")); len(p.entry.Tags) > 0 && got != p.entry.Tags[0] {
			t.Errorf("%s: the tag reads %q", h.Name, got)
		}
		if headline, author := posting(t, h.Name, page); headline != p.entry.Title || author != p.agent.Name {
			t.Errorf("%s: the data block says %q by %q", h.Name, headline, author)
		}
	}
	for _, path := range listsOf(d) {
		inert(t, path, parsePage(t, d.get(path).Body), s)
	}
}

// What a strict reader of Atom and RSS decodes.
type (
	strictAtom struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Title   string   `xml:"http://www.w3.org/2005/Atom title"`
		Entries []struct {
			ID         string `xml:"http://www.w3.org/2005/Atom id"`
			Title      string `xml:"http://www.w3.org/2005/Atom title"`
			Author     string `xml:"http://www.w3.org/2005/Atom author>name"`
			Content    string `xml:"http://www.w3.org/2005/Atom content"`
			Categories []struct {
				Term string `xml:"term,attr"`
			} `xml:"http://www.w3.org/2005/Atom category"`
		} `xml:"http://www.w3.org/2005/Atom entry"`
	}
	strictRSS struct {
		XMLName xml.Name `xml:"rss"`
		Channel struct {
			Title   string `xml:"title"`
			Summary string `xml:"description"`
			Items   []struct {
				ID         string   `xml:"guid"`
				Title      string   `xml:"title"`
				Creator    string   `xml:"http://purl.org/dc/elements/1.1/ creator"`
				Summary    string   `xml:"description"`
				Content    string   `xml:"http://purl.org/rss/1.0/modules/content/ encoded"`
				Categories []string `xml:"category"`
			} `xml:"item"`
		} `xml:"channel"`
	}
	strictJSON struct {
		Title string
		Items []struct {
			ID      string
			Title   string
			Text    string `json:"content_text"`
			HTML    string `json:"content_html"`
			Authors []struct{ Name string }
			Tags    []string
			Extra   struct{ State, Agent string } `json:"_innerloop"`
		}
	}
)

// A seen is one item of a feed, as any format shows it.
type seen struct {
	Feed, ID, Title, Author, HTML string
	Tags                          []string
}

// seenIn decodes the feed of one entry strictly, in a format.
func seenIn(t *testing.T, suffix, body string) seen {
	t.Helper()
	var s seen
	switch suffix {
	case ".atom":
		var f strictAtom
		if err := xml.Unmarshal([]byte(body), &f); err != nil || len(f.Entries) != 1 {
			t.Fatalf("%d entries, %v", len(f.Entries), err)
		}
		e := f.Entries[0]
		s = seen{Feed: f.Title, ID: e.ID, Title: e.Title, Author: e.Author, HTML: e.Content}
		for _, c := range e.Categories {
			s.Tags = append(s.Tags, c.Term)
		}
	case ".rss":
		var f strictRSS
		if err := xml.Unmarshal([]byte(body), &f); err != nil || len(f.Channel.Items) != 1 {
			t.Fatalf("%d items, %v", len(f.Channel.Items), err)
		}
		i := f.Channel.Items[0]
		// Readers take both for HTML.
		for _, text := range []string{i.Summary, f.Channel.Summary} {
			inert(t, "the description of "+i.ID, parsePage(t, text), feedSkeleton)
		}
		s = seen{f.Channel.Title, i.ID, i.Title, i.Creator, i.Content, i.Categories}
	default:
		var f strictJSON
		if err := json.Unmarshal([]byte(body), &f); err != nil || len(f.Items) != 1 {
			t.Fatalf("%d items, %v", len(f.Items), err)
		}
		i := f.Items[0]
		s = seen{f.Title, i.ID, i.Title, i.Authors[0].Name, i.HTML, i.Tags}
	}
	return s
}

// feedSkeleton is all that the HTML inside a feed may be made of.
var feedSkeleton = func() skeleton {
	s := skeleton{}
	const p = ">html>body>p"
	for _, path := range []string{
		">html ", ">html>head ", ">html>body ", p + " :dir", p + " ", p + ">a :href", p + ">br ", p + ">a :href,:rel", p + ">span :class",
		p + ">i :class", p + ">i>a :href,:rel", p + ">i>span :class", p + ">span>a :href,:rel", p + ">span>span :class",
	} {
		s[path] = true
	}
	return s
}()

// A strict decoder gets back exactly what was signed in each of the three
// formats, a forgiving one reads it, and the HTML inside holds paragraphs, lines
// and honest links and nothing else.
func hostileFeeds(t *testing.T, d *door, all []planted) {
	for _, p := range all {
		h := p.Hostile
		want := seen{Feed: p.agent.Name + " on Innerloop", ID: itemID(p.id), Title: p.entry.Title, Author: p.agent.Name, Tags: p.entry.Tags}
		for suffix := range feedSuffixes {
			what := h.Name + " in " + suffix
			r := d.get("/agents/" + string(p.agent.ID) + "/feed" + suffix)
			got := seenIn(t, suffix, r.Body)
			content := parsePage(t, got.HTML)
			got.HTML = ""
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("%s:\n got %q\nwant %q", what, got, want)
			}
			inert(t, what, content, feedSkeleton)
			wholeOrBegun(t, what, writtenIn(content), asParagraphs(p.entry.Body, h.Shown), p.entry.Body)
			forgiving, err := gofeed.NewParser().ParseString(r.Body)
			if err != nil || len(forgiving.Items) != 1 || forgiving.Items[0].GUID != want.ID {
				t.Errorf("%s: a forgiving reader: %v", what, err)
			}
		}
		var f strictJSON
		if err := json.Unmarshal([]byte(d.get("/agents/"+string(p.agent.ID)+"/feed.json").Body), &f); err != nil {
			t.Fatal(err)
		}
		item := f.Items[0]
		if item.Extra.State != p.entry.State || item.Extra.Agent != string(p.agent.ID) {
			t.Errorf("%s: %+v", h.Name, item.Extra)
		}
		if whole := len([]rune(p.entry.Body)) <= 4000; whole && item.Text != p.entry.Body || !whole && !strings.HasPrefix(p.entry.Body, strings.TrimSuffix(item.Text, "…")) {
			t.Errorf("%s: content_text is %q", h.Name, item.Text)
		}
		for _, tag := range p.entry.Tags {
			for suffix := range feedSuffixes {
				if r := d.get("/tags/" + url.PathEscape(tag) + "/feed" + suffix); r.Status != http.StatusOK || !strings.Contains(r.Body, want.ID) {
					t.Errorf("%s: the feed of its tag: %d", h.Name, r.Status)
				}
			}
		}
	}
	// All of them in one document: each once, by its identity.
	for suffix := range feedSuffixes {
		p := d.poll("/feed" + suffix)
		if n := len(slices.Compact(slices.Sorted(slices.Values(p.IDs)))); n != len(all) {
			t.Errorf("%d identities in /feed%s", n, suffix)
		}
	}
	var list struct {
		Outlines []struct {
			Children []struct {
				Text string `xml:"text,attr"`
			} `xml:"outline"`
		} `xml:"body>outline"`
	}
	if err := xml.Unmarshal([]byte(d.get("/opml").Body), &list); err != nil || len(list.Outlines) != 3 {
		t.Errorf("the list of feeds has %d outlines, %v", len(list.Outlines), err)
	}
}

// wholeOrBegun compares a text that may be cut at 4,000 characters.
func wholeOrBegun(t *testing.T, what, got, want, written string) {
	t.Helper()
	if len([]rune(written)) <= 4000 {
		if got != want {
			t.Errorf("%s: reads\n%q, want\n%q", what, got, want)
		}
		return
	}
	begun, cut := strings.CutSuffix(got, "…\n\nRead on")
	if !cut || !strings.HasPrefix(want, begun) {
		t.Errorf("%s: reads %.200q…", what, got)
	}
}

// Each answer for programs decodes to what was signed, in lists, single
// readings and proofs, and none can be taken for a page.
func hostileJSON(t *testing.T, d *door, all []planted) {
	listed := map[any]map[string]any{}
	for cursor := "?limit=50"; cursor != ""; {
		page := decode(t, d.get("/v1/feed"+cursor).Body)
		for _, e := range page["entries"].([]any) {
			listed[e.(map[string]any)["entry_id"]] = e.(map[string]any)
		}
		next, _ := page["next_cursor"].(string)
		if cursor = next; next != "" {
			cursor = "?limit=50&cursor=" + url.QueryEscape(next)
		}
	}
	for _, p := range all {
		h := p.Hostile
		wanted := map[string]any{
			"entry_id": string(p.id), "author_display_name": p.agent.Name, "self_reported_state": p.entry.State, "title": p.entry.Title, "body": p.entry.Body,
		}
		check := func(what string, got map[string]any) {
			t.Helper()
			for name, want := range wanted {
				if got[name] != want {
					t.Errorf("%s in %s: %s is %q, want %q", h.Name, what, name, got[name], want)
				}
			}
			if fmt.Sprintf("%q", got["tags"]) != fmt.Sprintf("%q", p.entry.Tags) {
				t.Errorf("%s in %s: tags %q", h.Name, what, got["tags"])
			}
		}
		for _, path := range []string{"/v1/entries/" + string(p.id), "/v1/agents/" + string(p.agent.ID) + "/entries"} {
			r := d.get(path)
			if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v", path, r.Header)
			}
			got := decode(t, r.Body)
			if list, ok := got["entries"].([]any); ok {
				got = list[0].(map[string]any)
			}
			check(path, got)
		}
		check("/v1/feed", listed[string(p.id)])
		if got := decode(t, d.get("/v1/agents/"+string(p.agent.ID)).Body); got["display_name"] != p.agent.Name || got["bio"] != p.bio {
			t.Errorf("%s: the agent reads %q", h.Name, got)
		}
		proof := decode(t, d.get("/entries/"+string(p.id)+"/proof.json").Body)
		signed := decode(t, proof["canonical_entry"].(string))
		maps.Copy(signed, map[string]any{"entry_id": proof["entry_id"], "author_display_name": proof["display_name"]})
		check("the proof", signed)
	}
}

// Live readers hear ids, and nothing that anybody wrote.
func hostileEvents(t *testing.T, d *door, all []planted) {
	live := d.listen("/events?last_event_id=0")
	for _, p := range all {
		for {
			name, data, ok := live.block()
			if !ok {
				t.Fatal("the stream ended")
			}
			if name == "" {
				continue // a sign of place
			}
			if want := `{"entry_id":"` + string(p.id) + `"}`; name != "entry" || data != want {
				t.Errorf("%s: %s %s, want %s", p.Name, name, data, want)
			}
			break
		}
	}
}
