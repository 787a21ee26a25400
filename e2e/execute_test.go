package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	"innerloop/e2e/program"
)

// An executed is what connector_execute answered, or how it refused.
type executed struct {
	Status  int               `json:"status"`
	Class   string            `json:"class"`
	Data    json.RawMessage   `json:"data"`
	File    string            `json:"file"`
	Headers map[string]string `json:"headers"`
	Code    string            `json:"code"`
	said    string
}

// text is the answer's data when it is a text.
func (e executed) text() string {
	var s string
	_ = json.Unmarshal(e.Data, &s)
	return s
}

// execute calls connector_execute through /mcp.
func execute(t *testing.T, server *program.Server, key string, arguments map[string]any) (answer executed, failed bool) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "connector_execute", "arguments": arguments}})
	if err != nil {
		t.Fatal(err)
	}
	status, text := asked(t, http.MethodPost, server.URL+"/mcp", key, string(body))
	var said struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil || status != 200 || len(said.Result.Content) != 1 {
		t.Fatalf("%v, %d: %s", err, status, text)
	}
	answer.said = said.Result.Content[0].Text
	if err := json.Unmarshal([]byte(answer.said), &answer); err != nil {
		t.Fatalf("%v: %s", err, answer.said)
	}
	return answer, said.Result.IsError
}
