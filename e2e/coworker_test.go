package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/jackc/pgx/v5/stdlib"

	"innerloop/e2e/program"
)

// An organisation made at the command line, beside a serving program.
type organization struct {
	ID, User, KeyID, Key string
}

func administer(t *testing.T, o program.Options, into any, args ...string) {
	t.Helper()
	out, err := program.Run(t.Context(), o, append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func found(t *testing.T, o program.Options) organization {
	t.Helper()
	var f struct {
		ID    string `json:"organization_id"`
		User  string `json:"user_id"`
		KeyID string `json:"key_id"`
		Key   string `json:"key"`
	}
	administer(t, o, &f, "org", "create", "Acme")
	return organization(f)
}

func (g organization) key(t *testing.T, o program.Options, scopes string) (id, key string) {
	t.Helper()
	var made struct {
		ID  string `json:"key_id"`
		Key string `json:"key"`
	}
	administer(t, o, &made, "key", "create", "--org", g.ID, "--scopes", scopes)
	return made.ID, made.Key
}

// expire lets a key expire by changing the stored time: no clock can be handed
// to a program.
func expire(t *testing.T, o program.Options, key string) {
	t.Helper()
	driver, source := "pgx", o.DatabaseURL
	if source == "" {
		driver, source = "sqlite", "file:"+filepath.Join(o.DataDir, "innerloop.db")+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(fmt.Sprintf(`UPDATE api_keys SET expires_at = created_at WHERE key_id = '%s'`, key)); err != nil {
		t.Fatal(err)
	}
}

// asked sends a request with a key and returns status and body.
func asked(t *testing.T, method, address, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// Attack: a key that is bad in each way there is. Expectation: both
// generations of the official client see the whole request refused; with a
// good key they see what its scopes reach, and without one the five tools.
func TestOfficialClientsWithKeys(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server := serve(t, o)
	acme := found(t, o)
	type row struct {
		Name   string   `json:"name"`
		Key    string   `json:"key"`
		Status int      `json:"status,omitempty"`
		Reason string   `json:"reason,omitempty"`
		Tools  []string `json:"tools"`
		Denied []string `json:"denied"`
	}
	seen := map[string][]string{
		"read:tools":  {"list_services", "describe_service"},
		"write:tools": {"list_services", "describe_service", "connector_execute", "repl_execute"},
		"read:data":   {"list_services", "describe_service", "connector_execute", "read_memory"},
		"admin":       {"list_services", "describe_service", "connector_execute", "repl_execute", "read_memory"},
	}
	rows := []row{{Name: "anonymous", Tools: []string{}}}
	for scope, denied := range map[string][]string{
		"read:tools":  {"connector_execute", "repl_execute", "read_memory"},
		"write:tools": {"read_memory"},
		"read:data":   {"repl_execute"},
		"admin":       {},
	} {
		_, key := acme.key(t, o, scope)
		rows = append(rows, row{Name: scope, Key: key, Tools: seen[scope], Denied: denied})
	}
	_, chat := acme.key(t, o, "chat")
	rows = append(rows, row{Name: "chat", Key: chat, Tools: []string{}, Denied: []string{"list_services", "describe_service", "connector_execute", "repl_execute", "read_memory"}})

	id, revoked := acme.key(t, o, "read:tools")
	administer(t, o, &struct{}{}, "key", "revoke", id)
	id, expired := acme.key(t, o, "read:tools")
	expire(t, o, id)
	other := embedded(t)
	if _, err := program.Run(t.Context(), other, "migrate"); err != nil {
		t.Fatal(err)
	}
	rows = append(rows,
		row{Name: "a typo", Key: chat[:40] + "-" + chat[41:], Status: 401, Reason: "malformed"},
		row{Name: "another service's key", Key: found(t, other).Key, Status: 401, Reason: "unknown"},
		row{Name: "a revoked key", Key: revoked, Status: 401, Reason: "revoked"},
		row{Name: "an expired key", Key: expired, Status: 401, Reason: "expired"},
	)
	node(t, "mcp-keyed.mjs", map[string]any{"url": server.URL, "rows": rows})
	for _, r := range rows {
		if r.Key != "" && strings.Contains(server.Log(), r.Key[16:30]) {
			t.Errorf("the log holds the key of %s", r.Name)
		}
	}
}

// The Inspector with a key sees its tools, with a revoked one a readable end.
func TestInspectorWithAKey(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server := serve(t, o)
	acme := found(t, o)
	id, key := acme.key(t, o, "read:tools")
	inspect := func() (string, error) {
		command := exec.CommandContext(t.Context(), nodeBinary(t), "node_modules/.bin/mcp-inspector",
			"--cli", server.URL+"/mcp", "--transport", "http", "--header", "Authorization: Bearer "+key, "--method", "tools/list")
		command.Dir = "node"
		out, err := command.CombinedOutput()
		return string(out), err
	}
	if out, err := inspect(); err != nil || !strings.Contains(out, "list_services") || !strings.Contains(out, "innerloop_read_public_feed") {
		t.Errorf("%v\n%s", err, out)
	}
	administer(t, o, &struct{}{}, "key", "revoke", id)
	if out, err := inspect(); err == nil || strings.Contains(out, "list_services") {
		t.Errorf("with a revoked key: %v\n%s", err, out)
	}
}

// The conformance suite sends no header of ours, so a proxy of the test adds
// the key on the way.
func TestConformanceWithAKey(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server := serve(t, o)
	_, key := found(t, o).key(t, o, "write:tools")
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}})
	t.Cleanup(proxy.Close)
	if status, body := asked(t, http.MethodPost, proxy.URL+"/mcp", "", listTools); status != 200 || !strings.Contains(body, "list_services") {
		t.Fatalf("the proxy adds nothing: %d %s", status, body)
	}
	for revision, scenarios := range map[string][]string{
		"2025-11-25": {"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"},
		"2026-07-28": {"tools-list", "resources-list", "prompts-list", "caching", "sep-2164-resource-not-found", "http-header-validation"},
	} {
		for _, scenario := range scenarios {
			t.Run(revision+"/"+scenario, func(t *testing.T) {
				results := t.TempDir()
				out, err := conformance(t, "server", "--url", proxy.URL+"/mcp", "--scenario", scenario, "--spec-version", revision, "-o", results)
				if ran := checks(t, results); err != nil || ran["SUCCESS"] == 0 || ran["FAILURE"] > 0 {
					t.Fatalf("%v: %v\n%s", err, ran, out)
				}
			})
		}
	}
}

// Attack: a key goes on being used in one process after it was changed,
// expired or revoked in another. Expectation: the very next request shows it;
// nothing is waited for.
func TestAKeyChangedInOneProcessIsChangedInAnother(t *testing.T) {
	t.Parallel()
	o := engines()["postgres"](t)
	one := serve(t, o)
	two := serve(t, o)
	acme := found(t, o)
	keys := "/api/v1/organizations/" + acme.ID + "/api-keys"
	create := func(scopes string) (id, key string) {
		t.Helper()
		status, body := asked(t, http.MethodPost, one.URL+keys, acme.Key, `{"name":"a","scopes":["`+scopes+`"]}`)
		var made struct {
			ID  string `json:"key_id"`
			Key string `json:"key"`
		}
		if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated {
			t.Fatalf("%d %s", status, body)
		}
		return made.ID, made.Key
	}
	sees := func(key string) (int, bool, string) {
		t.Helper()
		status, body := asked(t, http.MethodPost, two.URL+"/mcp", key, listTools)
		return status, strings.Contains(body, "list_services"), body
	}
	id, key := create("read:tools")
	if status, tools, body := sees(key); status != 200 || !tools {
		t.Fatalf("a new key: %d %s", status, body)
	}
	for range 5 {
		for _, change := range []struct {
			scope string
			tools bool
		}{{"chat", false}, {"read:tools", true}} {
			if status, body := asked(t, http.MethodPatch, one.URL+keys+"/"+id, acme.Key, `{"scopes":["`+change.scope+`"]}`); status != 200 {
				t.Fatalf("%d %s", status, body)
			}
			if status, tools, body := sees(key); status != 200 || tools != change.tools {
				t.Fatalf("changed to %s: %d %s", change.scope, status, body)
			}
		}
	}
	if status, body := asked(t, http.MethodDelete, one.URL+keys+"/"+id, acme.Key, ""); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if status, _, body := sees(key); status != 401 || !strings.Contains(body, `"reason":"revoked"`) {
		t.Errorf("revoked: %d %s", status, body)
	}
	id, key = create("read:tools")
	sees(key)
	expire(t, o, id)
	if status, _, body := sees(key); status != 401 || !strings.Contains(body, `"reason":"expired"`) || !strings.Contains(body, `"expired_at":"20`) {
		t.Errorf("expired: %d %s", status, body)
	}
	id, key = create("read:tools")
	sees(key)
	administer(t, o, &struct{}{}, "key", "revoke", id)
	if status, _, body := sees(key); status != 401 {
		t.Errorf("revoked at the command line: %d %s", status, body)
	}
	if strings.Contains(one.Log()+two.Log(), key[16:30]) {
		t.Error("a log holds a key")
	}
}
