package connect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// TestHowEachKindOfCallIsSent compares the request of each style and kind of
// credential with what the services' documents ask for.
func TestHowEachKindOfCallIsSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call    connect.Call
		request string // method and address
		header  map[string]string
		body    string
	}{
		"a raw token in a header": {
			connect.Call{Service: "wildberries", Module: "statistics", Method: "get", Path: "/api/v1/supplier/orders", Query: map[string]any{"dateFrom": "2026-11-01", "flag": json.Number("1")}},
			"GET https://statistics-api.wildberries.ru/api/v1/supplier/orders?dateFrom=2026-11-01&flag=1",
			map[string]string{"Authorization": secret},
			"",
		},
		"two headers": {
			connect.Call{Service: "ozon", Method: "POST", Path: "/v3/product/list", Body: map[string]any{"filter": map[string]any{"visibility": "ALL"}, "limit": json.Number("10")}},
			"POST https://api-seller.ozon.ru/v3/product/list",
			map[string]string{"Api-Key": secret, "Client-Id": "77", "Content-Type": "application/json"},
			`{"filter":{"visibility":"ALL"},"limit":10}`,
		},
		"a remote method under a secret path": {
			connect.Call{Service: "bitrix24", Method: "crm.deal.list", Body: map[string]any{"start": json.Number("0")}},
			"POST https://acme.bitrix24.ru/rest/1/s3cr3tcode123456/crm.deal.list.json", nil, `{"start":0}`,
		},
		"a remote method in an envelope": {
			connect.Call{Service: "yandex_direct", Method: "campaigns.get", Body: map[string]any{"FieldNames": []any{"Id"}}},
			"POST https://api.direct.yandex.com/json/v5/campaigns",
			map[string]string{"Authorization": "Bearer " + secret},
			`{"method":"get","params":{"FieldNames":["Id"]}}`,
		},
		"names in other letters, and basic": {
			connect.Call{Service: "onec", Method: "Catalog_Номенклатура", Body: map[string]any{"$top": json.Number("5")}},
			"GET https://one.acme.example/base/odata/standard.odata/Catalog_%D0%9D%D0%BE%D0%BC%D0%B5%D0%BD%D0%BA%D0%BB%D0%B0%D1%82%D1%83%D1%80%D0%B0?%24format=json&%24top=5",
			map[string]string{"Authorization": "Basic cm9ib3Q6UzNjcjN0LXBsYW50ZWQvdmFsdWUrMDEyMzQ1Njc4OQ=="},
			"",
		},
		"a key of OData v3": {
			connect.Call{Service: "onec", Method: "Document_Заказ.get", Body: map[string]any{"key": "0a1b2c3d-0000-0000-0000-000000000001"}},
			"GET https://one.acme.example/base/odata/standard.odata/Document_%D0%97%D0%B0%D0%BA%D0%B0%D0%B7(guid'0a1b2c3d-0000-0000-0000-000000000001')?%24format=json",
			nil, "",
		},
		"a signed body": {
			connect.Call{Service: "tbank_acquiring", Method: "GetState", Body: map[string]any{"PaymentId": "13660"}},
			"POST https://securepay.tinkoff.ru/v2/GetState", nil,
			// SHA-256 of «S3cr3t-planted/value+0123456789» + «13660» + «Terminal1»: Password, PaymentId, TerminalKey.
			`{"PaymentId":"13660","TerminalKey":"Terminal1","Token":"` + sumOf(secret+"13660"+"Terminal1") + `"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, say(200, `{}`))
			b.do(c.call)
			asked, bodies := b.requests()
			if got := asked[0].Method + " " + asked[0].URL.String(); got != c.request {
				t.Errorf("asked\n%s, not\n%s", got, c.request)
			}
			for name, want := range c.header {
				if got := asked[0].Header.Get(name); got != want {
					t.Errorf("%s is %q, not %q", name, got, want)
				}
			}
			if bodies[0] != c.body {
				t.Errorf("sent %s, not %s", bodies[0], c.body)
			}
		})
	}
}

// TestWhatIsRefusedBeforeAnythingIsSent: nothing leaves for a call that breaks
// a rule.
func TestWhatIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	good := connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}
	with := func(change func(*connect.Call)) connect.Call {
		c := good
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		call  connect.Call
		code  coworker.Code
		field string
	}{
		"an unknown service":           {with(func(c *connect.Call) { c.Service = "wildberry" }), coworker.UnknownService, ""},
		"an unknown module":            {with(func(c *connect.Call) { c.Module = "none" }), coworker.InvalidArg, "module"},
		"a path off the list":          {with(func(c *connect.Call) { c.Path = "/other" }), coworker.InvalidArg, "path"},
		"a path that leads up":         {with(func(c *connect.Call) { c.Path = "/api/../x" }), coworker.InvalidArg, "path"},
		"a path that leads up, hid":    {with(func(c *connect.Call) { c.Path = "/api/%2e%2e/x" }), coworker.InvalidArg, "path"},
		"an encoded slash":             {with(func(c *connect.Call) { c.Path = "/api/a%2fb" }), coworker.InvalidArg, "path"},
		"another host":                 {with(func(c *connect.Call) { c.Path = "//evil.example/api/x" }), coworker.InvalidArg, "path"},
		"an address":                   {with(func(c *connect.Call) { c.Path = "https://evil.example/" }), coworker.InvalidArg, "path"},
		"a query in the path":          {with(func(c *connect.Call) { c.Path = "/ping?x=y" }), coworker.InvalidArg, "path"},
		"a place to fill in":           {with(func(c *connect.Call) { c.Path = "/api/v3/orders/{id}" }), coworker.InvalidArg, "path"},
		"a method that is none":        {with(func(c *connect.Call) { c.Method = "CONNECT" }), coworker.InvalidArg, "method"},
		"a body with GET":              {with(func(c *connect.Call) { c.Body = map[string]any{} }), coworker.InvalidArg, "body"},
		"an object in the query":       {with(func(c *connect.Call) { c.Query = map[string]any{"a": map[string]any{}} }), coworker.InvalidArg, "query.a"},
		"too few bytes":                {with(func(c *connect.Call) { c.MaxBytes = 10 }), coworker.InvalidArg, "max_bytes"},
		"too many pages":               {with(func(c *connect.Call) { c.MaxPages = 11 }), coworker.InvalidArg, "max_pages"},
		"a page of nobody":             {with(func(c *connect.Call) { c.Page = "abc.def.ghi" }), coworker.InvalidArg, "page"},
		"a key nobody knows":           {with(func(c *connect.Call) { c.IdempotencyKey = "k" }), coworker.InvalidArg, "idempotency_key"},
		"no connection":                {with(func(c *connect.Call) { c.Connection = "second" }), coworker.NotConnected, ""},
		"a quote in a key":             {connect.Call{Service: "onec", Method: "Catalog_X.get", Body: map[string]any{"key": "1') or ('"}}, coworker.InvalidArg, "body.key"},
		"a remote method off the list": {connect.Call{Service: "bitrix24", Method: "app.info"}, coworker.InvalidArg, "method"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, say(200, `{}`))
			f := b.refused(c.call, c.code)
			if problems, ok := f.Details.([]coworker.Problem); c.field != "" && (!ok || problems[0].Field != c.field || problems[0].Problem == "") {
				t.Errorf("details %+v", f.Details)
			}
			if asked, _ := b.requests(); len(asked) > 0 {
				t.Errorf("asked %s", asked[0].URL)
			}
		})
	}
}

func TestAKeysClassAndListHold(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{}`))
	read := connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}
	write := connect.Call{Service: "wildberries", Module: "content", Method: "POST", Path: "/content/v2/cards/upload", Body: []any{}}
	for name, c := range map[string]struct {
		who  coworker.Caller
		call connect.Call
		ok   bool
	}{
		"a reader reads":         {coworker.Caller{Scopes: coworker.ReadData, Class: coworker.ClassIrreversible}, read, true},
		"a reader writes":        {coworker.Caller{Scopes: coworker.ReadData, Class: coworker.ClassIrreversible}, write, false},
		"a writer of class read": {coworker.Caller{Scopes: coworker.WriteTools, Class: coworker.ClassRead}, write, false},
		"off the list":           {coworker.Caller{Scopes: coworker.WriteTools, Class: coworker.ClassIrreversible, Connectors: []string{"ozon"}}, read, false},
	} {
		_, _, err := b.Execute(t.Context(), c.who, c.call)
		f, _ := coworker.AsFault(err)
		if c.ok && err != nil || !c.ok && (f == nil || f.Code != coworker.PermissionDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked, _ := b.requests(); len(asked) != 1 {
		t.Errorf("%d requests were sent", len(asked))
	}
}

func TestWhatCannotBeUndoneWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{}`))
	call := connect.Call{Service: "bitrix24", Method: "crm.deal.delete", Body: map[string]any{"id": 1}, MustConfirm: func(context.Context) (bool, error) { return true, nil }}
	f := b.refused(call, coworker.ConfirmationRequired)
	if !strings.Contains(asJSON(t, f.Details), "crm.deal.delete") {
		t.Errorf("details %+v", f.Details)
	}
	call.Confirm = true
	b.do(call)
	call.NoConfirm = true
	b.refused(call, coworker.ConfirmationRequired)
	call.MustConfirm, call.Confirm, call.NoConfirm = nil, false, false
	b.do(call)
	if asked, _ := b.requests(); len(asked) != 2 {
		t.Errorf("%d requests were sent", len(asked))
	}
}

// TestPagesFollowEachOther by each kind of paging, and end.
func TestPagesFollowEachOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call    connect.Call
		answers []http.HandlerFunc
		asked   []string // of the second request on: query or body
		data    string
	}{
		"a value of the answer goes into the body": {
			connect.Call{Service: "ozon", Method: "POST", Path: "/v3/product/list", Body: map[string]any{"limit": json.Number("2")}, MaxPages: 5},
			[]http.HandlerFunc{
				say(200, `{"result":{"items":[{"id":1},{"id":2}],"total":3,"last_id":"abc"}}`),
				say(200, `{"result":{"items":[{"id":3}],"total":3,"last_id":"def"}}`),
				say(200, `{"result":{"items":[],"total":3,"last_id":""}}`),
			},
			[]string{`{"last_id":"abc","limit":2}`, `{"last_id":"def","limit":2}`},
			`[{"id":1},{"id":2},{"id":3}]`,
		},
		"two values, until a page is short": {
			connect.Call{Service: "wildberries", Module: "content", Method: "POST", Path: "/content/v2/get/cards/list", Body: map[string]any{"settings": map[string]any{"cursor": map[string]any{"limit": json.Number("1")}}}, MaxPages: 5},
			[]http.HandlerFunc{
				say(200, `{"cards":[{"nmID":1}],"cursor":{"updatedAt":"a","nmID":1,"total":1}}`),
				say(200, `{"cards":[],"cursor":{"updatedAt":"a","nmID":1,"total":0}}`),
			},
			[]string{`{"settings":{"cursor":{"limit":1,"nmID":1,"updatedAt":"a"}}}`},
			`[{"nmID":1}]`,
		},
		"a number of the answer, until it is absent": {
			connect.Call{Service: "bitrix24", Method: "crm.deal.list", MaxPages: 5},
			[]http.HandlerFunc{say(200, `{"result":[{"ID":"1"}],"next":50,"total":51}`), say(200, `{"result":[{"ID":"51"}],"total":51}`)},
			[]string{`{"start":50}`},
			`[{"ID":"1"},{"ID":"51"}]`,
		},
		"counted": {
			connect.Call{Service: "wildberries", Module: "prices", Method: "GET", Path: "/api/v2/list/goods/filter", Query: map[string]any{"limit": json.Number("2")}, MaxPages: 3},
			[]http.HandlerFunc{say(200, `{"data":{"listGoods":[1,2]}}`), say(200, `{"data":{"listGoods":[]}}`)},
			[]string{`limit=2&offset=2`},
			`[1,2]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, turns(c.answers...))
			a := b.do(c.call)
			asked, bodies := b.requests()
			for i, want := range c.asked {
				got := bodies[i+1]
				if got == "" {
					got = asked[i+1].URL.RawQuery
				}
				if got != want {
					t.Errorf("request %d asks %s, not %s", i+1, got, want)
				}
			}
			if d := cmp.Diff(c.data, asJSON(t, a.Data)); d != "" {
				t.Error(d)
			}
			if a.Page == nil || a.Page.HasMore {
				t.Errorf("page %+v", a.Page)
			}
		})
	}
}

func TestAPageBelongsToItsCall(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{"result":{"items":[{"id":1}],"total":9,"last_id":"abc"}}`))
	call := connect.Call{Service: "ozon", Method: "POST", Path: "/v3/product/list", Body: map[string]any{"limit": json.Number("1")}}
	next := b.do(call).Page.Next
	call.Page = next
	b.do(call)
	if _, bodies := b.requests(); bodies[1] != `{"last_id":"abc","limit":1}` {
		t.Errorf("sent %s", bodies[1])
	}
	for name, change := range map[string]func(*connect.Call){
		"another body":   func(c *connect.Call) { c.Body = map[string]any{"limit": json.Number("2")} },
		"another path":   func(c *connect.Call) { c.Path = "/v4/product/info/attributes" },
		"a changed page": func(c *connect.Call) { c.Page = "A" + next[1:] },
	} {
		other := call
		change(&other)
		if f := b.refused(other, coworker.InvalidArg); f.Details.([]coworker.Problem)[0].Field != "page" {
			t.Errorf("%s: %+v", name, f.Details)
		}
	}
}

// TestANextAddressStaysInItsModule: a service cannot send us elsewhere.
func TestANextAddressStaysInItsModule(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{
		"another host":   "https://evil.example/repos/a/b/issues?page=2",
		"another scheme": "http://api.github.com/repos/a/b/issues?page=2",
		"a user":         "https://x@api.github.com/repos/a/b/issues?page=2",
		"a port":         "https://api.github.com:8443/repos/a/b/issues?page=2",
	} {
		b := open(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", `<`+address+`>; rel="next"`)
			say(200, `[{"id":1}]`)(w, r)
		})
		a := b.do(connect.Call{Service: "github", Method: "GET", Path: "/repos/a/b/issues", MaxPages: 3})
		if !a.Page.HasMore || a.Page.Next != "" || !strings.Contains(a.Hint, "outside of the module") {
			t.Errorf("%s: %+v %q", name, a.Page, a.Hint)
		}
		for i, r := range b.asked {
			if r.URL.Host != "api.github.com" || r.URL.Scheme != "https" || i > 0 {
				t.Errorf("%s: asked %s", name, r.URL)
			}
		}
	}
}

// TestOnlyWhatMayBeRepeatedIsRepeated counts what is sent.
func TestOnlyWhatMayBeRepeatedIsRepeated(t *testing.T) {
	t.Parallel()
	busy := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "2")
		say(http.StatusTooManyRequests, `{"title":"too many"}`)(w, r)
	}
	for name, c := range map[string]struct {
		call    connect.Call
		answers []http.HandlerFunc
		sent    int
		code    coworker.Code // "" for success
		retry   bool
	}{
		"a read, then good":      {connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}, []http.HandlerFunc{busy, say(200, `{}`)}, 2, "", false},
		"a read, never good":     {connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}, []http.HandlerFunc{busy}, 3, coworker.UpstreamError, true},
		"a read, line cut":       {connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}, []http.HandlerFunc{say(http.StatusTeapot, ""), say(200, `{}`)}, 2, "", false},
		"a read that is refused": {connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}, []http.HandlerFunc{say(400, `{}`)}, 1, coworker.UpstreamError, false},
		"a write":                {connect.Call{Service: "wildberries", Module: "content", Method: "POST", Path: "/content/v2/cards/upload", Body: []any{}}, []http.HandlerFunc{busy}, 1, coworker.UpstreamError, true},
		"a write, line cut":      {connect.Call{Service: "wildberries", Module: "content", Method: "POST", Path: "/content/v2/cards/upload", Body: []any{}}, []http.HandlerFunc{say(http.StatusTeapot, "")}, 1, coworker.UpstreamError, false},
		"a rule that forbids it": {connect.Call{Service: "bitrix24", Method: "crm.deal.list"}, []http.HandlerFunc{say(429, `{"error":"OPERATION_TIME_LIMIT"}`)}, 1, coworker.UpstreamError, false},
		"a rule that allows it":  {connect.Call{Service: "bitrix24", Method: "crm.deal.list"}, []http.HandlerFunc{say(503, `{"error":"QUERY_LIMIT_EXCEEDED"}`), say(200, `{"result":[]}`)}, 2, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, turns(c.answers...))
			a, trace, err := b.Execute(t.Context(), everything, c.call)
			asked, _ := b.requests()
			if len(asked) != c.sent || trace.Retries != c.sent-1 {
				t.Errorf("%d requests, %d retries told, not %d", len(asked), trace.Retries, c.sent)
			}
			f, _ := coworker.AsFault(err)
			switch {
			case c.code == "" && err != nil, c.code == "" && a.Retries != c.sent-1:
				t.Errorf("%v %+v", err, a)
			case c.code != "" && (f == nil || f.Code != c.code || f.Contract().Retryable != c.retry):
				t.Errorf("%v %+v", err, f)
			}
		})
	}
}

func TestAFailureInAGoodAnswerIsAFailure(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{"error":"ACCESS_DENIED","error_description":"no rights"}`))
	f := b.refused(connect.Call{Service: "bitrix24", Method: "crm.deal.list"}, coworker.UpstreamError)
	d := f.Details.(connect.UpstreamDetails)
	if d.Status != 200 || d.Code != "ACCESS_DENIED" || d.Message != "no rights" {
		t.Errorf("%+v", d)
	}
	b = open(t, say(200, `{"Success":true,"ErrorCode":"0","Status":"CONFIRMED"}`))
	if a := b.do(connect.Call{Service: "tbank_acquiring", Method: "GetState", Body: map[string]any{"PaymentId": "1"}}); a.Status != 200 {
		t.Errorf("%+v", a)
	}
}

func TestACredentialThatIsRefusedIsRemembered(t *testing.T) {
	t.Parallel()
	b := open(t, say(401, `{"title":"unauthorized"}`))
	b.refused(connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}, coworker.NotConnected)
	if d := cmp.Diff([]string{"connection_wildberries"}, b.broken); d != "" {
		t.Error(d)
	}
}

// TestTokensAreExchangedOnceAndAgain: one exchange serves many calls, a refused
// token is exchanged once more, and a refused exchange ends the connection.
func TestTokensAreExchangedOnceAndAgain(t *testing.T) {
	t.Parallel()
	n, good := 0, "token-1-abcdef"
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/oauth/token" {
			n++
			body, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(body), "grant_type=client_credentials") {
				t.Errorf("exchanged with %s", body)
			}
			say(200, fmt.Sprintf(`{"access_token":"token-%d-abcdef","expires_in":3600}`, n))(w, r)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+good {
			say(401, `{}`)(w, r)
			return
		}
		say(200, `[{"region":"`+good+`"}]`)(w, r)
	})
	call := connect.Call{Service: "cdek", Method: "GET", Path: "/location/regions"}
	b.do(call)
	if a := b.do(call); n != 1 || strings.Contains(asJSON(t, a.Data), good) {
		t.Errorf("%d exchanges, %s", n, asJSON(t, a.Data))
	}
	good = "token-2-abcdef"
	if b.do(call); n != 2 || len(b.broken) != 0 {
		t.Errorf("%d exchanges, broken %v", n, b.broken)
	}
	good = "none"
	b.refused(call, coworker.NotConnected)
	b = open(t, say(400, `{"error":"invalid_client","error_description":"no `+secret+`"}`))
	if f := b.refused(call, coworker.NotConnected); len(b.broken) != 1 || strings.Contains(fmt.Sprintf("%+v", f), secret) {
		t.Errorf("%+v broken %v", f, b.broken)
	}
}

// TestASecretComesBackNowhere: a service that repeats what it was sent, in
// whatever spelling, and a dry run.
func TestASecretComesBackNowhere(t *testing.T) {
	t.Parallel()
	echo := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Request-Id", r.Header.Get("Api-Key"))
			w.Header().Set("X-Ratelimit-Note", r.URL.String())
			raw, _ := json.Marshal(map[string]any{
				"url": r.URL.String(), "headers": r.Header, "body": string(body), r.Header.Get("Authorization"): 1,
				"message": r.URL.String() + r.Header.Get("Authorization"),
			})
			say(status, string(raw))(w, r)
		}
	}
	for _, call := range []connect.Call{
		{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"},
		{Service: "ozon", Method: "POST", Path: "/v3/product/list", Body: map[string]any{}},
		{Service: "bitrix24", Method: "crm.deal.list"},
		{Service: "telegram_bot", Method: "getMe"},
		{Service: "onec", Method: "Catalog_X"},
		{Service: "s3", Method: "GET", Path: "/bucket/key"},
		{Service: "tbank_acquiring", Method: "GetState", Body: map[string]any{"PaymentId": "1"}},
	} {
		for _, status := range []int{200, 400, 500} {
			b := open(t, echo(status))
			for _, dry := range []bool{false, true} {
				call.DryRun = dry
				a, trace, err := b.Execute(t.Context(), everything, call)
				seen := asJSON(t, a) + asJSON(t, trace) + asJSON(t, details(err)) + fmt.Sprint(err)
				if f, ok := coworker.AsFault(err); ok {
					seen += asJSON(t, f.Contract())
				}
				for field, value := range b.books[call.Service].Fields {
					for _, part := range []string{value, strings.TrimSuffix(strings.TrimPrefix(value, "https://acme.bitrix24.ru/rest/1/"), "/")} {
						if field != "client_id" && field != "user" && field != "terminal_key" && strings.Contains(seen, part) {
							t.Errorf("%s %d dry %v: %s", call.Service, status, dry, seen)
						}
					}
				}
				if strings.Contains(seen, "cm9ib3Q6UzNjcjN0") {
					t.Errorf("%s: basic credential comes back", call.Service)
				}
			}
		}
	}
}
