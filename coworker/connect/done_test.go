package connect_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

var (
	aRead  = connect.Call{Service: "ozon", Method: "POST", Path: "/v3/product/list"}
	aWrite = connect.Call{Service: "ozon", Method: "POST", Path: "/v2/products/stocks", Body: map[string]any{"stocks": []any{}}}
)

// Attack: a selection that is no program, or too long. Expectation: it is told
// before the service hears of the call.
func TestABadSelectionIsToldBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{}`))
	for _, query := range []string{".[", "." + strings.Repeat(" ", 4096)} {
		for _, call := range []connect.Call{aRead, aWrite} {
			call.Select = query
			f := b.refused(call, coworker.InvalidArg)
			if problems, ok := f.Details.([]coworker.Problem); !ok || problems[0].Field != "select" {
				t.Errorf("%.10q: %+v", query, f.Details)
			}
		}
	}
	if asked, _ := b.requests(); len(asked) > 0 {
		t.Errorf("%d requests", len(asked))
	}
}

// Attack: a change whose answer cannot be selected from, is too large, or is no
// text that could be kept. Expectation: nobody is told to make it again.
func TestADoneChangeIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{"does not fit": ".result.items.id", "no such function": "nothing_of_this_name"} {
		call := aWrite
		call.Select = query
		a := open(t, say(200, `{"result":{"items":[{"id":7}]}}`)).do(call)
		if !strings.Contains(a.Hint, "do not repeat") || !strings.Contains(a.Hint, "select") || asJSON(t, a.Data) != `{"result":{"items":[{"id":7}]}}` {
			t.Errorf("%s: %+v", name, a)
		}
		call = aRead
		call.Select = query
		open(t, say(200, `{"result":{"items":[{"id":7}]}}`)).refused(call, coworker.InvalidArg)
	}
	dense := "[" + strings.Repeat("1,", 2_000_001) + "1]"
	for name, c := range map[string]struct {
		status int
		body   string
		hint   string
	}{
		"too long":           {200, strings.Repeat("a", 10<<20+1), "do not repeat"},
		"of too many values": {200, dense, "do not repeat"},
		"a failure too long": {500, strings.Repeat("a", 10<<20+1), "may have been done"},
	} {
		b := open(t, say(c.status, c.body))
		if f := b.refused(aWrite, coworker.ResponseTooLarge); !strings.Contains(f.Hint, c.hint) || strings.Contains(f.Hint, "ask for less") {
			t.Errorf("%s: a write: %s", name, f.Hint)
		}
		if f := b.refused(aRead, coworker.ResponseTooLarge); strings.Contains(f.Hint, "repeat") {
			t.Errorf("%s: a read: %s", name, f.Hint)
		}
	}
	for name, why := range map[string]error{"no room": &coworker.Fault{Code: coworker.InvalidArg, Hint: "no room"}, "a failure": errors.New("disk")} {
		b := open(t, answered("image/png", "", "\x89PNG\x00"))
		b.full = why
		if a := b.do(aWrite); !strings.Contains(a.Hint, "do not repeat") || a.File != "" || a.Data != nil {
			t.Errorf("%s: %+v", name, a)
		}
		if _, _, err := b.Execute(t.Context(), everything, aRead); !errors.Is(err, why) {
			t.Errorf("%s: a read: %v", name, err)
		}
	}
}

// Attack: the line breaks after a change was sent. Expectation: it is told that
// it may have been done, and not as worth a repeat; what was never sent is.
func TestALostChangeIsNotRepeated(t *testing.T) {
	t.Parallel()
	lost := errors.New("read: connection reset by peer")
	unsent := &url.Error{Op: "Post", URL: "https://api.example", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}
	keyed := connect.Call{Service: "yookassa", Method: "POST", Path: "/payments", Body: map[string]any{"amount": "1"}, IdempotencyKey: "order-1"}
	for name, c := range map[string]struct {
		call        connect.Call
		err         error
		retry, told bool
	}{
		"a read":                   {aRead, lost, true, false},
		"a write":                  {aWrite, lost, false, true},
		"a write out of time":      {aWrite, context.DeadlineExceeded, false, true},
		"a write that was no sent": {aWrite, unsent, true, false},
		"a write with a key":       {keyed, lost, true, false},
	} {
		b := openTo(t, func([]netip.Prefix, string) connect.Doer {
			return doer(func(*http.Request) (*http.Response, error) { return nil, c.err })
		})
		b.books["yookassa"] = connect.Connection{ID: "connection_yookassa", Service: "yookassa", Version: 1, Fields: map[string]string{"shop_id": "1", "secret_key": secret}}
		f := b.refused(c.call, coworker.UpstreamError)
		if f.Contract().Retryable != c.retry || strings.Contains(f.Hint, "may have been done") != c.told {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Attack: an argument, or a part of the address, of the name that tells the
// remote method. Expectation: what is called is what was classed.
func TestAnArgumentCannotNameTheMethod(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]connect.Call{
		"nothing":     {Service: "boxberry", Method: "ListCities"},
		"an argument": {Service: "boxberry", Method: "ListCities", Body: map[string]any{"method": "ParselCreate"}},
		"a query":     {Service: "boxberry", Method: "ListCities", Query: map[string]any{"method": "ParselCreate"}},
	} {
		b := open(t, say(200, `[]`))
		b.books["boxberry"] = connect.Connection{ID: "connection_boxberry", Service: "boxberry", Version: 1, Fields: map[string]string{"token": secret}}
		b.do(call)
		asked, _ := b.requests()
		if got := asked[0].URL.Query()["method"]; len(got) != 1 || got[0] != "ListCities" {
			t.Errorf("%s: %s", name, asked[0].URL)
		}
	}
}

// The parts of a remote method's name are parts of the path.
func TestARemoteMethodWithASlash(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{"Success":null}`))
	b.books["cloudpayments"] = connect.Connection{ID: "connection_cloudpayments", Service: "cloudpayments", Version: 1, Fields: map[string]string{"public_id": "pk_1", "api_secret": secret}}
	b.do(connect.Call{Service: "cloudpayments", Method: "payments/get", Body: map[string]any{}})
	asked, _ := b.requests()
	if got := asked[0].URL.String(); got != "https://api.cloudpayments.ru/payments/get" {
		t.Error(got)
	}
	b.refused(connect.Call{Service: "cloudpayments", Method: "payments/./get"}, coworker.InvalidArg)
}

// Attack: a service repeats the credential as pages and logs spell it, on the
// page of one credential and on the page after it was changed.
func TestMoreSpellingsOfASecret(t *testing.T) {
	t.Parallel()
	const odd = `S3c"r3t<'>&/+value %`
	quotes := strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(html.EscapeString(odd))
	for name, spelt := range map[string]string{
		"html":              html.EscapeString(odd),
		"xml":               quotes,
		"html with a quote": strings.ReplaceAll(html.EscapeString(odd), "&#34;", "&quot;"),
		"in a text of html": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(odd),
		"a template of Go":  strings.ReplaceAll(html.EscapeString(odd), "+", "&#43;"),
		"encoded twice":     url.QueryEscape(url.QueryEscape(odd)),
		"a path, twice":     url.PathEscape(url.PathEscape(odd)),
		"a path in a query": url.QueryEscape(url.PathEscape(odd)),
		"twice, lower case": strings.NewReplacer("%252F", "%252f", "%252B", "%252b", "%253C", "%253c", "%253E", "%253e").Replace(url.QueryEscape(url.QueryEscape(odd))),
	} {
		b := open(t, say(200, asJSON(t, map[string]any{"said": "<" + spelt + ">"})))
		c := b.books["wildberries"]
		c.Fields = map[string]string{"api_key": odd}
		b.books["wildberries"] = c
		a := b.do(connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"})
		if got := asJSON(t, a.Data); got != `{"said":"<[secret]>"}` {
			t.Errorf("%s: %s", name, got)
		}
	}
	var b *bench
	b = open(t, turns(
		func(w http.ResponseWriter, r *http.Request) {
			b.mu.Lock()
			c := b.books["bitrix24"]
			c.Version, c.Fields = 2, map[string]string{"webhook_url": "https://acme.bitrix24.ru/rest/1/n3wc0de987654321/"}
			b.books["bitrix24"] = c
			b.mu.Unlock()
			say(200, `{"result":[{"said":"s3cr3tcode123456"}],"next":50}`)(w, r)
		},
		say(503, `{"error":"QUERY_LIMIT_EXCEEDED"}`),
		say(200, `{"result":[{"said":"n3wc0de987654321"}]}`),
	))
	a := b.do(connect.Call{Service: "bitrix24", Method: "crm.deal.list", MaxPages: 2})
	if got := asJSON(t, a.Data); got != `[{"said":"[secret]"},{"said":"[secret]"}]` {
		t.Errorf("two pages: %s %s", got, fmt.Sprint(a.Page))
	}
}
