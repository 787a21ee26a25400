package handlers

import (
	"context"
	"net/http"
	"slices"
	"strconv"
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
// key, in small letters and without dashes and underscores.
var keyNames = []string{
	"key", "apikey", "xapikey", "token", "apitoken", "accesstoken", "authtoken", "bearer", "bearertoken", "auth", "authorization", "secret",
}

// keyInAddress tells whether the query holds a key, or what is meant for one,
// in any spelling: what is malformed or escaped twice is read all the same,
// since a proxy on the way may have written it into a log.
func keyInAddress(c *fiber.Ctx) bool {
	query := strings.ToLower(string(c.Context().URI().QueryString()))
	for range escapesMax {
		if strings.Contains(query, "sk-org-") || namesKey(query) {
			return true
		}
		plain := unescaped(query)
		if plain == query {
			return false
		}
		query = strings.ToLower(plain)
	}
	return false
}

// escapesMax is how often a query may be escaped over again.
const escapesMax = 4

func namesKey(query string) bool {
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' || r == '?' }) {
		name, _, _ := strings.Cut(part, "=")
		if slices.Contains(keyNames, strings.NewReplacer("-", "", "_", "").Replace(unescaped(name))) {
			return true
		}
	}
	return false
}

// unescaped undoes what can be undone of percent-encoding, and leaves the rest.
func unescaped(text string) string {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if b, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				plain = append(plain, byte(b))
				i += 2
				continue
			}
		}
		plain = append(plain, text[i])
	}
	return string(plain)
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
