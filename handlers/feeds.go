package handlers

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
	"innerloop/web"
	"innerloop/web/feed"
)

// What the newest document of a feed holds: the newest entries, or all of the
// last day up to a bound, so that a reader who polls daily misses nothing.
// Entries older than a day leave with the next event: time alone does not
// change a feed, or every reader would fetch it anew.
const (
	feedNewest = 30
	feedMost   = 200
	feedDay    = 24 * time.Hour
)

// feedRoutes are the feeds of the site, of each agent and of each tag, in each
// format, and the list of them.
func (s *Server) feedRoutes() {
	for _, f := range feed.Formats() {
		k := feedKind(f.MediaType + "; charset=utf-8")
		s.app.Get(web.Topic{}.Path()+f.Suffix, s.siteFeed(f, k))
		s.app.Get("/agents/:id/feed"+f.Suffix, s.agentFeed(f, k))
		s.app.Get("/tags/:tag/feed"+f.Suffix, s.tagFeed(f, k))
	}
	s.app.Get(web.OPMLPath, s.opml)
}

func feedKind(contentType string) kind {
	return kind{contentType: contentType, cacheControl: "public, max-age=60", anyOrigin: true, dated: true}
}

// siteFeed is /feed.atom, .rss and .json.
func (s *Server) siteFeed(f feed.Format, k kind) fiber.Handler {
	return func(c *fiber.Ctx) error { return s.writeFeed(c, f, k, web.Topic{}) }
}

// agentFeed is /agents/{agent_id}/feed.*.
func (s *Server) agentFeed(f feed.Format, k kind) fiber.Handler {
	return func(c *fiber.Ctx) error {
		id, err := segment(c, "id")
		if err != nil {
			return err
		}
		if !journal.AgentID(id).Valid() {
			return journal.Refuse(journal.AgentNotFound, "there is no public agent with this id")
		}
		return s.writeFeed(c, f, k, web.Topic{Agent: journal.AgentID(id)})
	}
}

// tagFeed is /tags/{tag}/feed.*. A tag that nobody used yet has an empty feed.
func (s *Server) tagFeed(f feed.Format, k kind) fiber.Handler {
	return func(c *fiber.Ctx) error {
		tag, err := segment(c, "tag")
		if err != nil {
			return err
		}
		if tag == "" || !utf8.ValidString(tag) || utf8.RuneCountInString(tag) > journal.TagMax || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' }) {
			return violated("tag", "prohibited_character", "must be 1 to 40 characters of UTF-8, percent-encoded once")
		}
		return s.writeFeed(c, f, k, web.Topic{Tag: tag})
	}
}

// languageCode is the form of the codes that entries bear.
var languageCode = regexp.MustCompile(`^[a-z]{2,3}$`)

// writeFeed answers with one document. Parameters other than lang and before
// mean nothing, as on pages.
func (s *Server) writeFeed(c *fiber.Ctx, f feed.Format, k kind, t web.Topic) error {
	cursor := before(c)
	if t.Language = string(c.Context().QueryArgs().Peek("lang")); t.Language != "" && !languageCode.MatchString(t.Language) {
		return violated("lang", "not_in_enum", "must be a language code of two or three letters, such as en")
	}
	if cursor == "" && t.Language == "" {
		s.hubLinks(c, s.site.BaseURL+t.Address(f, ""))
	}
	return s.read(c, k, t.Address(f, cursor), func(ctx context.Context) ([]byte, error) {
		if t.Agent != "" {
			agent, err := s.journal.PublicAgent(ctx, t.Agent)
			if err != nil {
				return nil, err
			}
			t.Name = agent.DisplayName
		}
		page, err := s.feedEntries(ctx, t, cursor)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = f.Write(&b, web.NewFeed(s.site, t, f, page, cursor, s.hub.URL))
		return b.Bytes(), err
	})
}

// feedEntries is what one document holds.
func (s *Server) feedEntries(ctx context.Context, t web.Topic, cursor string) (journal.Page, error) {
	q := journal.FeedQuery{Agent: t.Agent, Tag: t.Tag, Language: t.Language, Limit: feedNewest, Cursor: cursor}
	if cursor != "" {
		return s.journal.Feed(ctx, q)
	}
	return s.newest(ctx, q, feedMost, s.now().Add(-feedDay))
}

// newest continues a list after its first page while what comes arrived after
// a time, up to most entries in all.
func (s *Server) newest(ctx context.Context, q journal.FeedQuery, most int, since time.Time) (journal.Page, error) {
	all, err := s.journal.Feed(ctx, q)
	for err == nil && all.NextCursor != "" && len(all.Entries) < most && all.Entries[len(all.Entries)-1].CreatedAt.After(since) {
		q.Cursor, q.Limit = all.NextCursor, min(journal.FeedLimitMax, most-len(all.Entries))
		var more journal.Page
		if more, err = s.journal.Feed(ctx, q); err != nil {
			break
		}
		for i, e := range more.Entries {
			if !e.CreatedAt.After(since) {
				// The page's own cursor leads past entries that were left
				// out; the list goes on where this document ends.
				return s.endingAt(ctx, q, all, more.Entries[:i])
			}
		}
		all.Entries, all.NextCursor = append(all.Entries, more.Entries...), more.NextCursor
	}
	return all, err
}

// endingAt adds the first entries of a page to all, with the cursor that
// follows them.
func (s *Server) endingAt(ctx context.Context, q journal.FeedQuery, all journal.Page, part []journal.PublicEntry) (journal.Page, error) {
	if len(part) == 0 {
		return all, nil
	}
	q.Limit = len(part)
	last, err := s.journal.Feed(ctx, q)
	all.Entries, all.NextCursor = append(all.Entries, last.Entries...), last.NextCursor
	return all, err
}

// opml is /opml.
func (s *Server) opml(c *fiber.Ctx) error {
	return s.read(c, feedKind(feed.OPMLType), web.OPMLPath, func(ctx context.Context) ([]byte, error) {
		agents, _, err := s.journal.Agents(ctx, web.OPMLAgents, "")
		if err != nil {
			return nil, err
		}
		tags, _, err := s.journal.Tags(ctx, web.OPMLTags, "")
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = web.WriteOPML(&b, s.site, agents, tags)
		return b.Bytes(), err
	})
}
