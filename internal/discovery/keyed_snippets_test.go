package discovery

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Every keyed snippet that a client reads as JSON leads to the endpoint and
// carries the key where that client looks for it; no other shows the key.
func TestKeyedSnippetsCarryTheKey(t *testing.T) {
	t.Parallel()
	const key = "sk-org-AAAAAAAA_secret"
	o := Origins{Web: "https://web.example", API: "https://api.example", Gateway: "https://gateway.example"}
	var clients []string
	for _, s := range KeyedSnippets(o, key) {
		clients = append(clients, s.Client)
		if (s.Text == "") != (s.Brings == ByNothing) || s.Text != "" && !strings.Contains(s.Text, "https://gateway.example/mcp") {
			t.Errorf("%s: %+v", s.Client, s)
		}
		asks := strings.Contains(s.Text, "${input:")
		if holds := strings.Contains(s.Text, key); holds != (s.Brings == ByBridge || s.Brings == ByHeader && !asks) {
			t.Errorf("%s by %s: %s", s.Client, s.Brings, s.Text)
		}
		if s.Brings == ByEnvironment && !strings.Contains(s.Text, KeyVariable) {
			t.Errorf("%s: %s", s.Client, s.Text)
		}
		if s.Form != "json" {
			continue
		}
		var file map[string]json.RawMessage
		if err := json.Unmarshal([]byte(s.Text), &file); err != nil {
			t.Fatal(err)
		}
		for group, text := range file {
			if group == "inputs" {
				continue
			}
			var servers map[string]struct {
				URL, HTTPURL, ServerURL string
				Headers, Env            map[string]string
				Args                    []string
			}
			if err := json.Unmarshal(text, &servers); err != nil {
				t.Fatal(err)
			}
			at := servers["innerloop"]
			if at.URL+at.HTTPURL+at.ServerURL != o.MCP() && !slices.Contains(at.Args, o.MCP()) {
				t.Errorf("%s leads to %+v", s.Client, at)
			}
			if !asks && at.Headers["Authorization"] != "Bearer "+key && at.Env[KeyVariable] != key {
				t.Errorf("%s sends %+v", s.Client, at)
			}
		}
	}
	want := []string{"Claude Code", "Cursor", "VS Code", "Codex", "Gemini CLI", "Windsurf", "Zed", "LM Studio", "Claude Desktop", "Claude", "ChatGPT"}
	if !slices.Equal(clients, want) {
		t.Errorf("the clients are %v", clients)
	}
	for _, s := range KeyedSnippets(o, "") {
		if strings.Contains(s.Text, "Bearer \"") || s.Brings == ByBridge && !strings.Contains(s.Text, KeyPlaceholder) {
			t.Errorf("%s: %s", s.Client, s.Text)
		}
	}
}
