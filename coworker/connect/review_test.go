package connect_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// exchanging answers exchanges of a token by one handler and calls by another.
func exchanging(exchange, call http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			exchange(w, r)
			return
		}
		call(w, r)
	}
}

// Attack: a token has ended for us and not for the service, which repeats it in
// a failed exchange and in an answer to the token after it. Expectation: masked,
// as is the header that an exchange is made with; an answer that should have a
// token and has none where it is looked for is not repeated at all.
func TestTokensThatWereAreMasked(t *testing.T) {
	t.Parallel()
	const first, second = "access-first-0123456789", "access-second-0123456789"
	basic := base64.StdEncoding.EncodeToString([]byte("acme:" + secret))
	b := open(t, exchanging(
		turns(
			say(200, `{"access_token":"`+first+`","expires_in":1}`),
			say(500, `{"said":["`+first+`","`+basic+`"]}`),
			say(200, `{"access_token":"`+second+`","expires_in":1}`),
			say(200, `{"token_of_another_name":"live-token-0123456789"}`),
		),
		say(200, `{"said":["`+first+`","`+second+`"]}`),
	))
	b.books["paypal"] = connect.Connection{ID: "connection_paypal", Service: "paypal", Version: 1, Fields: map[string]string{"client_id": "acme", "client_secret": secret}}
	call := connect.Call{Service: "paypal", Method: "GET", Path: "/v1/invoices"}
	if got := asJSON(t, b.do(call).Data); got != `{"said":["[secret]","`+second+`"]}` { // nobody knows the second yet
		t.Errorf("the first: %s", got)
	}
	if d := details(b.refused(call, coworker.UpstreamError)).(connect.UpstreamDetails); d.Body != `{"said":["[secret]","[secret]"]}` {
		t.Errorf("a failed exchange: %s", d.Body)
	}
	if got := asJSON(t, b.do(call).Data); got != `{"said":["[secret]","[secret]"]}` {
		t.Errorf("the second: %s", got)
	}
	if d := details(b.refused(call, coworker.UpstreamError)).(connect.UpstreamDetails); d.Body != "" || d.Status != 200 {
		t.Errorf("no token: %+v", d)
	}
}

// Attack: the store fails while a refresh token that is good once is replaced.
// Expectation: the new one is kept by another try, or the failure is ours.
func TestARotatedTokenOutlivesAStumbleOfTheStore(t *testing.T) {
	t.Parallel()
	for _, stumbles := range []int{2, 3} {
		b := open(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/access_token") {
				say(200, `{"access_token":"access-0123456789","refresh_token":"refresh-next-0123456789","expires_in":3600}`)(w, r)
				return
			}
			say(200, `{}`)(w, r)
		})
		b.stumble = stumbles
		b.books["amocrm"] = connect.Connection{
			ID: "connection_amocrm", Service: "amocrm", Auth: "oauth2_refresh", Version: 1, Params: map[string]string{"subdomain": "acme"},
			Fields: map[string]string{"client_id": "acme", "client_secret": secret, "refresh_token": "refresh-0123456789", "redirect_uri": "https://acme.example/back"},
		}
		_, _, err := b.Execute(t.Context(), everything, connect.Call{Service: "amocrm", Module: "crm", Method: "GET", Path: "/account"})
		if _, fault := coworker.AsFault(err); (err == nil) != (stumbles < 3) || fault || (b.renewed["refresh_token"] == "refresh-next-0123456789") != (err == nil) {
			t.Errorf("%d stumbles: %v %v", stumbles, err, b.renewed)
		}
	}
}

// Attack: a header that is passed on has the secret in its name, where case is
// lost, or there are hundreds of them. Expectation: neither is told.
func TestHeadersThatAreTold(t *testing.T) {
	t.Parallel()
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Ratelimit-Remaining", "7")
		w.Header().Set("X-Ratelimit-For-Planted0123456789", "1")
		for i := range 300 {
			w.Header().Set(fmt.Sprintf("Z-Ratelimit-%d", i), secret)
		}
		say(200, `{}`)(w, r)
	})
	b.books["wildberries"] = connect.Connection{ID: "connection_wildberries", Service: "wildberries", Version: 1, Fields: map[string]string{"api_key": "PLANTED0123456789"}}
	a := b.do(connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"})
	if len(a.Headers) != 20 || a.Headers["x-ratelimit-remaining"] != "7" || strings.Contains(strings.ToLower(asJSON(t, a.Headers)), "planted0123456789\":") {
		t.Errorf("%d headers: %v", len(a.Headers), a.Headers)
	}
}

// Attack: a text repeats the secret as JSON writers spell it that number signs,
// in either case. Expectation: masked.
func TestSpellingsByNumber(t *testing.T) {
	t.Parallel()
	const odd = "S3c\"r3t<'>&/+välue\\😀0123456789"
	for name, spelt := range map[string]string{
		".NET":     "S3c\\u0022r3t\\u003C\\u0027\\u003E\\u0026/\\u002Bv\\u00E4lue\\\\\\uD83D\\uDE000123456789",
		"PHP":      "S3c\\u0022r3t\\u003C\\u0027\\u003E\\u0026\\/+v\\u00e4lue\\\\\\ud83d\\ude000123456789",
		"no slash": "S3c\\u0022r3t\\u003c\\u0027\\u003e\\u0026\\u002f+v\\u00e4lue\\\\\\ud83d\\ude000123456789",
	} {
		b := open(t, say(200, asJSON(t, map[string]any{"said": "{" + spelt + "}"})))
		b.books["wildberries"] = connect.Connection{ID: "connection_wildberries", Service: "wildberries", Version: 1, Fields: map[string]string{"api_key": odd}}
		a := b.do(connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"})
		if got := asJSON(t, a.Data); got != `{"said":"{[secret]}"}` {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Attack: while a payment with a key is lost on the way, the connection gets the
// credential of another account. Expectation: it is not made there again; what
// was refused, and what reads, is tried with the new one.
func TestAChangeIsNotRepeatedOnAnotherAccount(t *testing.T) {
	t.Parallel()
	pay := connect.Call{Service: "yookassa", Method: "POST", Path: "/payments", Body: map[string]any{"amount": "1"}, IdempotencyKey: "order-1"}
	list := connect.Call{Service: "yookassa", Method: "GET", Path: "/payments"}
	for name, c := range map[string]struct {
		call    connect.Call
		status  int
		changed bool
		sent    int
	}{
		"lost":              {pay, 504, true, 1},
		"cut":               {pay, http.StatusTeapot, true, 1},
		"refused":           {pay, 429, true, 2},
		"lost, the same":    {pay, 504, false, 2},
		"a read that lost":  {list, 504, true, 2},
		"a read, the other": {list, 504, false, 2},
	} {
		var b *bench
		b = open(t, turns(func(w http.ResponseWriter, r *http.Request) {
			if c.changed {
				b.mu.Lock()
				b.books["yookassa"] = connect.Connection{ID: "connection_yookassa", Service: "yookassa", Version: 2, Fields: map[string]string{"shop_id": "2", "secret_key": "another-0123456789"}}
				b.mu.Unlock()
			}
			say(c.status, `{}`)(w, r)
		}, say(200, `{}`)))
		b.books["yookassa"] = connect.Connection{ID: "connection_yookassa", Service: "yookassa", Version: 1, Fields: map[string]string{"shop_id": "1", "secret_key": secret}}
		_, trace, err := b.Execute(t.Context(), everything, c.call)
		if asked, _ := b.requests(); len(asked) != c.sent || trace.Retries != c.sent-1 || (err == nil) != (c.sent == 2) {
			t.Errorf("%s: %d requests, %d retries, %v", name, len(asked), trace.Retries, err)
		}
		if f, ok := coworker.AsFault(err); err != nil && (!ok || f.Code != coworker.UpstreamError) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Attack: a service writes the access token of a call into the address of its
// next page, and a dry run shows the request for that page. Expectation: masked.
func TestADryRunOfAPageMasksTheTokenInItsAddress(t *testing.T) {
	t.Parallel()
	const token = "access-planted-0123456789"
	b := open(t, exchanging(
		say(200, `{"access_token":"`+token+`","expires_in":3600}`),
		say(200, `{"value":[{"id":1}],"@odata.nextLink":"https://graph.microsoft.com/v1.0/users?$skiptoken=x&access_token=`+token+`"}`),
	))
	b.books["microsoft_graph"] = connect.Connection{
		ID: "connection_microsoft_graph", Service: "microsoft_graph", Auth: "oauth2_cc", Version: 1, Fields: map[string]string{"client_id": "acme", "client_secret": secret},
	}
	call := connect.Call{Service: "microsoft_graph", Method: "GET", Path: "/users"}
	call.Page = b.do(call).Page.Next
	call.DryRun = true
	shown := asJSON(t, b.do(call).Request)
	if !strings.Contains(shown, "skiptoken=x") || !strings.Contains(shown, "access_token=[secret]") || strings.Contains(shown, token) {
		t.Error(shown)
	}
}
