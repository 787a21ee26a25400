package handlers

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// A kind is a class of public readings that share their headers.
type kind struct {
	contentType  string
	cacheControl string
	anyOrigin    bool // readable by any page's script
	page         bool // a page for people: content policy, relative times
	dated        bool // carries last-modified
}

var (
	jsonReading = kind{contentType: jsonType, cacheControl: "no-cache", anyOrigin: true}
	pageReading = kind{contentType: "text/html; charset=utf-8", cacheControl: "no-cache", page: true}
)

// format changes when the shape of readings changes without a new build.
const format = "1"

// read answers a GET of something public. The validator is known before
// anything is rendered: it holds the journal's version, so that every
// publication and withdrawal anywhere moves it, and a hash of the address, so
// that it fits no other reading. The version is read first: what is rendered
// may be newer than its validator, never older. The address names all that the
// rendering depends on, so that parameters of no meaning make no new readings.
func (s *Server) read(c *fiber.Ctx, k kind, address string, render func(context.Context) ([]byte, error)) error {
	// Before any cache and before a 304 (protocol 7.4).
	if err := s.journal.AdmitRead(s.caller(c), k.page); err != nil {
		return err
	}
	return s.admitted(c, k, address, render)
}

// admitted is read for a request that was counted already.
func (s *Server) admitted(c *fiber.Ctx, k kind, address string, render func(context.Context) ([]byte, error)) error {
	ctx, cancel := work()
	defer cancel()
	version, err := s.journal.Version(ctx)
	if err != nil {
		return err
	}
	v := validator{tag: s.tag(k, address, version)}
	if k.dated {
		v.modified = s.changed.at(version, s.now())
	}
	asked := v.asked(&c.Context().Request.Header)
	if asked == fresh {
		s.unchanged(c, k, v)
		return nil
	}
	body, err := s.cache.get(k.contentType+" "+address, v.tag, func() ([]byte, error) { return render(ctx) })
	if err != nil {
		return err
	}
	if asked == freshIfAny {
		s.unchanged(c, k, v)
		return nil
	}
	s.reading(c, k, v)
	return body.send(c.Context())
}

// tag is the weak validator of an address. It tells versions of one address
// apart, so a short hash does.
func (s *Server) tag(k kind, address string, version int64) string {
	hash := fnvBasis
	for _, part := range [...]string{format, s.build, k.contentType, address} {
		for i := range len(part) {
			hash = (hash ^ uint64(part[i])) * fnvPrime
		}
		hash *= fnvPrime // as for a zero byte between
	}
	var room [64]byte
	tag := append(room[:0], `W/"`...)
	tag = append(strconv.AppendInt(tag, version, 10), '-')
	tag = strconv.AppendUint(tag, hash, 32)
	if k.page {
		// A page says "5 minutes ago".
		tag = strconv.AppendInt(append(tag, '-'), s.now().Unix()/60, 32)
	}
	return string(append(tag, '"'))
}

// FNV-1a of 64 bits.
const (
	fnvBasis = uint64(14695981039346656037)
	fnvPrime = uint64(1099511628211)
)

// reading sets the headers that a full answer and a 304 share.
func (s *Server) reading(c *fiber.Ctx, k kind, v validator) {
	h := &c.Context().Response.Header
	h.SetCanonical(cacheControlName, []byte(k.cacheControl))
	h.SetCanonical(etagName, []byte(v.tag))
	h.SetCanonical(varies.name, varies.value)
	if !v.modified.IsZero() {
		c.Set(fiber.HeaderLastModified, v.modified.UTC().Format(http.TimeFormat))
	}
	if k.anyOrigin {
		c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
		c.Set(fiber.HeaderAccessControlExposeHeaders, "x-request-id, etag")
	}
	if k.page {
		pageHeaders(h)
	}
	h.SetContentType(k.contentType)
}

var (
	cacheControlName, etagName = []byte(fiber.HeaderCacheControl), []byte("Etag")
	varies                     = field{[]byte(fiber.HeaderVary), []byte(fiber.HeaderAcceptEncoding)}
)

func (s *Server) unchanged(c *fiber.Ctx, k kind, v validator) {
	s.reading(c, k, v)
	c.Status(fiber.StatusNotModified)
}

// A validator is what a reader may ask with (RFC 9110 section 13).
type validator struct {
	tag      string
	modified time.Time // zero: not offered
}

// An answer to the question whether the reader's copy will do.
type freshness uint8

const (
	stale      freshness = iota
	fresh                // nothing need be rendered
	freshIfAny           // the reader asked with *: fresh if there is anything here
)

// asked compares weakly. If-None-Match wins over If-Modified-Since.
func (v validator) asked(h *fasthttp.RequestHeader) freshness {
	if lists := h.PeekAll(fiber.HeaderIfNoneMatch); len(lists) > 0 {
		for _, list := range lists {
			if strings.TrimSpace(string(list)) == "*" {
				return freshIfAny
			}
			if listed(string(list), v.tag) {
				return fresh
			}
		}
		return stale
	}
	if v.modified.IsZero() {
		return stale
	}
	since, err := http.ParseTime(string(h.Peek(fiber.HeaderIfModifiedSince)))
	if err != nil || since.Before(v.modified) {
		return stale
	}
	return fresh
}

// listed finds a tag in a list of tags. A quoted tag may hold commas, so the
// list is walked and not split.
func listed(list, tag string) bool {
	opaque := strings.TrimPrefix(tag, "W/")
	for {
		list = strings.TrimLeft(list, " \t,")
		list = strings.TrimPrefix(list, "W/")
		if list == "" || list[0] != '"' {
			return false
		}
		end := strings.IndexByte(list[1:], '"')
		if end < 0 {
			return false
		}
		if list[:end+2] == opaque {
			return true
		}
		list = list[end+2:]
	}
}

// changes remembers when this process first saw the journal's version.
type changes struct {
	mu      sync.Mutex
	version int64
	date    time.Time // whole seconds
}

// dateSettles is how long after this process first saw a version it is dated.
// Another process may learn of a change up to a second later (note 0012), and
// what it answers until then, by date or by its clock, must lie before the
// date of the change here: a reader may ask the one with the date of the other.
const dateSettles = 2 * time.Second

// at returns the time to offer for a version; zero while it is too young for a
// date to tell it from the one before.
func (c *changes) at(version int64, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version || c.date.IsZero() {
		c.version, c.date = version, now.Truncate(time.Second).Add(dateSettles)
	}
	if now.Before(c.date) {
		return time.Time{}
	}
	return c.date
}
