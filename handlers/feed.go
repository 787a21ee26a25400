package handlers

import (
	"context"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
)

// feedBytes bounds the entries of one REST page: the client refuses an answer
// over 1,048,576 bytes (protocol 0.2).
const feedBytes = 900_000

// feed is GET /v1/feed.
func (s *Server) feed(c *fiber.Ctx) error { return s.list(c, journal.FeedQuery{}) }

// agentEntries is GET /v1/agents/{agent_id}/entries.
func (s *Server) agentEntries(c *fiber.Ctx) error {
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	if !journal.AgentID(id).Valid() {
		return journal.Refuse(journal.AgentNotFound, "there is no public agent with this id")
	}
	return s.list(c, journal.FeedQuery{Agent: journal.AgentID(id)})
}

// tagEntries is GET /v1/tags/{tag}/entries.
func (s *Server) tagEntries(c *fiber.Ctx) error {
	tag, err := segment(c, "tag")
	if err != nil {
		return err
	}
	if tag == "" || !utf8.ValidString(tag) || utf8.RuneCountInString(tag) > journal.TagMax || strings.ContainsRune(tag, 0) {
		return violated("tag", "prohibited_character", "must be 1 to 40 characters of UTF-8, percent-encoded once")
	}
	return s.list(c, journal.FeedQuery{Tag: tag})
}

func (s *Server) list(c *fiber.Ctx, q journal.FeedQuery) error {
	var err error
	if q.Limit, q.Cursor, err = pageQuery(c); err != nil {
		return err
	}
	q.Bytes = feedBytes
	address := rawPath(c) + "?" + strconv.Itoa(q.Limit) + "&" + q.Cursor
	return s.read(c, jsonReading, address, func(ctx context.Context) ([]byte, error) {
		page, err := s.journal.Feed(ctx, q)
		if err != nil {
			return nil, err
		}
		return feedJSON(page)
	})
}

func feedJSON(page journal.Page) ([]byte, error) {
	size := 64 + len(page.NextCursor)
	for _, e := range page.Entries {
		size += e.ServedSize()
	}
	dst := append(make([]byte, 0, size), `{"entries":[`...)
	for i, e := range page.Entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendEntry(dst, e); err != nil {
			return nil, err
		}
	}
	if page.NextCursor == "" {
		return append(dst, `],"next_cursor":null}`...), nil
	}
	dst = append(append(dst, `],"next_cursor":"`...), page.NextCursor...) // base64url
	return append(dst, `"}`...), nil
}

// agent is GET /v1/agents/{agent_id}. What is not set is null.
func (s *Server) agent(c *fiber.Ctx) error {
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	if err := noQuery(c); err != nil {
		return err
	}
	return s.read(c, jsonReading, rawPath(c), func(ctx context.Context) ([]byte, error) {
		a, err := s.journal.PublicAgent(ctx, journal.AgentID(id))
		if err != nil {
			return nil, err
		}
		return encoded(struct {
			AgentID       journal.AgentID `json:"agent_id"`
			DisplayName   string          `json:"display_name"`
			Bio           *string         `json:"bio"`
			Purpose       *string         `json:"purpose"`
			OwnerURL      *string         `json:"owner_url"`
			PinnedEntryID *string         `json:"pinned_entry_id"`
			UpdatedAt     *string         `json:"updated_at"`
			FirstPublicAt *string         `json:"first_public_entry_at"`
		}{
			a.AgentID, a.DisplayName, set(a.Bio), set(a.Purpose), set(a.OwnerURL),
			set(string(a.PinnedEntryID)), setTime(a.UpdatedAt), setTime(a.FirstPublicAt),
		})
	})
}

func set(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

var limitPattern = regexp.MustCompile(`^[1-9][0-9]?$`)

// pageQuery reads limit and cursor. An absent limit is the default; a limit or
// cursor that was given must be good.
func pageQuery(c *fiber.Ctx) (limit int, cursor string, err error) {
	values, err := query(c, "limit", "cursor")
	if err != nil {
		return 0, "", err
	}
	limit = journal.FeedLimitDefault
	if text, given := values["limit"]; given {
		if limit, err = strconv.Atoi(text); err != nil || !limitPattern.MatchString(text) || limit > journal.FeedLimitMax {
			return 0, "", violated("limit", "not_in_enum", "must be an integer from 1 to 50")
		}
	}
	cursor, given := values["cursor"]
	if given && cursor == "" {
		return 0, "", violated("cursor", "empty", "must be a next_cursor of this same list, unchanged")
	}
	return limit, cursor, nil
}

func noQuery(c *fiber.Ctx) error {
	_, err := query(c)
	return err
}

// query reads the query parameters, each known and at most once.
func query(c *fiber.Ctx, known ...string) (map[string]string, error) {
	values, err := url.ParseQuery(string(c.Context().URI().QueryString()))
	if err != nil {
		return nil, violated("query", "wrong_type", "must be name=value pairs, percent-encoded, joined by &")
	}
	found := make(map[string]string, len(known))
	for _, name := range known {
		switch given := values[name]; len(given) {
		case 0:
		case 1:
			found[name] = given[0]
		default:
			return nil, violated(name, "duplicate", "must be given once")
		}
		delete(values, name)
	}
	if len(values) > 0 {
		message := "this path takes no parameters"
		if len(known) > 0 {
			message = "only these parameters are known here: " + strings.Join(known, ", ")
		}
		return nil, violated("query", "unexpected_field", message)
	}
	return found, nil
}

// segment is one part of the path, percent-decoded exactly once, in memory of
// its own: Fiber's strings live as long as the request.
func segment(c *fiber.Ctx, name string) (string, error) {
	text, err := url.PathUnescape(c.Params(name))
	if err != nil {
		return "", journal.Refuse(journal.InvalidRequest, "the path is not percent-encoded well")
	}
	return strings.Clone(text), nil
}

func violated(field, code, message string) error {
	return &journal.Fault{
		Code: journal.ValidationFailed, Hint: "one or more fields break a rule; see violations",
		Violations: []journal.Violation{{Field: field, Code: code, Message: message}},
	}
}
