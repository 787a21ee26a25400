package handlers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"innerloop/coworker"
)

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
