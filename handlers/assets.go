package handlers

import (
	"sync"

	"github.com/gofiber/fiber/v2"

	"innerloop/static"
)

// assets keeps the compressed forms of embedded files; their number is fixed.
type assets struct {
	mu    sync.Mutex
	files map[string]*rendering
}

// asset serves an embedded file under its hashed name.
func (s *Server) asset(c *fiber.Ctx) error {
	path := rawPath(c)
	body, contentType, ok := static.File(path)
	if !ok {
		return fiber.ErrNotFound
	}
	h := &c.Context().Response.Header
	h.Set(fiber.HeaderCacheControl, static.CacheControl)
	h.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	h.SetContentType(contentType)
	if contentType == "font/woff2" { // packed already
		c.Context().Response.SetBodyRaw(body)
		return nil
	}
	return s.assets.of(path, body).send(c.Context())
}

func (a *assets) of(path string, body []byte) *rendering {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.files[path]
	if !ok {
		r = &rendering{raw: body}
		a.files[path] = r
	}
	return r
}

// favicon serves the mark to browsers that ask at the old place.
func favicon(c *fiber.Ctx) error {
	body, contentType, ok := static.File(static.URL("favicon.svg"))
	if !ok {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=86400")
	c.Context().Response.Header.SetContentType(contentType)
	c.Context().Response.SetBodyRaw(body)
	return nil
}
