package handlers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// toolTimeout cuts a tool call before its caller gives up at 60 s. The tool door
// has the same limit of its own, since its library says nothing once a context
// has ended; this one is for a door that has none.
const toolTimeout = 55 * time.Second

// toolMethods are forwarded whatever they mean: the tool door knows which of
// them its protocol has.
var toolMethods = []string{
	fiber.MethodGet, fiber.MethodHead, fiber.MethodPost, fiber.MethodPut,
	fiber.MethodDelete, fiber.MethodPatch, fiber.MethodOptions,
}

// tool hands a request to the tool door. Everything is copied: fasthttp takes
// its memory back when the handler returns, and its context with it.
func (s *Server) tool(c *fiber.Ctx) error {
	r := &c.Context().Request
	if coding := string(r.Header.Peek(fiber.HeaderContentEncoding)); coding != "" && !strings.EqualFold(coding, "identity") {
		return &statusError{fiber.StatusUnsupportedMediaType, "a body must be sent without a content-encoding"}
	}
	header := make(http.Header, 8)
	for name, value := range r.Header.All() {
		header.Add(string(name), string(value))
	}
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	status, answer, payload := s.tools.Serve(ctx, s.caller(c), strings.Clone(c.Method()), header, append([]byte(nil), r.Body()...))
	h := &c.Context().Response.Header
	for name, values := range answer {
		if ours(name) {
			continue
		}
		for _, value := range values {
			h.Add(name, value)
		}
	}
	h.Set(fiber.HeaderCacheControl, "no-store")
	if status == fiber.StatusMethodNotAllowed && len(h.Peek(fiber.HeaderAllow)) == 0 {
		h.Set(fiber.HeaderAllow, fiber.MethodPost)
	}
	c.Status(status)
	c.Context().Response.SetBodyRaw(payload)
	return nil
}

// ours tells the headers that this door sets itself.
func ours(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Date", "Server", "X-Request-Id",
		"Cache-Control", "Vary", "Access-Control-Allow-Origin", "X-Content-Type-Options":
		return true
	}
	return false
}
