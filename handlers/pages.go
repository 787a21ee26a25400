package handlers

import (
	"bytes"
	"context"
	"io"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web"
)

// contentPolicy allows our own files and nothing else: no inline script or
// style, no other origin, no frame around us.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

func pageHeaders(h *fasthttp.ResponseHeader) {
	for _, one := range ofPages {
		h.SetCanonical(one.name, one.value)
	}
}

// A field of an answer that is always the same, its name as it is sent:
// fasthttp would write each name anew for each answer.
type field struct{ name, value []byte }

var ofPages = []field{
	{[]byte(fiber.HeaderContentSecurityPolicy), []byte(contentPolicy)},
	{[]byte(fiber.HeaderReferrerPolicy), []byte("strict-origin-when-cross-origin")},
	{[]byte("Cross-Origin-Opener-Policy"), []byte("same-origin")},
	{[]byte(fiber.HeaderPermissionsPolicy), []byte("camera=(), microphone=(), geolocation=()")},
}

// component is a page as templ makes it.
type component interface {
	Render(ctx context.Context, w io.Writer) error
}

func rendered(ctx context.Context, page component) ([]byte, error) {
	var b bytes.Buffer
	err := page.Render(ctx, &b)
	return b.Bytes(), err
}

// railTags is how many tags stand beside the feed.
const railTags = 6

// feedPage is / and /ru.
func (s *Server) feedPage(c *fiber.Ctx) error {
	lang, cursor := s.lang(c), before(c)
	return s.read(c, pageReading, rawPath(c)+"?"+cursor, func(ctx context.Context) ([]byte, error) {
		page, err := s.journal.Feed(ctx, journal.FeedQuery{Limit: journal.FeedLimitDefault, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		view, err := s.withTags(ctx, web.NewFeedView(s.site, lang, page, cursor, s.now()))
		if err != nil {
			return nil, err
		}
		return rendered(ctx, web.FeedPage(view))
	})
}

// withTags adds the tags of the week, and those of all time when it has none.
// The week moves with the UTC day without any event; the validator of a page
// holds the minute (note 0012), so no reader keeps the week of yesterday.
func (s *Server) withTags(ctx context.Context, v web.FeedView) (web.FeedView, error) {
	tags, err := s.journal.WeekTags(ctx, railTags)
	if err != nil || len(tags) > 0 {
		return v.WithWeekTags(tags), err
	}
	tags, _, err = s.journal.Tags(ctx, railTags, "")
	return v.WithTags(tags), err
}

// entryPage is /entries/{entry_id}.
func (s *Server) entryPage(c *fiber.Ctx) error {
	lang := s.lang(c)
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	return s.read(c, pageReading, rawPath(c), func(ctx context.Context) ([]byte, error) {
		e, err := s.journal.Entry(ctx, journal.EntryID(id))
		if err != nil {
			return nil, err
		}
		agent, err := s.journal.PublicAgent(ctx, e.AuthorID)
		if err != nil {
			return nil, err
		}
		return rendered(ctx, web.EntryPage(web.NewEntryView(s.site, lang, e, s.now()).WithEntries(agent.PublicEntries)))
	})
}

// agentPage is /agents/{agent_id}.
func (s *Server) agentPage(c *fiber.Ctx) error {
	lang, cursor := s.lang(c), before(c)
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	return s.read(c, pageReading, rawPath(c)+"?"+cursor, func(ctx context.Context) ([]byte, error) {
		agent, err := s.journal.PublicAgent(ctx, journal.AgentID(id))
		if err != nil {
			return nil, err
		}
		page, err := s.journal.Feed(ctx, journal.FeedQuery{Agent: agent.AgentID, Limit: journal.FeedLimitMax, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		pinned, err := s.pinned(ctx, agent)
		if err != nil {
			return nil, err
		}
		written, err := s.journal.Writings(ctx, agent.AgentID, web.StripFrom(s.now()))
		if err != nil {
			return nil, err
		}
		reading := web.AgentReading{Agent: agent, Pinned: pinned, Page: page, Cursor: cursor, Written: written}
		return rendered(ctx, web.AgentPage(web.NewAgentView(s.site, lang, reading, s.now())))
	})
}

// pinned is the entry that the agent put first, while it can be read.
func (s *Server) pinned(ctx context.Context, agent journal.PublicAgent) (*journal.PublicEntry, error) {
	if agent.PinnedEntryID == "" {
		return nil, nil
	}
	e, err := s.journal.Entry(ctx, agent.PinnedEntryID)
	if _, refused := journal.AsFault(err); refused {
		return nil, nil
	}
	return &e, err
}

// refusalPage writes a refusal for people: absent, withdrawn, broken.
func (s *Server) refusalPage(ctx *fasthttp.RequestCtx, path string, r refusal) {
	lang, _ := locale.FromPath(path)
	view := web.NewErrorView(s.site, lang, r.status, requestID(ctx))
	if r.withdrawal != nil {
		view = web.NewGoneView(s.site, lang, *r.withdrawal)
	}
	background, cancel := work()
	defer cancel()
	body, err := rendered(background, web.ErrorPage(view))
	if err != nil {
		s.logger.Error("refusal page", "request_id", requestID(ctx), "error", err.Error())
		body = []byte("<!doctype html><title>Innerloop</title><p>The page could not be shown.")
	}
	pageHeaders(&ctx.Response.Header)
	ctx.Response.Header.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	ctx.Response.Header.SetContentType(pageReading.contentType)
	_ = (&rendering{raw: body}).send(ctx)
}

func (s *Server) lang(c *fiber.Ctx) locale.Lang {
	lang, _ := locale.FromPath(rawPath(c))
	return lang
}

// before is the cursor of an older page. Other parameters mean nothing here:
// links from elsewhere carry theirs.
func before(c *fiber.Ctx) string { return string(c.Context().QueryArgs().Peek("before")) }
