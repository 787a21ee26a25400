package e2e

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/e2e/program"
)

// refusalOf calls a tool that must refuse, and reads the contract.
func refusalOf(t *testing.T, server *program.Server, key, tool, arguments string) (code string, retryable bool, details string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var whole struct {
		Result struct {
			IsError bool
			Content []struct{ Type, Text string }
			Twin    json.RawMessage `json:"structuredContent"`
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&whole); err != nil {
		t.Fatal(err)
	}
	var c struct {
		Code, Message string
		Retryable     *bool
		Details       json.RawMessage
	}
	if len(whole.Result.Content) != 1 || json.Unmarshal([]byte(whole.Result.Content[0].Text), &c) != nil {
		t.Fatalf("%s %s: %+v", tool, arguments, whole)
	}
	if !whole.Result.IsError || whole.Result.Twin != nil || c.Message == "" || c.Retryable == nil {
		t.Fatalf("%s %s: not the contract: %+v", tool, arguments, whole)
	}
	return c.Code, *c.Retryable, string(c.Details)
}

// Every code of the contract, each by a call that really ends in it, with the
// members of details that the documentation promises. A new code has to come
// here, and into the documentation.
func TestEveryCodeIsReachedByACall(t *testing.T) {
	t.Parallel()
	b := besiege(t)
	_, reader := b.key(t, b.options, "read:data")
	bare := embedded(t)
	bare.Env = []string{"INNERLOOP_SANDBOX=off"}
	codeless := serve(t, bare)
	stranger := found(t, bare)
	connected(t, b.Server, b.organization, map[string]any{"service": "wildberries", "base_url": b.rogue.URL, "fields": map[string]string{"api_key": "an-api-key-0123"}})
	if status, body := asked(t, http.MethodPatch, b.Server.URL+"/api/v1/organizations/"+b.ID+"/settings", b.Key, `{"must_confirm":true}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	paced := `{"service":"wildberries","module":"statistics","method":"GET","path":"/api/v1/supplier/orders","query":{"dateFrom":"2026-11-01"}}`
	if s := says(t, b.Server, b.Key, map[string]any{"service": "wildberries", "module": "statistics", "method": "GET", "path": "/api/v1/supplier/orders", "query": map[string]any{"dateFrom": "2026-11-01"}}); s.Refusal.Code == "RATE_LIMITED" {
		t.Fatal("the first call is paced already")
	}
	const connector = "connector_execute"
	rows := []struct {
		code, name, key, tool, arguments string
		retryable                        bool
		details                          []string
	}{
		{"UNAUTHENTICATED", "no key", "", "list_services", `{}`, false, []string{`"reason":"missing"`}},
		{"UNKNOWN_SERVICE", "a service that is none", b.Key, connector, `{"service":"nobody","method":"GET"}`, false, nil},
		{"INVALID_ARG", "a path off the list", b.Key, connector, `{"service":"github","method":"GET","path":"/none"}`, false, []string{`"field":"path"`, `"problem"`}},
		{"INVALID_ARG", "no argument at all", b.Key, connector, `{}`, false, []string{`"field":"service"`, `"field":"method"`}},
		{"NOT_FOUND", "a file", b.Key, "read_memory", `{"mode":"read","path":"none.md"}`, false, []string{`"path":"none.md"`, `"nearest"`}},
		{"NOT_FOUND", "a connection", b.Key, connector, `{"service":"github","method":"GET","path":"/user","connection":"second"}`, false, nil},
		{"UPSTREAM_ERROR", "a refusal", b.Key, connector, `{"service":"github","method":"GET","path":"/user/none"}`, false, []string{`"status":404`}},
		{"PERMISSION_DENIED", "a scope", reader, "repl_execute", `{"code":"1"}`, false, []string{`"required":["write:tools"]`, `"have":["read:data"]`}},
		{"PERMISSION_DENIED", "a class", reader, connector, `{"service":"github","method":"POST","path":"/user/repos","body":{}}`, false, []string{`"required"`, `"have"`}},
		{"NOT_CONNECTED", "no credential", b.Key, connector, `{"service":"gitlab","method":"GET","path":"/user"}`, false, []string{`"reason":"none"`, `"fields"`}},
		{"CONFIRMATION_REQUIRED", "nobody agreed", b.Key, connector, `{"service":"github","method":"DELETE","path":"/repos/a/b"}`, false, []string{`"service":"github"`, `"method":"DELETE"`, `"path":"/repos/a/b"`}},
		{"RATE_LIMITED", "the service's pace", b.Key, connector, paced, true, []string{`"retry_after_ms"`, `"limit":1`, `"scope":"connection"`}},
		{"RESPONSE_TOO_LARGE", "fifty megabytes", b.Key, connector, `{"service":"github","method":"GET","path":"/user/fifty-megabytes"}`, false, []string{`"original_bytes"`, `"limit"`}},
		{"SANDBOX_TIMEOUT", "a loop", b.Key, "repl_execute", `{"code":"print(1)\nwhile True: pass","timeout_seconds":1}`, false, []string{`"driver"`, `"limit"`, `"allowed"`, `"stdout":"1`}},
		{"SANDBOX_LIMIT", "output", b.Key, "repl_execute", `{"code":"while True: print('x' * 100000)","timeout_seconds":20}`, false, []string{`"driver"`, `"limit"`, `"stdout"`}},
	}
	seen := map[string]bool{}
	for _, row := range rows {
		seen[row.code] = true
		code, retryable, details := refusalOf(t, b.Server, row.key, row.tool, row.arguments)
		if code != row.code || retryable != row.retryable {
			t.Errorf("%s, %s: %s, retryable %v, %.300s", row.code, row.name, code, retryable, details)
		}
		for _, want := range row.details {
			if !strings.Contains(details, want) {
				t.Errorf("%s, %s: details lack %s: %.300s", row.code, row.name, want, details)
			}
		}
	}
	code, retryable, details := refusalOf(t, codeless, stranger.Key, "repl_execute", `{"code":"1"}`)
	if seen[code] = true; code != "SANDBOX_UNAVAILABLE" || retryable || !strings.Contains(details, `"driver":null`) {
		t.Errorf("without a sandbox: %s %v %s", code, retryable, details)
	}
	breakConnections(t, bare)
	code, retryable, details = refusalOf(t, codeless, stranger.Key, connector, `{"service":"github","method":"GET","path":"/user"}`)
	if seen[code] = true; code != "INTERNAL" || !retryable || strings.Contains(details, "connection") {
		t.Errorf("without its table: %s %v %s", code, retryable, details)
	}
	manual, err := os.ReadFile("../docs/coworker.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range coworker.Codes() {
		if !seen[string(code)] {
			t.Errorf("no call reaches %s", code)
		}
		if !strings.Contains(string(manual), "`"+string(code)+"`") {
			t.Errorf("docs/coworker.md does not name %s", code)
		}
		delete(seen, string(code))
	}
	for code := range seen {
		t.Errorf("%s is no code of the contract", code)
	}
}

// breakConnections takes a table away beneath a serving program: the plainest
// fault of its own that one can make from outside.
func breakConnections(t *testing.T, o program.Options) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(o.DataDir, "innerloop.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE connections RENAME TO connections_away`); err != nil {
		t.Fatal(err)
	}
}
