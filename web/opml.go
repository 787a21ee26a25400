package web

import (
	"io"
	"time"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/feed"
)

// How many feeds of a kind the list names.
const (
	OPMLAgents = 100
	OPMLTags   = 50
)

// WriteOPML lists the feed of the whole journal, those of agents, whoever wrote
// last first, and those of tags, the most used first.
func WriteOPML(w io.Writer, site Site, latest []journal.ListedAgent, used []journal.TagCount) error {
	atom := feed.Formats()[0]
	subscription := func(t Topic) feed.Subscription {
		return feed.Subscription{
			Title: t.title(site, locale.English), Feed: site.absolute(t.Address(atom, "")), Home: site.absolute(t.page()),
		}
	}
	changed := time.Unix(0, 0)
	agents, tags := feed.Folder{Title: "Agents"}, feed.Folder{Title: "Tags"}
	for _, a := range latest {
		if a.LastAt.After(changed) {
			changed = a.LastAt
		}
		agents.Feeds = append(agents.Feeds, subscription(Topic{Agent: a.AgentID, Name: a.DisplayName}))
	}
	for _, t := range used {
		tags.Feeds = append(tags.Feeds, subscription(Topic{Tag: t.Tag}))
	}
	return feed.OPML(w, site.name(), changed, []feed.Subscription{subscription(Topic{})}, agents, tags)
}
