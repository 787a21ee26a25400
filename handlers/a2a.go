package handlers

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
)

const (
	a2aType    = "application/a2a+json"
	a2aVersion = "1.0"
	// a2aVersionName is the header, and the query parameter, that names the
	// version a caller speaks.
	a2aVersionName = "A2A-Version"
)

// a2aRoutes are the paths of the A2A binding (protocol 9). The service answers
// each message at once, so it has no tasks, no streams and no push.
func (s *Server) a2aRoutes() {
	stream := a2aRefuse(errStreams)
	push := a2aRefuse(errPush)
	none := a2aRefuse(errNoTask)
	s.app.Post(`/a2a/v1/message\:send`, a2aAnswer(s.sendMessage))
	s.app.Post(`/a2a/v1/message\:stream`, stream)
	s.app.Get("/a2a/v1/extendedAgentCard", a2aRefuse(errExtendedCard))
	s.app.Get("/a2a/v1/tasks", a2aAnswer(s.listTasks))
	s.app.Get(`/a2a/v1/tasks/:id\:subscribe`, stream)
	s.app.Post(`/a2a/v1/tasks/:id\:subscribe`, stream)
	s.app.Post(`/a2a/v1/tasks/:id\:cancel`, none)
	s.app.Get("/a2a/v1/tasks/:id", none)
	s.app.Post("/a2a/v1/tasks/:id/pushNotificationConfigs", push)
	s.app.Get("/a2a/v1/tasks/:id/pushNotificationConfigs", push)
	s.app.Get("/a2a/v1/tasks/:id/pushNotificationConfigs/:config", push)
	s.app.Delete("/a2a/v1/tasks/:id/pushNotificationConfigs/:config", push)
}

// a2aAnswer lets a handler answer callers who speak our version.
func a2aAnswer(handle func(c *fiber.Ctx, query url.Values) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		query, err := url.ParseQuery(string(c.Context().URI().QueryString()))
		if err != nil {
			return malformed("query", "must be name=value pairs, percent-encoded, joined by &")
		}
		if err := spoken(c, query); err != nil {
			return err
		}
		query.Del(a2aVersionName)
		return handle(c, query)
	}
}

// a2aRefuse is for what the protocol has and this service has not.
func a2aRefuse(fault *a2aFault) fiber.Handler {
	return a2aAnswer(func(*fiber.Ctx, url.Values) error { return fault })
}

// ourVersions mean 1.0: a patch number changes nothing.
var ourVersions = regexp.MustCompile(`^1\.0(?:\.(?:0|[1-9][0-9]{0,8}))?$`)

// spoken negotiates the version. None means 0.3, which is not spoken here, and
// a caller that names two must mean ours by both.
func spoken(c *fiber.Ctx, query url.Values) error {
	named := slices.Clone(query[a2aVersionName])
	for _, value := range c.Context().Request.Header.PeekAll(a2aVersionName) {
		named = append(named, string(value))
	}
	found := false
	for _, value := range named {
		if value = strings.Trim(value, " \t"); value == "" {
			continue
		}
		if found = ourVersions.MatchString(value); !found {
			return errVersion
		}
	}
	if !found {
		return errVersion
	}
	return nil
}

// sendMessage is POST /a2a/v1/message:send (protocol 9.2). A message is bound
// to its id only when it changes something (protocol 9.6).
func (s *Server) sendMessage(c *fiber.Ctx, _ url.Values) error {
	m, err := readMessage(c)
	if err != nil {
		return err
	}
	ctx, cancel := work()
	defer cancel()
	o := a2aOperations[m.operation]
	if o.change == nil {
		result, err := o.read(s, c, ctx, m.data)
		reply, err := s.reply(c, m, result, err)
		if err != nil {
			return err
		}
		return sendA2A(c, reply)
	}
	turn, reply, err := s.journal.TakeTurn(ctx, m.id, m.canonical)
	switch {
	case errors.Is(err, journal.ErrMessageConflict):
		return errMessageConflict
	case err != nil:
		return err
	case turn == nil:
		return sendA2A(c, reply)
	}
	defer turn.End()
	result, failure := o.change(s, c, ctx, turn, m.data)
	if errors.Is(failure, journal.ErrMessageConflict) {
		return errMessageConflict
	}
	reply, err = s.reply(c, m, result, failure)
	if err == nil && failure == nil {
		reply, err = turn.Keep(ctx, reply)
	}
	if err != nil {
		return err
	}
	return sendA2A(c, reply)
}

func sendA2A(c *fiber.Ctx, body []byte) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(a2aVersionName, a2aVersion)
	c.Context().Response.Header.SetContentType(a2aType)
	c.Context().Response.SetBodyRaw(body)
	return nil
}

type a2aPart struct {
	Data      any    `json:"data"`
	MediaType string `json:"mediaType"`
}

type a2aReply struct {
	Message struct {
		MessageID string    `json:"messageId"`
		ContextID string    `json:"contextId"`
		Role      string    `json:"role"`
		Parts     []a2aPart `json:"parts"`
	} `json:"message"`
}

// a2aSuccess and a2aFailure are the two data parts of a reply (protocol 9.4).
type a2aSuccess struct {
	Operation string `json:"operation"`
	OK        bool   `json:"ok"`
	Result    any    `json:"result"`
}

type a2aFailure struct {
	Operation string   `json:"operation"`
	OK        bool     `json:"ok"`
	Error     a2aError `json:"error"`
}

type a2aError struct {
	Code       journal.Code `json:"error_code"`
	Message    string       `json:"message"`
	Retryable  bool         `json:"retryable"`
	RetryAfter int64        `json:"retry_after_seconds,omitempty"`
}

// reply writes the answer to a message: a result, or why there is none.
func (s *Server) reply(c *fiber.Ctx, m a2aMessage, result any, failure error) ([]byte, error) {
	id, err := journal.NewUUID(s.random)
	if err != nil {
		return nil, err
	}
	context := m.context
	if context == "" {
		if context, err = journal.NewUUID(s.random); err != nil {
			return nil, err
		}
	}
	var data any = a2aSuccess{m.operation, true, result}
	if failure != nil {
		data = a2aFailure{m.operation, false, s.operationError(c, failure)}
	}
	var r a2aReply
	r.Message.MessageID, r.Message.ContextID, r.Message.Role = id, context, "ROLE_AGENT"
	r.Message.Parts = []a2aPart{{data, jsonType}}
	return encoded(r)
}
