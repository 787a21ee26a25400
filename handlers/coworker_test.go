package handlers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/coworkertest"
	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/internal/limit"
	"innerloop/journal/journaltest"
	"innerloop/mcp"
)

// An office is a door with both halves and an organisation.
type office struct {
	*door
	*coworkertest.C
	org    coworker.Founding
	keeper *connect.Keeper
	engine *connect.Engine
}

func openOffice(t *testing.T, change ...func(*handlers.Options)) *office {
	t.Helper()
	j := journaltest.Open(t)
	o := &office{C: coworkertest.On(t, j)}
	services, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	origins := discovery.Origins{Web: origin, API: origin, Gateway: origin}
	o.keeper, o.engine = connections(t, o.C, services)
	files := o.Memory()
	tools, err := mcp.New(mcp.Options{Journal: j.Journal, Coworker: o.C.Coworker, Catalog: services, Memory: files, Origins: origins, ServerName: "innerloop", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	o.door = openOn(t, j, append([]func(*handlers.Options){func(options *handlers.Options) {
		options.Memory = files
		options.Keeper, options.Engine = o.keeper, o.engine
		options.Tools, options.Coworker, options.ServerName, options.Limits = tools, o.C.Coworker, "innerloop", limit.Defaults()
	}}, change...)...)
	o.org = o.Found("Acme")
	return o
}

func (o *office) scoped(words ...string) (coworker.Key, string) {
	o.t.Helper()
	scopes, ok := coworker.ParseScopes(words)
	if !ok {
		o.t.Fatal(words)
	}
	o.Clock.Advance(time.Millisecond)
	k, secret := o.Key(o.org, coworker.NewKey{Scopes: scopes})
	return k, secret.Reveal()
}

// rpc calls the tool door; a key may be empty.
func (o *office) rpc(key, method, params string) reply {
	o.t.Helper()
	headers := []string{"Accept", "application/json, text/event-stream"}
	if key != "" {
		headers = append(headers, "Authorization", "Bearer "+key)
	}
	return o.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, headers...)
}

func (o *office) call(key, tool, arguments string) reply {
	o.t.Helper()
	return o.rpc(key, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

type contract struct {
	Code, Message, Hint string
	Retryable           *bool
	Details             json.RawMessage
}

// toolFault reads a tool error of the contract.
func toolFault(t *testing.T, r reply) contract {
	t.Helper()
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Type, Text string }
			Twin    any `json:"structuredContent"`
		}
	}
	if err := json.Unmarshal([]byte(r.Body), &answer); err != nil || r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	a := answer.Result
	if !a.IsError || len(a.Content) != 1 || a.Content[0].Type != "text" || a.Twin != nil {
		t.Fatalf("%s", r.Body)
	}
	return readContract(t, a.Content[0].Text)
}

func readContract(t *testing.T, text string) contract {
	t.Helper()
	var c contract
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.Code == "" || c.Message == "" || c.Retryable == nil {
		t.Fatalf("not the contract: %s", text)
	}
	return c
}

func (o *office) toolNames(key string) []string {
	o.t.Helper()
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	r := o.rpc(key, "tools/list", "{}")
	if err := json.Unmarshal([]byte(r.Body), &answer); err != nil || r.Status != http.StatusOK {
		o.t.Fatalf("%d %s", r.Status, r.Body)
	}
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

const initialize = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`

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

func unknownKey(t *testing.T) string {
	t.Helper()
	s, err := coworker.NewSecret(rand.NewChaCha8([32]byte{9}))
	if err != nil {
		t.Fatal(err)
	}
	return s.Reveal()
}

// wantRefused fails unless the whole request was refused for a reason.
func wantRefused(t *testing.T, r reply, reason string) {
	t.Helper()
	var details struct{ Reason string }
	f := readContract(t, r.Body)
	if err := json.Unmarshal(f.Details, &details); err != nil {
		t.Fatal(err)
	}
	if r.Status != http.StatusUnauthorized || f.Code != "UNAUTHENTICATED" || details.Reason != reason || *f.Retryable ||
		r.Header.Get("Www-Authenticate") != `Bearer realm="innerloop", error="invalid_token"` || r.Header.Get("Cache-Control") != "no-store" ||
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%d %s %v", r.Status, r.Body, r.Header)
	}
}

// The table «scope per tool», over the wire.
func TestScopePerToolOverTheWire(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	arguments := map[string]string{"describe_service": `{"service":"github"}`, "connector_execute": `{"service":"github","method":"GET","path":"/"}`, "read_memory": `{"mode":"list"}`}
	there := map[string]bool{"list_services": true, "describe_service": true, "read_memory": true}
	for _, scope := range coworker.AllScopes() {
		_, key := o.scoped(scope)
		words, _ := coworker.ParseScopes([]string{scope})
		who := coworker.Caller{Scopes: words}
		listed := o.toolNames(key)[5:]
		for i, tool := range coworker.Tools() {
			given := arguments[tool]
			if given == "" {
				given = "{}"
			}
			r := o.call(key, tool, given)
			may := who.MayCall(tool) == nil
			switch {
			case !may:
				if f := toolFault(t, r); f.Code != "PERMISSION_DENIED" {
					t.Errorf("%s, %s: %+v", scope, tool, f)
				}
			case there[tool]:
				if strings.Contains(r.Body, `"isError":true`) {
					t.Errorf("%s, %s: %s", scope, tool, r.Body)
				}
			default: // known, allowed, and honest about not being there
				if f := toolFault(t, r); f.Code != []string{"NOT_CONNECTED", "SANDBOX_UNAVAILABLE"}[i-2] || *f.Retryable {
					t.Errorf("%s, %s: %+v", scope, tool, f)
				}
			}
			if want := may && there[tool]; slices.Contains(listed, tool) != want {
				t.Errorf("%s lists %q", scope, listed)
			}
		}
	}
}

func TestToolsRefuseInTheContract(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, key := o.scoped("write:tools")
	for _, row := range []struct{ tool, arguments, code, hint, details string }{
		{"describe_service", `{"service":"wildbery"}`, "UNKNOWN_SERVICE", "nearest: wildberries", ""},
		{"describe_service", `{"service":"wildbery"}`, "UNKNOWN_SERVICE", "github, gitlab", ""},
		{"describe_service", `{}`, "INVALID_ARG", "", `[{"field":"service","problem":"is required"}]`},
		{"describe_service", `{"service":5,"x":1}`, "INVALID_ARG", "", `"field":"arguments"`},
		{"list_services", `{"category":"nonsense"}`, "INVALID_ARG", "", `"allowed":[`},
		{"list_services", `{"connected":"yes"}`, "INVALID_ARG", "", `"field":"connected"`},
		{"list_services", `{"query":""}`, "INVALID_ARG", "", `"field":"query"`},
		{"connector_execute", `{"service":"nobody"}`, "UNKNOWN_SERVICE", "registered: ", ""},
		{"connector_execute", `{}`, "INVALID_ARG", "", `"field":"service"`},
	} {
		f := toolFault(t, o.call(key, row.tool, row.arguments))
		if f.Code != row.code || !strings.Contains(f.Hint, row.hint) || !strings.Contains(string(f.Details), row.details) {
			t.Errorf("%s %s: %+v %s", row.tool, row.arguments, f, f.Details)
		}
	}
	if r := o.call(key, "list_services", `{"query":"github","connected":false}`); !strings.Contains(r.Body, "github") || strings.Contains(r.Body, "wildberries") {
		t.Errorf("%s", r.Body)
	}
	narrow, secret := o.Key(o.org, coworker.NewKey{Connectors: []string{"ozon"}, Rate: 2})
	if r := o.call(secret.Reveal(), "list_services", `{}`); !strings.Contains(r.Body, "ozon") || strings.Contains(r.Body, "wildberries") {
		t.Errorf("a key with a list: %s", r.Body)
	}
	o.call(secret.Reveal(), "list_services", `{}`)
	if f := toolFault(t, o.call(secret.Reveal(), "list_services", `{}`)); f.Code != "RATE_LIMITED" || !*f.Retryable || !strings.Contains(string(f.Details), `"retry_after_ms":`) {
		t.Errorf("%s: %+v", narrow.ID, f)
	}
}

// What a keyed caller is told may be kept by that caller alone, and the public
// documents are there as for everybody.
func TestResourcesOfACallerWithAKey(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, key := o.scoped("read:tools")
	result := func(r reply) string {
		var answer struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(r.Body), &answer); err != nil || r.Status != 200 || len(answer.Result) == 0 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		return string(answer.Result)
	}
	for _, row := range [][2]string{
		{"resources/list", "{}"},
		{"resources/read", `{"uri":"` + origin + `/skill.md"}`},
		{"skills/list", "{}"},
		{"resources/templates/list", "{}"},
		{"prompts/list", "{}"},
	} {
		var public, keyed any
		if err := json.Unmarshal([]byte(result(o.rpc("", row[0], row[1]))), &public); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(result(o.rpc(key, row[0], row[1]))), &keyed); err != nil {
			t.Fatal(err)
		}
		if encode(t, public) != encode(t, keyed) {
			t.Errorf("%s: %s, with a key %s", row[0], encode(t, public), encode(t, keyed))
		}
	}
	modern := func(key, method string) string {
		headers := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
		if key != "" {
			headers = append(headers, "Authorization", "Bearer "+key)
		}
		return result(o.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, headers...))
	}
	for _, method := range []string{"tools/list", "resources/list", "skills/list", "prompts/list"} {
		if got := modern(key, method); !strings.Contains(got, `"cacheScope":"private"`) {
			t.Errorf("%s with a key: %s", method, got)
		}
		if got := modern("", method); !strings.Contains(got, `"cacheScope":"public"`) {
			t.Errorf("%s: %s", method, got)
		}
	}
	r := o.rpc(key, "resources/read", `{"uri":"skill://nobody/SKILL.md"}`)
	if !strings.Contains(r.Body, `"code":-32002`) {
		t.Errorf("%s", r.Body)
	}
}

// One row a call, with what is promised and no argument.
func TestEveryCallIsAudited(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	k, key := o.scoped("read:data")
	_, other := o.scoped("chat")
	o.call(key, "list_services", `{"query":"very private words"}`)
	o.Clock.Advance(time.Millisecond)
	o.call(key, "describe_service", `{"service":"github"}`)
	o.Clock.Advance(time.Millisecond)
	o.call(key, "describe_service", `{"service":"private-words"}`)
	o.Clock.Advance(time.Millisecond)
	o.call(other, "read_memory", `{"path":"private words"}`)
	o.call("", "list_services", `{}`)
	r := o.get("/api/v1/audit?action=tool.call", "Authorization", "Bearer "+key)
	var page struct {
		Items []coworker.AuditRecord
		Next  *string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(r.Body), &page); err != nil || r.Status != 200 || !strings.HasSuffix(r.Body, `"next_cursor":null}`) || r.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var rows []string
	for _, a := range page.Items {
		rows = append(rows, fmt.Sprintf("%s %s %s %t", a.Tool, a.Service, a.Error, a.BytesOut > 0 && a.BytesIn > 0 && a.User == o.org.User.ID))
	}
	want := []string{"read_memory  PERMISSION_DENIED false", "describe_service  UNKNOWN_SERVICE false", "describe_service github  true", "list_services   true"}
	if !slices.Equal(rows, want) || page.Items[1].Key != k.ID {
		t.Errorf("%q", rows)
	}
	if strings.Contains(r.Body, "private") {
		t.Error("an argument is in the audit")
	}
}

// A key stands in the answer that makes it and nowhere else: not in a later
// answer, not in a log.
func TestAKeyIsToldOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	admin := o.org.Secret.Reveal()
	as := []string{"Authorization", "Bearer " + admin}
	base := "/api/v1/organizations/" + string(o.org.Organization.ID)
	r := o.post(base+"/api-keys", `{"name":"new","scopes":["read:tools"]}`, as...)
	var made struct{ Key, KeyID string }
	if err := json.Unmarshal([]byte(strings.ReplaceAll(r.Body, "key_id", "KeyID")), &made); err != nil || r.Status != 201 || len(made.Key) != 65 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var said strings.Builder
	for _, path := range []string{"/api-keys", "/api-keys/" + made.KeyID, "", "/users", "/export"} {
		said.WriteString(o.get(base+path, as...).Body)
	}
	said.WriteString(o.do("PATCH", base+"/api-keys/"+made.KeyID, `{"name":"renamed"}`, append(as, "Content-Type", "application/json")...).Body)
	said.WriteString(o.call(made.Key, "list_services", "{}").Body)
	said.WriteString(o.call(made.Key, "describe_service", `{"service":"`+made.Key[:60]+`"}`).Body)
	said.WriteString(o.rpc(made.Key+"x", "tools/list", "{}").Body)
	said.WriteString(o.get("/api/v1/audit", as...).Body)
	said.WriteString(o.do("DELETE", base+"/api-keys/"+made.KeyID, "", as...).Body)
	said.WriteString(o.rpc(made.Key, "tools/list", "{}").Body)
	said.WriteString(o.Log.String())
	if !strings.Contains(said.String(), made.Key[:15]) || !strings.Contains(said.String(), "renamed") {
		t.Error("nothing was said of the key")
	}
	for _, key := range []string{made.Key, admin} {
		if strings.Contains(said.String(), key[16:30]) {
			t.Error("a key was told a second time")
		}
	}
}

// Both spellings of each code: a tool error of the door of tools, and a status
// with a body of REST.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	for _, code := range coworker.Codes() {
		status, body := handlers.ContractAnswer(&coworker.Fault{Code: code})
		c := readContract(t, body)
		want := string(code)
		if code == coworker.PermissionDenied {
			want = "AUTH_PERMISSION_DENIED"
		}
		if c.Code != want || status < 400 || status > 599 || (status == 401) != (code == coworker.Unauthenticated) {
			t.Errorf("%s: %d %s", code, status, body)
		}
	}
}
