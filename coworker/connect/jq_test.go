package connect_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// Attack: more selections at once than there are places. Expectation: they wait
// for each other, and all are done.
func TestSelectionsTakeTurns(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{"result":{"items":[{"id":7}]}}`))
	release := b.Occupy()
	call := connect.Call{Service: "ozon", Method: "POST", Path: "/v3/product/list", Select: ".result.items[0].id"}
	var group sync.WaitGroup
	answers := make([]*connect.Answer, 12)
	for i := range answers {
		group.Go(func() { answers[i], _, _ = b.Execute(t.Context(), everything, call) })
	}
	release()
	group.Wait()
	for i, a := range answers {
		if a == nil || asJSON(t, a.Data) != "7" {
			t.Errorf("call %d: %+v", i, a)
		}
	}
}

// An ending context ends when the service has answered.
type ending struct {
	context.Context
	done chan struct{}
	err  error
}

func (e *ending) Done() <-chan struct{} { return e.done }

func (e *ending) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// Attack: every place stays taken until the call must end. Expectation: a read
// is refused and may be repeated; what changed something is not told to be
// repeated; a caller who leaves ends the wait.
func TestASelectionWithoutAPlace(t *testing.T) {
	t.Parallel()
	read := connect.Call{Service: "ozon", Method: "POST", Path: "/v3/product/list", Select: ".result"}
	change := connect.Call{Service: "ozon", Method: "POST", Path: "/v2/products/stocks", Body: map[string]any{"stocks": []any{}}, Select: ".result.items[0].id"}
	try := func(call connect.Call, why error) (*connect.Answer, error) {
		ctx := &ending{t.Context(), make(chan struct{}), why}
		b := open(t, func(w http.ResponseWriter, r *http.Request) {
			say(200, `{"result":{"items":[{"id":7}]}}`)(w, r)
			close(ctx.done)
		})
		defer b.Occupy()()
		a, _, err := b.Execute(ctx, everything, call)
		return a, err
	}
	_, err := try(read, context.DeadlineExceeded)
	if f, ok := coworker.AsFault(err); !ok || f.Code != coworker.RateLimited || f.RetryAfter == 0 || !strings.Contains(asJSON(t, f.Details), "selections at once") {
		t.Errorf("a read: %v", err)
	}
	a, err := try(change, context.DeadlineExceeded)
	if err != nil || !strings.Contains(a.Hint, "do not repeat") || asJSON(t, a.Data) != `{"result":{"items":[{"id":7}]}}` {
		t.Errorf("a change: %+v %v", a, err)
	}
	if a, err := try(read, context.Canceled); a != nil || err == nil {
		t.Errorf("a caller who left: %+v", a)
	}
}
