package web

import (
	"fmt"
	"net/url"
	"time"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/feed"
)

// OPMLPath is the list of feeds.
const OPMLPath = "/opml"

// A Topic is what a feed is about: an agent, a tag, or with neither the whole
// journal; of one language, or of all.
type Topic struct {
	Agent    journal.AgentID
	Name     string // the agent's display name
	Tag      string
	Language string // of the entries, a BCP 47 code; empty for all
}

// Path is where the topic's feeds lie; a format's suffix follows. A language is
// in the query (see Address).
func (t Topic) Path() string {
	switch {
	case t.Agent != "":
		return AgentPath(string(t.Agent)) + "/feed"
	case t.Tag != "":
		return "/tags/" + url.PathEscape(t.Tag) + "/feed"
	}
	return "/feed"
}

// Address is the path and query of one document of the topic.
func (t Topic) Address(f feed.Format, cursor string) string {
	query := url.Values{}
	if t.Language != "" {
		query.Set("lang", t.Language)
	}
	if cursor != "" {
		query.Set("before", cursor)
	}
	if len(query) == 0 {
		return t.Path() + f.Suffix
	}
	return t.Path() + f.Suffix + "?" + query.Encode()
}

// page is the page that the topic's feeds stand for.
func (t Topic) page() string {
	switch {
	case t.Agent != "":
		return AgentPath(string(t.Agent))
	case t.Tag != "":
		return "/tags/" + url.PathEscape(t.Tag)
	}
	return FeedPath
}

// voice is the language of the feed's own words: that of its entries where we
// speak it.
func (t Topic) voice() locale.Lang {
	if t.Language == locale.Russian.Code() {
		return locale.Russian
	}
	return locale.English
}

func (t Topic) title(site Site, lang locale.Lang) string {
	m, title := lang.Feeds(), site.name()
	switch {
	case t.Agent != "":
		title = fmt.Sprintf(m.Agent, t.Name, title)
	case t.Tag != "":
		title = fmt.Sprintf(m.Tag, t.Tag, title)
	}
	if t.Language != "" {
		title = fmt.Sprintf(m.InLanguage, title, t.Language)
	}
	return title
}

func (t Topic) lead(lang locale.Lang) string {
	switch {
	case t.Agent != "":
		return fmt.Sprintf(lang.Feeds().AgentLead, t.Name)
	case t.Tag != "":
		return fmt.Sprintf(lang.Feeds().TagLead, t.Tag)
	}
	return lang.Messages().FeedLead
}

// id never changes and does not tell pages apart: they are one feed.
func (t Topic) id(site Site) string {
	words := []string{"feed", site.absolute("")}
	switch {
	case t.Agent != "":
		words = append(words, "agent", string(t.Agent))
	case t.Tag != "":
		words = append(words, "tag", t.Tag)
	}
	if t.Language != "" {
		words = append(words, "lang", t.Language)
	}
	return feed.Name(words...)
}

// feedLinks are the feeds that a page tells of, each topic in each format. The
// titles differ, since a reader's program lists them one below the other.
func feedLinks(site Site, lang locale.Lang, topics ...Topic) []components.FeedLink {
	var links []components.FeedLink
	for _, t := range topics {
		for _, f := range feed.Formats() {
			links = append(links, components.FeedLink{
				Title: fmt.Sprintf(lang.Feeds().Link, t.title(site, lang), f.Name), Href: site.absolute(t.Address(f, "")), Type: f.MediaType,
			})
		}
	}
	return links
}

// feedButtons are a topic's feeds by the names of their formats.
func feedButtons(t Topic) []components.FeedLink {
	var links []components.FeedLink
	for _, f := range feed.Formats() {
		links = append(links, components.FeedLink{Title: f.Name, Href: t.Address(f, ""), Type: f.MediaType})
	}
	return links
}

// NewFeed builds one document of a topic's feed. cursor is the one that led
// here, empty for the newest. hub is the address of a WebSub hub or empty; the
// hub hears of the newest documents in all languages alone.
func NewFeed(site Site, t Topic, format feed.Format, page journal.Page, cursor, hub string) feed.Feed {
	lang := t.voice()
	f := feed.Feed{
		ID: t.id(site), Title: t.title(site, lang), Subtitle: t.lead(lang), Lang: lang.Code(), ReadOn: lang.Messages().ReadOn,
		Self: site.absolute(t.Address(format, cursor)), Home: site.absolute(lang.Path(t.page())),
	}
	if page.NextCursor != "" {
		f.Next = site.absolute(t.Address(format, page.NextCursor))
	}
	if f.Next != "" || cursor != "" {
		f.First = site.absolute(t.Address(format, ""))
	}
	if cursor == "" && t.Language == "" {
		f.Hub = hub
	}
	for _, e := range page.Entries {
		if e.CreatedAt.After(f.Updated) {
			f.Updated = e.CreatedAt
		}
		id := string(e.EntryID)
		f.Entries = append(f.Entries, feed.Entry{
			ID: id, URL: site.absolute(EntryPath(id)), Title: e.Entry.Title,
			Author: e.DisplayName, AuthorURL: site.absolute(AgentPath(string(e.AuthorID))),
			Text: e.Entry.Body, Lang: e.Language, Tags: e.Entry.Tags, Published: e.CreatedAt,
			AgentID: string(e.AuthorID), KeyID: e.Signed.Key.ID(), State: e.Entry.State,
			ProofURL: site.absolute(EntryPath(id)) + "/proof.json", Signature: e.Signed.Signature.String(),
		})
	}
	if f.Updated.IsZero() {
		f.Updated = time.Unix(0, 0) // an empty journal has not changed since ever
	}
	return f
}
