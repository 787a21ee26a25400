package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"innerloop/internal/discovery"
	"innerloop/internal/limit"
	"innerloop/internal/locale"
	"innerloop/web"
)

// A text is a page of our own prose, finished. It depends on the build and the
// settings alone, so that nothing in the journal moves its validator.
type text struct {
	body *rendering
	v    validator
}

// articles renders every page of our own prose, by its path with the language.
func (s *Server) articles() (map[string]text, error) {
	facts, err := s.facts()
	if err != nil {
		return nil, err
	}
	ctx, cancel := work()
	defer cancel()
	all := map[string]text{}
	for _, lang := range locale.All() {
		views, err := web.NewArticles(s.site, lang, facts)
		if err != nil {
			return nil, fmt.Errorf("make the texts: %w", err)
		}
		for path, view := range views {
			body, err := rendered(ctx, web.ArticlePage(view))
			if err != nil {
				return nil, fmt.Errorf("render %s: %w", path, err)
			}
			sum := sha256.Sum256(body)
			all[lang.Path(path)] = text{&rendering{raw: body}, validator{tag: `W/"text-` + hex.EncodeToString(sum[:8]) + `"`}}
		}
	}
	return all, nil
}

func (s *Server) facts() (web.Facts, error) {
	o := s.origins
	f := web.Facts{
		Web: o.Web, API: o.API, Gateway: o.Gateway, MCP: o.MCP(), A2A: o.A2A(),
		Guide: o.Guide(), AgentCard: o.AgentCard(), Contract: o.Contract(),
		Contact: discovery.SecurityContact(o, s.contact), Hub: s.hub.URL,
	}
	var err error
	if f.ClientURL, f.ClientSHA256, err = discovery.Client(o); err != nil {
		return f, err
	}
	if s.limits != nil {
		f.SimilarDays = int(s.limits.Number(limit.SimilarDays, limit.Network{}))
	}
	for _, snippet := range discovery.Snippets(o) {
		f.Snippets = append(f.Snippets, web.Snippet{Client: snippet.Client, Kind: snippet.Kind, Text: snippet.Text})
	}
	return f, nil
}

// textRoutes are the pages of our own prose, in each language.
func (s *Server) textRoutes(texts map[string]text) {
	for path, t := range texts {
		s.app.Get(path, s.text(t))
	}
}

func (s *Server) text(t text) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if err := s.journal.AdmitRead(s.caller(c), true); err != nil {
			return err
		}
		if t.v.asked(&c.Context().Request.Header) != stale {
			s.unchanged(c, pageReading, t.v)
			return nil
		}
		s.reading(c, pageReading, t.v)
		return t.body.send(c.Context())
	}
}
