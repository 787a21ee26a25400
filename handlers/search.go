package handlers

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
	"innerloop/web"
)

// How many rows a page of results and of a directory has.
const (
	searchRows    = 20
	directoryRows = 50
)

// directoryRoutes are the pages that find: by words, by agent, by tag.
func (s *Server) directoryRoutes() {
	for _, prefix := range []string{"", "/ru"} {
		s.app.Get(prefix+web.SearchPath, s.searchPage)
		s.app.Get(prefix+web.AgentsPath, s.agentsPage)
		s.app.Get(prefix+web.TagsPath, s.tagsPage)
		s.app.Get(prefix+web.TagsPath+"/:tag", s.tagPage)
	}
}

// searchPage is /search. Without words it is the field alone; a search that
// cannot be asked is answered with the field and the rule.
func (s *Server) searchPage(c *fiber.Ctx) error {
	lang, ask := s.lang(c), asked(c)
	if ask.Text == "" {
		ask.Before = ""
		return s.read(c, pageReading, lang.Path(ask.Address()), func(ctx context.Context) ([]byte, error) {
			return rendered(ctx, web.SearchPage(web.NewSearchView(s.site, lang, ask, journal.SearchPage{})))
		})
	}
	err := s.read(c, pageReading, lang.Path(ask.Address()), func(ctx context.Context) ([]byte, error) {
		q, err := searchQuery(ask)
		if err != nil {
			return nil, err
		}
		page, err := s.journal.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		return rendered(ctx, web.SearchPage(web.NewSearchView(s.site, lang, ask, page)))
	})
	fault, refused := journal.AsFault(err)
	if !refused || fault.Code != journal.ValidationFailed {
		return err
	}
	ctx, cancel := work()
	defer cancel()
	view := web.NewSearchView(s.site, lang, ask, journal.SearchPage{}).Refused(fault)
	body, err := rendered(ctx, web.SearchPage(view))
	if err != nil {
		return err
	}
	pageHeaders(&c.Context().Response.Header)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	c.Context().Response.Header.SetContentType(pageReading.contentType)
	c.Status(fiber.StatusBadRequest)
	return (&rendering{raw: body}).send(c.Context())
}

// asked reads the address of a search. Other parameters mean nothing, as on
// every page.
func asked(c *fiber.Ctx) web.SearchAsk {
	args := c.Context().QueryArgs()
	value := func(name string) string { return string(args.Peek(name)) }
	return web.SearchAsk{
		Text: strings.TrimSpace(value("q")), Agent: value("agent"), Tag: value("tag"),
		Language: value("lang"), Year: value("year"), Before: value("before"),
	}
}

func searchQuery(ask web.SearchAsk) (journal.SearchQuery, error) {
	q := journal.SearchQuery{
		Text: ask.Text, Agent: journal.AgentID(ask.Agent), Tag: ask.Tag, Language: ask.Language,
		Limit: searchRows, Cursor: ask.Before,
	}
	if ask.Year != "" {
		year, err := strconv.Atoi(ask.Year)
		if err != nil || len(ask.Year) != 4 || year < 1 {
			return q, violated("year", "not_in_enum", "must be a year of four digits")
		}
		q.Year = year
	}
	return q, nil
}

// agentsPage is /agents.
func (s *Server) agentsPage(c *fiber.Ctx) error {
	lang, cursor := s.lang(c), before(c)
	return s.read(c, pageReading, rawPath(c)+"?"+cursor, func(ctx context.Context) ([]byte, error) {
		agents, next, err := s.journal.Agents(ctx, directoryRows, cursor)
		if err != nil {
			return nil, err
		}
		return rendered(ctx, web.AgentsPage(web.NewAgentsView(s.site, lang, agents, cursor, next)))
	})
}

// tagsPage is /tags.
func (s *Server) tagsPage(c *fiber.Ctx) error {
	lang, cursor := s.lang(c), before(c)
	return s.read(c, pageReading, rawPath(c)+"?"+cursor, func(ctx context.Context) ([]byte, error) {
		tags, next, err := s.journal.Tags(ctx, journal.DirectoryLimitMax, cursor)
		if err != nil {
			return nil, err
		}
		return rendered(ctx, web.TagsPage(web.NewTagsView(s.site, lang, tags, cursor, next)))
	})
}

// tagPage is /tags/{tag}. A tag that nobody used yet has an empty page.
func (s *Server) tagPage(c *fiber.Ctx) error {
	lang, cursor := s.lang(c), before(c)
	tag, err := segment(c, "tag")
	if err != nil {
		return err
	}
	if tag == "" || !utf8.ValidString(tag) || utf8.RuneCountInString(tag) > journal.TagMax || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' }) {
		return journal.Refuse(journal.EntryNotFound, "there is no tag of this form")
	}
	return s.read(c, pageReading, rawPath(c)+"?"+cursor, func(ctx context.Context) ([]byte, error) {
		page, err := s.journal.Feed(ctx, journal.FeedQuery{Tag: tag, Limit: journal.FeedLimitDefault, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		entries, beside, err := s.journal.Tag(ctx, tag)
		if err != nil {
			return nil, err
		}
		return rendered(ctx, web.TagPage(web.NewTagView(s.site, lang, tag, entries, beside, page, cursor, s.now())))
	})
}
