package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/coworker"
	"innerloop/journal"
)

// A call is what a tool's handler must know of the request it runs for.
type call struct {
	caller  journal.Caller
	key     *coworker.Caller // nil: nobody showed a key
	listing bool             // the tools are listed, not called
	row     *auditRow        // of a keyed call
	waiting context.Context  // ends when nobody waits for the answer
	limit   time.Duration    // of the tool's work
	report  func(message string)
}

// callKey finds the call in the context. mcp-go hands a tool the context and
// nothing else of ours, so here, and only across that border, it carries a
// value (note 0028).
type callKey struct{}

func (c call) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

var errNoCall = errors.New("mcp: a tool ran outside of a call")

func callOf(ctx context.Context) (call, error) {
	c, ok := ctx.Value(callKey{}).(call)
	if !ok {
		return call{}, errNoCall
	}
	return c, nil
}

// tokenMax bounds a progress token in bytes: every notification repeats it.
const tokenMax = 256

// readToken keeps the token under which the caller wants to hear of a call
// while it runs, as it is to be repeated.
func (r *request) readToken() *refusal {
	meta, _ := r.params.Get("_meta")
	field, sent := meta.Get("progressToken")
	if !sent {
		return nil
	}
	token, ok := echo(field)
	if !ok || len(token) > tokenMax {
		return r.invalidParams("The progressToken must be an integer between -(2^53-1) and 2^53-1, or a short string.")
	}
	r.token = token
	return nil
}

// progress writes one notifications/progress. The value is the time that the
// call has taken, since no tool here knows how much work is left.
func progress(token json.RawMessage, seconds float64, message string) []byte {
	type params struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Message  string          `json:"message,omitempty"`
	}
	text, err := encode(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  params `json:"params"`
	}{mcp.JSONRPC_VERSION, string(mcp.MethodNotificationProgress), params{token, seconds, message}})
	if err != nil {
		panic(err) // a checked token, a finite number and a text always encode
	}
	return event(text)
}

// event writes one server-sent event. The message is one line of JSON.
func event(message []byte) []byte {
	e := append([]byte("event: message\ndata: "), bytes.TrimSuffix(message, []byte("\n"))...)
	return append(e, "\n\n"...)
}
