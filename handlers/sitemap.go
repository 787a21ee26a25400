package handlers

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web"
)

var (
	sitemapReading    = kind{contentType: "application/xml; charset=utf-8", cacheControl: "no-cache"}
	openSearchReading = kind{contentType: web.OpenSearchType + "; charset=utf-8", cacheControl: "no-cache"}
)

// crawlerRoutes are what programs that walk the web ask for first.
func (s *Server) crawlerRoutes() {
	s.app.Get("/robots.txt", s.robots)
	s.app.Get(web.SitemapPath, s.sitemapIndex)
	s.app.Get(web.SitemapFolder+":part", s.sitemapPart)
	for _, lang := range locale.All() {
		s.app.Get(lang.Path(web.OpenSearchPath), func(c *fiber.Ctx) error {
			return s.read(c, openSearchReading, rawPath(c), func(context.Context) ([]byte, error) {
				var b bytes.Buffer
				err := web.WriteOpenSearch(&b, s.site, lang)
				return b.Bytes(), err
			})
		})
	}
}

// trainers are crawlers that gather texts to train models with, by their own
// documentation, and the tokens by which others are told not to.
var trainers = []string{
	"GPTBot", "ClaudeBot", "CCBot", "Google-Extended", "Applebot-Extended", "Meta-ExternalAgent", "Bytespider", "Amazonbot",
}

// robots welcomes readers of every kind, also assistants that fetch a page for
// the person they talk to. Searches, forms and machine paths are not for
// crawlers; whether trainers may come is a setting.
func (s *Server) robots(c *fiber.Ctx) error {
	var b strings.Builder
	if !s.training {
		for _, name := range trainers {
			fmt.Fprintf(&b, "User-agent: %s\n", name)
		}
		b.WriteString("Disallow: /\n\n")
	}
	b.WriteString("User-agent: *\n")
	for _, lang := range locale.All() {
		for _, path := range []string{"/search", "/settings", "/report/"} {
			b.WriteString("Disallow: " + lang.Path(path) + "\n")
		}
	}
	b.WriteString("Disallow: /api/\nAllow: /\n\nSitemap: " + s.site.BaseURL + web.SitemapPath + "\n")
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	c.Context().Response.Header.SetContentType("text/plain; charset=utf-8")
	c.Context().Response.SetBodyString(b.String())
	return nil
}

func (s *Server) sitemapIndex(c *fiber.Ctx) error {
	return s.read(c, sitemapReading, web.SitemapPath, func(ctx context.Context) ([]byte, error) {
		parts, err := s.journal.MapParts(ctx)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = web.WriteSitemapIndex(&b, s.site, parts)
		return b.Bytes(), err
	})
}

// sitemapPart is one file that the index names. An unknown one costs nothing
// but the look at its name.
func (s *Server) sitemapPart(c *fiber.Ctx) error {
	name := strings.TrimPrefix(rawPath(c), web.SitemapFolder)
	write, err := s.part(name)
	if err != nil {
		return err
	}
	return s.read(c, sitemapReading, rawPath(c), func(ctx context.Context) ([]byte, error) {
		var b bytes.Buffer
		err := write(ctx, &b)
		return b.Bytes(), err
	})
}

type partWriter func(context.Context, *bytes.Buffer) error

func (s *Server) part(name string) (partWriter, error) {
	switch name {
	case web.SitemapPages:
		return func(_ context.Context, b *bytes.Buffer) error { return web.WriteSitemapPages(b, s.site) }, nil
	case web.SitemapTags:
		return func(ctx context.Context, b *bytes.Buffer) error {
			tags, err := s.journal.MapTags(ctx)
			if err != nil {
				return err
			}
			return web.WriteSitemapTags(b, s.site, tags)
		}, nil
	}
	kind, rest, _ := strings.Cut(strings.TrimSuffix(name, ".xml"), "-")
	part, err := strconv.Atoi(rest)
	if err != nil {
		return nil, fiber.ErrNotFound
	}
	switch {
	case kind == "agents" && name == web.SitemapAgents(part) && part >= 0 && part < journal.MapShards:
		return func(ctx context.Context, b *bytes.Buffer) error {
			agents, err := s.journal.MapAgents(ctx, part)
			if err != nil {
				return err
			}
			return web.WriteSitemapAgents(b, s.site, agents)
		}, nil
	case kind == "entries" && name == web.SitemapEntries(part) && part >= 1:
		return func(ctx context.Context, b *bytes.Buffer) error {
			parts, err := s.journal.MapParts(ctx)
			if err != nil {
				return err
			}
			if part > parts {
				return fiber.ErrNotFound
			}
			entries, err := s.journal.MapEntries(ctx, part)
			if err != nil {
				return err
			}
			return web.WriteSitemapEntries(b, s.site, entries)
		}, nil
	}
	return nil, fiber.ErrNotFound
}
