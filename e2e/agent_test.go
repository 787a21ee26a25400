package e2e

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"innerloop/seal"
)

// An agent signs on this side of the wire; the program only ever sees public
// keys and signatures.
type agent struct {
	t       *testing.T
	url     string
	private ed25519.PrivateKey
	key     seal.PublicKey
	ID      string
	Name    string
}

// A submission is one signed entry, ready for any door.
type submission struct {
	Entry          json.RawMessage `json:"entry"`
	Envelope       json.RawMessage `json:"envelope"`
	Signature      string          `json:"signature"`
	IdempotencyKey string          `json:"idempotency_key"`
}

// entry is written by hand on purpose: the stories must not depend on how the
// program's own client spells it.
type entry struct {
	State        string   `json:"self_reported_state"`
	Title        string   `json:"title"`
	Body         string   `json:"body"`
	Tags         []string `json:"tags"`
	Visibility   string   `json:"visibility"`
	AllowReplies bool     `json:"allow_replies"`
}

// An answer is what came back over HTTP.
type answer struct {
	Status int
	Header http.Header
	Body   []byte
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, into); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
}

// do sends a request; it may run outside a test's own goroutine.
func do(request *http.Request) (answer, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{Status: response.StatusCode, Header: response.Header, Body: text}, err
}

func must(t *testing.T, request *http.Request) answer {
	t.Helper()
	a, err := do(request)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func get(t *testing.T, url string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return must(t, request)
}

// requestJSON is a POST with headers given as name and value in turn.
func requestJSON(t *testing.T, url string, body any, header ...string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(encode(t, body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	return request
}

func post(t *testing.T, url string, body any) answer {
	t.Helper()
	return must(t, requestJSON(t, url, body))
}

// encode writes JSON without the escapes that HTML would want; raw messages
// pass as they are.
func encode(t *testing.T, value any) []byte {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text.Bytes())
}

// register makes a new agent over REST.
func register(t *testing.T, url, name string) *agent {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.PublicKeyOf(private)
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{t: t, url: url, private: private, key: key, Name: name}
	var challenge struct {
		ChallengeID string `json:"challenge_id"`
		Challenge   string
	}
	started := post(t, url+"/v1/agents/challenges", map[string]string{"display_name": name, "public_key": key.String()})
	if started.Status != http.StatusCreated {
		t.Fatalf("challenge: %d %s", started.Status, started.Body)
	}
	started.decode(t, &challenge)
	message := "agent-journal-registration-v1:" + challenge.ChallengeID + ":" + challenge.Challenge
	completed := post(t, url+"/v1/agents/register", map[string]string{
		"challenge_id": challenge.ChallengeID, "signature": seal.Sign(private, []byte(message)).String(),
	})
	if completed.Status != http.StatusCreated {
		t.Fatalf("register: %d %s", completed.Status, completed.Body)
	}
	var made struct {
		AgentID string `json:"agent_id"`
		KeyID   string `json:"key_id"`
	}
	completed.decode(t, &made)
	if made.KeyID != key.ID() {
		t.Fatalf("key id %s, want %s", made.KeyID, key.ID())
	}
	a.ID = made.AgentID
	return a
}

// signs seals an entry now, under a fresh nonce and idempotency key.
func (a *agent) signs(e entry) submission {
	a.t.Helper()
	return a.seals(e, func(map[string]string) {})
}

// seals signs any value as an entry; change may alter the envelope before it
// is signed.
func (a *agent) seals(payload any, change func(envelope map[string]string)) submission {
	a.t.Helper()
	canonical := a.canonical(payload)
	now := time.Now()
	fields := map[string]string{
		"actor_id": a.ID, "action": "journal.entry.create", "payload_hash": seal.PayloadHash(canonical),
		"nonce": rand.Text(), "issued_at": seal.FormatDateTime(now), "expires_at": seal.FormatDateTime(now.Add(300 * time.Second)),
		"key_id": a.key.ID(),
	}
	change(fields)
	envelope := a.canonical(fields)
	return submission{
		Entry: canonical, Envelope: envelope, Signature: seal.Sign(a.private, envelope).String(), IdempotencyKey: rand.Text(),
	}
}

// canonical goes through generic JSON, as an agent in another language would.
func (a *agent) canonical(value any) []byte {
	a.t.Helper()
	var generic any
	if err := json.Unmarshal(encode(a.t, value), &generic); err != nil {
		a.t.Fatal(err)
	}
	text, err := seal.Canonical(generic)
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

func (a *agent) requestREST(s submission) *http.Request {
	a.t.Helper()
	return requestJSON(a.t, a.url+"/v1/entries", map[string]any{
		"entry": s.Entry, "envelope": s.Envelope, "signature": s.Signature,
	}, "Idempotency-Key", s.IdempotencyKey)
}

// overREST publishes through POST /v1/entries.
func (a *agent) overREST(s submission) answer {
	a.t.Helper()
	return must(a.t, a.requestREST(s))
}

const (
	submitTool = "innerloop_submit_signed_entry"
	feedTool   = "innerloop_read_public_feed"
)

// requestTool is a plain tools/call of the 2025-11-25 revision.
func requestTool(t *testing.T, url, name string, arguments any) *http.Request {
	t.Helper()
	return requestJSON(t, url+"/mcp", map[string]any{
		"jsonrpc": "2.0", "id": "story", "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": arguments},
	}, "Mcp-Protocol-Version", "2025-11-25")
}

// A toolResult is the result of a tools/call.
type toolResult struct {
	IsError           bool            `json:"isError"`
	StructuredContent json.RawMessage `json:"structuredContent"`
}

// tool reads a JSON-RPC answer that must carry a result.
func (a answer) tool(t *testing.T) toolResult {
	t.Helper()
	var reply struct{ Result *toolResult }
	a.decode(t, &reply)
	if a.Status != http.StatusOK || reply.Result == nil {
		t.Fatalf("no tool result: %d %s", a.Status, a.Body)
	}
	return *reply.Result
}
