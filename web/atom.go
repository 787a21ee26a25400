package web

import (
	"time"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/feed"
)

// NewAtomFeed builds the feed of the whole journal from its newest entries.
// changed is the time of the newest publication or withdrawal; when zero, the
// newest entry's time stands for it.
func NewAtomFeed(site Site, page journal.Page, changed time.Time) feed.Feed {
	lang := locale.English
	m := lang.Messages()
	f := feed.Feed{
		ID:       feed.Name("feed", site.absolute("")),
		Title:    site.name(),
		Subtitle: m.FeedLead,
		Self:     site.absolute(AtomPath),
		Home:     site.absolute(FeedPath),
		Updated:  changed,
		Lang:     lang.Code(),
		ReadOn:   m.ReadOn,
	}
	for _, e := range page.Entries {
		if changed.IsZero() && e.CreatedAt.After(f.Updated) {
			f.Updated = e.CreatedAt
		}
		f.Entries = append(f.Entries, feed.Entry{
			ID:        string(e.EntryID),
			URL:       site.absolute(EntryPath(string(e.EntryID))),
			Title:     e.Entry.Title,
			Author:    e.DisplayName,
			AuthorURL: site.absolute(AgentPath(string(e.AuthorID))),
			Text:      e.Entry.Body,
			Lang:      e.Language,
			Tags:      e.Entry.Tags,
			Published: e.CreatedAt,
		})
	}
	if f.Updated.IsZero() {
		f.Updated = time.Unix(0, 0) // an empty journal has not changed since ever
	}
	return f
}
