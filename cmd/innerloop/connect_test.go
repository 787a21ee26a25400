package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"innerloop/coworker/connect"
)

const plantedCredential = "planted-credential-93ab7751"

// TestAConnectionByTheCommandLine stores a credential, reaches a service on
// this machine with it through a serving process, and finds the secret nowhere
// but there.
func TestAConnectionByTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			var mu sync.Mutex
			var asked []string
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"TS":"now","echo":"`+r.Header.Get("Authorization")+`"}`)
			}))
			t.Cleanup(upstream.Close)
			s := surroundings{environ: append(p.environ, "INNERLOOP_LOG_LEVEL=debug", "INNERLOOP_LISTEN=127.0.0.1:0")}
			execute(t, s, "migrate")
			made := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)
			org, key := made["organization_id"].(string), made["key"].(string)
			secret := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(secret, []byte(plantedCredential+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			wishes := []string{"connect", "wildberries", "--org", org, "--base-url", upstream.URL, "--json"}
			for want, args := range map[string][]string{
				"is a secret":    append(wishes, "--field", "api_key="+plantedCredential),
				"given twice":    append(wishes, "--field", "api_key=@"+secret, "--field", "api_key=@"+secret),
				"fields.api_key": wishes,
				"fields":         append(wishes, "--field", "nonesuch=@"+secret),
				"needs --org":    {"connect", "wildberries", "--field", "api_key=@" + secret},
			} {
				got := attempt(t, s, args...)
				if got.code != 2 || !strings.Contains(got.err, want) || strings.Contains(got.err+got.out, plantedCredential) {
					t.Errorf("%s: exit %d, %s", want, got.code, got.err)
				}
			}
			stored := execute(t, s, append(wishes, "--field", "api_key=@"+secret)...)
			facts := decode(t, stored.out)
			fields, _ := facts["fields"].(map[string]any)
			if facts["service"] != "wildberries" || facts["state"] != string(connect.Connected) || fields["api_key"] != "7751" {
				t.Errorf("stored %s", stored.out)
			}

			origin := serving(t, s)
			call := func(arguments string) (string, bool) { return callTool(t, origin, key, "connector_execute", arguments) }
			text, failed := call(`{"service":"wildberries","module":"common","method":"GET","path":"/ping"}`)
			if !failed || !strings.Contains(text, "may not be called") || len(asked) != 0 {
				t.Errorf("before its network is admitted: %s, asked %v", text, asked)
			}
			execute(t, s, "org", "allow-network", "--org", org, "127.0.0.0/8", "--json")
			text, failed = call(`{"service":"wildberries","module":"common","method":"GET","path":"/ping"}`)
			var answer struct {
				Status int            `json:"status"`
				Class  string         `json:"class"`
				Data   map[string]any `json:"data"`
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil || failed || answer.Status != 200 || answer.Class != "read" || answer.Data["echo"] != connect.Masked {
				t.Errorf("answered %s", text)
			}
			if len(asked) != 1 || asked[0] != "GET /ping "+plantedCredential {
				t.Errorf("asked %v", asked)
			}
			if list, _ := callTool(t, origin, key, "list_services", `{"connected":true}`); !strings.Contains(list, "wildberries") || strings.Contains(list, "ozon") {
				t.Errorf("listed %s", list)
			}
			if text, failed := call(`{"service":"ozon","method":"POST","path":"/v1/seller/info"}`); !failed || !strings.Contains(text, "NOT_CONNECTED") || !strings.Contains(text, `"api_key"`) {
				t.Errorf("not connected: %s", text)
			}
			listed := execute(t, s, "connection", "list", "--org", org, "--json")
			items, _ := decode(t, listed.out)["items"].([]any)
			id, _ := facts["connection_id"].(string)
			if len(items) != 1 || !strings.Contains(listed.out, id) {
				t.Errorf("listed %s", listed.out)
			}
			execute(t, s, "connection", "remove", id, "--org", org)
			if text, failed := call(`{"service":"wildberries","module":"common","method":"GET","path":"/ping"}`); !failed || !strings.Contains(text, "NOT_CONNECTED") {
				t.Errorf("after its removal: %s", text)
			}
			if name == "sqlite" {
				files, _ := filepath.Glob(p.source + "*")
				for _, file := range files {
					raw, err := os.ReadFile(file)
					if err != nil || strings.Contains(string(raw), plantedCredential) {
						t.Errorf("%s holds the credential, or cannot be read: %v", filepath.Base(file), err)
					}
				}
			}
			for _, said := range []string{stored.out, stored.err, listed.out, listed.err} {
				if strings.Contains(said, plantedCredential) {
					t.Error("the credential was printed")
				}
			}
		})
	}
}

// callTool calls a tool with a key and returns the text of the answer.
func callTool(t *testing.T, origin, key, name, arguments string) (text string, failed bool) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Result struct {
			Content []struct{ Text string } `json:"content"`
			IsError bool                    `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal(raw, &said); err != nil || len(said.Result.Content) != 1 {
		t.Fatalf("%s: %s", name, raw)
	}
	return said.Result.Content[0].Text, said.Result.IsError
}
