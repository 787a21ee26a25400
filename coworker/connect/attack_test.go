package connect_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// TestACursorHidesTheAddressThatItHolds: a service that puts the credential it
// was sent into the address of its next page tells it to nobody.
func TestACursorHidesTheAddressThatItHolds(t *testing.T) {
	t.Parallel()
	n := 0
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.Header().Set("Link", "<https://api.github.com/user/repos?page=2&token="+secret+`>; rel="next"`)
		}
		say(200, `[{"id":1}]`)(w, r)
	})
	call := connect.Call{Service: "github", Method: "GET", Path: "/user/repos"}
	a := b.do(call)
	if a.Page == nil || a.Page.Next == "" {
		t.Fatalf("no next page: %+v", a.Page)
	}
	for part := range strings.SplitSeq(a.Page.Next, ".") {
		if raw, err := base64.RawURLEncoding.DecodeString(part); err == nil && strings.Contains(string(raw), secret) {
			t.Error("the cursor holds the credential in the open")
		}
	}
	call.Page = a.Page.Next
	b.do(call)
	if asked, _ := b.requests(); asked[1].URL.Query().Get("page") != "2" {
		t.Errorf("then asked %s", asked[1].URL)
	}
}

// TestASecretIsMaskedInEverySpelling that a service may give it.
func TestASecretIsMaskedInEverySpelling(t *testing.T) {
	t.Parallel()
	const odd = `Пароль"<&>/98765432+x`
	inJSON, _ := json.Marshal(odd)
	for name, body := range map[string]string{
		"as it is":                 asJSON(t, map[string]string{"x": odd}),
		"as JSON in a text":        asJSON(t, map[string]string{"x": string(inJSON)}),
		"the whole header":         asJSON(t, map[string]string{"x": base64.StdEncoding.EncodeToString([]byte("robot:" + odd))}),
		"within other base64":      asJSON(t, map[string]string{"x": base64.URLEncoding.EncodeToString([]byte("12" + odd + "345"))}),
		"escaped, lower-case":      `{"x":"%d0%9f%d0%b0%d1%80%d0%be%d0%bb%d1%8c%22%3c%26%3e%2f98765432%2bx"}`,
		"hex, upper-case":          fmt.Sprintf(`{"x":"%X"}`, odd),
		"JSON of another language": `{"x":"\\u041f\\u0430\\u0440\\u043e\\u043b\\u044c\\\"<&>\\/98765432+x"}`,
	} {
		for _, status := range []int{200, 400} {
			b := open(t, say(status, body))
			b.books["onec"] = connect.Connection{ID: "c", Service: "onec", Version: 1, Fields: map[string]string{"user": "robot", "password": odd}, Params: map[string]string{"base_url": "https://one.acme.example"}}
			a, _, err := b.Execute(t.Context(), everything, connect.Call{Service: "onec", Method: "Catalog_X"})
			seen := ""
			if f, ok := coworker.AsFault(err); ok {
				seen = f.Details.(connect.UpstreamDetails).Body
			} else {
				seen = asJSON(t, a.Data)
			}
			if !strings.Contains(seen, connect.Masked) {
				t.Errorf("%s, %d: %s", name, status, seen)
			}
		}
	}
	b := open(t, say(200, `{"pin":31415926}`))
	b.books["github"] = connect.Connection{ID: "c", Service: "github", Version: 1, Fields: map[string]string{"token": "31415926"}}
	if got := asJSON(t, b.do(connect.Call{Service: "github", Method: "GET", Path: "/user"}).Data); got != `{"pin":"[secret]"}` {
		t.Errorf("a number: %s", got)
	}
}

// TestARefusalDoesNotQuoteTheAccessToken: it is made by the service and is in
// no field of the connection.
func TestARefusalDoesNotQuoteTheAccessToken(t *testing.T) {
	t.Parallel()
	const token = "access-token-of-the-service"
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/oauth/token" {
			say(200, `{"access_token":"`+token+`","expires_in":3600}`)(w, r)
			return
		}
		say(422, `{"error":"not with `+r.Header.Get("Authorization")+`"}`)(w, r)
	})
	f := b.refused(connect.Call{Service: "cdek", Method: "GET", Path: "/location/regions"}, coworker.UpstreamError)
	if seen := asJSON(t, f.Details); strings.Contains(seen, token) {
		t.Error(seen)
	}
}

// TestAChangeBetweenTriesChangesTheWholeRequest: a credential in the path and
// the address that it goes to are those of now.
func TestAChangeBetweenTriesChangesTheWholeRequest(t *testing.T) {
	t.Parallel()
	var b *bench
	b = open(t, turns(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		c := b.books["bitrix24"]
		c.Version, c.Fields = 2, map[string]string{"webhook_url": "https://acme.bitrix24.ru/rest/1/n3wc0de987654321/"}
		b.books["bitrix24"] = c
		b.mu.Unlock()
		say(502, `{}`)(w, r)
	}, say(200, `{"result":[]}`)))
	b.do(connect.Call{Service: "bitrix24", Method: "crm.deal.list"})
	asked, _ := b.requests()
	if len(asked) != 2 || !strings.Contains(asked[1].URL.Path, "n3wc0de987654321") {
		t.Errorf("then asked %s", asked[len(asked)-1].URL)
	}

	b = open(t, turns(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		c := b.books["github"]
		c.ID, c.Version = "connection_another", 1
		b.books["github"] = c
		b.mu.Unlock()
		say(502, `{}`)(w, r)
	}, say(200, `[]`)))
	b.refused(connect.Call{Service: "github", Method: "GET", Path: "/user"}, coworker.UpstreamError)
	if asked, _ := b.requests(); len(asked) != 1 {
		t.Error("a removed connection was used again")
	}
}

// TestARotatingCredentialIsExchangedOnce although many calls want it at the
// same time, and although the one that does leaves.
func TestARotatingCredentialIsExchangedOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	valid, exchanges := "rt-0-abcdefgh", 0
	leave := func() {}
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			say(200, `{"id":1}`)(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "refresh_token="+valid) {
			say(400, `{"error":"invalid_grant"}`)(w, r)
			return
		}
		exchanges++
		valid = fmt.Sprintf("rt-%d-abcdefgh", exchanges)
		leave()
		say(200, `{"access_token":"at-`+valid+`","refresh_token":"`+valid+`","expires_in":3600}`)(w, r)
	})
	b.books["avito"] = connect.Connection{ID: "connection_avito", Service: "avito", Auth: refreshKind(t, "avito"), Version: 1, Fields: map[string]string{"client_id": "c", "client_secret": secret, "refresh_token": valid}}
	call := connect.Call{Service: "avito", Module: "core", Method: "GET", Path: "/core/v1/accounts/self"}

	ctx, cancel := context.WithCancel(t.Context())
	leave = cancel
	if _, _, err := b.Execute(ctx, everything, call); err == nil {
		t.Error("a call whose caller left went on")
	}
	if b.renewed["refresh_token"] != valid {
		t.Errorf("kept %q of %q: the connection is lost", b.renewed["refresh_token"], valid)
	}
	leave = func() {}
	b.mu.Lock()
	b.now = b.now.Add(3 * 3600e9)
	b.mu.Unlock()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, _, err := b.Execute(t.Context(), everything, call); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if exchanges != 2 || len(b.broken) > 0 {
		t.Errorf("%d exchanges, broken %v", exchanges, b.broken)
	}
}

func refreshKind(t *testing.T, service string) string {
	t.Helper()
	all, err := services()
	if err != nil {
		t.Fatal(err)
	}
	s, _ := all.Service(service)
	for _, a := range s.Auth {
		if a.Token != nil && a.Token.Rotates {
			return a.ID
		}
	}
	t.Fatal("no kind that rotates")
	return ""
}

// TestASuccessTakesDoubtBack: what one call was refused for need not hold for
// the next.
func TestASuccessTakesDoubtBack(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{}`))
	c := b.books["wildberries"]
	c.Doubted = true
	b.books["wildberries"] = c
	b.do(connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"})
	if len(b.works) != 1 {
		t.Errorf("taken back %v", b.works)
	}
}
