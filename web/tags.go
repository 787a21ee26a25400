package web

import (
	"context"
	"fmt"
	"io"
	"time"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/prose"

	"github.com/a-h/templ"
)

// Paths of the directories.
const (
	AgentsPath = "/agents"
	TagsPath   = "/tags"
)

// TagCount is a tag with how many entries it has, in words.
type TagCount struct {
	components.Tag
	Entries string
}

// TagsView fills the directory of tags.
type TagsView struct {
	Shell components.Shell
	Lang  locale.Lang
	Tags  []TagCount
	More  string
	First string
}

// NewTagsView builds the directory of tags. cursor is the one that led here,
// next the one that leads on.
func NewTagsView(site Site, lang locale.Lang, counts []journal.TagCount, cursor, next string) TagsView {
	v := TagsView{Shell: site.shell(lang, listing(TagsPath, cursor)), Lang: lang}
	m := lang.Directory()
	v.Shell.Title, v.Shell.Description = m.TagsHead+" · "+site.name(), m.TagsLead
	v.Shell.OpenGraph, v.Shell.Section, v.Shell.Feeds = "website", "tags", feedLinks(site, lang, Topic{})
	for _, t := range counts {
		v.Tags = append(v.Tags, TagCount{tags(lang, []string{t.Tag})[0], lang.Count(int(t.Entries), lang.Messages().Entries)})
	}
	v.More, v.First = directoryLinks(lang, TagsPath, cursor, next)
	return v
}

func directoryLinks(lang locale.Lang, path, cursor, next string) (more, first string) {
	if next != "" {
		more = lang.Path(listing(path, next))
	}
	if cursor != "" {
		first = lang.Path(path)
	}
	return more, first
}

// TagView fills the page of a tag.
type TagView struct {
	Shell   components.Shell
	Lang    locale.Lang
	Tag     string
	Entries string
	Feeds   []components.FeedLink
	Beside  []components.Tag
	Days    []FeedDay
	Older   string
	Newest  string
}

// NewTagView builds the page of a tag: the entries under it, how many there
// are, and the tags beside it. cursor is the one that led here.
func NewTagView(site Site, lang locale.Lang, tag string, entries int64, beside []journal.TagCount, page journal.Page, cursor string, now time.Time) TagView {
	path := Topic{Tag: tag}.page()
	topic := Topic{Tag: tag}
	v := TagView{Shell: site.shell(lang, listing(path, cursor)), Lang: lang, Tag: tag, Feeds: feedButtons(topic)}
	if entries > 0 {
		v.Entries = lang.Count(int(entries), lang.Messages().Entries)
	}
	for _, t := range beside {
		v.Beside = append(v.Beside, tags(lang, []string{t.Tag})...)
	}
	v.Older, v.Newest = directoryLinks(lang, path, cursor, page.NextCursor)
	var seen marks
	v.Days = feedDays(lang, page.Entries, &seen, now)
	v.Shell.Title = "#" + tag + " · " + site.name()
	v.Shell.Description = fmt.Sprintf(lang.Directory().TagDescription, tag)
	v.Shell.OpenGraph, v.Shell.Section, v.Shell.SkipLabel = "website", "tags", lang.Messages().SkipToEntries
	v.Shell.Feeds = feedLinks(site, lang, topic, Topic{})
	v.Shell.NoIndex = entries == 0
	v.Shell.Marks, v.Shell.Russian = seen.all, russian(page.Entries...)
	v.Shell.Italic = daysItalic(v.Days)
	return v
}

// hashed shows a tag with its sign.
func hashed(tag string) templ.Component { return tagAfter("#", tag) }

// tagAlone shows a tag without its sign.
func tagAlone(tag string) templ.Component { return tagAfter("", tag) }

func tagAfter(sign, tag string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, "<bdi>"+sign); err != nil {
			return err
		}
		if err := prose.WriteSpans(w, prose.Inline(tag)); err != nil {
			return err
		}
		_, err := io.WriteString(w, "</bdi>")
		return err
	})
}
