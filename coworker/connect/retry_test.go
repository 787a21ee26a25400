package connect_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// TestEveryRetryIsCounted: how many requests the service sees, and how long is
// waited between them, in each situation that may or may not be repeated.
func TestEveryRetryIsCounted(t *testing.T) {
	t.Parallel()
	read := connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}
	asking := connect.Call{Service: "cdek", Method: "POST", Path: "/calculator/tarifflist", Body: map[string]any{}}
	write := connect.Call{Service: "wildberries", Module: "content", Method: "POST", Path: "/content/v2/cards/upload", Body: []any{}}
	pay := connect.Call{Service: "yookassa", Method: "POST", Path: "/payments", Body: map[string]any{"amount": "1"}}
	keyed := pay
	keyed.IdempotencyKey = "order-1"
	told := func(status int, after string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", after)
			say(status, `{}`)(w, r)
		}
	}
	cut := say(http.StatusTeapot, "")
	good := say(200, `{}`)
	at := time.Date(2026, 11, 30, 9, 0, 7, 0, time.UTC).Format(http.TimeFormat) // seven seconds on
	for name, c := range map[string]struct {
		call    connect.Call
		answers []http.HandlerFunc
		sent    int
		waited  []time.Duration
		fails   bool
		retry   bool // told as worth another try
		after   time.Duration
	}{
		"a read, 408":                          {read, []http.HandlerFunc{say(408, `{}`)}, 1, nil, true, true, 0},
		"a read, 429":                          {read, []http.HandlerFunc{say(429, `{}`)}, 3, []time.Duration{time.Second, 2 * time.Second}, true, true, 0},
		"a read, 429, then good":               {read, []http.HandlerFunc{say(429, `{}`), good}, 2, []time.Duration{time.Second}, false, false, 0},
		"a read, 500":                          {read, []http.HandlerFunc{say(500, `{}`)}, 1, nil, true, true, 0},
		"a read, 502":                          {read, []http.HandlerFunc{say(502, `{}`)}, 3, []time.Duration{time.Second, 2 * time.Second}, true, true, 0},
		"a read, 503, twice":                   {read, []http.HandlerFunc{say(503, `{}`), say(503, `{}`), good}, 3, []time.Duration{time.Second, 2 * time.Second}, false, false, 0},
		"a read, 504":                          {read, []http.HandlerFunc{say(504, `{}`), good}, 2, []time.Duration{time.Second}, false, false, 0},
		"a read, 404":                          {read, []http.HandlerFunc{say(404, `{}`)}, 1, nil, true, false, 0},
		"a read, line cut":                     {read, []http.HandlerFunc{cut}, 3, []time.Duration{time.Second, 2 * time.Second}, true, true, 0},
		"a read, cut, then busy, then good":    {read, []http.HandlerFunc{cut, say(503, `{}`), good}, 3, []time.Duration{time.Second, 2 * time.Second}, false, false, 0},
		"a read, told to wait":                 {read, []http.HandlerFunc{told(429, "3"), good}, 2, []time.Duration{3 * time.Second}, false, false, 0},
		"a read, told to wait until":           {read, []http.HandlerFunc{told(503, at), good}, 2, []time.Duration{7 * time.Second}, false, false, 0},
		"a read, told to wait too long":        {read, []http.HandlerFunc{told(429, "3600")}, 1, nil, true, true, time.Hour},
		"a read, told to wait too long in all": {read, []http.HandlerFunc{told(429, "15")}, 2, []time.Duration{15 * time.Second}, true, true, 15 * time.Second},
		"a read, told nonsense":                {read, []http.HandlerFunc{told(429, "-5"), good}, 2, []time.Duration{time.Second}, false, false, 0},
		"a question by POST":                   {asking, []http.HandlerFunc{say(200, `{"access_token":"token-abcdefgh"}`), say(503, `{}`), good}, 3, []time.Duration{time.Second}, false, false, 0},
		"a write, 429":                         {write, []http.HandlerFunc{say(429, `{}`)}, 1, nil, true, true, 0},
		"a write, 503":                         {write, []http.HandlerFunc{say(503, `{}`)}, 1, nil, true, true, 0},
		"a write, 502":                         {write, []http.HandlerFunc{say(502, `{}`)}, 1, nil, true, false, 0},
		"a payment without a key, 504":         {pay, []http.HandlerFunc{say(504, `{}`)}, 1, nil, true, false, 0},
		"a payment with a key, 504":            {keyed, []http.HandlerFunc{say(504, `{}`), good}, 2, []time.Duration{time.Second}, false, false, 0},
		"a write, line cut":                    {write, []http.HandlerFunc{cut}, 1, nil, true, false, 0},
		"a payment without a key":              {pay, []http.HandlerFunc{say(503, `{}`)}, 1, nil, true, true, 0},
		"a payment without a key, cut":         {pay, []http.HandlerFunc{cut}, 1, nil, true, false, 0},
		"a payment with a key":                 {keyed, []http.HandlerFunc{say(503, `{}`), cut, good}, 3, []time.Duration{time.Second, 2 * time.Second}, false, false, 0},
		"a payment with a key, by a rule":      {keyed, []http.HandlerFunc{say(500, `{}`), good}, 2, []time.Duration{2 * time.Second}, false, false, 0},
		"a payment with a key, refused":        {keyed, []http.HandlerFunc{say(400, `{}`)}, 1, nil, true, false, 0},
		"a token exchange that fails":          {asking, []http.HandlerFunc{say(503, `{}`)}, 1, nil, true, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, turns(c.answers...))
			b.books["yookassa"] = connect.Connection{ID: "connection_yookassa", Service: "yookassa", Version: 1, Fields: map[string]string{"shop_id": "1", "secret_key": secret}}
			_, trace, err := b.Execute(t.Context(), everything, c.call)
			asked, bodies := b.requests()
			if len(asked) != c.sent || !slices.Equal(b.slept, c.waited) || trace.Retries != len(c.waited) {
				t.Errorf("%d requests, waited %v, %d retries told", len(asked), b.slept, trace.Retries)
			}
			f, _ := coworker.AsFault(err)
			if c.fails != (err != nil) || c.fails && (f == nil || f.Code != coworker.UpstreamError || f.Contract().Retryable != c.retry) {
				t.Fatalf("%v", err)
			}
			if d, ok := details(err).(connect.UpstreamDetails); c.after > 0 && (!ok || d.RetryAfter != c.after.Milliseconds()) {
				t.Errorf("told %+v", d)
			}
			for i, r := range asked {
				if c.call.IdempotencyKey != "" && (r.Header.Get("Idempotence-Key") != c.call.IdempotencyKey || bodies[i] != bodies[0]) {
					t.Errorf("request %d is another: %v %s", i, r.Header, bodies[i])
				}
			}
		})
	}
}

// TestEachTryReadsTheCredentialAnew: what was stored meanwhile is sent, and
// nothing more once the connection is gone.
func TestEachTryReadsTheCredentialAnew(t *testing.T) {
	t.Parallel()
	call := connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}
	var b *bench
	change := func(do func(c connect.Connection) connect.Connection) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			b.mu.Lock()
			b.books["wildberries"] = do(b.books["wildberries"])
			b.mu.Unlock()
			say(503, `{}`)(w, r)
		}
	}
	renewed := func(value string) http.HandlerFunc {
		return change(func(c connect.Connection) connect.Connection {
			c.Version, c.Fields = c.Version+1, map[string]string{"api_key": value}
			return c
		})
	}
	b = open(t, turns(renewed("second-key"), renewed("third-key"), say(200, `{}`)))
	b.do(call)
	var sent []string
	asked, _ := b.requests()
	for _, r := range asked {
		sent = append(sent, r.Header.Get("Authorization"))
	}
	if want := []string{secret, "second-key", "third-key"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q", sent)
	}
	b = open(t, func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		delete(b.books, "wildberries")
		b.mu.Unlock()
		say(503, `{}`)(w, r)
	})
	_, trace, err := b.Execute(t.Context(), everything, call)
	if f, ok := coworker.AsFault(err); !ok || f.Code != coworker.NotConnected {
		t.Errorf("removed meanwhile: %v", err)
	}
	if asked, _ := b.requests(); len(asked) != 1 || trace.Retries != 0 {
		t.Errorf("%d requests after it was removed, %d retries told", len(asked), trace.Retries)
	}
}
