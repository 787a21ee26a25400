package handlers

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
)

// bearer returns whose key a request carries; shown is false when it carries
// none. A bad key is never taken for no key: a typo would then look like
// missing tools.
func (s *Server) bearer(ctx context.Context, c *fiber.Ctx) (who coworker.Caller, shown bool, err error) {
	if s.coworker == nil {
		return coworker.Caller{}, false, nil
	}
	from := coworker.From{Network: s.caller(c).Network, Address: s.address(c.Context())}
	if keyInAddress(c) {
		return coworker.Caller{}, true, s.coworker.RefuseKey(from)
	}
	given := c.Context().Request.Header.PeekAll(fiber.HeaderAuthorization)
	header := ""
	switch len(given) {
	case 0:
		return coworker.Caller{}, false, nil
	case 1:
		header = string(given[0])
	}
	who, err = s.coworker.Authenticate(ctx, header, from)
	return who, true, err
}

// keyNames are parameters under which clients that do not know better send a
// key.
var keyNames = []string{"access_token", "api_key", "apikey", "api-key", "authorization"}

// keyInAddress tells whether the query holds a key, or what is meant for one.
func keyInAddress(c *fiber.Ctx) bool {
	raw := string(c.Context().URI().QueryString())
	if raw == "" {
		return false
	}
	plain, err := url.QueryUnescape(raw)
	if err != nil {
		plain = raw
	}
	if strings.Contains(plain, "sk-org-") || strings.Contains(raw, "sk-org-") {
		return true
	}
	for part := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(part, "=")
		if name, err := url.QueryUnescape(name); err == nil {
			for _, known := range keyNames {
				if strings.EqualFold(name, known) {
					return true
				}
			}
		}
	}
	return false
}

// keyed wraps what needs a key: it finds the caller and keeps to the key's
// pace. Nothing here may be kept by anyone.
func (s *Server) keyed(do func(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "no-store")
		ctx, cancel := work()
		defer cancel()
		who, shown, err := s.bearer(ctx, c)
		if err != nil {
			return err
		}
		if !shown {
			return s.coworker.MissingKey()
		}
		if err := s.coworker.Pace(who); err != nil {
			return err
		}
		return do(ctx, c, who)
	}
}

// withoutKey are the request's headers as the tool door may see them: what
// proves a caller ends here.
func withoutKey(header http.Header) http.Header {
	header.Del(fiber.HeaderAuthorization)
	return header
}
