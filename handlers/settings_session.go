package handlers

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/web/settings"
)

// A passage is how a browser reached the settings: over https, or in the clear
// from the machine we run on. There is no third way.
type passage struct {
	secure bool
	origin string // of our pages, as this browser knows us
}

// wayIn tells whether a key may be typed over this connection. We end no TLS
// ourselves, so https is the word of a proxy we trust, or of one on this
// machine; the clear way is for loopback alone, and not when anything was
// forwarded to us.
func (s *Server) wayIn(c *fiber.Ctx) (passage, bool) {
	ctx := c.Context()
	loopback := onLoopback(ctx)
	h := &ctx.Request.Header
	said := h.PeekAll(fiber.HeaderXForwardedProto)
	if len(said) == 1 && string(said[0]) == "https" && (loopback || s.proxies.Trusts(remoteAddr(ctx.RemoteAddr()))) && strings.HasPrefix(s.origins.Web, "https://") {
		return passage{secure: true, origin: s.origins.Web}, true
	}
	host, ok := parseOrigin("http://" + string(h.Host()))
	if !loopback || !ok || !isLoopback(host.Hostname()) {
		return passage{}, false
	}
	for _, name := range []string{fiber.HeaderXForwardedProto, fiber.HeaderXForwardedFor, fiber.HeaderXForwardedHost, fiber.HeaderForwarded, fiber.HeaderVia} {
		if len(h.Peek(name)) > 0 {
			return passage{}, false
		}
	}
	return passage{origin: host.String()}, true
}

// ours tells whether a form was sent from one of our own pages. Every browser
// tells the origin of a form that is posted, and no page can make it tell
// another; so a form without it is refused too. This alone keeps others from
// signing somebody in (there is no session yet whose token could be asked
// for): a token in a cookie before the session would be sent and read by the
// same browser under the same rule, and add nothing.
func (p passage) ours(c *fiber.Ctx) bool {
	h := &c.Context().Request.Header
	if site := string(h.Peek("Sec-Fetch-Site")); site != "" && site != "same-origin" {
		return false
	}
	given := h.PeekAll(fiber.HeaderOrigin)
	if len(given) != 1 {
		return false
	}
	origin, ok := parseOrigin(string(given[0]))
	own, known := parseOrigin(p.origin)
	return ok && known && origin.String() == own.String()
}

// cookie is the session's name in the browser. Over https the prefix makes
// browsers refuse it from anybody but this host itself (RFC 6265bis 4.1.3.2).
func (p passage) cookie() string {
	if p.secure {
		return "__Host-innerloop-session"
	}
	return "innerloop-session"
}

// token is the session's token, when the browser has exactly one.
func (p passage) token(c *fiber.Ctx) (coworker.Token, bool) {
	var found []string
	for name, value := range c.Context().Request.Header.Cookies() {
		if string(name) == p.cookie() {
			found = append(found, string(value))
		}
	}
	if len(found) != 1 {
		return coworker.Token{}, false
	}
	return coworker.ReadToken(found[0])
}

// keep gives the browser a token, or takes it away when it is empty. The
// cookie goes with the browser; the session ends by itself.
func (p passage) keep(c *fiber.Ctx, token string) {
	cookie := p.cookie() + "=" + token + "; Path=/; HttpOnly; SameSite=Strict"
	if p.secure {
		cookie += "; Secure"
	}
	if token == "" {
		cookie += "; Max-Age=0"
	}
	c.Context().Response.Header.Add(fiber.HeaderSetCookie, cookie)
}

func (s *Server) whereFrom(c *fiber.Ctx) coworker.From {
	return coworker.From{Network: s.caller(c).Network, Address: s.address(c.Context())}
}

// settingsHome is GET /settings: the organisation, or the sign-in.
func (s *Server) settingsHome(c *fiber.Ctx) error {
	ctx, cancel := work()
	defer cancel()
	way, ok := s.wayIn(c)
	if !ok {
		return s.insecure(c)
	}
	d, err := s.deskOf(ctx, c, way, settings.Path)
	if isSignedOut(err) {
		return s.sheet(c, settings.SignInPage(settings.SignIn{Frame: s.signInFrame(c)}))
	}
	if err == nil {
		err = s.organizationPage(d)
	}
	return s.settled(c, err)
}

func (s *Server) signInFrame(c *fiber.Ctx) settings.Frame {
	m := s.lang(c).SettingsMessages()
	return settings.Frame{Lang: s.lang(c), Path: settings.Path, Title: m.SignIn.Title, Done: m.Done[string(c.Context().QueryArgs().Peek("done"))]}
}

// signIn is POST /settings. The session always gets a new token, so that none
// that was put into the browser before can become somebody's.
func (s *Server) signIn(c *fiber.Ctx) error {
	ctx, cancel := work()
	defer cancel()
	way, ok := s.wayIn(c)
	if !ok {
		return s.insecure(c)
	}
	if !way.ours(c) {
		return s.foreign(c)
	}
	fields, err := readForm(c, "key")
	if err != nil {
		return s.settled(c, err)
	}
	_, token, err := s.coworker.OpenSession(ctx, fields["key"], s.whereFrom(c))
	if text := s.whyNot(c, err); text != "" {
		m := s.lang(c).SettingsMessages()
		f := s.signInFrame(c)
		f.Done, f.Faults = "", []settings.Fault{{Field: "key", Label: m.SignIn.Key, Text: text}}
		return s.sheet(c, settings.SignInPage(settings.SignIn{Frame: f}))
	}
	if err != nil {
		return s.settled(c, err)
	}
	if before, ok := way.token(c); ok {
		if _, who, err := s.coworker.Session(ctx, before, s.whereFrom(c)); err == nil {
			if err := s.coworker.EndSession(ctx, who, who.Session); err != nil {
				return s.settled(c, err)
			}
		}
	}
	way.keep(c, token.Reveal())
	c.Set(fiber.HeaderCacheControl, settingsCache)
	return c.Redirect(s.lang(c).Path(settings.KeysPath), fiber.StatusSeeOther)
}

// whyNot says in the reader's language why a key opens nothing, and sets the
// status of the answer; empty for what is no refusal.
func (s *Server) whyNot(c *fiber.Ctx, err error) string {
	f, ok := coworker.AsFault(err)
	if !ok {
		return ""
	}
	m := s.lang(c).SettingsMessages().SignIn
	c.Status(fiber.StatusBadRequest)
	switch f.Code {
	case coworker.Unauthenticated:
		why, _ := f.Details.(coworker.Refused)
		switch why.Reason {
		case coworker.ReasonRevoked:
			return m.Revoked
		case coworker.ReasonExpired:
			return m.Expired
		case coworker.ReasonMalformed:
			return m.NoKey
		}
		return m.Unknown
	case coworker.PermissionDenied:
		if _, scopes := f.Details.(coworker.Denied); scopes {
			return m.NotAdmin
		}
		return m.Elsewhere
	case coworker.RateLimited:
		c.Status(fiber.StatusTooManyRequests)
		c.Set(fiber.HeaderRetryAfter, "60")
		return m.TooMany
	}
	return ""
}

// signOut is POST /settings/sign-out.
func (s *Server) signOut(d *desk, values url.Values) error {
	if err := only(values, nil); err != nil {
		return err
	}
	if err := s.coworker.EndSession(d.ctx, d.who, d.who.Session); err != nil {
		return err
	}
	passage{secure: d.secure}.keep(d.Ctx, "")
	return d.onward(settings.Path, "signed-out")
}
