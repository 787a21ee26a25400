package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// Codes of our own, beside those of the wire.
const (
	NoAnswer  = "no_answer"
	BadAnswer = "invalid_response"
)

var codePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// A Failure is a refusal by the server, or an exchange of unknown outcome.
// All of its text is safe to print.
type Failure struct {
	Code       string
	Status     int // HTTP status, 0 without an answer
	Message    string
	Violations []string // "field: rule"
	RequestID  string
	RetryAfter time.Duration
	Durable    bool   // the refusal left a receipt: this request never succeeds
	Next       string // what to do now
}

// Error returns one line a fact: the code and the rule, each violation, the
// request id, the next step.
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString(f.Code)
	if f.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", f.Status)
	}
	if f.Message != "" {
		b.WriteString(": " + f.Message)
	}
	for _, violation := range f.Violations {
		b.WriteString("\n  " + violation)
	}
	if f.RequestID != "" {
		b.WriteString("\n  request id " + f.RequestID)
	}
	if f.RetryAfter > 0 {
		b.WriteString("\n  the server asks to wait " + f.RetryAfter.Round(time.Second).String())
	}
	if f.Next != "" {
		b.WriteString("\nNext: " + f.Next)
	}
	return b.String()
}

// Uncertain tells that the server may have done what was asked.
func (f *Failure) Uncertain() bool {
	return f.Code == NoAnswer || f.Code == BadAnswer || f.Status >= 500
}

// code returns the failure in err and its code, or nothing.
func code(err error) (*Failure, string) {
	var f *Failure
	if errors.As(err, &f) {
		return f, f.Code
	}
	return nil, ""
}

// reason says why there was no answer, without addresses or library names.
func reason(err error) string {
	var network net.Error
	var name *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return "it was interrupted"
	case errors.As(err, &name):
		return "the host is unknown"
	case errors.As(err, &network) && network.Timeout():
		return "it took longer than 15 seconds"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection broke off"
	}
	return "the connection failed"
}

// Clean makes text of others fit for a terminal: control characters (C0, C1),
// line separators and marks that turn the reading direction become U+FFFD.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
