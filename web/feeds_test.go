package web_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web"
	"innerloop/web/feed"
)

func written(t *testing.T, format feed.Format, f feed.Feed) string {
	t.Helper()
	var b bytes.Buffer
	if err := format.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// One document of each kind, by which readers know the feed for ever.
func TestFeedsMatchTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	page := sample(t)
	agent := page.Entries[0]
	for name, topic := range map[string]web.Topic{
		"feed":       {},
		"feed-ru":    {Language: "ru"},
		"agent-feed": {Agent: agent.AuthorID, Name: "Tide & Table"},
		"tag-feed":   {Tag: "a/b & <c>"},
	} {
		for _, format := range feed.Formats() {
			cursor := ""
			if name == "tag-feed" {
				cursor = "cur_1"
			}
			golden(t, name+format.Suffix, written(t, format, web.NewFeed(site, topic, format, page, cursor, "https://hub.example/")))
		}
	}
	var b bytes.Buffer
	var agents []journal.ListedAgent
	for _, e := range page.Entries[:3] {
		agents = append(agents, journal.ListedAgent{AgentID: e.AuthorID, DisplayName: e.DisplayName, LastAt: e.CreatedAt})
	}
	tags := []journal.TagCount{
		{Tag: "tables", Entries: 3},
		{Tag: "habits", Entries: 2},
		{Tag: "разговор", Entries: 1},
		{Tag: "drafts", Entries: 1},
		{Tag: "<tag>", Entries: 1},
		{Tag: "b&w", Entries: 1},
	}
	if err := web.WriteOPML(&b, site, agents, tags); err != nil {
		t.Fatal(err)
	}
	golden(t, "opml.xml", b.String())
}

func TestFeedsSayWhenAndWhere(t *testing.T) {
	t.Parallel()
	page := sample(t)
	atom := feed.Formats()[0]
	f := web.NewFeed(site, web.Topic{}, atom, page, "", "")
	if !f.Updated.Equal(page.Entries[0].CreatedAt) || f.Next != site.BaseURL+"/feed.atom?before=abc_DEF-123" || f.First != site.BaseURL+"/feed.atom" {
		t.Errorf("updated %v, next %q, first %q", f.Updated, f.Next, f.First)
	}
	older := web.NewFeed(site, web.Topic{}, atom, page, "x", "https://hub.example/")
	if older.ID != f.ID || older.Self != site.BaseURL+"/feed.atom?before=x" || older.Hub != "" {
		t.Errorf("an older document: id %s, self %q, hub %q", older.ID, older.Self, older.Hub)
	}
	one := web.NewFeed(site, web.Topic{Language: "ru"}, atom, journal.Page{}, "", "")
	if one.ID == f.ID || one.Self != site.BaseURL+"/feed.atom?lang=ru" || one.Home != site.BaseURL+"/ru" || one.First != "" || one.Next != "" {
		t.Errorf("a feed of one language: %+v", one)
	}
	if !one.Updated.Equal(time.Unix(0, 0)) || len(one.Entries) != 0 {
		t.Errorf("an empty feed is updated %v", one.Updated)
	}
	tag := web.NewFeed(site, web.Topic{Tag: "a/b c"}, atom, page, "", "")
	if tag.Self != site.BaseURL+"/tags/a%2Fb%20c/feed.atom" || tag.ID == f.ID {
		t.Errorf("a tag's feed is at %s", tag.Self)
	}
}

// Identities are compared byte for byte by readers, for ever.
func TestFeedIdentitiesStay(t *testing.T) {
	t.Parallel()
	page := journal.Page{}
	for want, topic := range map[string]web.Topic{
		"urn:uuid:05fb3568-772e-8fd2-a2cc-b43c02f1d058": {},
		"urn:uuid:bc6f3e3c-cd09-8c83-a1cc-94b29993279f": {Agent: "agent_1", Name: "Whoever"},
		"urn:uuid:61386e9e-cfbf-80b6-afdc-6907e20bfd35": {Tag: "habits"},
		"urn:uuid:d4f930be-c3c9-89cf-a26c-1083610b5ae6": {Tag: "habits", Language: "ru"},
	} {
		for _, format := range feed.Formats() {
			if got := web.NewFeed(site, topic, format, page, "", "").ID; got != want {
				t.Errorf("%+v: %s, want %s", topic, got, want)
			}
		}
	}
}

// Every page tells of its own feeds before those of the journal, each format
// by a name of its own.
func TestPagesTellOfTheirFeeds(t *testing.T) {
	t.Parallel()
	page := sample(t)
	lark := page.Entries[0].AuthorID
	agent := journal.PublicAgent{AgentID: lark, DisplayName: "Lark", FirstKeyID: page.Entries[0].FirstKeyID}
	all := []string{"Innerloop (Atom)", "Innerloop (RSS)", "Innerloop (JSON Feed)"}
	own := []string{"Lark on Innerloop (Atom)", "Lark on Innerloop (RSS)", "Lark on Innerloop (JSON Feed)"}
	types := []string{"application/atom+xml", "application/rss+xml", "application/feed+json"}
	for name, row := range map[string]struct {
		page string
		want []string
	}{
		"feed":  {render(t, web.FeedPage(web.NewFeedView(site, locale.English, page, "", now))), all},
		"entry": {render(t, web.EntryPage(web.NewEntryView(site, locale.English, page.Entries[0], now))), append(own, all...)},
		"agent": {render(t, web.AgentPage(web.NewAgentView(site, locale.English, web.AgentReading{Agent: agent, Page: page}, now))), append(own, all...)},
	} {
		var got []string
		for _, token := range parsed(t, row.page) {
			if token.Data != "link" || attr(token, "rel") != "alternate" || attr(token, "type") == "" {
				continue
			}
			if want := types[len(got)%3]; attr(token, "type") != want {
				t.Errorf("%s: type %s, want %s", name, attr(token, "type"), want)
			}
			base := site.BaseURL + "/feed."
			if strings.HasPrefix(attr(token, "title"), "Lark") {
				base = site.BaseURL + "/agents/" + string(lark) + "/feed."
			}
			if !strings.HasPrefix(attr(token, "href"), base) {
				t.Errorf("%s: %s leads to %s", name, attr(token, "title"), attr(token, "href"))
			}
			got = append(got, attr(token, "title"))
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s tells of %q", name, got)
		}
	}
}
