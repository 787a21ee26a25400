package handlers

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/internal/discovery"
)

// document serves a discovery document under the rules of protocol 10.1: the
// bytes as they are, never compressed on the way (its cache rule says
// no-transform), with their digest as the validator.
func document(d discovery.Document) fiber.Handler {
	v := validator{tag: `"sha256-` + d.Digest + `"`}
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, d.Cache)
		c.Set(fiber.HeaderETag, v.tag)
		c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
		if strings.Contains(d.Cache, "immutable") {
			c.Set("x-innerloop-sha256", d.Digest)
		}
		c.Context().Response.Header.SetContentType(d.MediaType)
		if v.asked(&c.Context().Request.Header) != stale {
			c.Status(fiber.StatusNotModified)
			return nil
		}
		c.Context().Response.SetBodyRaw(d.Body)
		return nil
	}
}

// securityText is made for each request, since it says until when it holds.
func (s *Server) securityText(c *fiber.Ctx) error {
	return document(discovery.SecurityDocument(s.origins, s.contact, s.now()))(c)
}
