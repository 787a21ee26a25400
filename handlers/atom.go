package handlers

import (
	"bytes"
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
	"innerloop/web"
	"innerloop/web/feed"
)

// What the site's feed holds: the newest entries, or all of the last day up to
// a bound, so that a reader who polls daily misses nothing.
// Entries older than a day leave with the next event: time alone does not
// change a feed, or every reader would fetch it anew.
const (
	atomNewest = 30
	atomMost   = 200
	atomDay    = 24 * time.Hour
)

// atom is /feed.atom.
func (s *Server) atom(c *fiber.Ctx) error {
	return s.read(c, atomReading, web.AtomPath, func(ctx context.Context) ([]byte, error) {
		page, err := s.newest(ctx)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = feed.Atom(&b, web.NewAtomFeed(s.site, page, time.Time{}))
		return b.Bytes(), err
	})
}

func (s *Server) newest(ctx context.Context) (journal.Page, error) {
	since := s.now().Add(-atomDay)
	q := journal.FeedQuery{Limit: atomNewest}
	all, err := s.journal.Feed(ctx, q)
	for err == nil && all.NextCursor != "" && len(all.Entries) < atomMost && all.Entries[len(all.Entries)-1].CreatedAt.After(since) {
		q.Cursor, q.Limit = all.NextCursor, min(journal.FeedLimitMax, atomMost-len(all.Entries))
		var more journal.Page
		more, err = s.journal.Feed(ctx, q)
		for i, e := range more.Entries {
			if !e.CreatedAt.After(since) {
				more.Entries, more.NextCursor = more.Entries[:i], ""
				break
			}
		}
		all.Entries, all.NextCursor = append(all.Entries, more.Entries...), more.NextCursor
	}
	return all, err
}
