package handlers

import (
	"bytes"
	"mime"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/coworker/memory"
	"innerloop/internal/strictjson"
	"innerloop/journal"
)

// bodyLimits bounds request bodies by path, the first row that fits counts
// (docs/http.md). It is asked when the headers are in, so a body that says
// it is larger is never read (intake.go).
var bodyLimits = append(uploadLimits(), []bodyRow{
	{"/v1/agents", 2048},
	{"/v1", 256 << 10},
	{"/mcp", 1 << 20},
	{"/a2a", 512 << 10},
	{memoryPath, memory.FileMax},
}...)

type bodyRow struct {
	path  string // itself and everything below
	bytes int
}

// otherBody bounds every other path.
const otherBody = 64 << 10

func bodyLimit(path string) int {
	for _, row := range bodyLimits {
		if under(path, row.path) {
			return row.bytes
		}
	}
	return otherBody
}

func largestBody() int {
	most := otherBody
	for _, row := range bodyLimits {
		most = max(most, row.bytes)
	}
	return most
}

// pathOf is the raw path of a request, before any decoding: what routing
// compares.
func pathOf(h *fasthttp.RequestHeader) string {
	uri := h.RequestURI()
	if at := bytes.IndexAny(uri, "?#"); at >= 0 {
		uri = uri[:at]
	}
	if len(uri) > 0 && uri[0] != '/' { // absolute form
		if _, rest, ok := bytes.Cut(uri, []byte("://")); ok {
			at := bytes.IndexByte(rest, '/')
			if at < 0 {
				return "/"
			}
			return string(rest[at:])
		}
	}
	return string(uri)
}

func rawPath(c *fiber.Ctx) string { return pathOf(&c.Context().Request.Header) }

// steady keeps fasthttp from reading a host out of "://" inside the query of
// an ordinary request target, as in /?from=https://example.org/.
func steady(r *fasthttp.Request) {
	uri := r.Header.RequestURI()
	if len(uri) > 0 && uri[0] == '/' && bytes.Contains(uri, []byte("://")) {
		r.SetRequestURI(strings.ReplaceAll(string(uri), "://", ":%2F%2F"))
	}
}

// readJSON reads a body that must be one JSON object with exactly these keys.
// c.Body would decode a content coding, and with it a small body into a large
// one, so the bytes are taken as they came and codings are refused.
func readJSON(c *fiber.Ctx, keys ...string) (strictjson.Value, error) {
	v, err := readObject(c)
	if err != nil {
		return v, err
	}
	return v, journal.ExactKeys("the body", v, keys)
}

// readObject is readJSON for keys that are checked elsewhere.
func readObject(c *fiber.Ctx) (strictjson.Value, error) {
	var none strictjson.Value
	h := &c.Context().Request.Header
	kind, _, err := mime.ParseMediaType(string(h.ContentType()))
	if err != nil || kind != jsonType {
		return none, &statusError{fiber.StatusUnsupportedMediaType, "content-type must be application/json"}
	}
	if coding := string(h.Peek(fiber.HeaderContentEncoding)); coding != "" && !strings.EqualFold(coding, "identity") {
		return none, &statusError{fiber.StatusUnsupportedMediaType, "a body must be sent without a content-encoding"}
	}
	body := c.Context().Request.Body()
	if len(body) > bodyLimit(pathOf(h)) {
		return none, journal.Refuse(journal.RequestTooLarge, "the body is larger than this path takes")
	}
	v, err := strictjson.Parse(body)
	if err != nil {
		return none, journal.Refuse(journal.InvalidRequest, "the body must be one JSON value: "+err.Error())
	}
	return v, nil
}

// textOf returns a member that must be a string.
func textOf(v strictjson.Value, name string) (string, error) {
	field, _ := v.Get(name)
	text, ok := field.Text()
	if !ok {
		return "", journal.Refuse(journal.InvalidRequest, name+" must be a string")
	}
	return text, nil
}
