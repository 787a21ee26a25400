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

var largeBody = `{"result":{"text":"` + strings.Repeat("a", 600<<10) + `"}}`

// Attack: more large answers at once than there are places. Expectation: they
// wait for each other and all are told, and small ones do not wait at all.
func TestLargeAnswersTakeTurns(t *testing.T) {
	t.Parallel()
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == aWrite.Path {
			say(200, `{}`)(w, r)
			return
		}
		say(200, largeBody)(w, r)
	})
	release := b.OccupyLarge()
	b.do(aWrite)
	var group sync.WaitGroup
	answers := make([]*connect.Answer, 20)
	for i := range answers {
		group.Go(func() { answers[i], _, _ = b.Execute(t.Context(), everything, aRead) })
	}
	release()
	group.Wait()
	for i, a := range answers {
		if a == nil || a.OriginalBytes != len(largeBody) {
			t.Errorf("call %d: %+v", i, a)
		}
	}
	b.OccupyLarge()() // every place was given back
}

// Attack: every place stays taken until the call must end. Expectation: a read
// may be repeated, a change is told not to be, a caller who leaves ends the wait.
func TestALargeAnswerWithoutAPlace(t *testing.T) {
	t.Parallel()
	try := func(call connect.Call, status int, why error) error {
		ctx := &ending{t.Context(), make(chan struct{}), why}
		b := open(t, func(w http.ResponseWriter, r *http.Request) {
			say(status, largeBody)(w, r)
			close(ctx.done)
		})
		defer b.OccupyLarge()()
		_, _, err := b.Execute(ctx, everything, call)
		return err
	}
	if f, ok := coworker.AsFault(try(aRead, 200, context.DeadlineExceeded)); !ok || f.Code != coworker.RateLimited || f.RetryAfter == 0 || !strings.Contains(asJSON(t, f.Details), "large answers at once") {
		t.Errorf("a read: %+v", f)
	}
	for status, hint := range map[int]string{200: "do not repeat", 500: "may have been done"} {
		if f, ok := coworker.AsFault(try(aWrite, status, context.DeadlineExceeded)); !ok || f.Code != coworker.ResponseTooLarge || f.Contract().Retryable || !strings.Contains(f.Hint, hint) {
			t.Errorf("a change, %d: %+v", status, f)
		}
	}
	if f, ok := coworker.AsFault(try(aRead, 200, context.Canceled)); ok && f.Code == coworker.RateLimited {
		t.Errorf("a caller who left: %+v", f)
	}
}
