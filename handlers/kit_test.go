package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

const origin = "https://journal.example"

// A door is a server on a loopback port, over a journal of its own.
type door struct {
	*journaltest.J
	URL  string
	Log  *logbook
	http *http.Client
	t    *testing.T
	// server is the one behind URL.
	server *handlers.Server
	// reached, when set, notes each refusal as "operation code".
	reached *sync.Map
}

// open serves a journal. change may alter the options first.
func open(t *testing.T, change ...func(*handlers.Options)) *door {
	t.Helper()
	return openOn(t, journaltest.Open(t), change...)
}

// openOn serves a journal that is there.
func openOn(t *testing.T, j *journaltest.J, change ...func(*handlers.Options)) *door {
	t.Helper()
	d := &door{J: j, Log: &logbook{}, t: t}
	o := handlers.Options{
		Journal: j.Journal, Origins: discovery.Origins{Web: origin, API: origin, Gateway: origin},
		Logger: slog.New(slog.NewTextHandler(d.Log, nil)), Now: j.Clock.Now, Random: j.Random,
	}
	for _, f := range change {
		f(&o)
	}
	server, err := handlers.New(o)
	if err != nil {
		t.Fatalf("new server: %v", err)
	}
	d.server = server
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	d.URL = "http://" + listener.Addr().String()
	transport := &http.Transport{DisableCompression: true}
	d.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return d
}

// A logbook keeps what was logged.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A reply is an answer with its body read.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

// do sends a request; headers are pairs of name and value.
func (d *door) do(method, path, body string, headers ...string) reply {
	d.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.URL+path, reader)
	if err != nil {
		d.t.Fatalf("request: %v", err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	answer, err := d.http.Do(r)
	if err != nil {
		d.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatalf("%s %s: read: %v", method, path, err)
	}
	made := reply{answer.StatusCode, answer.Header, string(text)}
	for _, fault := range spec(d.t).check(method, path, body, made) {
		d.t.Errorf("/openapi.json disagrees: %s", fault)
	}
	if _, op := spec(d.t).find(method, path); d.reached != nil && op != nil && made.Status >= 400 {
		d.reached.Store(fmt.Sprint(op["operationId"], " ", decode(d.t, made.Body)["error"]), true)
	}
	return made
}

func (d *door) get(path string, headers ...string) reply {
	d.t.Helper()
	return d.do(http.MethodGet, path, "", headers...)
}

// post sends JSON.
func (d *door) post(path, body string, headers ...string) reply {
	d.t.Helper()
	return d.do(http.MethodPost, path, body, append([]string{"Content-Type", "application/json"}, headers...)...)
}

// publish sends a submission as an agent would.
func (d *door) publish(s journal.Submission) reply {
	d.t.Helper()
	return d.post("/v1/entries", bodyOf(d.t, s), "Idempotency-Key", s.IdempotencyKey)
}

// bodyOf spells a submission as JSON.
func bodyOf(t *testing.T, s journal.Submission) string {
	t.Helper()
	tags := s.Entry.Tags
	if tags == nil {
		tags = []string{}
	}
	return encode(t, map[string]any{
		"entry": map[string]any{
			"self_reported_state": s.Entry.State, "title": s.Entry.Title, "body": s.Entry.Body,
			"tags": tags, "visibility": s.Entry.Visibility, "allow_replies": s.Entry.AllowReplies,
		},
		"envelope": map[string]any{
			"actor_id": s.Envelope.ActorID, "action": s.Envelope.Action, "payload_hash": s.Envelope.PayloadHash,
			"nonce": s.Envelope.Nonce, "issued_at": s.Envelope.IssuedAt, "expires_at": s.Envelope.ExpiresAt,
			"key_id": s.Envelope.KeyID,
		},
		"signature": s.Signature,
	})
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return string(text)
}

// decode reads a JSON object.
func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not a JSON object: %v\n%s", err, text)
	}
	return v
}

// wantError checks status and code of a coded JSON error with its headers.
func wantError(t *testing.T, r reply, status int, code journal.Code) {
	t.Helper()
	if r.Status != status {
		t.Errorf("status %d, want %d: %s", r.Status, status, r.Body)
	}
	if got := decode(t, r.Body)["error"]; got != string(code) {
		t.Errorf("error %v, want %s", got, code)
	}
	wantMachineHeaders(t, r)
	if got := r.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("cache-control %q of an error, want no-store", got)
	}
}

// stored counts the entries in the store.
func (d *door) stored() int64 {
	d.t.Helper()
	return d.Check().Proved
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
