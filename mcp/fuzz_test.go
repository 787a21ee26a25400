package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"testing"

	"innerloop/internal/strictjson"
	"innerloop/journal"
	"innerloop/seal"
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
		sendFuzz(t, d, header, body)
	})
}

// Whatever values arrive in a message of the right shape, of any era, to any
// method and tool: one member more, whose place, name and value are free, may
// stand beside the right ones or in place of one of them.
func FuzzServeValues(f *testing.F) {
	j, d := open(f)
	ada := j.Agent("Ada")
	signed := ada.Signs("a title")
	for era := range byte(len(eras)) {
		for method := range byte(len(fuzzMethods)) {
			f.Add(era, method, era+method, `"x"`, "Ada", ada.Public.String(), string(ada.ID), string(ada.KeyID), signed.Signature,
				"a title", "a body", "tag", "public", signed.Envelope.Nonce, signed.Envelope.IssuedAt, signed.Envelope.PayloadHash, 5, byte(0), "", "")
		}
	}
	for place, member := range [][2]string{
		{"arguments", `[]`}, {"limit", `"5"`}, {"_meta", `{"progressToken":1}`}, {"id", `1.5`}, {"progressToken", `"t"`}, {"extra", `{"a":[1,null]}`}, {"NAME", `"x"`},
	} {
		f.Add(byte(2), byte(0), byte(4), `7`, "Ada", "", "", "", "", "t", "b", "g", "private", "", "", "", 51, byte(place), member[0], member[1])
	}
	f.Fuzz(func(t *testing.T, eraIndex, methodIndex, toolIndex byte, id, name, key, agent, keyID, signature, title, body, tag, visibility, nonce, at, hash string, limit int, place byte, extra, value string) {
		entry := map[string]any{"self_reported_state": name, "title": title, "body": body, "tags": []string{tag}, "visibility": visibility, "allow_replies": limit < 0}
		envelope := map[string]any{"actor_id": agent, "action": seal.ActionEntryCreate, "payload_hash": hash, "nonce": nonce, "issued_at": at, "expires_at": at, "key_id": keyID}
		tools := []struct {
			name      string
			arguments map[string]any
		}{
			{toolStartRegistration, map[string]any{"display_name": name, "public_key": key}},
			{toolCompleteRegistration, map[string]any{"challenge_id": hash, "signature": signature}},
			{toolPrepareEntry, map[string]any{"agent_id": agent, "key_id": keyID, "entry": entry}},
			{toolPublishEntry, map[string]any{"entry": entry, "envelope": envelope, "signature": signature, "idempotency_key": nonce}},
			{toolReadFeed, map[string]any{"limit": limit, "cursor": hash}},
			{name, map[string]any{}},
		}
		called := tools[int(toolIndex)%len(tools)]
		method := fuzzMethods[int(methodIndex)%len(fuzzMethods)]
		params, named := map[string]any{}, ""
		switch method {
		case "tools/call":
			params["name"], params["arguments"], named = called.name, called.arguments, called.name
		case "prompts/get":
			params["name"], params["arguments"], named = name, map[string]any{"visibility": visibility}, name
		case "resources/read", "skills/get":
			params["uri"], named = title, title
		case "completion/complete":
			params["ref"], params["argument"] = map[string]any{"type": key, "name": name}, map[string]any{"name": tag, "value": body}
		case "initialize":
			params["protocolVersion"], params["capabilities"], params["clientInfo"] = hash, map[string]any{}, map[string]any{"name": name, "version": at}
		}
		e := eras[int(eraIndex)%len(eras)]
		meta := map[string]any{}
		if e == era2026 {
			meta = map[string]any{"io.modelcontextprotocol/protocolVersion": string(e), "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
		}
		params["_meta"] = meta
		message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
		if json.Valid([]byte(id)) {
			message["id"] = json.RawMessage(id)
		}
		if extra != "" && json.Valid([]byte(value)) {
			[]map[string]any{message, params, meta, called.arguments, entry, envelope}[int(place)%6][extra] = json.RawMessage(value)
		}
		text, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		header := e.header(method, named)
		if r, _ := strictjson.Parse(text); e == era2026 { // the header names what the body names
			p, _ := r.Get("params")
			for _, member := range []string{"name", "uri"} {
				if field, sent := p.Get(member); sent {
					if given, ok := field.Text(); ok {
						header.Set("Mcp-Name", "=?base64?"+base64.StdEncoding.EncodeToString([]byte(given))+"?=")
					}
				}
			}
		}
		sendFuzz(t, d, header, text)
	})
}

var fuzzMethods = []string{
	"tools/call", "tools/list", "resources/read", "resources/list", "resources/templates/list", "prompts/list", "prompts/get", "completion/complete",
	"skills/list", "skills/get", "initialize", "ping", "server/discover", "subscriptions/listen", "notifications/cancelled",
}

// What no refusal may hold: names of our types and functions, texts of the
// libraries below, places in the source.
var insides = regexp.MustCompile(`strictjson|(?:journal|handlers|models|seal|keyring|json|errors|mcp|server)\.[A-Z]|map\[string\]|interface \{\}|struct \{|goroutine |\.go:[0-9]|runtime error|SQLSTATE|sqlite|gorm|fasthttp|fiber`)

// sendFuzz sends a message and checks that the answer is one of MCP and no
// failure of ours.
func sendFuzz(t *testing.T, d *Door, header http.Header, body []byte) {
	t.Helper()
	status, answer, payload, stream := d.Serve(t.Context(), journal.Caller{}, http.MethodPost, header, body)
	switch {
	case status == http.StatusAccepted && len(payload) == 0, answer.Get("Content-Type") == "text/event-stream" && status == http.StatusOK:
		return
	case status >= 500 || stream != nil || !json.Valid(payload) || answer.Get("Content-Type") != "application/json":
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
		t.Fatalf("neither result nor error, or both: %q", payload)
	}
	if message.Error != nil {
		if message.Error.Code == -32603 {
			t.Errorf("an internal error: %q", payload)
		}
		wantNoEcho(t, []byte(message.Error.Message))
		return
	}
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(message.Result, &result); err != nil || !result.IsError {
		return
	}
	var refused toolError
	if len(result.Content) != 1 || json.Unmarshal([]byte(result.Content[0].Text), &refused) != nil || refused.Code == "" || refused.Message == "" {
		t.Fatalf("a refusal of another form: %q", payload)
	}
	if refused.Code == string(journal.ServiceUnavailable) || insides.MatchString(result.Content[0].Text) && !insides.Match(body) {
		t.Errorf("a failure of ours, or its words: %q", payload)
	}
}
