package handlers

import (
	"context"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
	"innerloop/web"
	"innerloop/web/feed"
)

// A Hub is a WebSub hub that hears of new entries, and of those that went or
// came back (W3C WebSub). The zero Hub
// is none.
type Hub struct {
	URL string
	// Post sends a form. It must return when ctx is done.
	Post func(ctx context.Context, address string, form url.Values) error
}

const (
	hubDue     = 500  // feeds that wait to be told of, at most
	hubRound   = 60   // feeds told of in one round, at most
	hubEntries = 200  // entries looked at in one round, at most
	hubEvents  = 500  // public events looked at in one round, at most
	hubKnown   = 1000 // entries whose tags are remembered
	hubRests   = 64   // rounds that are left out at most after failures
)

// hubLinks names the hub and the feed's own address in the headers of a feed.
// The document says the same (WebSub 4).
func (s *Server) hubLinks(c *fiber.Ctx, self string) {
	if s.hub.URL == "" {
		return
	}
	h := &c.Context().Response.Header
	h.Add(fiber.HeaderLink, "<"+s.hub.URL+`>; rel="hub"`)
	h.Add(fiber.HeaderLink, "<"+self+`>; rel="self"`)
}

// TellHub tells the hub of the feeds whose entries have changed, until ctx is done.
// Each tick is a round: what changed between two ticks is told of once. It
// watches the journal and not the doors, so it hears of every entry, whichever
// door or process took it in or away. Without a hub it returns at once.
func (s *Server) TellHub(ctx context.Context, ticks <-chan time.Time) {
	if s.hub.URL == "" {
		return
	}
	t := teller{server: s, waiting: map[string]bool{}, tags: map[journal.EntryID][]string{}}
	t.look(ctx) // what is there already was told of before
	t.due, t.waiting = nil, map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		t.look(ctx)
		t.tell(ctx)
	}
}

// A teller remembers what the hub has heard of.
type teller struct {
	server  *Server
	begun   bool
	version int64
	seen    int64 // position of the newest entry looked at
	heard   int64 // position of the newest event looked at
	tags    map[journal.EntryID][]string
	known   []journal.EntryID // whose tags are kept, oldest first
	due     []string          // addresses of feeds, in order
	waiting map[string]bool
	rest    int // rounds to leave out
	failed  int // rounds that failed in a row
	dropped int
}

// look finds the entries that came since it last looked. A failure is tried
// again in the next round.
func (t *teller) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	j := t.server.journal
	version, err := j.Version(ctx)
	if err != nil {
		t.server.logger.Error("hub: read the version", "error", err.Error())
		return
	}
	if t.begun && version == t.version {
		return
	}
	heard := t.heard
	if !t.begun {
		if heard, err = j.NewestEvent(ctx); err != nil {
			t.server.logger.Error("hub: read the newest event", "error", err.Error())
			return
		}
	}
	changes, err := j.PublicEvents(ctx, heard, hubEvents)
	if err != nil {
		t.server.logger.Error("hub: read what changed", "error", err.Error())
		return
	}
	q, newest := journal.FeedQuery{Limit: journal.FeedLimitMax}, t.seen
	var fresh []journal.PublicEntry
	for {
		page, err := j.Feed(ctx, q)
		if err != nil {
			t.server.logger.Error("hub: read new entries", "error", err.Error())
			return
		}
		for _, e := range page.Entries {
			if e.Position > t.seen {
				fresh, newest = append(fresh, e), max(newest, e.Position)
			}
		}
		last := len(page.Entries) - 1
		if !t.begun || page.NextCursor == "" || page.Entries[last].Position <= t.seen || len(fresh) >= hubEntries {
			break
		}
		q.Cursor = page.NextCursor
	}
	t.begun, t.version, t.seen = true, version, newest
	if len(fresh) > 0 {
		t.add(web.Topic{})
	}
	for _, e := range fresh {
		t.changed(e.AuthorID, e.Entry.Tags)
		t.keep(e.EntryID, e.Entry.Tags)
	}
	t.heard = heard
	for _, e := range changes {
		t.heard = e.Position
		if e.Kind != "published" {
			t.moved(ctx, e)
		}
	}
	if len(changes) == hubEvents {
		t.version = -1 // there may be more: the next round reads on
	}
}

// moved adds the feeds of an entry that went or came back, or of an agent. What
// was erased has no tags any more: then those are told that this process saw.
func (t *teller) moved(ctx context.Context, e journal.PublicEvent) {
	t.add(web.Topic{})
	tags, known := t.tags[e.EntryID]
	if !known && e.Published > 0 {
		// A failure leaves the tags untold; whoever polls still finds it.
		if entry, err := t.server.journal.Entry(ctx, e.EntryID); err == nil {
			tags = entry.Entry.Tags
			t.keep(e.EntryID, tags)
		}
	}
	t.changed(e.AgentID, tags)
}

func (t *teller) changed(agent journal.AgentID, tags []string) {
	t.add(web.Topic{Agent: agent})
	for _, tag := range tags {
		t.add(web.Topic{Tag: tag})
	}
}

// keep remembers the tags of an entry for the day on which it goes.
func (t *teller) keep(id journal.EntryID, tags []string) {
	if _, known := t.tags[id]; known {
		return
	}
	if len(t.known) == hubKnown {
		delete(t.tags, t.known[0])
		t.known = t.known[1:]
	}
	t.tags[id], t.known = tags, append(t.known, id)
}

// add puts the feeds of a topic in the queue unless they wait already.
func (t *teller) add(topic web.Topic) {
	for _, f := range feed.Formats() {
		address := t.server.site.BaseURL + topic.Address(f, "")
		switch {
		case t.waiting[address]:
		case len(t.due) >= hubDue:
			t.dropped++
		default:
			t.waiting[address] = true
			t.due = append(t.due, address)
		}
	}
}

// tell works through the queue. After a failure the rest waits, and each
// failure in a row doubles the rounds that are left out.
func (t *teller) tell(ctx context.Context) {
	if t.rest > 0 {
		t.rest--
		return
	}
	if t.dropped > 0 {
		t.server.logger.Warn("hub: too many feeds changed; it hears of some of them later", "feeds", t.dropped)
		t.dropped = 0
	}
	for range min(len(t.due), hubRound) {
		form := url.Values{"hub.mode": {"publish"}, "hub.url": {t.due[0]}}
		if err := t.server.hub.Post(ctx, t.server.hub.URL, form); err != nil {
			if ctx.Err() == nil {
				t.server.logger.Warn("hub: could not be told", "error", err.Error())
			}
			t.rest = min(1<<min(t.failed, 10), hubRests)
			t.failed++
			return
		}
		t.failed = 0
		delete(t.waiting, t.due[0])
		t.due = t.due[1:]
	}
}
