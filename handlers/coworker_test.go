package handlers_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/coworkertest"
	"innerloop/internal/discovery"
)

// The table «one URL for the public and the keyed half», row by row.
func TestOneAddressServesBothHalves(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	five := discovery.PublicTools()
	_, good := o.scoped("read:tools")
	_, chat := o.scoped("chat")
	revoked, revokedKey := o.scoped("read:tools")
	if _, err := o.RevokeKey(t.Context(), coworker.Operator(), o.org.Organization.ID, revoked.ID); err != nil {
		t.Fatal(err)
	}
	short, shortSecret := o.Key(o.org, coworker.NewKey{Days: 1})
	_, long := o.Key(o.org, coworker.NewKey{Scopes: coworker.ReadTools})

	t.Run("anonymous", func(t *testing.T) {
		if got := o.toolNames(""); !slices.Equal(got, five) {
			t.Errorf("listed: %q", got)
		}
		r := o.rpc("", "initialize", initialize)
		if r.Status != 200 || !strings.Contains(r.Body, origin+"/api/v1/mcp/info") || !strings.Contains(r.Body, "With a key") {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		for _, tool := range coworker.Tools() {
			f := toolFault(t, o.call("", tool, "{}"))
			if f.Code != "UNAUTHENTICATED" || *f.Retryable || string(f.Details) != `{"reason":"missing"}` || !strings.Contains(f.Hint, coworkertest.InfoURL) {
				t.Errorf("%s: %+v", tool, f)
			}
		}
		if r := o.call("", "list_everything", "{}"); !strings.Contains(r.Body, `"error":{"code":-32602`) {
			t.Errorf("an unknown tool: %s", r.Body)
		}
	})
	t.Run("a good key", func(t *testing.T) {
		if got, want := o.toolNames(good), append(slices.Clone(five), "list_services", "describe_service"); !slices.Equal(got, want) {
			t.Errorf("listed: %q", got)
		}
		if got := o.toolNames(chat); !slices.Equal(got, five) {
			t.Errorf("listed for chat: %q", got)
		}
		r := o.rpc(good, "initialize", initialize)
		if r.Status != 200 || !strings.Contains(r.Body, "list_services") || strings.Contains(r.Body, "With a key") {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		if r := o.call(good, "innerloop_read_public_feed", "{}"); r.Status != 200 || !strings.Contains(r.Body, "untrusted_public_content") {
			t.Errorf("a public tool with a key: %s", r.Body)
		}
		r = o.call(good, "list_services", "{}")
		if r.Status != 200 || !strings.Contains(r.Body, "wildberries") || strings.Contains(r.Body, "structuredContent") || strings.Contains(r.Body, `"isError":true`) {
			t.Errorf("%s", r.Body)
		}
		if r := o.call(good, "describe_service", `{"service":"wildberries"}`); r.Status != 200 || !strings.Contains(r.Body, "api_key") {
			t.Errorf("%s", r.Body)
		}
	})
	t.Run("a missing scope", func(t *testing.T) {
		f := toolFault(t, o.call(chat, "list_services", "{}"))
		if f.Code != "PERMISSION_DENIED" || string(f.Details) != `{"required":["read:tools"],"have":["chat"]}` {
			t.Errorf("%+v", f)
		}
		f = toolFault(t, o.call(good, "connector_execute", `{"service":"github"}`))
		if f.Code != "PERMISSION_DENIED" || string(f.Details) != `{"required":["write:tools","read:data"],"have":["read:tools"]}` {
			t.Errorf("%+v", f)
		}
	})
	o.Clock.Advance(24 * time.Hour) // the short one has expired
	rows := []struct{ name, key, reason string }{
		{"a malformed key", good[:40], "malformed"},
		{"a typo", good[:30] + "x" + good[31:], "malformed"},
		{"an unknown key", unknownKey(t), "unknown"},
		{"a revoked key", revokedKey, "revoked"},
		{"an expired key", shortSecret.Reveal(), "expired"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, method := range []string{"initialize", "tools/list", "ping", "nonsense"} {
				o.Clock.Advance(time.Minute)
				r := o.rpc(row.key, method, initialize)
				wantRefused(t, r, row.reason)
				if row.reason == "expired" && !strings.Contains(r.Body, `"expired_at":"`+coworker.FormatTime(short.ExpiresAt)+`"`) {
					t.Errorf("%s", r.Body)
				}
			}
			o.Clock.Advance(time.Minute)
			wantRefused(t, o.get("/mcp", "Authorization", "Bearer "+row.key), row.reason)
			wantRefused(t, o.post("/mcp/", "not JSON", "Authorization", "Bearer "+row.key), row.reason)
			wantRefused(t, o.post("/mcp", "{}", "Authorization", "Bearer "+row.key, "Content-Encoding", "gzip"), row.reason)
			wantRefused(t, o.get("/api/v1/audit", "Authorization", "Bearer "+row.key), row.reason)
		})
	}
	t.Run("a key in the address", func(t *testing.T) {
		o.Clock.Advance(time.Minute)
		for _, query := range []string{
			"key=" + long.Reveal(), "api_key=x", "Access_Token=x", "x=%73k-org-12345678", long.Reveal(), "apikey",
			// Spellings that a log on the way shows all the same.
			"x=%zz&y=sk%2Dorg%2D12345678", "x=%2573k-org-12345678", "x=SK-ORG-12345678", "a;access_token=x", "a?token=x", "bearer=x", "X-API-Key=x", "%6bey=x",
		} {
			for _, path := range []string{"/mcp", "/mcp/", "/api/v1/audit", "/api/v1/mcp/info"} {
				o.Clock.Advance(10 * time.Second)
				r := o.get(path+"?"+query, "Authorization", "Bearer "+long.Reveal())
				wantRefused(t, r, "malformed")
				if !strings.Contains(r.Body, "use the header") {
					t.Errorf("%s", r.Body)
				}
			}
		}
		if log := o.Log.String(); strings.Contains(log, "sk-org") || strings.Contains(log, "api_key") {
			t.Errorf("such an address was logged: %s", log)
		}
	})
	t.Run("two headers", func(t *testing.T) {
		r := o.raw("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nAuthorization: Bearer " + long.Reveal() +
			"\r\nAuthorization: Bearer " + long.Reveal() + "\r\nContent-Length: 2\r\n\r\n{}")
		wantRefused(t, r, "malformed")
	})
	t.Run("a flood of bad keys", func(t *testing.T) {
		o.Clock.Advance(time.Hour)
		var last reply
		for i := range 30 {
			last = o.rpc("nonsense", "tools/list", "{}")
			if want := map[bool]int{true: 401, false: 429}[i < 20]; last.Status != want {
				t.Fatalf("bad key %d: %d", i+1, last.Status)
			}
		}
		if f := readContract(t, last.Body); f.Code != "RATE_LIMITED" || !*f.Retryable || last.Header.Get("Retry-After") == "" || last.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s %v", last.Body, last.Header)
		}
		if got := o.toolNames(long.Reveal()); len(got) != 7 {
			t.Errorf("a good key in a flood: %q", got)
		}
		if got := o.toolNames(""); len(got) != 5 {
			t.Errorf("no key in a flood: %q", got)
		}
	})
	for path, want := range map[string]int{"/.well-known/oauth-protected-resource": 404, "/.well-known/oauth-authorization-server": 404, "/.well-known/oauth-protected-resource/mcp": 404} {
		if r := o.get(path); r.Status != want {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
}
