package handlers

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
)

// An a2aFault is a refusal of the A2A protocol itself (protocol 9.5), not of
// an operation.
type a2aFault struct {
	status  int
	state   string // a status name of gRPC
	reason  string // empty for none
	domain  string
	hint    string
	details []journal.Violation
}

func (f *a2aFault) Error() string { return f.hint }

// Domains of reasons: the protocol's and ours.
const (
	a2aDomain = "a2a-protocol.org"
	ourDomain = "innerloop"
)

func protocolFault(status int, state, reason, hint string) *a2aFault {
	return &a2aFault{status: status, state: state, reason: reason, domain: a2aDomain, hint: hint}
}

var (
	errVersion = protocolFault(fiber.StatusBadRequest, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED",
		"this service speaks A2A 1.0; send the header A2A-Version: 1.0 (a request without it means 0.3)")
	errStreams = protocolFault(fiber.StatusBadRequest, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION",
		"there are no streams here; POST /a2a/v1/message:send answers at once")
	errExtendedCard = protocolFault(fiber.StatusBadRequest, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION",
		"there is no extended card; /.well-known/agent-card.json is the whole card")
	errPush = protocolFault(fiber.StatusBadRequest, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED",
		"there are no push notifications here; POST /a2a/v1/message:send answers at once")
	errNoTask = protocolFault(fiber.StatusNotFound, "NOT_FOUND", "TASK_NOT_FOUND",
		"there are no tasks here; every message is answered at once by a message")
	errParts = protocolFault(fiber.StatusBadRequest, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED",
		"the one part of a message must have data, with the mediaType application/json or none")
	errModes = protocolFault(fiber.StatusBadRequest, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED",
		"replies are application/json; configuration.acceptedOutputModes must allow that")
	errBodyType = protocolFault(fiber.StatusUnsupportedMediaType, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED",
		"content-type must be application/a2a+json or application/json, and a body comes without a content-encoding")
	errMessageConflict = &a2aFault{
		status: fiber.StatusConflict, state: "ABORTED", reason: "MESSAGE_ID_CONFLICT", domain: ourDomain,
		hint: "this messageId was used for another message; repeat that one unchanged, or send this one under a new messageId",
	}
)

// malformed refuses a message of the wrong shape and names the place.
func malformed(field, rule string) *a2aFault {
	return &a2aFault{
		status: fiber.StatusBadRequest, state: "INVALID_ARGUMENT", reason: "INVALID_REQUEST", domain: ourDomain,
		hint:    field + " " + rule,
		details: []journal.Violation{{Field: field, Message: rule}},
	}
}

// a2aStates names each HTTP status in the words of gRPC.
var a2aStates = map[int]string{
	fiber.StatusBadRequest:                  "INVALID_ARGUMENT",
	fiber.StatusUnauthorized:                "UNAUTHENTICATED",
	fiber.StatusForbidden:                   "PERMISSION_DENIED",
	fiber.StatusNotFound:                    "NOT_FOUND",
	fiber.StatusMethodNotAllowed:            "UNIMPLEMENTED",
	fiber.StatusRequestTimeout:              "DEADLINE_EXCEEDED",
	fiber.StatusConflict:                    "ABORTED",
	fiber.StatusGone:                        "NOT_FOUND",
	fiber.StatusRequestEntityTooLarge:       "INVALID_ARGUMENT",
	fiber.StatusUnsupportedMediaType:        "INVALID_ARGUMENT",
	fiber.StatusTooManyRequests:             "RESOURCE_EXHAUSTED",
	fiber.StatusRequestHeaderFieldsTooLarge: "INVALID_ARGUMENT",
	fiber.StatusServiceUnavailable:          "UNAVAILABLE",
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

type badRequest struct {
	Type       string           `json:"@type"`
	Violations []fieldViolation `json:"fieldViolations"`
}

type fieldViolation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

type a2aStatus struct {
	Code    int    `json:"code"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Details []any  `json:"details"`
}

// a2aProblem is the error body of protocol 9.5.
func a2aProblem(r refusal, requestID string) any {
	state, reason, domain := a2aStates[r.status], strings.ToUpper(string(r.code)), ourDomain
	if r.a2a != nil {
		state, reason, domain = r.a2a.state, r.a2a.reason, r.a2a.domain
	}
	if state == "" {
		state = "UNKNOWN"
	}
	info := errorInfo{
		Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: reason, Domain: domain,
		Metadata: map[string]string{"requestId": requestID},
	}
	if wait := waitSeconds(r.wait); wait > 0 {
		info.Metadata["retryAfterSeconds"] = strconv.FormatInt(wait, 10)
	}
	details := []any{info}
	if len(r.violations) > 0 {
		b := badRequest{Type: "type.googleapis.com/google.rpc.BadRequest"}
		for _, v := range r.violations {
			b.Violations = append(b.Violations, fieldViolation{v.Field, v.Message})
		}
		details = append(details, b)
	}
	return struct {
		Error a2aStatus `json:"error"`
	}{a2aStatus{r.status, state, r.hint, details}}
}

// operationError tells why an operation was refused. All violations go into
// the message: the error object has no other place for them (protocol 9.4).
func (s *Server) operationError(c *fiber.Ctx, err error) a2aError {
	r := s.judge(c.Context(), err)
	message := r.hint
	if len(r.violations) > 0 {
		broken := make([]string, 0, len(r.violations))
		for _, v := range r.violations {
			broken = append(broken, v.Field+" "+v.Message)
		}
		message = "these fields break a rule: " + strings.Join(broken, "; ")
	}
	return a2aError{Code: r.code, Message: message, Retryable: r.code.Retryable(), RetryAfter: waitSeconds(r.wait)}
}
