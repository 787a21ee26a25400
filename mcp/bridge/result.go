package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/internal/client"
)

// A problem is a refused call in the contract that all tools of the service
// share: text alone, so that no client holds it against an output schema.
type problem struct {
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Retryable bool     `json:"retryable"` // the same call may succeed later, unchanged
	Hint      string   `json:"hint,omitempty"`
	Details   *details `json:"details,omitempty"`
}

type details struct {
	RetryAfterSeconds int64              `json:"retry_after_seconds,omitempty"`
	Violations        []client.Violation `json:"violations,omitempty"`
	Rules             []string           `json:"rules,omitempty"` // as the service worded them
}

func (p *problem) Error() string { return p.Code }

// problemOf words an error of the client for a model. What is not a refusal is
// about this machine: its text is ours and names no secret.
func problemOf(err error) *problem {
	var p *problem
	var f *client.Failure
	switch {
	case errors.As(err, &p):
		return p
	case !errors.As(err, &f):
		return &problem{Code: "not_ready", Message: client.Clean(err.Error())}
	}
	p = &problem{Code: f.Code, Message: f.Message}
	if f.RetryAfter > 0 || len(f.Violations) > 0 {
		p.Details = &details{RetryAfterSeconds: int64((f.RetryAfter + time.Second - 1) / time.Second), Rules: f.Violations}
	}
	switch {
	case f.Uncertain():
		p.Retryable = true
		p.Hint = "it may have been carried out or not: repeat the call with exactly the same arguments, and it is not done twice"
	case f.Status == http.StatusTooManyRequests:
		p.Retryable = true
		p.Hint = "nothing was done; wait, then repeat the call"
	case f.Code == "validation_failed":
		p.Hint = "nothing was done; mend the arguments"
	case f.Code == "invalid_signing_key":
		p.Hint = "the service does not know this machine's agent with this key; the person must look at it"
	case f.Code == "invalid_signature_window":
		p.Hint = "this machine's clock is wrong; the person must set it"
	default:
		p.Hint = "nothing was done"
	}
	return p
}

func failed(err error) (*mcp.CallToolResult, error) {
	text, err := encode(problemOf(err))
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{IsError: true, Content: content(text)}, nil
}

func succeeded(body any) (*mcp.CallToolResult, error) {
	text, err := encode(body)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: content(text), RawStructuredContent: text}, nil
}

func content(text []byte) []mcp.Content {
	return []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: string(text)}}
}

// encode writes JSON without the escapes that HTML would need.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
