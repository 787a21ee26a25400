package coworker

import (
	"errors"
	"time"
)

// A Code names a refusal in the words of the contract.
type Code string

// Every refusal of the coworker. The first five are those that clients of such
// a service know; REST spells PermissionDenied AUTH_PERMISSION_DENIED.
const (
	Unauthenticated      Code = "UNAUTHENTICATED"
	UnknownService       Code = "UNKNOWN_SERVICE"
	InvalidArg           Code = "INVALID_ARG"
	NotFound             Code = "NOT_FOUND"
	UpstreamError        Code = "UPSTREAM_ERROR"
	PermissionDenied     Code = "PERMISSION_DENIED"
	NotConnected         Code = "NOT_CONNECTED"
	ConfirmationRequired Code = "CONFIRMATION_REQUIRED"
	RateLimited          Code = "RATE_LIMITED"
	ResponseTooLarge     Code = "RESPONSE_TOO_LARGE"
	SandboxUnavailable   Code = "SANDBOX_UNAVAILABLE"
	SandboxTimeout       Code = "SANDBOX_TIMEOUT"
	SandboxLimit         Code = "SANDBOX_LIMIT"
	Internal             Code = "INTERNAL"
)

// Codes lists every code, so that each door can be tested for a row per code.
func Codes() []Code {
	return []Code{
		Unauthenticated, UnknownService, InvalidArg, NotFound, UpstreamError, PermissionDenied, NotConnected,
		ConfirmationRequired, RateLimited, ResponseTooLarge, SandboxUnavailable, SandboxTimeout, SandboxLimit, Internal,
	}
}

// messages say in one sentence what each refusal means, unless a fault says it
// better.
var messages = map[Code]string{
	Unauthenticated:      "This needs a valid key.",
	UnknownService:       "There is no service of this id.",
	InvalidArg:           "One or more arguments break a rule; details lists each.",
	NotFound:             "There is no such thing here.",
	UpstreamError:        "The service that was called did not do it.",
	PermissionDenied:     "The key may not do this.",
	NotConnected:         "This service has no usable credential yet.",
	ConfirmationRequired: "This call cannot be undone and needs a confirmation.",
	RateLimited:          "This came too soon after others like it.",
	ResponseTooLarge:     "The answer is larger than can be passed on.",
	SandboxUnavailable:   "Code cannot be run here.",
	SandboxTimeout:       "The code ran out of time.",
	SandboxLimit:         "The code went over a limit.",
	Internal:             "The service could not do this just now.",
}

// Message is the fixed sentence of a code.
func (c Code) Message() string { return messages[c] }

// Retryable tells whether the same call may succeed later, unchanged, when
// nothing more is known.
func (c Code) Retryable() bool { return c == RateLimited || c == Internal }

// A Fault is a refusal of the contract. Nothing in it quotes the request.
type Fault struct {
	Code    Code
	Message string // empty means the fixed sentence of the code
	Hint    string // what to do next; may be empty
	// Details is written as JSON: what the code promises, such as the reason
	// of an Unauthenticated or the []Problem of an InvalidArg. May be nil.
	Details any
	// Retry says what Code.Retryable does not know (an upstream that may be
	// asked again).
	Retry      bool
	RetryAfter time.Duration // zero when the caller need not wait
}

// Error returns code and hint.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Hint }

// A Contract is a fault as it is written, in MCP results and REST alike.
type Contract struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	Hint      string `json:"hint,omitempty"`
	Details   any    `json:"details,omitempty"`
}

// Contract returns the fault as it is written.
func (f *Fault) Contract() Contract {
	c := Contract{Code: string(f.Code), Message: f.Message, Retryable: f.Retry || f.Code.Retryable(), Hint: f.Hint, Details: f.Details}
	if c.Message == "" {
		c.Message = f.Code.Message()
	}
	return c
}

// AsFault finds the fault in err. An error without one is our own failure and
// is told as Internal.
func AsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}

// A Problem names an argument and the rule it breaks. It never quotes the
// value.
type Problem struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
	Allowed any    `json:"allowed,omitempty"` // what would be taken, when that is a short list
}

// InvalidArguments makes the fault of one or more problems.
func InvalidArguments(problems ...Problem) *Fault {
	return &Fault{Code: InvalidArg, Details: problems}
}

// Missing makes the fault of something that is not there.
func Missing(what string) *Fault {
	return &Fault{Code: NotFound, Message: "There is no such " + what + "."}
}

// Paced makes the fault of a limit that was reached; scope says whose.
func Paced(wait time.Duration, limit int, scope string) *Fault {
	return &Fault{
		Code: RateLimited, RetryAfter: wait, Hint: "wait as long as retry_after_ms says, then repeat the same call",
		Details: struct {
			RetryAfter int64  `json:"retry_after_ms"`
			Limit      int    `json:"limit"`
			Scope      string `json:"scope"`
		}{wait.Milliseconds(), limit, scope},
	}
}

// Why a request has no caller.
const (
	ReasonMissing   = "missing"
	ReasonMalformed = "malformed"
	ReasonUnknown   = "unknown"
	ReasonRevoked   = "revoked"
	ReasonExpired   = "expired"
)

// Refused says why a caller is not known.
type Refused struct {
	Reason    string `json:"reason"`
	ExpiredAt string `json:"expired_at,omitempty"`
}

// NoCaller makes the fault of a request without a valid key.
func NoCaller(reason, hint string) *Fault {
	return &Fault{Code: Unauthenticated, Hint: hint, Details: Refused{Reason: reason}}
}

// Denied says what a key lacks: one of the required scopes is enough.
type Denied struct {
	Required []string `json:"required"`
	Have     []string `json:"have"`
}

func denied(have Scopes, required ...Scopes) *Fault {
	words := []string{}
	for _, one := range required {
		words = append(words, one.List()...)
	}
	return &Fault{
		Code: PermissionDenied, Message: "The key's scopes do not allow this.",
		Hint: "ask an admin of the organization for a key with one of the required scopes", Details: Denied{words, have.List()},
	}
}
