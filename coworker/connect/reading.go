package connect

import (
	"context"
	"errors"
	"strings"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// pages does the call, and those of further pages when they are asked for.
func (x *execution) pages(ctx context.Context, p *prepared, d *draft, bound []byte) (*Answer, error) {
	rule, paged := p.service.Paging(x.target)
	paged = paged && x.class == catalog.Read
	var all []any
	info := &PageInfo{}
	var last *reply
	ended := "" // why the answer ends before its last page
	for {
		r, err := x.attempts(ctx, p, d)
		if last != nil {
			if err == nil && r.binary {
				err = &coworker.Fault{Code: coworker.UpstreamError, Hint: "the next page is no text; ask for it alone"}
			}
			if f := x.cutShort(ctx, err); f != nil {
				info.Error, x.trace.Error = new(f.Contract()), f.Code
				ended = "this is the answer up to the page that failed (" + string(f.Code) + ", see page.error): go on from it with page = page.next"
				break
			}
		}
		if err != nil {
			return nil, err
		}
		last = r
		if p.Doubted {
			if err := x.book.Works(ctx, p.ID, p.Version); err != nil {
				return nil, err
			}
			p.Doubted = false
		}
		info.Pages++
		if !paged || r.binary {
			r.body = r.secret.value(r.body)
			break
		}
		next, _, total := follow(rule, d, r.header, r.body)
		info.HasMore, info.Total, info.Next = next != nil, total, ""
		// By its own secrets: the next page may be asked for with others.
		r.body = r.secret.value(r.body)
		if next == nil {
			all = append(all, r.body)
			break
		}
		all = append(all, r.body)
		onward := d.clone()
		if err := x.turn(p, onward, next); err != nil {
			f, refused := coworker.AsFault(err)
			if !refused {
				return nil, err
			}
			ended = f.Hint // what was read is told
			break
		}
		if info.Next, err = x.cursor(next, bound); err != nil {
			return nil, err
		}
		if info.Pages >= x.call.MaxPages || int(x.trace.BytesIn) > readMax {
			break
		}
		x.at, d = next, onward
	}
	if ctx.Err() != nil { // the time was used up by a page that failed
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), tellTime)
		defer cancel()
	}
	a, err := x.answer(ctx, p, last, merge(rule, d, last, all), paged, info)
	if err == nil && ended != "" {
		a.Hint = strings.TrimSuffix(ended+"; "+a.Hint, "; ")
	}
	return a, err
}

// tellTime is how long the pages that were read may take to be told when the
// time of the call is over.
const tellTime = 3 * time.Second

// cutShort is the fault that ends an answer of which pages were read: they are
// told, and it with them. nil: there is none, nobody waits any more, or we
// failed ourselves.
func (x *execution) cutShort(ctx context.Context, err error) *coworker.Fault {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	if f, refused := coworker.AsFault(err); refused || err == nil {
		return f
	}
	if ctx.Err() != nil {
		return x.late()
	}
	return nil
}

// merge puts the items of several pages together.
func merge(rule catalog.Pagination, d *draft, last *reply, all []any) any {
	if len(all) < 2 {
		return result(d, last.body)
	}
	var items []any
	for _, body := range all {
		list, ok := find(body, orText(rule.Items, "$"))
		l, isList := list.([]any)
		if !ok || !isList {
			return results(d, all) // one after the other
		}
		items = append(items, l...)
	}
	return items
}

func results(d *draft, bodies []any) []any {
	out := make([]any, len(bodies))
	for i, body := range bodies {
		out[i] = result(d, body)
	}
	return out
}

// result is the part of a remote method's answer that is its outcome.
func result(d *draft, body any) any {
	if d.rpc == nil || d.rpc.Result == "" {
		return body
	}
	if value, ok := find(body, d.rpc.Result); ok {
		return value
	}
	return body
}
