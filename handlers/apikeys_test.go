package handlers_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"innerloop/coworker"
)

// as sends a request with a key; a body makes it JSON.
func (o *office) as(key, method, path, body string) reply {
	o.t.Helper()
	headers := []string{"Authorization", "Bearer " + key}
	if body != "" {
		headers = append(headers, "Content-Type", "application/json")
	}
	return o.do(method, path, body, headers...)
}

func decoded(t *testing.T, r reply, status int) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.Body), &v); err != nil || r.Status != status || r.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d (want %d) %s %v", r.Status, status, r.Body, r.Header)
	}
	return v
}

func TestKeysOverREST(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	admin := o.org.Secret.Reveal()
	org := "/api/v1/organizations/" + string(o.org.Organization.ID)
	keys := org + "/api-keys"

	made := decoded(t, o.as(admin, "POST", keys, `{"name":"plain"}`), 201)
	if encode(t, made["scopes"]) != `["write:tools"]` || made["class"] != "irreversible" || made["connectors"] != nil || made["created_by"] != string(o.org.Key.ID) || made["status"] != "active" {
		t.Errorf("%v", made)
	}
	narrow := decoded(t, o.as(admin, "POST", keys, `{"name":"narrow","scopes":["read:tools","read:data"],"expires_in_days":1,"connectors":["ozon"],"class":"read","networks":["198.51.100.7"],"rate_per_minute":9,"user_id":"`+string(o.org.User.ID)+`"}`), 201)
	if encode(t, narrow["networks"]) != `["198.51.100.7/32"]` || narrow["rate_per_minute"] != 9.0 || encode(t, narrow["connectors"]) != `["ozon"]` {
		t.Errorf("%v", narrow)
	}
	path := keys + "/" + made["key_id"].(string)
	changed := decoded(t, o.as(admin, "PATCH", path, `{"scopes":["read:tools"],"class":"write","connectors":[]}`), 200)
	if encode(t, changed["scopes"]) != `["read:tools"]` || changed["class"] != "write" || encode(t, changed["connectors"]) != `[]` || changed["name"] != "plain" || changed["key"] != nil {
		t.Errorf("%v", changed)
	}
	if encode(t, decoded(t, o.as(admin, "GET", path, ""), 200)) != encode(t, changed) {
		t.Error("a key reads otherwise than it was changed")
	}
	if back := decoded(t, o.as(admin, "PATCH", path, `{"connectors":null,"networks":null,"rate_per_minute":0}`), 200); back["connectors"] != nil {
		t.Errorf("%v", back)
	}
	page := decoded(t, o.as(admin, "GET", keys+"?limit=2", ""), 200)
	rest := decoded(t, o.as(admin, "GET", keys+"?limit=2&cursor="+page["next_cursor"].(string), ""), 200)
	if len(page["items"].([]any)) != 2 || len(rest["items"].([]any)) != 1 || rest["next_cursor"] != nil {
		t.Errorf("%v, %v", page, rest)
	}
	first := decoded(t, o.as(admin, "DELETE", path, ""), 200)
	if again := decoded(t, o.as(admin, "DELETE", path, ""), 200); first["status"] != "revoked" || again["revoked_at"] != first["revoked_at"] {
		t.Errorf("%v, %v", first, again)
	}
	wantRefused(t, o.as(made["key"].(string), "GET", "/api/v1/audit", ""), "revoked")

	_, weak := o.scoped("write:tools", "read:data")
	other := o.Found("Other")
	foreign := "/api/v1/organizations/" + string(other.Organization.ID)
	for _, row := range []struct {
		name, key, method, path, body string
		status                        int
		code, details                 string
	}{
		{"no admin makes a key", weak, "POST", keys, `{"name":"a"}`, 403, "AUTH_PERMISSION_DENIED", `{"required":["admin"],"have":["write:tools","read:data"]}`},
		{"no admin lists", weak, "GET", keys, "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin reads", weak, "GET", path, "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin changes", weak, "PATCH", path, `{"name":"b"}`, 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin revokes", weak, "DELETE", path, "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin exports", weak, "GET", org + "/export", "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin deletes", weak, "DELETE", org, `{"confirm_organization_id":"` + string(o.org.Organization.ID) + `"}`, 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin in a foreign organization either", weak, "GET", foreign, "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"a foreign organization", admin, "GET", foreign, "", 404, "NOT_FOUND", ""},
		{"a foreign export", admin, "GET", foreign + "/export", "", 404, "NOT_FOUND", ""},
		{"a foreign key", admin, "GET", keys + "/" + string(other.Key.ID), "", 404, "NOT_FOUND", ""},
		{"a foreign key to revoke", admin, "DELETE", keys + "/" + string(other.Key.ID), "", 404, "NOT_FOUND", ""},
		{"a key under a foreign organization", admin, "PATCH", foreign + "/api-keys/" + string(o.org.Key.ID), `{"name":"b"}`, 404, "NOT_FOUND", ""},
		{"a foreign user", admin, "POST", keys, `{"name":"a","user_id":"` + string(other.User.ID) + `"}`, 404, "NOT_FOUND", ""},
		{"no such organization", admin, "GET", "/api/v1/organizations/org_1/api-keys", "", 404, "NOT_FOUND", ""},
		{"a revoked key to change", admin, "PATCH", path, `{"name":"b"}`, 404, "NOT_FOUND", ""},
		{"no name", admin, "POST", keys, `{}`, 400, "INVALID_ARG", `[{"field":"name","problem":"is required"}]`},
		{"a user without an id", admin, "POST", keys, `{"name":"a","user_id":""}`, 400, "INVALID_ARG", `"field":"user_id"`},
		{"an empty name", admin, "POST", keys, `{"name":""}`, 400, "INVALID_ARG", `"field":"name"`},
		{"an unknown scope", admin, "POST", keys, `{"name":"a","scopes":["all"]}`, 400, "INVALID_ARG", `"allowed":["read:tools"`},
		{"no scope", admin, "POST", keys, `{"name":"a","scopes":[]}`, 400, "INVALID_ARG", `"field":"scopes"`},
		{"too long a life", admin, "POST", keys, `{"name":"a","expires_in_days":366}`, 400, "INVALID_ARG", `"field":"expires_in_days"`},
		{"no life", admin, "POST", keys, `{"name":"a","expires_in_days":0}`, 400, "INVALID_ARG", `"field":"expires_in_days"`},
		{"half a day", admin, "POST", keys, `{"name":"a","expires_in_days":0.5}`, 400, "INVALID_ARG", `"field":"expires_in_days"`},
		{"an unknown class", admin, "POST", keys, `{"name":"a","class":"all"}`, 400, "INVALID_ARG", `"allowed":["read","write","irreversible"]`},
		{"a network that is none", admin, "POST", keys, `{"name":"a","networks":["home"]}`, 400, "INVALID_ARG", `"field":"networks"`},
		{"two networks in one", admin, "POST", keys, `{"name":"a","networks":["192.0.2.1,192.0.2.2"]}`, 400, "INVALID_ARG", `"field":"networks"`},
		{"a key nobody asked for", admin, "POST", keys, `{"name":"a","org_id":"x"}`, 400, "INVALID_ARG", `"field":"body"`},
		{"nothing to change", admin, "PATCH", path, `{}`, 400, "INVALID_ARG", `"field":"body"`},
		{"not an object", admin, "POST", keys, `[]`, 400, "INVALID_ARG", ""},
		{"not JSON", admin, "POST", keys, `{x}`, 400, "INVALID_ARG", ""},
		{"a limit that is none", admin, "GET", keys + "?limit=0", "", 400, "INVALID_ARG", `"field":"limit"`},
		{"a cursor that is none", admin, "GET", keys + "?cursor=x", "", 400, "INVALID_ARG", `"field":"cursor"`},
		{"an unknown parameter", admin, "GET", keys + "?org=x", "", 400, "INVALID_ARG", `"field":"query"`},
		{"an unconfirmed deletion", admin, "DELETE", org, `{"confirm_organization_id":"org_1"}`, 400, "INVALID_ARG", `"field":"confirm_organization_id"`},
		{"the last user", admin, "DELETE", org + "/users/" + string(o.org.User.ID), "", 400, "INVALID_ARG", `"field":"user_id"`},
		{"an unknown path", admin, "GET", "/api/v1/nothing", "", 404, "NOT_FOUND", ""},
		{"another method", admin, "PUT", keys, `{}`, 405, "INVALID_ARG", ""},
		{"too large a body", admin, "POST", keys, `{"name":"` + strings.Repeat("x", 70_000) + `"}`, 413, "INVALID_ARG", ""},
		{"an audit filter that is none", admin, "GET", "/api/v1/audit?errors=yes&from=monday", "", 400, "INVALID_ARG", `"field":"errors"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := o.as(row.key, row.method, row.path, row.body)
			c := readContract(t, r.Body)
			if r.Status != row.status || c.Code != row.code || !strings.Contains(string(c.Details), row.details) || r.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%d %s", r.Status, r.Body)
			}
			if strings.Contains(r.Body, "{x}") || strings.Contains(r.Body, "monday") {
				t.Errorf("quotes the request: %s", r.Body)
			}
		})
	}
	r := o.do("GET", keys, "")
	if c := readContract(t, r.Body); r.Status != 401 || c.Code != "UNAUTHENTICATED" || string(c.Details) != `{"reason":"missing"}` || r.Header.Get("Www-Authenticate") != `Bearer realm="innerloop"` {
		t.Errorf("%d %s %v", r.Status, r.Body, r.Header)
	}
	if r := o.do("POST", keys, `{"name":"a"}`, "Authorization", "Bearer "+admin, "Content-Type", "text/plain"); r.Status != 415 || readContract(t, r.Body).Code != "INVALID_ARG" {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := o.do("POST", keys, `{"name":"a"}`, "Authorization", "Bearer "+admin, "Content-Type", "application/json", "Origin", "https://evil.example"); r.Status != 403 || readContract(t, r.Body).Code != "AUTH_PERMISSION_DENIED" {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

func TestAnOrganizationsLifeOverREST(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	admin := o.org.Secret.Reveal()
	org := "/api/v1/organizations/" + string(o.org.Organization.ID)
	if got := decoded(t, o.as(admin, "GET", org, ""), 200); got["name"] != "Acme" || got["organization_id"] != string(o.org.Organization.ID) {
		t.Errorf("%v", got)
	}
	bob := decoded(t, o.as(admin, "POST", org+"/users", `{"name":"Bob"}`), 201)
	second := decoded(t, o.as(admin, "POST", org+"/api-keys", `{"name":"second admin","scopes":["admin"],"user_id":"`+bob["user_id"].(string)+`"}`), 201)
	if users := decoded(t, o.as(second["key"].(string), "GET", org+"/users", ""), 200); len(users["items"].([]any)) != 2 || users["next_cursor"] != nil {
		t.Errorf("%v", users)
	}
	decoded(t, o.as(admin, "DELETE", org+"/users/"+bob["user_id"].(string), ""), 200)
	wantRefused(t, o.as(second["key"].(string), "GET", org, ""), "unknown")

	// A head alone: nothing follows it on the connection, and nothing was exported.
	conn, err := net.Dial("tcp", strings.TrimPrefix(o.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	answers := bufio.NewReader(conn)
	for _, line := range []string{"HEAD " + org + "/export", "GET " + org} {
		if _, err := io.WriteString(conn, line+" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "+admin+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		method, _, _ := strings.Cut(line, " ")
		head, err := http.ReadResponse(answers, &http.Request{Method: method})
		if err != nil || head.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", line, head, err)
		}
	}
	if exports := decoded(t, o.as(admin, "GET", "/api/v1/audit?action=organization.export", ""), 200); len(exports["items"].([]any)) != 0 {
		t.Errorf("a head was an export: %v", exports)
	}
	r := o.as(admin, "GET", org+"/export", "")
	var kinds []string
	for line := range strings.Lines(r.Body) {
		var record struct{ Kind string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(kinds, record.Kind) {
			kinds = append(kinds, record.Kind)
		}
	}
	if r.Status != http.StatusOK || !slices.Equal(kinds, []string{"organization", "user", "key", "rules", "audit", "end"}) || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %q %v", r.Status, kinds, r.Header)
	}
	days := decoded(t, o.as(admin, "GET", "/api/v1/audit/days", ""), 200)
	if len(days["items"].([]any)) != 0 {
		t.Errorf("%v", days)
	}
	o.call(admin, "list_services", "{}")
	o.call(admin, "read_memory", "{}")
	days = decoded(t, o.as(admin, "GET", "/api/v1/audit/days", ""), 200)
	if encode(t, days["items"]) != `[{"calls":2,"day":"2026-09-01","errors":1}]` {
		t.Errorf("%v", days)
	}
	actions := decoded(t, o.as(admin, "GET", "/api/v1/audit?until=2026-09-02", ""), 200)
	var said []string
	for _, a := range actions["items"].([]any) {
		said = append(said, a.(map[string]any)["action"].(string))
	}
	for _, action := range []string{"tool.call", "organization.export", "user.remove", "key.create", "user.add", "organization.create"} {
		if !slices.Contains(said, action) {
			t.Errorf("%s is not in the audit: %q", action, said)
		}
	}
	decoded(t, o.as(admin, "DELETE", org, `{"confirm_organization_id":"`+string(o.org.Organization.ID)+`"}`), 200)
	wantRefused(t, o.as(admin, "GET", org, ""), "unknown")
}

// The five keys that are promised come first and in their order; what follows
// them is true.
func TestInfoTellsHowAKeyIsUsed(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	r := o.get("/api/v1/mcp/info")
	var names []string
	for d := json.NewDecoder(strings.NewReader(r.Body)); ; {
		token, err := d.Token()
		if err != nil {
			break
		}
		if name, ok := token.(string); ok {
			names = append(names, name)
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []string{"url", "server_name", "protocol_version", "supported_scopes", "example_config"}; r.Status != 200 || len(names) < 5 || !slices.Equal(names[:5], want) {
		t.Fatalf("%d %q", r.Status, names)
	}
	var info struct {
		URL      string
		Name     string   `json:"server_name"`
		Version  string   `json:"protocol_version"`
		Scopes   []string `json:"supported_scopes"`
		Versions []string `json:"protocol_versions"`
		Public   []string `json:"public_tools"`
		Keyed    []string `json:"keyed_tools"`
		Example  struct {
			Servers map[string]struct {
				URL     string
				Headers map[string]string
			} `json:"mcpServers"`
		} `json:"example_config"`
	}
	if err := json.Unmarshal([]byte(r.Body), &info); err != nil {
		t.Fatal(err)
	}
	at := info.Example.Servers["innerloop"]
	if info.URL != origin+"/mcp" || info.Name != "innerloop" || info.Version != "2025-06-18" || !slices.Equal(info.Scopes, coworker.AllScopes()) ||
		!slices.Contains(info.Versions, info.Version) || at.URL != info.URL || at.Headers["Authorization"] != "Bearer sk-org-…" {
		t.Errorf("%s", r.Body)
	}
	_, key := o.scoped("admin")
	if got := o.toolNames(""); !slices.Equal(got, info.Public) {
		t.Errorf("public tools %q, listed %q", info.Public, got)
	}
	if got := o.toolNames(key); !slices.Equal(got, append(info.Public, info.Keyed...)) {
		t.Errorf("keyed tools %q, listed %q", info.Keyed, got)
	}
	if r := o.get("/api/v1/mcp/info", "Origin", "https://anywhere.example"); r.Status != 200 || r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %v", r.Status, r.Header)
	}
	if r := o.get("/api/v1/mcp/info?x=1"); r.Status != 400 || readContract(t, r.Body).Code != "INVALID_ARG" {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}
