package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The rows of the fault table for MCP servers: what was sent, what must come
// back.
func TestMalformedMessages(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, row := range []struct {
		name   string
		body   string
		status int
		code   int
		id     string
	}{
		{"broken JSON", `{"jsonrpc":"2.0","id":1,`, 400, -32700, "null"},
		{"nothing", ``, 400, -32700, "null"},
		{"white space", " \n", 400, -32700, "null"},
		{"text after the message", list + `x`, 400, -32700, "null"},
		{"two messages", list + list, 400, -32700, "null"},
		{"a batch", `[` + list + `]`, 400, -32600, "null"},
		{"an empty batch", `[]`, 400, -32600, "null"},
		{"a string", `"tools/list"`, 400, -32600, "null"},
		{"null", `null`, 400, -32600, "null"},
		{"a number as method", `{"jsonrpc":"2.0","id":1,"method":5}`, 400, -32600, "1"},
		{"an empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, 400, -32600, "1"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, 400, -32600, "1"},
		{"an answer nobody waits for", `{"jsonrpc":"2.0","id":1,"result":{}}`, 400, -32600, "1"},
		{"an error nobody waits for", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, 400, -32600, "1"},
		{"a question and an answer in one", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, 400, -32600, "1"},
		{"a question and an error in one", `{"jsonrpc":"2.0","id":1,"method":"ping","error":null}`, 400, -32600, "1"},
		{"no jsonrpc", `{"id":1,"method":"tools/list"}`, 400, -32600, "1"},
		{"another jsonrpc", `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, 400, -32600, "1"},
		{"jsonrpc as a number", `{"jsonrpc":2.0,"id":1,"method":"tools/list"}`, 400, -32600, "1"},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, 400, -32600, "null"},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, 400, -32600, "null"},
		{"an array as id", `{"jsonrpc":"2.0","id":[1],"method":"tools/list"}`, 400, -32600, "null"},
		{"a fraction as id", `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, 400, -32600, "null"},
		{"a whole number with a point as id", `{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}`, 400, -32600, "null"},
		{"an exponent in the id", `{"jsonrpc":"2.0","id":1e3,"method":"tools/list"}`, 400, -32600, "null"},
		{"negative zero as id", `{"jsonrpc":"2.0","id":-0,"method":"tools/list"}`, 400, -32600, "null"},
		{"an id above 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`, 400, -32600, "null"},
		{"an id below -2^53", `{"jsonrpc":"2.0","id":-9007199254740993,"method":"tools/list"}`, 400, -32600, "null"},
		{"JSONRPC in capitals", `{"JSONRPC":"2.0","id":1,"method":"tools/list"}`, 400, -32600, "null"},
		{"ID in capitals", `{"jsonrpc":"2.0","ID":1,"method":"tools/list"}`, 400, -32600, "null"},
		{"Method in capitals", `{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`, 400, -32600, "null"},
		{"method twice, once in capitals", `{"jsonrpc":"2.0","id":1,"method":"tools/list","METHOD":"tools/call"}`, 400, -32600, "null"},
		{"params with a long s", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"param\u017f\":{}}", 400, -32600, "null"},
		{"a key twice", `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}`, 400, -32700, "null"},
		{"a key twice deep inside", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"a":1,"a":2}}}`, 400, -32700, "null"},
		{"params as an array", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}`, 200, -32602, "1"},
		{"params as null", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`, 200, -32602, "1"},
		{"Name in capitals", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"innerloop_read_public_feed"}}`, 200, -32602, "1"},
		{"name twice, once in capitals", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"innerloop_read_public_feed","NAME":"x"}}`, 200, -32602, "1"},
		{"_meta as a string", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":"x"}}`, 200, -32602, "1"},
		{"arguments as an array", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"innerloop_read_public_feed","arguments":[]}}`, 200, -32602, "1"},
		{"a number that no float holds", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"innerloop_read_public_feed","arguments":{"limit":1e999}}}`, 200, -32602, "1"},
		{"an unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop_tables"}}`, 200, -32602, "1"},
		{"a tool name in capitals", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"INNERLOOP_READ_PUBLIC_FEED"}}`, 200, -32602, "1"},
		{"no tool name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, 200, -32602, "1"},
		{"a number as tool name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`, 200, -32602, "1"},
		{"a cursor nobody gave out", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"%%%"}}`, 200, -32602, "1"},
		{"a cursor of another type", `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":5}}`, 200, -32602, "1"},
		{"initialize without a version", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, 200, -32602, "1"},
		{"initialize with a string for capabilities", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":"all"}}`, 200, -32602, "1"},
		{"an unknown resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, 200, -32002, "1"},
		{"no resource uri", `{"jsonrpc":"2.0","id":1,"method":"resources/read"}`, 200, -32602, "1"},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/destroy"}`, 200, -32601, "1"},
		{"a method of the newest revision", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, 200, -32601, "1"},
		{"a method that needs a session", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"https://gateway.example/skill.md"}}`, 200, -32601, "1"},
		{"a method in capitals", `{"jsonrpc":"2.0","id":1,"method":"TOOLS/LIST"}`, 200, -32601, "1"},
		{"200,000 open brackets", strings.Repeat(`[`, 200_000), 400, -32700, "null"},
		{"objects 17 deep", strings.Repeat(`{"a":`, 17) + `1` + strings.Repeat(`}`, 17), 400, -32700, "null"},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"tools/list\"}", 400, -32700, "null"},
		{"half a surrogate pair", `{"jsonrpc":"2.0","id":"\ud800","method":"tools/list"}`, 400, -32700, "null"},
		{"a byte order mark", "\ufeff" + list, 400, -32700, "null"},
		{"a raw control character", "{\"jsonrpc\":\"2.0\",\"id\":\"a\x01b\",\"method\":\"tools/list\"}", 400, -32700, "null"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := post(t, d, era2025Nov.header("", ""), row.body)
			if r.status != row.status || r.code() != row.code || string(r.ID) != row.id {
				t.Errorf("status %d, code %d, id %s; want %d, %d, %s", r.status, r.code(), r.ID, row.status, row.code, row.id)
			}
			if r.Result != nil {
				t.Errorf("an error came with a result: %s", r.body)
			}
			wantNoEcho(t, r.body)
		})
	}
}

// wantNoEcho fails when an error shows Go or the request.
func wantNoEcho(t testing.TB, body []byte) {
	t.Helper()
	for _, word := range []string{
		"illegal base64", "interface {}", "json:", "mcp.", "Go value", "Go struct", "unmarshal", "runtime", "panic",
		"goroutine", ".go:", "drop_tables", "/etc/passwd", "tools/destroy", "%%%", "v9.9.9 or so",
	} {
		if strings.Contains(string(body), word) {
			t.Errorf("the answer contains %q: %s", word, body)
		}
	}
}

func TestIdsComeBackUnchanged(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, id := range []string{`0`, `7`, `-7`, `9007199254740991`, `-9007199254740991`, `""`, `"7"`, `"<&>\u2028é"`, `"a\u0000b"`} {
		for _, method := range []string{"ping", "no/such"} {
			r := post(t, d, era2025June.header("", ""), `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`)
			if !sameJSON(t, r.ID, []byte(id)) {
				t.Errorf("id %s came back as %s from %s", id, r.ID, method)
			}
		}
	}
}

func TestContentTypeMustBeJSON(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, row := range []struct {
		sent string
		want int
	}{
		{"application/json", 200},
		{"application/json; charset=utf-8", 200},
		{"Application/JSON", 200},
		{"", 415},
		{"text/plain", 415},
		{"application/x-www-form-urlencoded", 415},
		{"application/json, text/plain", 415},
	} {
		r := post(t, d, http.Header{"Content-Type": {row.sent}}, ping)
		if r.status != row.want {
			t.Errorf("%q: status %d, want %d", row.sent, r.status, row.want)
		}
	}
}

// A client that only reads HTML and one that never announced itself are both
// served: the answer is JSON whatever was asked for.
func TestLenientWhereNothingIsAtStake(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/html"}, "Mcp-Session-Id": {"made-up"}}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"innerloop_read_public_feed"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"innerloop_read_public_feed","arguments":null}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","trace":"kept by nobody"}`,
	} {
		r := post(t, d, header, body)
		if r.status != http.StatusOK || r.Error != nil {
			t.Errorf("%s: status %d, %s", body, r.status, r.body)
		}
		if session := r.header.Get("Mcp-Session-Id"); session != "" {
			t.Errorf("a session %q was given out", session)
		}
	}
}

func TestTheCodeOfTheOtherDoorsStandsBesideAParseError(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	r := post(t, d, era2025June.header("", ""), `{"a":1,"a":2}`)
	var data struct{ Code string }
	if err := json.Unmarshal(r.Error.Data, &data); err != nil || data.Code != "invalid_request" {
		t.Errorf("data is %s", r.Error.Data)
	}
	if !strings.Contains(r.Error.Message, "twice") {
		t.Errorf("the message does not name the rule: %s", r.Error.Message)
	}
}
