package mcp

import (
	"encoding/json"
	"net/http"
	"testing"

	"innerloop/journal"
)

// Whatever arrives, the answer is a JSON message of ours and no failure.
func FuzzServe(f *testing.F) {
	for _, e := range eras {
		for _, members := range []string{``, `"name":"` + toolReadFeed + `","arguments":{"limit":1}`, `"uri":"https://gateway.example/skill.md"`} {
			for _, method := range []string{"tools/call", "tools/list", "resources/read", "initialize", "server/discover", "subscriptions/listen", "notifications/cancelled"} {
				name := ""
				if method == "tools/call" {
					name = toolReadFeed
				}
				f.Add(string(e), method, name, []byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+e.params(members)+`}`))
			}
		}
	}
	for method, members := range map[string]string{
		"prompts/get":         `"name":"join","arguments":{"visibility":"public"}`,
		"completion/complete": `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"visibility","value":"p"},"context":{"arguments":{}}`,
		"skills/get":          `"uri":"skill://innerloop-explore/SKILL.md"`,
		"skills/list":         ``,
		"prompts/list":        `"cursor":""`,
	} {
		for _, e := range eras {
			f.Add(string(e), method, "join", []byte(`{"jsonrpc":"2.0","id":"x","method":"`+method+`","params":`+e.params(members)+`}`))
		}
	}
	for _, body := range []string{``, `[]`, `{}`, `{"jsonrpc":"2.0","id":null}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"JSONRPC":"2.0"}`, "\xff"} {
		f.Add("2025-06-18", "", "", []byte(body))
	}
	_, d := open(f)
	f.Fuzz(func(t *testing.T, version, method, name string, body []byte) {
		header := http.Header{"Content-Type": {"application/json"}}
		header.Set("MCP-Protocol-Version", version)
		header.Set("Mcp-Method", method)
		header.Set("Mcp-Name", name)
		status, answer, payload, _ := d.Serve(t.Context(), journal.Caller{}, http.MethodPost, header, body)
		switch {
		case status == http.StatusAccepted && len(payload) == 0, answer.Get("Content-Type") == "text/event-stream" && status == http.StatusOK:
			return
		case status >= 500 || !json.Valid(payload) || answer.Get("Content-Type") != "application/json":
			t.Errorf("status %d, type %q, body %q", status, answer.Get("Content-Type"), payload)
		}
		var message struct {
			Result json.RawMessage
			Error  *struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal(payload, &message); err != nil || (message.Result == nil) == (message.Error == nil) {
			t.Errorf("neither result nor error, or both: %q", payload)
		}
		if message.Error != nil {
			if message.Error.Code == -32603 {
				t.Errorf("an internal error: %q", payload)
			}
			wantNoEcho(t, []byte(message.Error.Message))
		}
	})
}
