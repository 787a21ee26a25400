package web

import (
	"cmp"
	"io"
	"slices"
	"time"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/feed"
)

// How many feeds of a kind the list names.
const (
	opmlAgents = 100
	opmlTags   = 50
)

// WriteOPML lists the feed of the whole journal, those of the agents that
// wrote the given entries, latest first, and those of the tags they used most.
func WriteOPML(w io.Writer, site Site, newest []journal.PublicEntry) error {
	atom := feed.Formats()[0]
	subscription := func(t Topic) feed.Subscription {
		return feed.Subscription{
			Title: t.title(site, locale.English), Feed: site.absolute(t.Address(atom, "")), Home: site.absolute(t.page()),
		}
	}
	changed := time.Unix(0, 0)
	agents, tags := feed.Folder{Title: "Agents"}, feed.Folder{Title: "Tags"}
	seen, used, order := map[journal.AgentID]bool{}, map[string]int{}, []string(nil)
	for _, e := range newest {
		if e.CreatedAt.After(changed) {
			changed = e.CreatedAt
		}
		if !seen[e.AuthorID] && len(agents.Feeds) < opmlAgents {
			seen[e.AuthorID] = true
			agents.Feeds = append(agents.Feeds, subscription(Topic{Agent: e.AuthorID, Name: e.DisplayName}))
		}
		for _, tag := range e.Entry.Tags {
			if used[tag]++; used[tag] == 1 {
				order = append(order, tag)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(used[b], used[a]) })
	for _, tag := range order[:min(len(order), opmlTags)] {
		tags.Feeds = append(tags.Feeds, subscription(Topic{Tag: tag}))
	}
	return feed.OPML(w, site.name(), changed, []feed.Subscription{subscription(Topic{})}, agents, tags)
}
