package handlers_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"innerloop/journal"
)

const sendPath = "/a2a/v1/message:send"

// a message as an A2A client spells it; change may alter it before it is sent.
func message(t *testing.T, id string, data any, change ...func(body, message map[string]any)) string {
	t.Helper()
	m := map[string]any{
		"messageId": id, "role": "ROLE_USER",
		"parts": []any{map[string]any{"data": data, "mediaType": "application/json"}},
	}
	body := map[string]any{"message": m, "configuration": map[string]any{"acceptedOutputModes": []string{"application/json"}}}
	for _, f := range change {
		f(body, m)
	}
	return encode(t, body)
}

func (d *door) send(body string, headers ...string) reply {
	d.t.Helper()
	return d.do(http.MethodPost, sendPath, body, append([]string{
		"Content-Type", "application/a2a+json", "Accept", "application/a2a+json", "A2A-Version", "1.0",
	}, headers...)...)
}

// A told is the data part of a reply.
type told struct {
	Operation string
	OK        bool
	Result    map[string]any
	Error     map[string]any
}

// operate sends an operation and returns its data part.
func (d *door) operate(id string, data any) told {
	d.t.Helper()
	r := d.send(message(d.t, id, data))
	answer := d.dataOf(r)
	kept(d.t, data, r)
	return answer
}

// dataOf checks everything about a reply but its data (protocol 9.2, 9.4).
func (d *door) dataOf(r reply) told {
	d.t.Helper()
	if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/a2a+json" ||
		r.Header.Get("A2A-Version") != "1.0" || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("X-Request-Id") == "" {
		d.t.Fatalf("%d %v %s", r.Status, r.Header, r.Body)
	}
	var body struct {
		Message struct {
			MessageID, ContextID, Role string
			Parts                      []struct {
				Data      map[string]any
				MediaType string
			}
		}
	}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		d.t.Fatal(err)
	}
	m := body.Message
	if m.MessageID == "" || m.ContextID == "" || m.Role != "ROLE_AGENT" || len(m.Parts) != 1 || m.Parts[0].MediaType != "application/json" {
		d.t.Fatalf("reply %s", r.Body)
	}
	if got := keysOf(decode(d.t, r.Body)) + "; " + keysOf(decode(d.t, r.Body)["message"].(map[string]any)); got != "message; contextId messageId parts role" {
		d.t.Errorf("keys of a reply: %s", got)
	}
	data := m.Parts[0].Data
	t := told{Operation: data["operation"].(string), OK: data["ok"].(bool)}
	t.Result, _ = data["result"].(map[string]any)
	t.Error, _ = data["error"].(map[string]any)
	want := "error ok operation"
	if t.OK {
		want = "ok operation result"
	}
	if got := keysOf(data); got != want {
		d.t.Errorf("keys of the data part: %s, want %s", got, want)
	}
	return t
}

// refusedWith checks a failure of an operation.
func (d *door) refusedWith(t told, code journal.Code) {
	d.t.Helper()
	if t.OK || t.Error["error_code"] != string(code) || t.Error["message"] == "" {
		d.t.Fatalf("got %v, want %s", t, code)
	}
	want := "error_code message retryable"
	if _, waits := t.Error["retry_after_seconds"]; waits {
		want = "error_code message retry_after_seconds retryable"
	}
	if got := keysOf(t.Error); got != want {
		d.t.Errorf("keys of an error: %s", got)
	}
}

// wantA2AError checks a refusal of the protocol (protocol 9.5).
func wantA2AError(t *testing.T, r reply, status int, state, reason, domain string) {
	t.Helper()
	var body struct {
		Error struct {
			Code            int
			Status, Message string
			Details         []struct {
				Type           string `json:"@type"`
				Reason, Domain string
			}
		}
	}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatalf("%d %s: %v", r.Status, r.Body, err)
	}
	e := body.Error
	if r.Status != status || e.Code != status || e.Status != state || e.Message == "" || len(e.Details) == 0 ||
		e.Details[0].Type != "type.googleapis.com/google.rpc.ErrorInfo" || e.Details[0].Reason != reason || e.Details[0].Domain != domain {
		t.Errorf("%d %s, want %d %s %s %s", r.Status, r.Body, status, state, reason, domain)
	}
	for name, want := range map[string]string{"Content-Type": "application/a2a+json", "A2A-Version": "1.0", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s %q of an error, want %q", name, got, want)
		}
	}
	if r.Header.Get("X-Request-Id") == "" {
		t.Error("an error without an id")
	}
}

const (
	a2aDomain = "a2a-protocol.org"
	ourDomain = "innerloop"
)

var discoveryGet = map[string]any{"operation": "innerloop.discovery.get"}

// keysOf lists the keys of an object in order.
func keysOf(object map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(object)), " ")
}
