package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"innerloop/journal"
)

func TestInitializeNegotiates(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, row := range []struct{ asked, want string }{
		{"2025-06-18", "2025-06-18"},
		{"2025-11-25", "2025-11-25"},
		{"2026-07-28", "2025-11-25"},
		{"1999-01-01", "2025-11-25"},
	} {
		header := http.Header{"Content-Type": {"application/json"}}
		if row.asked == "2025-06-18" {
			header.Set("MCP-Protocol-Version", row.asked)
		}
		r := post(t, d, header, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+row.asked+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		var result struct {
			ProtocolVersion string
			ServerInfo      struct{ Name, Version string }
			Capabilities    map[string]json.RawMessage
			Instructions    string
		}
		if err := json.Unmarshal(r.Result, &result); err != nil {
			t.Fatal(err)
		}
		if result.ProtocolVersion != row.want {
			t.Errorf("asked for %s, got %s, want %s", row.asked, result.ProtocolVersion, row.want)
		}
		if result.ServerInfo.Name != "innerloop" || result.ServerInfo.Version != "test" || result.Instructions == "" {
			t.Errorf("server is %+v", result)
		}
		wantCapabilities(t, result.Capabilities)
	}
}

// wantCapabilities: tools, resources, prompts and skills, none of which ever
// changes under a client, completion, and nothing else.
func wantCapabilities(t *testing.T, got map[string]json.RawMessage) {
	t.Helper()
	for _, name := range []string{"tools", "resources", "prompts", "completions"} {
		if string(got[name]) != "{}" {
			t.Errorf("capability %s is %s", name, got[name])
		}
	}
	if len(got) != 5 || string(got["extensions"]) != `{"io.modelcontextprotocol/skills":{}}` {
		t.Errorf("capabilities are %s", got)
	}
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	r := era2026.call(t, d, "server/discover", "", "")
	var result struct {
		ResultType        string
		SupportedVersions []string
		Capabilities      map[string]json.RawMessage
		Instructions      string
		TTLMs             *int
		CacheScope        string
		Meta              map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(result.SupportedVersions, promised[:]) || result.Instructions == "" {
		t.Errorf("discover is %s", r.Result)
	}
	wantCapabilities(t, result.Capabilities)
}

// Every result of the newest revision says what it is and who made it; lists
// and documents also say how long they hold. Older results have none of it.
func TestResultsAreMarked(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, row := range []struct {
		method, name, members string
		cached                bool
	}{
		{"server/discover", "", "", true},
		{"tools/list", "", "", true},
		{"resources/list", "", "", true},
		{"resources/templates/list", "", "", true},
		{"resources/read", "https://gateway.example/skill.md", `"uri":"https://gateway.example/skill.md"`, true},
		{"prompts/list", "", "", true},
		{"skills/list", "", "", true},
		{"skills/get", "", `"uri":"skill://innerloop-explore/SKILL.md"`, true},
		{"prompts/get", "join", `"name":"join"`, false},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"visibility","value":"p"}`, false},
		{"tools/call", toolReadFeed, `"name":"` + toolReadFeed + `","arguments":{"limit":1}`, false},
		{"tools/call", toolPrepareEntry, `"name":"` + toolPrepareEntry + `","arguments":{}`, false},
	} {
		for _, e := range eras {
			if e != era2026 && row.method == "server/discover" {
				continue
			}
			r := e.call(t, d, row.method, row.name, row.members)
			var members map[string]json.RawMessage
			if err := json.Unmarshal(r.Result, &members); err != nil {
				t.Fatalf("%s %s: %v in %s", e, row.method, err, r.body)
			}
			if e != era2026 {
				for _, name := range []string{"resultType", "ttlMs", "cacheScope", "_meta"} {
					if _, has := members[name]; has {
						t.Errorf("%s %s has %s", e, row.method, name)
					}
				}
				continue
			}
			var meta map[string]struct{ Name, Version string }
			if err := json.Unmarshal(members["_meta"], &meta); err != nil {
				t.Fatal(err)
			}
			if string(members["resultType"]) != `"complete"` || meta["io.modelcontextprotocol/serverInfo"].Name != "innerloop" {
				t.Errorf("%s: resultType %s, _meta %s", row.method, members["resultType"], members["_meta"])
			}
			cached := string(members["ttlMs"]) == "300000" && string(members["cacheScope"]) == `"public"`
			if cached != row.cached || !row.cached && (members["ttlMs"] != nil || members["cacheScope"] != nil) {
				t.Errorf("%s: ttlMs %s, cacheScope %s", row.method, members["ttlMs"], members["cacheScope"])
			}
		}
	}
}

func TestHeadersMustAgreeWithTheBody(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	const (
		version = "MCP-Protocol-Version"
		skill   = "https://gateway.example/skill.md"
	)
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, era2026.params(`"name":"`+toolReadFeed+`","arguments":{}`))
	read := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":%s}`, era2026.params(`"uri":"`+skill+`"`))
	wrapped := func(text string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?=" }
	meta := func(fields string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + fields + `}}}`
	}
	const named, able = `"io.modelcontextprotocol/protocolVersion":`, `"io.modelcontextprotocol/clientCapabilities":{}`
	for _, row := range []struct {
		name    string
		headers []string // name, value, name, value
		body    string
		status  int
		code    int
	}{
		{"all agree", []string{version, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", toolReadFeed}, call, 200, 0},
		{"the name in base64", []string{version, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", wrapped(toolReadFeed)}, call, 200, 0},
		{"a resource", []string{version, "2026-07-28", "Mcp-Method", "resources/read", "Mcp-Name", skill}, read, 200, 0},
		{"no version header", []string{"Mcp-Method", "tools/call", "Mcp-Name", toolReadFeed}, call, 400, -32020},
		{"another version header", []string{version, "2025-06-18", "Mcp-Method", "tools/call", "Mcp-Name", toolReadFeed}, call, 400, -32020},
		{"two version headers", []string{version, "2026-07-28", version, "2025-06-18", "Mcp-Method", "tools/call", "Mcp-Name", toolReadFeed}, call, 400, -32020},
		{"no method header", []string{version, "2026-07-28", "Mcp-Name", toolReadFeed}, call, 400, -32020},
		{"another method header", []string{version, "2026-07-28", "Mcp-Method", "tools/list", "Mcp-Name", toolReadFeed}, call, 400, -32020},
		{"the method header in capitals", []string{version, "2026-07-28", "Mcp-Method", "TOOLS/CALL", "Mcp-Name", toolReadFeed}, call, 400, -32020},
		{"no name header", []string{version, "2026-07-28", "Mcp-Method", "tools/call"}, call, 400, -32020},
		{"another name header", []string{version, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", toolPrepareEntry}, call, 400, -32020},
		{"another resource", []string{version, "2026-07-28", "Mcp-Method", "resources/read", "Mcp-Name", "https://gateway.example/llms.txt"}, read, 400, -32020},
		{"a name that is not base64", []string{version, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "=?base64?%%%?="}, call, 400, -32020},
		{"a resumed stream", []string{version, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", toolReadFeed, "Last-Event-ID", "1"}, call, 400, -32020},
		{"no _meta", []string{version, "2026-07-28", "Mcp-Method", "tools/list"}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400, -32602},
		{"an empty _meta", []string{version, "2026-07-28", "Mcp-Method", "tools/list"}, meta(``), 400, -32602},
		{"no version in _meta", []string{version, "2026-07-28", "Mcp-Method", "tools/list"}, meta(able), 400, -32602},
		{"a number as version in _meta", []string{version, "2026-07-28", "Mcp-Method", "tools/list"}, meta(named + `1,` + able), 400, -32602},
		{"no capabilities in _meta", []string{version, "2026-07-28", "Mcp-Method", "tools/list"}, meta(named + `"2026-07-28"`), 400, -32602},
		{"capabilities of another type", []string{version, "2026-07-28", "Mcp-Method", "tools/list"}, meta(named + `"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]`), 400, -32602},
		{"a version to come", []string{version, "2027-01-01", "Mcp-Method", "tools/list"}, meta(named + `"2027-01-01",` + able), 400, -32022},
		{"a version that never was", []string{version, "v999.0.0", "Mcp-Method", "tools/list"}, meta(named + `"v999.0.0",` + able), 400, -32022},
		{"a version to come, in the header alone", []string{version, "2027-01-01", "Mcp-Method", "tools/list"}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400, -32022},
		{"a version that never was, in the header alone", []string{version, "v9.9.9 or so"}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400, -32022},
		{"an older version named in _meta too", []string{version, "2025-11-25"}, meta(named + `"2025-11-25"`), 200, 0},
		{"an unknown method", []string{version, "2026-07-28", "Mcp-Method", "no/such"}, `{"jsonrpc":"2.0","id":1,"method":"no/such","params":` + era2026.params("") + `}`, 404, -32601},
		{"initialize, which is gone", []string{version, "2026-07-28", "Mcp-Method", "initialize"}, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + era2026.params(`"protocolVersion":"2026-07-28"`) + `}`, 404, -32601},
		{"ping, which is gone", []string{version, "2026-07-28", "Mcp-Method", "ping"}, `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + era2026.params("") + `}`, 404, -32601},
		{"an unknown tool", []string{version, "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "drop_tables"}, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + era2026.params(`"name":"drop_tables"`) + `}`, 400, -32602},
		{"an unknown resource", []string{version, "2026-07-28", "Mcp-Method", "resources/read", "Mcp-Name", "skill://no/SKILL.md"}, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":` + era2026.params(`"uri":"skill://no/SKILL.md"`) + `}`, 400, -32602},
		{"a subscription to a string", []string{version, "2026-07-28", "Mcp-Method", "subscriptions/listen"}, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":` + era2026.params(`"notifications":"all"`) + `}`, 400, -32602},
		{"a cursor nobody gave out", []string{version, "2026-07-28", "Mcp-Method", "tools/list"}, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + era2026.params(`"cursor":"abc"`) + `}`, 400, -32602},
		{"a notification under another name", []string{version, "2026-07-28", "Mcp-Method", "notifications/initialized"}, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + era2026.params("") + `}`, 400, -32020},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Content-Type": {"application/json"}}
			for i := 0; i < len(row.headers); i += 2 {
				header.Add(row.headers[i], row.headers[i+1])
			}
			r := post(t, d, header, row.body)
			if r.status != row.status || r.code() != row.code {
				t.Errorf("status %d, code %d; want %d, %d: %s", r.status, r.code(), row.status, row.code, r.body)
			}
			if row.code != 0 {
				wantNoEcho(t, r.body)
			}
			if row.code == -32022 {
				var data struct {
					Supported []string
					Requested string
				}
				decodeStrictly(t, r.Error.Data, &data)
				if !slices.Equal(data.Supported, promised[:]) || data.Requested != row.headers[1] && data.Requested != "unknown" {
					t.Errorf("data is %s", r.Error.Data)
				}
			}
		})
	}
}

// Nothing can be subscribed to, which a client learns in the form it expects.
func TestSubscriptionsAreAcknowledgedAndEnd(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	body := `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":` + era2026.params(`"notifications":{"toolsListChanged":true}`) + `}`
	status, header, answer, _ := d.Serve(t.Context(), journal.Caller{}, http.MethodPost, era2026.header("subscriptions/listen", ""), []byte(body))
	if status != http.StatusOK || header.Get("Content-Type") != "text/event-stream" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, headers %v", status, header)
	}
	var events []string
	for line := range strings.Lines(string(answer)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			events = append(events, data)
		}
	}
	if len(events) != 2 || !strings.Contains(events[0], "notifications/subscriptions/acknowledged") || !strings.Contains(events[1], `"resultType":"complete"`) {
		t.Errorf("events are %q", events)
	}
}
