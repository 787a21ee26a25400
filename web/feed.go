package web

import (
	"strconv"
	"time"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/prose"
)

// FeedView fills the feed page.
type FeedView struct {
	Shell  components.Shell
	Lang   locale.Lang
	Days   []FeedDay
	Older  string // path of the next page, empty on the last
	Newest string // path of the first page, empty when this is it
	Feeds  []components.FeedLink
	// LastEvent is the newest event that the first page knows of, to be told
	// of later ones; empty on older pages.
	LastEvent string
	TagsHead  string     // what the counts of Tags are of
	Tags      []TagCount // the most used
}

// FeedDay is the entries of one UTC day.
type FeedDay struct {
	Label   string
	Entries []FeedEntry
}

// FeedEntry is one entry as the feed shows it.
type FeedEntry struct {
	Author   components.Author
	State    string
	Title    string
	Text     []prose.Paragraph
	TextLang string // when it differs from the page
	Time     components.Stamp
	Href     string
	Short    bool
	More     bool // the text goes on behind the link
	Minutes  string
	Tags     []components.Tag
}

// NewFeedView builds the feed page. cursor is the one that led here, empty
// for the newest page.
func NewFeedView(site Site, lang locale.Lang, page journal.Page, cursor string, now time.Time) FeedView {
	m := lang.Messages()
	v := FeedView{
		Shell: site.shell(lang, listing(FeedPath, cursor)),
		Lang:  lang,
		Feeds: feedButtons(Topic{}),
	}
	v.Shell.Title = m.FeedHead
	v.Shell.Description = m.FeedLead
	v.Shell.OpenGraph = "website"
	v.Shell.SkipLabel = m.SkipToEntries
	v.Shell.Section = "feed"
	v.Shell.Feeds = feedLinks(site, lang, Topic{})
	if page.NextCursor != "" {
		v.Older = lang.Path(listing(FeedPath, page.NextCursor))
	}
	if cursor != "" {
		v.Newest = lang.Path(FeedPath)
	} else {
		last := int64(0)
		if len(page.Entries) > 0 {
			last = page.Entries[0].Position
		}
		v.LastEvent = strconv.FormatInt(last, 10)
	}

	var seen marks
	v.Days = feedDays(lang, page.Entries, &seen, now)
	v.Shell.Marks, v.Shell.Russian = seen.all, russian(page.Entries...)
	v.Shell.Italic = daysItalic(v.Days)
	v.Shell.Data = blog(site, lang, page.Entries)
	return v
}

// WithTags adds the tags in most use of all time.
func (v FeedView) WithTags(counts []journal.TagCount) FeedView {
	return v.withTags(v.Lang.Messages().Tags, counts)
}

// WithWeekTags adds the tags in most use this week.
func (v FeedView) WithWeekTags(counts []journal.TagCount) FeedView {
	return v.withTags(v.Lang.Directory().WeekTags, counts)
}

func (v FeedView) withTags(head string, counts []journal.TagCount) FeedView {
	v.TagsHead = head
	for _, t := range counts {
		v.Tags = append(v.Tags, TagCount{tags(v.Lang, []string{t.Tag})[0], strconv.FormatInt(t.Entries, 10)})
	}
	return v
}

func feedDays(lang locale.Lang, entries []journal.PublicEntry, seen *marks, now time.Time) []FeedDay {
	var days []FeedDay
	for _, e := range entries {
		label := lang.Day(e.CreatedAt, now)
		if n := len(days); n == 0 || days[n-1].Label != label {
			days = append(days, FeedDay{Label: label})
		}
		day := &days[len(days)-1]
		day.Entries = append(day.Entries, feedEntry(lang, e, seen.of(e.FirstKeyID), now))
	}
	return days
}

func feedEntry(lang locale.Lang, e journal.PublicEntry, mark components.Mark, now time.Time) FeedEntry {
	text, more := prose.Excerpt(e.Entry.Body)
	return FeedEntry{
		Author:   author(lang, e.AuthorID, e.DisplayName, mark),
		State:    e.Entry.State,
		Title:    e.Entry.Title,
		Text:     text,
		TextLang: foreign(lang, e.Language),
		Time:     stamp(lang, e.CreatedAt, now),
		Href:     lang.Path(EntryPath(string(e.EntryID))),
		Short:    prose.Short(e.Entry.Body),
		More:     more,
		Minutes:  lang.Count(prose.Minutes(e.Entry.Body, e.Language), lang.Messages().Minutes),
		Tags:     tags(lang, e.Entry.Tags),
	}
}

func (e FeedEntry) card(lang locale.Lang) components.Card {
	c := components.Card{
		Lang: lang, TextLang: e.TextLang, Author: e.Author, State: inline(e.State), Time: e.Time, Href: e.Href,
		Title: inline(e.Title), Short: e.Short, Whole: !e.More, Minutes: e.Minutes, Tags: e.Tags,
	}
	if e.More {
		c.Text = paragraphs(e.Text, components.ReadOn(e.Href, lang.Messages().ReadOn, lang.Code(), prose.Summary(e.Title, 200)))
	} else {
		c.Text = paragraphs(e.Text, nil)
	}
	return c
}
