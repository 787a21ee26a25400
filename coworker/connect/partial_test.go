package connect_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// linked answers three pages of GitHub, the third by a handler of the test.
func linked(third http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n := 1
		if page := r.URL.Query().Get("page"); page != "" {
			_, _ = fmt.Sscan(page, &n)
		}
		if n == 3 {
			third(w, r)
			return
		}
		w.Header().Set("Link", fmt.Sprintf(`<https://api.github.com/user/repos?page=%d>; rel="next"`, n+1))
		say(200, fmt.Sprintf(`[{"id":%d}]`, n))(w, r)
	}
}

// Attack: two pages are good and the third is refused, lost, revoked, too large
// or no text. Expectation: the two are told with the code of the failure and
// the way on, which leads to the third page itself.
func TestPagesBeforeAFailureAreNotLost(t *testing.T) {
	t.Parallel()
	slow := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		say(429, `{"message":"later"}`)(w, r)
	}
	for name, c := range map[string]struct {
		third http.HandlerFunc
		code  coworker.Code
		retry bool
		tells string
		tries int
	}{
		"its own fault":      {say(500, `{"message":"oops `+secret+`"}`), coworker.UpstreamError, true, `"upstream_message":"oops [secret]"`, 1},
		"busy for good":      {say(503, `{}`), coworker.UpstreamError, true, `"status":503`, 3},
		"a wait too long":    {slow, coworker.UpstreamError, true, `"retry_after_ms":3600000`, 1},
		"the line cut":       {say(http.StatusTeapot, ""), coworker.UpstreamError, true, "could not be reached", 3},
		"a right is missing": {say(403, `{}`), coworker.UpstreamError, false, `"status":403`, 1},
		"revoked meanwhile":  {say(401, `{}`), coworker.NotConnected, false, `"reason":"revoked"`, 1},
		"too large":          {say(200, strings.Repeat("a", 10<<20+1)), coworker.ResponseTooLarge, false, `"limit"`, 1},
		"broken":             {say(200, `[{"id":`), coworker.UpstreamError, false, "is not", 1},
		"no text":            {answered("image/png", "", "\x89PNG\x00"), coworker.UpstreamError, false, "is no text", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, linked(turnsAfter(c.tries, c.third, say(200, `[{"id":3}]`))))
			call := connect.Call{Service: "github", Method: "GET", Path: "/user/repos", MaxPages: 5}
			a, trace, err := b.Execute(t.Context(), everything, call)
			if err != nil {
				t.Fatal(err)
			}
			if got := asJSON(t, a.Data); got != `[{"id":1},{"id":2}]` || a.Status != 200 || a.Page.Pages != 2 || !a.Page.HasMore || a.Page.Next == "" {
				t.Fatalf("%s %+v", got, a.Page)
			}
			e := a.Page.Error
			if e == nil || e.Code != string(c.code) || e.Retryable != c.retry || !strings.Contains(asJSON(t, e), c.tells) || !strings.Contains(a.Hint, string(c.code)) || trace.Error != c.code {
				t.Errorf("%s, %q, %s", asJSON(t, e), a.Hint, trace.Error)
			}
			if strings.Contains(asJSON(t, a), secret) || len(b.kept) > 0 {
				t.Errorf("%s %v", asJSON(t, a), b.kept)
			}
			call.Page = a.Page.Next
			rest := b.do(call)
			if got := asJSON(t, rest.Data); got != `[{"id":3}]` || rest.Page.HasMore || rest.Page.Error != nil || rest.Hint != "" {
				t.Errorf("the rest: %s %+v", got, rest.Page)
			}
			if asked, _ := b.requests(); len(asked) != 3+c.tries {
				t.Errorf("%d requests", len(asked))
			}
		})
	}
}

// turnsAfter answers so many requests with one handler and the rest with another.
func turnsAfter(n int, first, then http.HandlerFunc) http.HandlerFunc {
	list := []http.HandlerFunc{}
	for range n {
		list = append(list, first)
	}
	return turns(append(list, then)...)
}

// Attack: the time of the call ends while the second page is waited for, and
// the caller selects. Expectation: the first page is told, selected from; a
// caller who left is told nothing, and a first page that fails is a refusal.
func TestTimeThatEndsBetweenPages(t *testing.T) {
	t.Parallel()
	call := connect.Call{Service: "github", Method: "GET", Path: "/user/repos", MaxPages: 5, Select: ".[0].id"}
	for _, why := range []error{context.DeadlineExceeded, context.Canceled} {
		ctx := &ending{t.Context(), make(chan struct{}), why}
		b := open(t, linked(say(200, `[]`)))
		b.serve = turns(linked(nil), func(w http.ResponseWriter, r *http.Request) {
			close(ctx.done)
			<-r.Context().Done()
			w.WriteHeader(http.StatusTeapot)
		})
		a, _, err := b.Execute(ctx, everything, call)
		if why == context.Canceled {
			if err == nil {
				t.Errorf("a caller who left: %+v", a)
			}
			continue
		}
		if err != nil || asJSON(t, a.Data) != "1" || a.Page.Error == nil || a.Page.Error.Code != string(coworker.UpstreamError) || a.Page.Next == "" {
			t.Errorf("%+v %v %+v", a, err, details(err))
		}
	}
	open(t, say(500, `{}`)).refused(call, coworker.UpstreamError)
}

// Attack: a change is asked for over several pages, or goes on with a cursor,
// and its answer names a next page. Expectation: the field and the rule are
// told before anything is sent; by itself it is sent once, and no further page
// is offered.
func TestAChangeIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]connect.Call{
		"a payment":       {Service: "yookassa", Method: "POST", Path: "/payments", Body: map[string]any{"amount": "1"}},
		"with a key":      {Service: "yookassa", Method: "POST", Path: "/payments", Body: map[string]any{"amount": "1"}, IdempotencyKey: "order-1"},
		"a remote method": {Service: "bitrix24", Method: "tasks.task.add", Body: map[string]any{"fields": map[string]any{}}},
		"GitHub":          {Service: "github", Method: "POST", Path: "/repos/o/r/issues", Body: map[string]any{"title": "A"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Link", `<https://api.github.com/repos/o/r/issues?page=2>; rel="next"`)
				say(200, `{"type":"list","items":[{"id":1}],"next_cursor":"more","result":[{"id":1}],"next":50,"total":100}`)(w, r)
			})
			b.books["yookassa"] = connect.Connection{ID: "connection_yookassa", Service: "yookassa", Version: 1, Fields: map[string]string{"shop_id": "1", "secret_key": secret}}
			for field, change := range map[string]func(*connect.Call){
				"max_pages": func(c *connect.Call) { c.MaxPages = 2 },
				"page":      func(c *connect.Call) { c.Page = "k.abc" },
			} {
				more := call
				change(&more)
				problems, ok := b.refused(more, coworker.InvalidArg).Details.([]coworker.Problem)
				if !ok || len(problems) != 1 || problems[0].Field != field || !strings.Contains(problems[0].Problem, "change") {
					t.Errorf("%s: %+v", field, problems)
				}
			}
			if asked, _ := b.requests(); len(asked) != 0 {
				t.Fatalf("%d requests of what was refused", len(asked))
			}
			one := call
			one.MaxPages = 1
			if a := b.do(one); a.Page != nil {
				t.Errorf("a page is offered: %+v", a.Page)
			}
			if asked, _ := b.requests(); len(asked) != 1 {
				t.Errorf("%d requests", len(asked))
			}
		})
	}
}

// Attack: whoever stands before a service loses its answer to a change (500,
// 502, 504 and their like). Expectation: it is told that it may have been done,
// and not as worth a repeat; a read, a change with a key, and a change that was
// refused (503, 429) or never begun (no token) keep the contract's word.
func TestAStatusThatDecidesNothing(t *testing.T) {
	t.Parallel()
	keyed := connect.Call{Service: "yookassa", Method: "POST", Path: "/payments", Body: map[string]any{"amount": "1"}, IdempotencyKey: "order-1"}
	token := connect.Call{Service: "cdek", Method: "POST", Path: "/orders", Body: map[string]any{}}
	for _, c := range []struct {
		call        connect.Call
		status      int
		retry, told bool
	}{
		{aWrite, 500, false, true},
		{aWrite, 502, false, true},
		{aWrite, 504, false, true},
		{aWrite, 520, false, true},
		{aWrite, 503, true, false},
		{aWrite, 429, true, false},
		{aWrite, 400, false, false},
		{aRead, 504, true, false},
		{keyed, 504, true, false},
		{token, 502, true, false},
	} {
		b := open(t, say(c.status, `{}`))
		b.books["yookassa"] = connect.Connection{ID: "connection_yookassa", Service: "yookassa", Version: 1, Fields: map[string]string{"shop_id": "1", "secret_key": secret}}
		f := b.refused(c.call, coworker.UpstreamError)
		if f.Contract().Retryable != c.retry || strings.Contains(f.Hint, "may have been done") != c.told {
			t.Errorf("%s %d: %+v", c.call.Path, c.status, f)
		}
		if asked, _ := b.requests(); c.told && len(asked) != 1 {
			t.Errorf("%d: %d requests", c.status, len(asked))
		}
	}
}
