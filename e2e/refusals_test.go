package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/seal"
)

// A forgery is one change to a good submission and the codes that may answer.
type forgery struct {
	name  string
	make  func(*agent, submission) submission
	codes []string
}

func plain() map[string]any {
	return map[string]any{
		"self_reported_state": "plain", "title": "A plain title", "body": "A plain body.",
		"tags": []any{}, "visibility": "public", "allow_replies": false,
	}
}

// with is the plain entry with one field set, freshly signed.
func with(field string, value any) func(*agent, submission) submission {
	return func(a *agent, _ submission) submission {
		e := plain()
		e[field] = value
		return a.seals(e, func(map[string]string) {})
	}
}

// enveloped is the plain entry under a changed envelope, freshly signed.
func enveloped(change func(map[string]string)) func(*agent, submission) submission {
	return func(a *agent, _ submission) submission { return a.seals(plain(), change) }
}

// edited is the submission with its text changed after it was signed.
func edited(edit func(*submission)) func(*agent, submission) submission {
	return func(_ *agent, s submission) submission {
		edit(&s)
		return s
	}
}

func replaced(text json.RawMessage, old, new string) json.RawMessage {
	return json.RawMessage(strings.Replace(string(text), old, new, 1))
}

func shifted(issued, expires time.Duration) func(*agent, submission) submission {
	return enveloped(func(e map[string]string) {
		now := time.Now()
		e["issued_at"], e["expires_at"] = seal.FormatDateTime(now.Add(issued)), seal.FormatDateTime(now.Add(expires))
	})
}

var (
	forged = []string{"invalid_request", "invalid_signature"}
	loose  = []string{"invalid_request", "invalid_signature", "validation_failed"}
	rules  = []string{"validation_failed"}
	either = []string{"invalid_request", "validation_failed"}
	window = []string{"invalid_signature_window"}
)

// forgeries are the rows of protocol 12.3 that a whole program with a real
// clock can show.
var forgeries = []forgery{
	{"a signature without padding", edited(func(s *submission) { s.Signature = strings.TrimRight(s.Signature, "=") }), loose},
	{"a signature with a line feed", edited(func(s *submission) { s.Signature += "\n" }), loose},
	{"a signature of another message", edited(func(s *submission) { s.Signature = strings.Repeat("A", 86) + "==" }), forged},
	{"a title changed after signing", edited(func(s *submission) { s.Entry = replaced(s.Entry, "A plain title", "A plain titles") }), []string{"payload_hash_mismatch"}},
	{"a nonce changed after signing", edited(func(s *submission) { s.Envelope = replaced(s.Envelope, `"nonce":"`, `"nonce":"x`) }), []string{"invalid_signature"}},
	{"a hash in upper case", enveloped(func(e map[string]string) {
		e["payload_hash"] = "sha256:" + strings.ToUpper(strings.TrimPrefix(e["payload_hash"], "sha256:"))
	}), append([]string{"payload_hash_mismatch"}, either...)},
	{"an eighth field in the envelope", enveloped(func(e map[string]string) { e["audience"] = "here" }), either},
	{"another action", enveloped(func(e map[string]string) { e["action"] = "journal.entry.delete" }), either},
	{"a key twice", edited(func(s *submission) { s.Entry = replaced(s.Entry, `"title":`, `"title":"x","title":`) }), either},
	{"a key in capitals", edited(func(s *submission) { s.Entry = replaced(s.Entry, `"title":`, `"Title":`) }), either},
	{"an unknown key", with("mood", "blue"), either},
	{"a lone surrogate", edited(func(s *submission) { s.Entry = replaced(s.Entry, "plain body", `plain \ud800 body`) }), either},
	{"an unknown signer", enveloped(func(e map[string]string) { e["key_id"] = "key_" + strings.Repeat("0", 64) }), []string{"invalid_signing_key"}},
	{"an unknown agent", enveloped(func(e map[string]string) { e["actor_id"] = "agent_" + strings.Repeat("0", 32) }), []string{"invalid_signing_key"}},
	{"a window that is over", shifted(-400*time.Second, -100*time.Second), window},
	{"a window that is not yet", shifted(120*time.Second, 400*time.Second), window},
	{"a window too long", shifted(-time.Second, 400*time.Second), window},
	{"a window the wrong way round", shifted(10*time.Second, -10*time.Second), window},
	{"a tag not in NFC", with("tags", []any{"cafe\u0301"}), rules},
	{"a tag twice", with("tags", []any{"a", "a"}), rules},
	{"a tag that is a path", with("tags", []any{".."}), rules},
	{"nine tags", with("tags", []any{"1", "2", "3", "4", "5", "6", "7", "8", "9"}), rules},
	{"a tag with a joiner", with("tags", []any{"a\u200db"}), rules},
	{"a state of 41 astral characters", with("self_reported_state", strings.Repeat("🌱", 41)), rules},
	{"a body that ends in U+FEFF", with("body", "text\ufeff"), rules},
	{"a body with NUL", with("body", "te\x00xt"), rules},
	{"replies", with("allow_replies", true), rules},
	{"no visibility", with("visibility", "friends"), rules},
}

// Attack: every forgery of protocol 12.3, through every door.
// Expectation: the code of the table, and nothing stored.
func TestForgeriesAreRefusedAtEveryDoor(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server := serve(t, o)
	ada := register(t, server.URL, "Ada Unforged")
	for _, row := range forgeries {
		t.Run(row.name, func(t *testing.T) {
			s := row.make(ada, ada.seals(plain(), func(map[string]string) {}))
			if _, code := refused(t, must(t, raw(t, server.URL+"/v1/entries", `{"entry":`+string(s.Entry)+`,"envelope":`+string(s.Envelope)+`,"signature":`+string(encode(t, s.Signature))+`}`, s.IdempotencyKey))); !slices.Contains(row.codes, code) {
				t.Errorf("REST answers %s, want one of %v", code, row.codes)
			}
			call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + submitTool + `","arguments":{"entry":` + string(s.Entry) +
				`,"envelope":` + string(s.Envelope) + `,"signature":` + string(encode(t, s.Signature)) + `,"idempotency_key":"` + s.IdempotencyKey + `"}}}`
			want := row.codes
			if row.name == "a key twice" || row.name == "a lone surrogate" {
				want = []string{"protocol"} // no strict JSON, so there is no call to answer
			}
			if code := refusedByTool(t, must(t, raw(t, server.URL+"/mcp", call, ""))); !slices.Contains(want, code) {
				t.Errorf("MCP answers %s, want one of %v", code, want)
			}
			message := `{"message":{"messageId":"` + s.IdempotencyKey + `","role":"ROLE_USER","parts":[{"data":{"operation":"innerloop.entry.publish","entry":` + string(s.Entry) +
				`,"envelope":` + string(s.Envelope) + `,"signature":` + string(encode(t, s.Signature)) + `,"idempotencyKey":"` + s.IdempotencyKey + `"}}]}}`
			if code := refusedByMessage(t, must(t, raw(t, server.URL+"/a2a/v1/message:send?A2A-Version=1.0", message, ""))); !slices.Contains(want, code) {
				t.Errorf("A2A answers %s, want one of %v", code, want)
			}
		})
	}
	if page := feed(t, get(t, server.URL+"/v1/feed").Body); len(page) != 0 {
		t.Errorf("forgeries were published: %v", page)
	}
	storedAsSigned(t, o, ada, nil)
}

// The edges that the table lets in.
func TestEdgesAreAccepted(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	ada := register(t, server.URL, "Ada at the Edge")
	rows := map[string]func(*agent, submission) submission{
		"a state of 40 astral characters":   with("self_reported_state", strings.Repeat("🌱", 40)),
		"a body that ends in U+0085":        with("body", "text\u0085"),
		"a body of 20,000 code points":      with("body", strings.Repeat("é", 20_000)),
		"eight tags with spaces":            with("tags", []any{"a b", "b", "c", "d", "e", "f", "g", "h"}),
		"a window issued 55 s ahead":        shifted(55*time.Second, 200*time.Second),
		"the line separators of Unicode":    with("body", "a\u2028b\u2029c"),
		"angle brackets and an ampersand":   with("title", "<&>\"'\\"),
		"tab, line feed, carriage return":   with("body", "a\tb\nc\r\nd"),
		"noncharacters that are not barred": with("body", "a\ufdd0b\ufffdc"),
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Run(name, func(t *testing.T) {
			s := rows[name](ada, submission{})
			oneEntry(t, ada, s, viaREST, viaMCP, viaA2A)
		})
	}
}

// Attack: requests that are no request of ours at all.
// Expectation: a coded JSON error with the headers of protocol 7.2, never
// HTML, never a Go error, and nothing of the request said back.
func TestStrangeRequestsAreAnsweredInJSON(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	const marker = "echo-marker"
	rows := []struct {
		name, method, path, media, body string
		status                          int
		code                            string
	}{
		{"broken JSON", "POST", "/v1/entries", "application/json", `{"` + marker, 400, "invalid_request"},
		{"an empty body", "POST", "/v1/entries", "application/json", "", 400, "invalid_request"},
		{"something after the value", "POST", "/v1/agents/challenges", "application/json", `{}{}`, 400, "invalid_request"},
		{"an array", "POST", "/v1/agents/challenges", "application/json", `["` + marker + `"]`, 400, "invalid_request"},
		{"invalid UTF-8", "POST", "/v1/agents/challenges", "application/json", "{\"display_name\":\"\xff\"}", 400, "invalid_request"},
		{"two thousand brackets", "POST", "/v1/agents/register", "application/json", strings.Repeat("[", 2000), 400, "invalid_request"},
		{"a registration too large", "POST", "/v1/agents/challenges", "application/json", `{"display_name":"` + strings.Repeat(marker, 300) + `"}`, 413, "request_too_large"},
		{"an entry too large", "POST", "/v1/entries", "application/json", `{"entry":"` + strings.Repeat("x", 300<<10) + `"}`, 413, "request_too_large"},
		{"a form", "POST", "/v1/entries", "application/x-www-form-urlencoded", "entry=" + marker, 415, "invalid_request"},
		{"no media type", "POST", "/v1/entries", "", "{}", 415, "invalid_request"},
		{"the wrong method", "DELETE", "/v1/entries", "application/json", "{}", 405, "invalid_request"},
		{"an unknown path", "GET", "/v1/" + marker, "", "", 404, "invalid_request"},
		{"an unknown verb", "BREW", "/v1/feed", "", "", 405, "invalid_request"},
		{"an unknown entry", "GET", "/v1/entries/entry_" + marker, "", "", 404, "entry_not_found"},
		{"an unknown agent", "GET", "/v1/agents/agent_" + marker, "", "", 404, "agent_not_found"},
		{"a limit too high", "GET", "/v1/feed?limit=51", "", "", 400, "validation_failed"},
		{"a limit in words", "GET", "/v1/feed?limit=" + marker, "", "", 400, "validation_failed"},
		{"a made-up cursor", "GET", "/v1/feed?cursor=" + marker, "", "", 400, "validation_failed"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), row.method, server.URL+row.path, strings.NewReader(row.body))
			if err != nil {
				t.Fatal(err)
			}
			if row.media != "" {
				request.Header.Set("Content-Type", row.media)
			}
			request.Header.Set("Idempotency-Key", "k")
			got := must(t, request)
			status, code := refused(t, got)
			if code != row.code || status != row.status {
				t.Errorf("%d %s, want %d %s", status, code, row.status, row.code)
			}
			if strings.Contains(string(got.Body), marker) {
				t.Errorf("the answer repeats the request: %s", got.Body)
			}
		})
	}
}

// raw sends text as it is.
func raw(t *testing.T, url, body, key string) *http.Request {
	t.Helper()
	request := requestJSON(t, url, nil, "Mcp-Protocol-Version", "2025-11-25")
	fresh, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	fresh.Header = request.Header
	if key != "" {
		fresh.Header.Set("Idempotency-Key", key)
		fresh.Header.Del("Mcp-Protocol-Version")
	}
	return fresh
}

// refused checks what every REST error promises and returns status and code.
func refused(t *testing.T, a answer) (int, string) {
	t.Helper()
	var body struct {
		Error     string `json:"error"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	}
	if media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); media != "application/json" {
		t.Errorf("content type %q: %.200s", a.Header.Get("Content-Type"), a.Body)
		return a.Status, ""
	}
	a.decode(t, &body)
	if a.Status < 400 || body.Message == "" || body.RequestID == "" || body.RequestID != a.Header.Get("X-Request-Id") {
		t.Errorf("%d %s, x-request-id %q", a.Status, a.Body, a.Header.Get("X-Request-Id"))
	}
	if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") || a.Header.Get("Idempotency-Status") != "" ||
		a.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", a.Header)
	}
	for _, leak := range []string{"json:", "strictjson", "goroutine", "invalid character", ".go:"} {
		if strings.Contains(string(a.Body), leak) {
			t.Errorf("the answer speaks Go: %s", a.Body)
		}
	}
	return a.Status, body.Error
}

// refusedByMessage returns the code of an operation that was refused over A2A,
// or "protocol" for an error of the protocol.
func refusedByMessage(t *testing.T, a answer) string {
	t.Helper()
	var reply struct {
		Error   *struct{ Status string }
		Message struct {
			Parts []struct {
				Data struct {
					OK     bool
					Result json.RawMessage
					Error  struct {
						Code    string `json:"error_code"`
						Message string
					}
				}
			}
		}
	}
	a.decode(t, &reply)
	switch {
	case reply.Error != nil && reply.Error.Status == "INVALID_ARGUMENT" && a.Status == http.StatusBadRequest:
		return "protocol"
	case a.Status != http.StatusOK || len(reply.Message.Parts) != 1:
		t.Errorf("no refusal: %d %s", a.Status, a.Body)
		return ""
	}
	data := reply.Message.Parts[0].Data
	if data.OK || data.Result != nil || data.Error.Message == "" {
		t.Errorf("no refusal: %s", a.Body)
	}
	return data.Error.Code
}

// refusedByTool returns a tool error's code, or "protocol" for a JSON-RPC error.
func refusedByTool(t *testing.T, a answer) string {
	t.Helper()
	var reply struct {
		Error  *struct{ Code int }
		Result *struct {
			IsError           bool
			StructuredContent json.RawMessage
			Content           []struct{ Text string }
		}
	}
	a.decode(t, &reply)
	switch {
	case reply.Error != nil:
		return "protocol"
	case reply.Result == nil || !reply.Result.IsError || reply.Result.StructuredContent != nil || len(reply.Result.Content) != 1:
		t.Errorf("no tool error: %s", a.Body)
		return ""
	}
	var told struct{ Code, Message string }
	if err := json.Unmarshal([]byte(reply.Result.Content[0].Text), &told); err != nil || told.Message == "" {
		t.Errorf("%v in %s", err, reply.Result.Content[0].Text)
	}
	return told.Code
}
