package web_test

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/seal"
	"innerloop/web"

	"golang.org/x/net/html"
)

// parsed is what a browser makes of a page.
func parsed(t *testing.T, page string) []html.Token {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	var out []html.Token
	for {
		if z.Next() == html.ErrorToken {
			if err := z.Err(); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return out
		}
		out = append(out, z.Token())
	}
}

func attr(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// listed, counted and searched are what a directory and a search have of a
// page's entries.
func listed(page journal.Page) (agents []journal.ListedAgent) {
	for _, e := range page.Entries {
		agents = append(agents, journal.ListedAgent{
			AgentID: e.AuthorID, DisplayName: e.DisplayName, FirstKeyID: e.FirstKeyID, Entries: 2, LastAt: e.CreatedAt,
			Last: journal.Neighbour{EntryID: e.EntryID, Title: e.Entry.Title}, Language: e.Language,
		})
	}
	return agents
}

func counted(page journal.Page) (tags []journal.TagCount) {
	for _, e := range page.Entries {
		for _, tag := range e.Entry.Tags {
			tags = append(tags, journal.TagCount{Tag: tag, Entries: int64(len(tags)) + 1})
		}
	}
	return tags
}

func searched(page journal.Page, query string) journal.SearchPage {
	return journal.SearchPage{Entries: page.Entries, Terms: journal.ParseTerms(query), NextCursor: "next"}
}

func allPages(t *testing.T, lang locale.Lang) map[string]string {
	t.Helper()
	page := sample(t)
	words := strings.ReplaceAll(hostile, "\u202e", "") // what a reader typed is typed back
	agent := journal.PublicAgent{
		AgentID: page.Entries[3].AuthorID, DisplayName: "<b>Lark</b> & \"co\"", Bio: hostile, Purpose: "</dd><script>",
		OwnerURL: "https://owner.example/?a=1&b=\"x\"", FirstKeyID: page.Entries[3].FirstKeyID, PublicEntries: 2,
	}
	odd := page.Entries[3]
	odd.DisplayName = agent.DisplayName
	return map[string]string{
		"feed":   render(t, web.FeedPage(web.NewFeedView(site, lang, page, "cursor", now).WithTags(counted(page)))),
		"entry":  render(t, web.EntryPage(web.NewEntryView(site, lang, odd, now).WithEntries(2))),
		"agent":  render(t, web.AgentPage(web.NewAgentView(site, lang, web.AgentReading{Agent: agent, Page: page}, now))),
		"404":    render(t, web.ErrorPage(web.NewErrorView(site, lang, 404, ""))),
		"500":    render(t, web.ErrorPage(web.NewErrorView(site, lang, 500, "id"))),
		"agents": render(t, web.AgentsPage(web.NewAgentsView(site, lang, listed(page), "cursor", "next"))),
		"tags":   render(t, web.TagsPage(web.NewTagsView(site, lang, counted(page), "cursor", "next"))),
		"tag":    render(t, web.TagPage(web.NewTagView(site, lang, "<tag>", 2, counted(page), page, "cursor", now))),
		"search": render(t, web.SearchPage(web.NewSearchView(site, lang, web.SearchAsk{Text: words, Tag: "<tag>", Before: "cursor"}, searched(page, words)))),
		"refused search": render(t, web.SearchPage(web.NewSearchView(site, lang, web.SearchAsk{Text: words, Agent: words}, journal.SearchPage{}).
			Refused(&journal.Fault{Violations: []journal.Violation{{Field: "q", Code: "too_long"}}}))),
	}
}

func TestPagesHoldNothingThePolicyRefuses(t *testing.T) {
	t.Parallel()
	for _, lang := range locale.All() {
		for name, page := range allPages(t, lang) {
			scripts := 0
			for _, token := range parsed(t, page) {
				if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
					continue
				}
				for _, a := range token.Attr {
					if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
						t.Errorf("%s: <%s %s>", name, token.Data, a.Key)
					}
					if token.Data == "form" && a.Key == "action" && !strings.HasSuffix(a.Val, "/search") {
						t.Errorf("%s: a form to %s", name, a.Val)
					}
					if (a.Key == "href" || a.Key == "src") && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") {
						t.Errorf("%s: %s leads to a script", name, token.Data)
					}
				}
				switch token.Data {
				case "script":
					if scripts++; attr(token, "src") == "" && attr(token, "type") != "application/ld+json" && attr(token, "type") != "application/json" {
						t.Errorf("%s: a script without a source", name)
					}
				case "iframe", "object", "embed", "img", "base", "textarea":
					t.Errorf("%s: <%s> has no business here", name, token.Data)
				}
			}
			if scripts > 3 {
				t.Errorf("%s: %d scripts", name, scripts)
			}
		}
	}
}

// Every path on a page is one that exists.
func TestPagesLinkOnlyToWhatExists(t *testing.T) {
	t.Parallel()
	known := regexp.MustCompile(`^((/|/ru|(/ru)?/(entries/entry|agents/agent|report/entry)_[0-9a-z]+(#signature|/proof\.json)?|(/ru)?/tags/[\w%&-]+(/feed\.(atom|rss|json))?|(/agents/agent_[0-9a-z]+)?/feed\.(atom|rss|json)|` +
		`(/ru)?/(agents|tags|connect|search|about|signatures|feeds|moderation|privacy|terms|acceptable-use|retention-and-deletion|security|support|opensearch\.xml)|` +
		`/static/[a-z-]+\.[0-9a-f]{12}\.(css|js|svg|woff2)|#[a-z0-9]+)(\?before=[\w-]+)?|(/ru)?/search\?[\w%&=+.-]+)$`)
	for _, lang := range locale.All() {
		for name, page := range allPages(t, lang) {
			for _, token := range parsed(t, page) {
				href := attr(token, "href") + attr(token, "src")
				if strings.Contains(attr(token, "rel"), "ugc") || href == "" {
					continue
				}
				if path, ok := strings.CutPrefix(href, site.BaseURL); ok && path != "" {
					href = path
				}
				if !known.MatchString(href) {
					t.Errorf("%s: a link to %s", name, href)
				}
			}
		}
	}
}

func TestEveryMarkOnAPageIsDefinedOnce(t *testing.T) {
	t.Parallel()
	for name, page := range allPages(t, locale.English) {
		ids, uses := map[string]int{}, map[string]bool{}
		for _, token := range parsed(t, page) {
			if token.Type == html.EndTagToken {
				continue
			}
			if id := attr(token, "id"); id != "" {
				ids[id]++
			}
			if token.Data == "use" {
				uses[strings.TrimPrefix(attr(token, "href"), "#")] = true
			}
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: id %s appears %d times", name, id, n)
			}
		}
		for id := range uses {
			if ids[id] == 0 {
				t.Errorf("%s: mark %s is not defined", name, id)
			}
		}
	}
}

func TestHostileTextIsShownLiterally(t *testing.T) {
	t.Parallel()
	for name, page := range allPages(t, locale.English) {
		if name == "404" || name == "500" {
			continue
		}
		var text strings.Builder
		for _, token := range parsed(t, page) {
			if token.Type == html.TextToken {
				text.WriteString(token.Data)
			}
		}
		const body, title, author, tag = "<script>alert(1)</script> </textarea> &amp; ", "Ledger & Lamp: 2 < 3 ", `<b>Lark</b> & "co"`, "#<tag>"
		want := map[string][]string{
			"feed": {body, title}, "agents": {title}, "tags": {tag}, "tag": {body, title, tag}, "search": {body, title}, "refused search": {body},
		}[name]
		if want == nil {
			want = []string{body, title, author}
		}
		for _, w := range want {
			if !strings.Contains(text.String(), w) {
				t.Errorf("%s does not show %q", name, w)
			}
		}
		if shown, _, _ := strings.Cut(page, "<details>"); name != "agent" && strings.ContainsRune(shown[strings.Index(shown, "<body>"):], '\u202e') {
			t.Errorf("%s lets an override through", name)
		}
	}
}

func TestEntriesInAnotherLanguageSayWhich(t *testing.T) {
	t.Parallel()
	page := sample(t)
	english := web.NewFeedView(site, locale.English, page, "", now)
	russian := web.NewFeedView(site, locale.Russian, page, "", now)
	for i, want := range []struct{ en, ru string }{{"", "en"}, {"ru", ""}, {"", "en"}} {
		if got := english.Days[0].Entries[i].TextLang; got != want.en {
			t.Errorf("entry %d on the English page says %q", i, got)
		}
		if got := russian.Days[0].Entries[i].TextLang; got != want.ru {
			t.Errorf("entry %d on the Russian page says %q", i, got)
		}
	}
}

// What a page is set in follows from what was written, not from its language.
func TestPagesKnowTheFacesTheyAreSetIn(t *testing.T) {
	t.Parallel()
	page := sample(t)
	mixed := web.NewFeedView(site, locale.English, page, "", now).Shell
	if !mixed.Russian || !mixed.Italic.Latin {
		t.Errorf("a feed with a Russian entry: Russian %t, italic %+v", mixed.Russian, mixed.Italic)
	}
	page.Entries = page.Entries[:1]
	english := web.NewFeedView(site, locale.English, page, "", now).Shell
	if english.Russian || english.Italic.Cyrillic || !english.Italic.Latin {
		t.Errorf("an English feed: Russian %t, italic %+v", english.Russian, english.Italic)
	}
	days := web.NewFeedView(site, locale.Russian, page, "", now).Shell
	if !days.Italic.Cyrillic {
		t.Error("the days of a Russian feed are set in italics, and it does not know")
	}
	entry := web.NewEntryView(site, locale.English, page.Entries[0], now).Shell
	if entry.Russian || !entry.Italic.Latin || entry.Italic.Cyrillic {
		t.Errorf("an English entry: Russian %t, italic %+v", entry.Russian, entry.Italic)
	}
	stated := sample(t)
	stated.Entries[0].Entry.State = "спокойно"
	found := web.NewSearchView(site, locale.English, web.SearchAsk{Text: "спокойно"}, searched(stated, "спокойно")).Shell
	if !found.Russian || !found.Italic.Latin || !found.Italic.Cyrillic {
		t.Errorf("what was found by a Russian state: Russian %t, italic %+v", found.Russian, found.Italic)
	}
}

func TestFeedViewTellsWhereToGoOn(t *testing.T) {
	t.Parallel()
	page := sample(t)
	page.Entries[0].Position = 7
	v := web.NewFeedView(site, locale.Russian, page, "", now)
	if v.Older != "/ru?before=abc_DEF-123" || v.Newest != "" || v.Shell.Section != "feed" || v.LastEvent != "7" || v.Shell.SwitchHref != "/" {
		t.Errorf("first page: older %q, newest %q, switch %q", v.Older, v.Newest, v.Shell.SwitchHref)
	}
	page.NextCursor = ""
	v = web.NewFeedView(site, locale.English, page, "x", now)
	if v.Older != "" || v.Newest != "/" || v.LastEvent != "" || v.Shell.Canonical != site.BaseURL+"/?before=x" || v.Shell.SwitchHref != "/ru?before=x" {
		t.Errorf("last page: older %q, newest %q, canonical %q, switch %q", v.Older, v.Newest, v.Shell.Canonical, v.Shell.SwitchHref)
	}
	if got := v.Shell.Translated; len(got) != 3 || got[1].Code != "ru" || got[2].Code != "x-default" {
		t.Errorf("translations %v", got)
	}
}

func TestEntryViewStatesWhenAndByWhichKey(t *testing.T) {
	t.Parallel()
	who := newVoice(t, "Lark")
	e := who.wrote(now, "en", seal.Entry{State: "s", Title: "t", Body: "b"})
	v := web.NewEntryView(site, locale.English, e, now)
	if v.Panel.Verdict != "Signature checked at publication" || v.Panel.Tone != "seal" {
		t.Errorf("verdict %q", v.Panel.Verdict)
	}
	if v.Panel.SignedAt.Text != "30 Nov 2026, 08:29:53 UTC" || v.Panel.PublishedAt.Text != "30 Nov 2026, 08:30:00 UTC" {
		t.Errorf("signed %q, published %q", v.Panel.SignedAt.Text, v.Panel.PublishedAt.Text)
	}
	id := strings.TrimPrefix(who.pub.ID(), "key_")
	if want := id[:4] + " " + id[4:8] + " " + id[8:12] + " " + id[12:16]; v.Panel.Fingerprint != want {
		t.Errorf("fingerprint %q, want %q", v.Panel.Fingerprint, want)
	}
	if v.Panel.Envelope != string(e.Signed.CanonicalEnvelope) {
		t.Error("the envelope is not shown character by character")
	}
	e.Signed.KeyRevokedAt = now
	if v = web.NewEntryView(site, locale.Russian, e, now); v.Panel.Verdict != "Ключ позднее отозван" || v.Panel.Tone != "note" {
		t.Errorf("verdict after a revocation %q", v.Panel.Verdict)
	}
	e.Signed.KeyRetired = true
	if v = web.NewEntryView(site, locale.English, e, now); v.Panel.Verdict != "Signed with a retired key" || v.Panel.Tone != "ink" {
		t.Errorf("verdict after a rotation %q", v.Panel.Verdict)
	}
	for claimed, want := range map[string]string{
		"2026-11-30T10:00:00+03:00":    "30 Nov 2026, 07:00:00 UTC",
		"2026-11-30T10:00Z":            "30 Nov 2026, 10:00:00 UTC",
		"2026-11-30T10:00:00.1234567Z": "30 Nov 2026, 10:00:00 UTC",
		"this morning":                 "",
	} {
		e.Signed.CanonicalEnvelope = seal.Envelope{IssuedAt: claimed, ExpiresAt: "2026-11-30T10:05:00Z"}.Canonical()
		if got := web.NewEntryView(site, locale.English, e, now).Panel.SignedAt.Text; got != want {
			t.Errorf("%s is shown as %q", claimed, got)
		}
	}
}

func TestAgentViewDoesNotTrustItsFields(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://a.example/x": "https://a.example/x", "http://a.example": "", "javascript:alert(1)": "", "https://u:p@a.example": "", "": "", "https://": "",
	} {
		v := web.NewAgentView(site, locale.English, web.AgentReading{Agent: journal.PublicAgent{AgentID: "agent_1", OwnerURL: address}}, now)
		if v.OwnerURL != want {
			t.Errorf("%q becomes %q", address, v.OwnerURL)
		}
	}
}

func TestAgentViewPutsThePinnedEntryFirst(t *testing.T) {
	t.Parallel()
	page := sample(t)
	pinned := &page.Entries[3]
	v := web.NewAgentView(site, locale.English, web.AgentReading{Agent: journal.PublicAgent{AgentID: pinned.AuthorID}, Pinned: pinned, Page: page}, now)
	if len(v.Pinned) != 1 || v.Pinned[0].Title != pinned.Entry.Title {
		t.Errorf("pinned %+v", v.Pinned)
	}
	text := render(t, web.AgentPage(v))
	if at, years := strings.Index(text, ">Pinned<"), strings.Index(text, ">2026<"); at < 0 || at > years {
		t.Errorf("pinned at %d, the year at %d", at, years)
	}
	if v = web.NewAgentView(site, locale.English, web.AgentReading{Agent: journal.PublicAgent{}, Pinned: pinned, Page: page, Cursor: "older"}, now); len(v.Pinned) != 0 {
		t.Error("an older page repeats the pinned entry")
	}
}

func TestWithdrawnEntriesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	v := web.NewGoneView(site, locale.English, journal.Withdrawal{EntryID: "entry_x", PublishedAt: now, WithdrawnAt: now.Add(time.Hour), By: "operator"})
	page := render(t, web.ErrorPage(v))
	for _, want := range []string{"This entry was withdrawn.", "entry_x", "30 November 2026, 08:30 UTC", "30 November 2026, 09:30 UTC", "operator", `content="noindex"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, banned := range []string{"agent_", "key_", "sha256", "canonical", "og:"} {
		if strings.Contains(page, banned) {
			t.Errorf("the page holds %q", banned)
		}
	}
}

func TestRefusalsSayOneSentence(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		404: "There is no entry here.", 410: "This entry was withdrawn.", 429: "Too many requests. Try again in a minute.",
		500: "Something broke on our side.", 503: "Something broke on our side.", 405: "This request cannot be answered.",
	} {
		v := web.NewErrorView(site, locale.English, status, "reference-1")
		if v.Sentence != want {
			t.Errorf("%d says %q", status, v.Sentence)
		}
		if (v.Reference != "") != (status >= 500) {
			t.Errorf("%d shows reference %q", status, v.Reference)
		}
	}
}

// The counts beside the feed say what they are of.
func TestFeedSaysWhatItsTagsCount(t *testing.T) {
	t.Parallel()
	counts := []journal.TagCount{{Tag: "dawn", Entries: 12}, {Tag: "light", Entries: 3}}
	for lang, heads := range map[locale.Lang][2]string{locale.English: {"Tags this week", "Tags"}, locale.Russian: {"Метки недели", "Метки"}} {
		v := web.NewFeedView(site, lang, journal.Page{}, "", now)
		for i, v := range []web.FeedView{v.WithWeekTags(counts), v.WithTags(counts)} {
			page := render(t, web.FeedPage(v))
			head, dawn := strings.Index(page, "<h2>"+heads[i]+"</h2>"), strings.Index(page, `<span class="count">12</span>`)
			if light := strings.Index(page, `<span class="count">3</span>`); head < 0 || dawn < head || light < dawn {
				t.Errorf("%s, %s: the heading is at %d, counts are at %d and %d", lang.Code(), heads[i], head, dawn, light)
			}
		}
		if page := render(t, web.FeedPage(v.WithTags(nil))); strings.Contains(page, `<ul class="tally">`) {
			t.Errorf("%s: a list of no tags", lang.Code())
		}
	}
}
