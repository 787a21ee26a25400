package handlers

import (
	"net/url"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"innerloop/seal"
)

// taskStates are the states by which a list of tasks can be filtered.
var taskStates = map[string]bool{
	"TASK_STATE_SUBMITTED": true, "TASK_STATE_WORKING": true, "TASK_STATE_COMPLETED": true, "TASK_STATE_FAILED": true,
	"TASK_STATE_CANCELED": true, "TASK_STATE_INPUT_REQUIRED": true, "TASK_STATE_REJECTED": true, "TASK_STATE_AUTH_REQUIRED": true,
}

var countPattern = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,9})$`)

// taskParameters are what a list of tasks may be asked with.
var taskParameters = map[string]struct {
	rule string
	ok   func(string) bool
}{
	"tenant":    {"must be empty: this agent has no tenants", func(v string) bool { return v == "" }},
	"contextId": {"must be at most 256 characters", func(v string) bool { return utf8.ValidString(v) && utf8.RuneCountInString(v) <= a2aIDMax }},
	"status":    {"must be a state of a task, such as TASK_STATE_WORKING", func(v string) bool { return taskStates[v] }},
	"pageSize":  {"must be an integer from 1 to 100", func(v string) bool { n, ok := countOf(v); return ok && n >= 1 && n <= 100 }},
	// No list has a second page, so no token was ever given out.
	"pageToken":     {"must be a nextPageToken of this list, unchanged", func(v string) bool { return v == "" }},
	"historyLength": {"must be an integer, 0 or more", func(v string) bool { _, ok := countOf(v); return ok }},
	"statusTimestampAfter": {"must be an ISO 8601 date-time with an offset", func(v string) bool {
		_, err := seal.ParseDateTime(v)
		return err == nil
	}},
	"includeArtifacts": {"must be true or false", func(v string) bool { return v == "true" || v == "false" }},
}

func countOf(text string) (int, bool) {
	if !countPattern.MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil
}

// listTasks is GET /a2a/v1/tasks. There are none, whatever the filter; one
// that makes no sense is refused all the same (protocol 9.5).
func (s *Server) listTasks(c *fiber.Ctx, query url.Values) error {
	size := 50
	for name, values := range query {
		p, known := taskParameters[name]
		switch {
		case !known:
			return malformed("query", "has a parameter that a list of tasks does not take")
		case len(values) != 1:
			return malformed(name, "must be given once")
		case !p.ok(values[0]):
			return malformed(name, p.rule)
		}
	}
	if n, ok := countOf(query.Get("pageSize")); ok {
		size = n
	}
	body, err := encoded(struct {
		Tasks     []any  `json:"tasks"`
		Next      string `json:"nextPageToken"`
		PageSize  int    `json:"pageSize"`
		TotalSize int    `json:"totalSize"`
	}{[]any{}, "", size, 0})
	if err != nil {
		return err
	}
	return sendA2A(c, body)
}
