package handlers

import (
	"bytes"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// framed reads how a request is framed; ok is false unless that can be read in
// one way only (RFC 9112). fasthttp takes the last of two lengths, a chunked body beside a length, any
// transfer coding for chunked and folded or half-ended lines; a proxy before
// us may read the same bytes otherwise, and what it took for a body would be a
// request of somebody else's. It also believes fields that come after a
// chunked body, so that a caller could add to what a proxy said about it.
func framed(ctx *fasthttp.RequestCtx) (f framing, ok bool) {
	h := &ctx.Request.Header
	if f, ok = readFraming(h.RawHeaders()); !ok {
		return f, false
	}
	newest := string(h.Protocol()) == "HTTP/1.1"
	switch {
	case !newest && string(h.Protocol()) != "HTTP/1.0",
		f.hosts > 1, newest && len(h.Host()) == 0,
		f.lengths > 1, f.codings > 1, f.codings > 0 && (f.lengths > 0 || !newest):
		return f, false
	}
	return f, targeted(ctx)
}

// framing counts the fields that say whose request it is and where it ends.
type framing struct {
	hosts, lengths, codings int
	announced               int // bytes of body, by the last length
}

// readFraming reads a request's head. ok is false when a line is not one field
// and no more, or names a coding that we cannot take off.
func readFraming(head []byte) (f framing, ok bool) {
	ok = eachField(head, func(name, value []byte) bool {
		switch {
		case bytes.EqualFold(name, []byte(fiber.HeaderHost)):
			f.hosts++
		case bytes.EqualFold(name, []byte(fiber.HeaderContentLength)):
			f.lengths++
			f.announced, _ = fasthttp.ParseUint(bytes.Trim(value, " \t")) // fasthttp has read it before
		case bytes.EqualFold(name, []byte(fiber.HeaderTransferEncoding)):
			f.codings++
			return bytes.EqualFold(bytes.Trim(value, " \t"), []byte("chunked"))
		}
		return true
	})
	return f, ok
}

// eachField walks the lines of a head until one is not a field or take says
// no, and tells whether it came to the end.
func eachField(head []byte, take func(name, value []byte) bool) bool {
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		line, whole := bytes.CutSuffix(line, []byte("\r"))
		if !whole {
			return false
		}
		if len(line) == 0 {
			return true
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || !isToken(name) || controls(value) || !take(name, value) {
			return false
		}
	}
	return true
}

// isToken holds for the name of a field: a fold, which begins with a space, is
// none.
func isToken(name []byte) bool {
	for _, b := range name {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		if !letter && (b < '0' || b > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", b) < 0 {
			return false
		}
	}
	return len(name) > 0
}

// controls tells whether a byte is none of a field's value (RFC 9110 section
// 5.5); bytes beyond ASCII are.
func controls(value []byte) bool {
	for _, b := range value {
		if b < ' ' && b != '\t' || b == 0x7f {
			return true
		}
	}
	return false
}

// targeted tells whether the path that our guards read is the one that routing
// compares, and an absolute target names the host that the guards read.
func targeted(ctx *fasthttp.RequestCtx) bool {
	h, uri := &ctx.Request.Header, ctx.URI()
	target := h.RequestURI()
	if bytes.IndexByte(target, ' ') >= 0 || string(uri.PathOriginal()) != pathOf(h) {
		return false
	}
	return len(target) > 0 && target[0] == '/' || bytes.EqualFold(uri.Host(), h.Host())
}

// trailed tells whether there are more fields than the head had: they came
// after the body.
func trailed(h *fasthttp.RequestHeader) bool {
	sent := map[string]int{}
	eachField(h.RawHeaders(), func(name, _ []byte) bool {
		sent[strings.ToLower(string(name))]++
		return true
	})
	found := false
	for name := range h.All() {
		field := strings.ToLower(string(name))
		sent[field]--
		found = found || sent[field] < 0
	}
	return found
}

// misframed refuses a request that two readers may read in two ways. Whatever
// follows on its connection is not looked at.
func (s *Server) misframed(ctx *fasthttp.RequestCtx) {
	s.refuse(ctx, s.translate(ctx, fiber.StatusBadRequest))
	ctx.Response.SetConnectionClose()
}
