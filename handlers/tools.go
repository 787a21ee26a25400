package handlers

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
)

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
	// A bad key is told before anything else is: it ends the whole request.
	ctx, cancel := work()
	who, shown, err := s.bearer(ctx, c)
	cancel()
	if err != nil {
		return err
	}
	if coding := string(r.Header.Peek(fiber.HeaderContentEncoding)); coding != "" && !strings.EqualFold(coding, "identity") {
		return &statusError{fiber.StatusUnsupportedMediaType, "a body must be sent without a content-encoding"}
	}
	header := make(http.Header, 8)
	for name, value := range r.Header.All() {
		header.Add(string(name), string(value))
	}
	if !r.Header.IsHTTP11() {
		header.Set(fiber.HeaderAccept, jsonType) // an older version has no body in pieces
	}
	method, body := strings.Clone(c.Method()), append([]byte(nil), r.Body()...)
	serve := s.tools.Serve
	if shown {
		serve = func(ctx context.Context, caller journal.Caller, method string, header http.Header, body []byte) (int, http.Header, []byte, iter.Seq[[]byte]) {
			return s.tools.(KeyedDoor).ServeKeyed(ctx, who, caller, method, header, body)
		}
	}
	status, answer, payload, stream := serve(context.Background(), s.caller(c), method, withoutKey(header), body)
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
	if stream == nil {
		c.Context().Response.SetBodyRaw(payload)
		return nil
	}
	c.Context().Response.ImmediateHeaderFlush = true
	c.Context().Response.SetBodyStream(pour(c.Context().Conn(), stream), -1)
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
