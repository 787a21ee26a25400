package connect

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// failure is the fault of an upstream's answer.
func (x *execution) failure(p *prepared, r *reply, rule *catalog.ErrorRule) *coworker.Fault {
	after := retryAfter(r, rule, x.now())
	if after == 0 && rule != nil && rule.Retry {
		after = time.Duration(rule.After) // as the service's documentation has it
	}
	f := x.upstream(p, r, after)
	if rule != nil {
		f.Retry = rule.Retry
		if rule.Note != "" {
			f.Hint = rule.Note
		}
	}
	if x.class != catalog.Read && x.call.IdempotencyKey == "" && undecided(r.status) {
		f.Retry, f.Hint = false, orText(f.Hint, "the service failed")+lookFirst
	}
	return f
}

// undecided tells statuses that leave open whether a change was done: whoever
// sent them failed on the way, or lost the answer of who may have done it. 503
// and 429 are the service's word that it did not begin (RFC 9110 section 15.6).
func undecided(status int) bool {
	return status >= 500 && status != http.StatusNotImplemented && status != http.StatusServiceUnavailable
}

// UpstreamDetails tell how a service refused. Texts are the service's own, and
// are data.
type UpstreamDetails struct {
	Status     int    `json:"status"`
	Code       string `json:"upstream_code,omitempty"`
	Message    string `json:"upstream_message,omitempty"`
	Body       string `json:"body,omitempty"` // its first 2,048 bytes
	RetryAfter int64  `json:"retry_after_ms,omitempty"`
	RequestID  string `json:"request_id,omitempty"`
}

const (
	bodyHead = 2048
	bodyLook = 64 << 10 // a secret that the cut would part is seen whole
	textHead = 500
)

// head cuts a text at a rune within a number of bytes.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func (e *Engine) upstream(p *prepared, r *reply, after time.Duration) *coworker.Fault {
	mask, status := r.secret, r.status
	details := UpstreamDetails{Status: status, RetryAfter: after.Milliseconds(), RequestID: mask.text(requestID(r.header))}
	quoted := r.raw
	if _, text := r.body.(string); r.body != nil && !text {
		// Read as JSON first, since a text may spell any character by its number.
		if again, err := encodeJSON(mask.value(copied(r.body))); err == nil {
			quoted = again
		}
	}
	details.Body = strings.ToValidUTF8(mask.text(string(quoted[:min(len(quoted), bodyLook)])), "\uFFFD")
	details.Body = head(details.Body, bodyHead)
	if fields := p.service.ErrorFields; fields != nil {
		field := func(path string) string {
			value, _ := find(r.body, path)
			return head(mask.text(plain(value)), textHead)
		}
		details.Code, details.Message = field(fields.Code), field(fields.Message)
		details.RequestID = orText(field(fields.RequestID), details.RequestID)
	}
	f := &coworker.Fault{Code: coworker.UpstreamError, Details: details, RetryAfter: after}
	f.Retry = status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
	switch {
	case status == http.StatusNotFound:
		f.Hint = "the service knows no such thing; check the path and the ids in it"
	case status == http.StatusForbidden:
		f.Hint = "the credential may not do this at the service"
	case status >= 300 && status < 400:
		f.Hint = "the service answered with another address, which is not followed"
	}
	return f
}

// spoiled is the fault of an answer that means success and cannot be read. The
// service may well have done what it was asked for.
func (x *execution) spoiled(p *prepared, r *reply) *coworker.Fault {
	f := x.upstream(p, r, 0)
	f.Retry, f.Hint = false, r.broken
	if x.class != catalog.Read {
		f.Hint += lookFirst
	}
	return f
}

// unreachable is the fault of an exchange that did not happen, or not to its
// end. What the network says may hold addresses, so only its kind is told.
func unreachable(err error) error {
	var refused interface{ Refused() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &refused) && refused.Refused():
		return &coworker.Fault{Code: coworker.UpstreamError, Hint: "the address of this connection may not be called from here; an admin can allow its network"}
	}
	return &coworker.Fault{Code: coworker.UpstreamError, Hint: whatFailed(err), Retry: true}
}

// neverSent tells whether an exchange failed before there was a connection to
// send anything over.
func neverSent(err error) bool {
	var name *net.DNSError
	var line *net.OpError
	return errors.As(err, &name) || errors.As(err, &line) && line.Op == "dial"
}

func whatFailed(err error) string {
	var corrupt flate.CorruptInputError
	text := err.Error()
	says := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the service did not answer in time"
	case errors.As(err, &corrupt) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum):
		return "the service's answer cannot be decompressed"
	case says("headers exceeded", "header list larger", "1xx"):
		return "the headers of the service's answer are too large"
	case says("malformed", "Content-Length", "transfer encoding", "chunk"):
		return "the service's answer is no HTTP"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || says("connection reset", "broken pipe", "stream error"):
		return "the connection broke off before the service's answer was whole"
	case says("tls:", "x509:"):
		return "the service's certificate is not good"
	case says("no such host"):
		return "the service's name is not known"
	}
	return "the service could not be reached"
}

func requestID(header http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Amz-Request-Id", "X-Github-Request-Id", "Cf-Ray"} {
		if value := header.Get(name); value != "" && len(value) <= 200 {
			return value
		}
	}
	return ""
}
