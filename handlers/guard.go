package handlers

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/internal/discovery"
)

// A guard keeps browsers from being used against us. A page of another origin
// may not call the tool door or write (its Origin tells), and a name that was
// pointed at a loopback address does not make a loopback server answer (its
// Host tells).
type guard struct {
	hosts   map[string]bool // names under which we are known
	origins map[string]bool
}

func newGuard(own discovery.Origins, allowed []string) (guard, error) {
	g := guard{hosts: map[string]bool{}, origins: map[string]bool{}}
	for i, text := range append([]string{own.Web, own.API, own.Gateway}, allowed...) {
		if i < 3 && text == "" {
			continue
		}
		u, ok := parseOrigin(text)
		if !ok {
			return guard{}, fmt.Errorf("handlers: an origin is not of the form https://host[:port]")
		}
		g.origins[u.String()] = true
		if i < 3 {
			g.hosts[u.Hostname()] = true
		}
	}
	return g, nil
}

// parseOrigin reads scheme, host and port, and nothing else.
func parseOrigin(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return nil, false
	}
	u.Host = strings.ToLower(u.Host)
	if port := u.Port(); port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(strings.TrimSuffix(u.Host, ":"+port), ":")
	}
	return u, true
}

// guarded tells the paths that are not for everybody's scripts: the doors of
// assistants, and everything that writes.
func guarded(ctx *fasthttp.RequestCtx) bool {
	path := pathOf(&ctx.Request.Header)
	return under(path, "/mcp") || under(path, "/a2a") || under(path, apiRoot) && path != infoPath || under(path, "/v1") && !ctx.IsGet() && !ctx.IsHead()
}

// stops tells whether the request must be refused. For a request that may go
// on it names the caller's origin in the answer.
func (g guard) stops(ctx *fasthttp.RequestCtx) bool {
	if !guarded(ctx) {
		return false
	}
	loopback := onLoopback(ctx)
	if loopback && !g.knowsHost(string(ctx.Request.Header.Host())) {
		return true
	}
	given := ctx.Request.Header.PeekAll(fiber.HeaderOrigin)
	if len(given) == 0 {
		return false
	}
	origin, ok := parseOrigin(string(given[0]))
	if len(given) == 1 && ok && (g.origins[origin.String()] || loopback && isLoopback(origin.Hostname())) {
		h := &ctx.Response.Header
		h.Set(fiber.HeaderAccessControlAllowOrigin, string(given[0]))
		h.Set(fiber.HeaderAccessControlExposeHeaders, "x-request-id, idempotency-status, retry-after, mcp-session-id, mcp-protocol-version, a2a-version")
		h.Set(fiber.HeaderVary, fiber.HeaderOrigin)
		return false
	}
	// A script of any page may read what is public, and may ask first.
	return !publicPreflight(ctx)
}

func publicPreflight(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	method := string(h.Peek(fiber.HeaderAccessControlRequestMethod))
	return ctx.IsOptions() && under(pathOf(h), "/v1") && (method == fiber.MethodGet || method == fiber.MethodHead)
}

const (
	corsMethods = "GET, HEAD, POST, PATCH, DELETE"
	corsHeaders = "a2a-extensions, a2a-version, accept, authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, " +
		"mcp-protocol-version, mcp-session-id, x-innerloop-client-version, x-innerloop-distribution-source, x-innerloop-runtime"
)

// preflight answers the question that a browser asks before a call from
// another origin, and tells whether it was one.
func (g guard) preflight(ctx *fasthttp.RequestCtx) bool {
	r := &ctx.Request.Header
	if !ctx.IsOptions() || len(r.Peek(fiber.HeaderOrigin)) == 0 || len(r.Peek(fiber.HeaderAccessControlRequestMethod)) == 0 || !guarded(ctx) {
		return false
	}
	h := &ctx.Response.Header
	if len(h.Peek(fiber.HeaderAccessControlAllowOrigin)) == 0 {
		h.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	}
	h.Set(fiber.HeaderAccessControlAllowMethods, corsMethods)
	h.Set(fiber.HeaderAccessControlAllowHeaders, corsHeaders)
	h.Set(fiber.HeaderAccessControlMaxAge, "600")
	h.Set(fiber.HeaderCacheControl, "no-store")
	ctx.SetStatusCode(fiber.StatusNoContent)
	return true
}

func (g guard) knowsHost(host string) bool {
	u, ok := parseOrigin("http://" + host)
	return ok && (isLoopback(u.Hostname()) || g.hosts[u.Hostname()])
}

// onLoopback tells whether the caller reached us at a loopback address, where
// only programs of this machine can.
func onLoopback(ctx *fasthttp.RequestCtx) bool {
	at, ok := ctx.LocalAddr().(*net.TCPAddr)
	return ok && at.IP.IsLoopback()
}

func isLoopback(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}
