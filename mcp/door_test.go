package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/journal"

	"innerloop/internal/discovery"
	"innerloop/journal/journaltest"
)

var testOrigins = discovery.Origins{
	Web: "https://web.example", API: "https://api.example", Gateway: "https://gateway.example",
}

func open(t testing.TB) (*journaltest.J, *Door) {
	t.Helper()
	j := journaltest.Open(t)
	d, err := New(Options{Journal: j.Journal, Origins: testOrigins, ServerName: "innerloop", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return j, d
}

// A reply is what came back, decoded.
type reply struct {
	status int
	header http.Header
	body   []byte

	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (r reply) code() int {
	if r.Error == nil {
		return 0
	}
	return r.Error.Code
}

func post(t testing.TB, d *Door, header http.Header, body string) reply {
	t.Helper()
	r := reply{}
	r.status, r.header, r.body, _ = d.Serve(t.Context(), journal.Caller{}, http.MethodPost, header, []byte(body))
	if got := r.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("cache-control is %q, want no-store", got)
	}
	if len(r.body) > 0 {
		if err := json.Unmarshal(r.body, &r); err != nil {
			t.Fatalf("answer is not JSON: %v\n%s", err, r.body)
		}
	}
	return r
}

// An era is how a client of a revision writes a call.
type era string

const (
	era2025June = era("2025-06-18")
	era2025Nov  = era("2025-11-25")
	era2026     = era("2026-07-28")
)

var eras = []era{era2025June, era2025Nov, era2026}

func (e era) header(method, name string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("MCP-Protocol-Version", string(e))
	if e == era2026 {
		h.Set("Mcp-Method", method)
		if name != "" {
			h.Set("Mcp-Name", name)
		}
	}
	return h
}

func (e era) params(members string) string {
	if e != era2026 {
		return "{" + members + "}"
	}
	if members != "" {
		members += ","
	}
	return "{" + members + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
}

// call sends a request with the id "call-1" and the members of its params.
func (e era) call(t testing.TB, d *Door, method, name, members string) reply {
	t.Helper()
	r := post(t, d, e.header(method, name), fmt.Sprintf(`{"jsonrpc":"2.0","id":"call-1","method":%q,"params":%s}`, method, e.params(members)))
	if string(r.ID) != `"call-1"` {
		t.Errorf("%s %s: id is %s", e, method, r.ID)
	}
	return r
}

type toolResult struct {
	ResultType string                     `json:"resultType"`
	Meta       map[string]json.RawMessage `json:"_meta"`
	IsError    bool                       `json:"isError"`
	Structured json.RawMessage            `json:"structuredContent"`
	Content    []struct{ Type, Text string }
	TTL        *int64 `json:"ttlMs"`

	refusal toolError
}

// tool calls a tool with arguments, a JSON text or a value to be written as
// one.
func (e era) tool(t testing.TB, d *Door, name string, arguments any) toolResult {
	t.Helper()
	raw, ok := arguments.(string)
	if !ok {
		encoded, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(encoded)
	}
	r := e.call(t, d, "tools/call", name, fmt.Sprintf(`"name":%q,"arguments":%s`, name, raw))
	if r.status != http.StatusOK || r.Error != nil {
		t.Fatalf("%s %s: status %d, %s", e, name, r.status, r.body)
	}
	var result toolResult
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Content) != 1 || result.Content[0].Type != "text" {
		t.Fatalf("%s %s: content is %v, want one text", e, name, result.Content)
	}
	if result.IsError {
		if result.Structured != nil {
			t.Errorf("%s %s: a tool error has structured content", e, name)
		}
		decodeStrictly(t, []byte(result.Content[0].Text), &result.refusal)
	} else if !sameJSON(t, result.Structured, []byte(result.Content[0].Text)) {
		t.Errorf("%s %s: text and structured content differ", e, name)
	}
	return result
}

func decodeStrictly(t testing.TB, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	normal := func(data []byte) string {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return normal(a) == normal(b)
}

func keysOf(t testing.TB, object json.RawMessage) []string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		t.Fatalf("%v in %s", err, object)
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func wantKeys(t testing.TB, object json.RawMessage, names string) {
	t.Helper()
	want := strings.Fields(names)
	slices.Sort(want)
	if got := keysOf(t, object); !slices.Equal(got, want) {
		t.Errorf("keys are %v, want %v", got, want)
	}
}

func TestOnlyPostIsServed(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodPatch, http.MethodHead, http.MethodOptions, "BREW"} {
		status, header, body, _ := d.Serve(t.Context(), journal.Caller{}, method, era2025June.header("", ""), nil)
		if status != http.StatusMethodNotAllowed || header.Get("Allow") != http.MethodPost || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d, allow %q, type %q", method, status, header.Get("Allow"), header.Get("Content-Type"))
		}
		if !json.Valid(body) {
			t.Errorf("%s: body is not JSON", method)
		}
	}
}

func TestNotificationsAreAcceptedInSilence(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, row := range []struct {
		name   string
		header http.Header
		body   string
	}{
		{"initialized, legacy", era2025June.header("", ""), `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{"initialized with empty params", era2025Nov.header("", ""), `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`},
		{"cancelled, modern", era2026.header("notifications/cancelled", ""), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + era2026.params(`"requestId":"x"`) + `}`},
		{"cancelled, modern, without _meta", era2026.header("notifications/cancelled", ""), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if r := post(t, d, row.header, row.body); r.status != http.StatusAccepted || len(r.body) != 0 {
				t.Errorf("status %d, body %s", r.status, r.body)
			}
		})
	}
}

func TestAWriteWithoutIDIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	j, d := open(t)
	s := j.Agent("Ada").Signs("never asked for an answer")
	body := fmt.Sprintf(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":%q,"arguments":%s}}`, toolPublishEntry, submission(t, s))
	if r := post(t, d, era2025June.header("", ""), body); r.status != http.StatusAccepted {
		t.Errorf("status %d", r.status)
	}
	if seen := j.Check(); seen.Proved != 0 {
		t.Errorf("%d entries are stored, want none", seen.Proved)
	}
}

func TestNewRefusesToBeIncomplete(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{ServerName: "innerloop"}); err == nil {
		t.Error("a door without a journal was made")
	}
	j := journaltest.Open(t)
	if _, err := New(Options{Journal: j.Journal}); err == nil {
		t.Error("a door without a name was made")
	}
	d, err := New(Options{Journal: j.Journal, ServerName: "innerloop"})
	if err != nil {
		t.Fatal(err)
	}
	if d.timeout != 55*time.Second {
		t.Errorf("a call may last %s, want 55s", d.timeout)
	}
}
