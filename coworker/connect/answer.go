package connect

import (
	"context"
	"net/http"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// What callers are told of a call that changed something and did not come to a
// good end.
const (
	doneOnce  = "the call was made, do not repeat it; "
	lookFirst = "; the call may have been done all the same: look before you repeat it"
)

// tooLarge is the fault of an answer that is not read to its end.
func (x *execution) tooLarge(status int, why string, details map[string]any) *coworker.Fault {
	f := &coworker.Fault{Code: coworker.ResponseTooLarge, Hint: "ask for less: a narrower query, fewer fields, or smaller pages", Details: details}
	switch done := status >= 200 && status <= 299; {
	case x.class == catalog.Read:
	case done:
		f.Hint = doneOnce + "its answer " + why
	default:
		f.Hint = "the service refused, and its answer " + why + lookFirst
	}
	return f
}

// answer shapes what came back.
func (x *execution) answer(ctx context.Context, p *prepared, r *reply, data any, paged bool, info *PageInfo) (*Answer, error) {
	a := &Answer{Status: r.status, Class: x.class, OriginalBytes: int(x.trace.BytesIn), Headers: x.told(r), RequestID: r.secret.text(requestID(r.header))}
	if paged {
		a.Page = info
	}
	if r.binary {
		if x.files == nil && x.class != catalog.Read {
			a.Hint = doneOnce + "its answer is no text and there is nowhere to keep it"
			return a, nil
		}
		if x.files == nil {
			return nil, &coworker.Fault{Code: coworker.ResponseTooLarge, Hint: "the answer is no text and there is nowhere to keep it", Details: map[string]any{"original_bytes": len(r.raw), "limit": 0}}
		}
		raw, masked := r.secret.bytes(r.raw)
		path, err := x.files.Keep(ctx, x.who, p.Service+"-"+orText(a.RequestID, "answer"), raw)
		if err != nil && x.class != catalog.Read {
			a.Hint = doneOnce + "its answer is no text and could not be kept"
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		a.File, a.Hint = path, "the answer is no text; it is kept as a file"
		if masked {
			a.Hint += ", with a secret in it masked"
		}
		return a, nil
	}
	whole := ""
	if x.call.Select != "" {
		var err error
		if data, whole, err = x.selectData(ctx, data); err != nil {
			return nil, err
		}
	} else if shape := p.service.Shape; shape != nil {
		data, a.Omitted = trim(data, shape.Drop, shape.MaxItems)
	}
	var cut []Omission
	a.Data, cut = fit(data, x.call.MaxBytes)
	a.Omitted = append(a.Omitted, cut...)
	a.Truncated = len(a.Omitted) > 0
	if a.Truncated {
		a.Hint = "parts were left out (see omitted): name what you need with select, ask for smaller pages, or work on it with repl_execute"
	}
	if whole != "" {
		a.Hint = doneOnce + "its answer is not selected from: " + whole
	}
	return a, nil
}

// toldMax bounds the headers that are told.
const toldMax = 20

// told are the headers worth passing on: how much of a limit is left, and all
// that a HEAD is asked for.
func (x *execution) told(r *reply) map[string]string {
	out := map[string]string{}
	for _, name := range sortedKeys(r.header) {
		if len(out) == toldMax {
			break
		}
		lower := strings.ToLower(name)
		about := x.target.Method == http.MethodHead &&
			(lower == "content-length" || lower == "content-type" || lower == "last-modified" || lower == "etag")
		if about || strings.Contains(lower, "ratelimit") || strings.Contains(lower, "rate-limit") || lower == "retry-after" || lower == "units" || lower == "x-total-count" {
			// A name that a secret stands in is left out: its case is not kept.
			if value := r.header.Get(name); len(name) <= 100 && len(value) <= 200 && !r.secret.within(lower) {
				out[lower] = r.secret.text(value)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
