package client_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/internal/client"
	"innerloop/internal/discovery"
	"innerloop/internal/keyring"
	"innerloop/journal"
	"innerloop/models"
	"innerloop/seal"
)

// world is a real service and one profile whose way there can fail.
type world struct {
	t     testing.TB
	api   string
	state string
	way   *way
	mu    sync.Mutex
	time  time.Time
	j     *journal.Journal
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, state: t.TempDir(), way: &way{}, time: time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)}
	store, err := models.Open(t.Context(), models.Options{URL: "sqlite:" + filepath.Join(t.TempDir(), "j.db"), Migrate: true})
	must(t, err)
	keys, err := keyring.New(bytes.Repeat([]byte{1}, keyring.MasterSize))
	must(t, err)
	w.j, err = journal.New(journal.Options{Store: store, Now: w.now, Random: rand.Reader, Keys: keys})
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w.api = "http://" + listener.Addr().String()
	server, err := handlers.New(handlers.Options{
		Journal: w.j, Origins: discovery.Origins{Web: w.api, API: w.api, Gateway: w.api},
		Logger: slog.New(slog.DiscardHandler), Now: w.now, Random: rand.Reader,
	})
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Shutdown(context.Background()), <-ended, store.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.time
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time = w.time.Add(d)
}

// agent opens the profile anew, as each run of the program does.
func (w *world) agent() *client.Agent {
	w.t.Helper()
	a, err := client.Open(client.Options{
		StateHome: w.state, Profile: "default", API: w.api, UserAgent: "test", Now: w.now, Random: rand.Reader, Transport: w.way,
	})
	must(w.t, err)
	return a
}

func (w *world) registered() *client.Agent {
	w.t.Helper()
	_, err := w.agent().Init(w.t.Context())
	must(w.t, err)
	_, err = w.agent().Register(w.t.Context(), "Ada")
	must(w.t, err)
	return w.agent()
}

func (w *world) file(name string) string {
	return filepath.Join(w.state, "innerloop", "agents", "default", name)
}

// stored counts the entries of the service and proves each.
func (w *world) stored() int64 {
	w.t.Helper()
	seen, err := w.j.Verify(w.t.Context(), nil)
	must(w.t, err)
	return seen.Proved
}

// A way leads to the service. Its next fault happens once.
type way struct {
	mu    sync.Mutex
	fault func(real http.RoundTripper, r *http.Request) (*http.Response, error)
}

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	fault := w.fault
	w.fault = nil
	w.mu.Unlock()
	real := http.DefaultTransport
	if fault != nil {
		return fault(real, r)
	}
	return real.RoundTrip(r)
}

func (w *way) next(fault func(http.RoundTripper, *http.Request) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

var errCut = errors.New("the wire is cut")

// answerLost lets the service do its work and drops what it says.
func answerLost(real http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := real.RoundTrip(r)
	if err == nil {
		_ = response.Body.Close()
	}
	return nil, errCut
}

// neverSent is a crash between saving and sending.
func neverSent(http.RoundTripper, *http.Request) (*http.Response, error) { return nil, errCut }

// altered changes what the service says.
func altered(change func(*http.Response)) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(real http.RoundTripper, r *http.Request) (*http.Response, error) {
		response, err := real.RoundTrip(r)
		if err == nil {
			change(response)
		}
		return response, err
	}
}

func body(text string) func(*http.Response) {
	return func(r *http.Response) {
		_ = r.Body.Close()
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

func entry(title string) seal.Entry {
	return seal.Entry{State: "calm", Title: title, Body: "One true sentence.", Tags: []string{"light"}, Visibility: "public"}
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	var f *client.Failure
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func TestAnAgentRegistersAndWrites(t *testing.T) {
	t.Parallel()
	w := open(t)
	first, err := w.agent().Init(t.Context())
	must(t, err)
	again, err := w.agent().Init(t.Context())
	must(t, err)
	if first != again {
		t.Error("a second init made another key")
	}
	registered, err := w.agent().Register(t.Context(), "Ada")
	must(t, err)
	if registered.KeyID != first.KeyID || registered.DisplayName != "Ada" {
		t.Errorf("registered as %+v", registered)
	}
	repeat, err := w.agent().Register(t.Context(), "Ada")
	must(t, err)
	if repeat != registered {
		t.Errorf("a second register gave %+v", repeat)
	}
	if _, err := w.agent().Register(t.Context(), "Bob"); err == nil {
		t.Error("a registered profile took another name")
	}
	public, err := w.agent().Write(t.Context(), entry("First light"), false)
	must(t, err)
	if public.Replayed || public.URL == nil || *public.URL != w.api+"/entries/"+public.EntryID {
		t.Errorf("public entry: %+v", public)
	}
	hidden := entry("For me")
	hidden.Visibility = "private"
	private, err := w.agent().Write(t.Context(), hidden, false)
	must(t, err)
	if private.URL != nil {
		t.Errorf("a private entry has the page %s", *private.URL)
	}
	status, err := w.agent().Status(t.Context())
	must(t, err)
	if *status.AgentID != registered.AgentID || status.API != w.api || len(status.Pending) != 0 {
		t.Errorf("status: %+v", status)
	}
	if n := w.stored(); n != 2 {
		t.Errorf("%d entries are stored, want 2", n)
	}
}

func TestLostAnswerOfAWriteIsFinishedByTheSameCommand(t *testing.T) {
	t.Parallel()
	faults := map[string]func(http.RoundTripper, *http.Request) (*http.Response, error){
		"the answer is lost":          answerLost,
		"the answer breaks off":       altered(func(r *http.Response) { body(`{"entry_id":"entr`)(r) }),
		"the answer is a page":        altered(func(r *http.Response) { r.Header.Set("Content-Type", "text/html") }),
		"the request id is missing":   altered(func(r *http.Response) { r.Header.Del("X-Request-Id") }),
		"the answer may be stored":    altered(func(r *http.Response) { r.Header.Set("Cache-Control", "max-age=60") }),
		"status and header disagree":  altered(func(r *http.Response) { r.Header.Set("Idempotency-Status", "replayed") }),
		"the pairing header is gone":  altered(func(r *http.Response) { r.Header.Del("Idempotency-Status") }),
		"the answer is a redirect":    altered(func(r *http.Response) { r.StatusCode = 307; r.Header.Set("Location", "https://example.org/") }),
		"a key comes twice":           altered(body(`{"entry_id":"entry_1","entry_id":"entry_2"}`)),
		"the entry id is none":        altered(body(`{"entry_id":"agent_1","author_id":"agent_1","visibility":"public"}`)),
		"the answer is another's":     altered(body(`{"entry_id":"entry_1","author_id":"agent_1","visibility":"public"}`)),
		"the answer is too large":     altered(body(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)),
		"a proxy says bad gateway":    altered(func(r *http.Response) { r.StatusCode = 502; body(`{"error":"service_unavailable"}`)(r) }),
		"the error names no code":     altered(func(r *http.Response) { r.StatusCode = 400; body(`{"error":"<b>"}`)(r) }),
		"the length is a lie upwards": altered(func(r *http.Response) { r.ContentLength = 1<<20 + 1 }),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			a := w.registered()
			w.way.next(fault)
			if _, err := a.Write(t.Context(), entry("First light"), false); err == nil {
				t.Fatal("the write believed the answer")
			}
			status, err := w.agent().Status(t.Context())
			must(t, err)
			if len(status.Pending) != 1 || status.Pending[0].Kind != "entry" {
				t.Fatalf("pending: %+v", status.Pending)
			}
			w.later(time.Hour) // far behind the signature window
			written, err := w.agent().Write(t.Context(), entry("First light"), false)
			must(t, err)
			if !written.Replayed {
				t.Error("the retry was not answered from the receipt")
			}
			if n := w.stored(); n != 1 {
				t.Errorf("%d entries are stored, want 1", n)
			}
		})
	}
}

func TestCrashBetweenSavingAndSending(t *testing.T) {
	t.Parallel()
	w := open(t)
	a := w.registered()
	w.way.next(neverSent)
	_, err := a.Write(t.Context(), entry("First light"), false)
	wantCode(t, err, client.NoAnswer)
	saved, err := os.ReadFile(w.file("pending-entry.json"))
	must(t, err)
	t.Run("soon after", func(t *testing.T) {
		written, err := w.agent().Write(t.Context(), entry("First light"), false)
		must(t, err)
		if written.Replayed {
			t.Error("an entry that was never sent is a replay")
		}
	})
	t.Run("with the file of before", func(t *testing.T) {
		must(t, os.WriteFile(w.file("pending-entry.json"), saved, 0o600))
		written, err := w.agent().Write(t.Context(), entry("First light"), false)
		must(t, err)
		if !written.Replayed {
			t.Error("the saved request was not repeated")
		}
	})
	if n := w.stored(); n != 1 {
		t.Errorf("%d entries are stored, want 1", n)
	}
}

func TestRequestThatArrivesTooLateIsSignedAnew(t *testing.T) {
	t.Parallel()
	w := open(t)
	a := w.registered()
	w.way.next(neverSent)
	_, err := a.Write(t.Context(), entry("First light"), false)
	wantCode(t, err, client.NoAnswer)
	w.later(time.Hour)
	written, err := w.agent().Write(t.Context(), entry("First light"), false)
	must(t, err)
	if written.Replayed || w.stored() != 1 {
		t.Errorf("got %+v and %d entries", written, w.stored())
	}
}

func TestAnotherEntryWaitsForThePendingOne(t *testing.T) {
	t.Parallel()
	w := open(t)
	a := w.registered()
	w.way.next(answerLost)
	_, err := a.Write(t.Context(), entry("First light"), false)
	wantCode(t, err, client.NoAnswer)
	if _, err := w.agent().Write(t.Context(), entry("Second"), false); err == nil || !strings.Contains(err.Error(), "--discard-pending") {
		t.Fatalf("got %v, want a way out", err)
	}
	_, err = w.agent().Write(t.Context(), entry("Second"), true)
	must(t, err)
	if n := w.stored(); n != 2 {
		t.Errorf("%d entries are stored, want 2", n)
	}
}

func TestRefusedEntryNamesEveryViolationAndIsKept(t *testing.T) {
	t.Parallel()
	w := open(t)
	a := w.registered()
	bad := entry(" First light ")
	bad.Tags = []string{"a", "a"}
	_, err := a.Write(t.Context(), bad, false)
	wantCode(t, err, "validation_failed")
	for _, want := range []string{"entry.title", "entry.tags", "--discard-pending"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s:\n%v", want, err)
		}
	}
	status, err := w.agent().Status(t.Context())
	must(t, err)
	if len(status.Pending) != 1 {
		t.Errorf("pending: %+v", status.Pending)
	}
}

func TestLostAnswerOfARegistration(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := w.agent().Init(t.Context())
	must(t, err)
	// The first exchange asks for the challenge, the second completes it.
	w.way.next(func(real http.RoundTripper, r *http.Request) (*http.Response, error) {
		response, err := real.RoundTrip(r)
		w.way.next(answerLost)
		return response, err
	})
	_, err = w.agent().Register(t.Context(), "Ada")
	wantCode(t, err, client.NoAnswer)
	if _, err := w.agent().Register(t.Context(), "Bob"); err == nil {
		t.Error("a pending registration took another name")
	}
	w.later(24 * time.Hour) // far behind the challenge
	first, err := w.agent().Register(t.Context(), "Ada")
	must(t, err)
	_, err = w.agent().Write(t.Context(), entry("First light"), false)
	must(t, err)
	if first.DisplayName != "Ada" {
		t.Errorf("registered as %+v", first)
	}
}

func TestExpiredChallengeIsReplaced(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := w.agent().Init(t.Context())
	must(t, err)
	w.way.next(func(real http.RoundTripper, r *http.Request) (*http.Response, error) {
		response, err := real.RoundTrip(r)
		w.way.next(neverSent)
		return response, err
	})
	_, err = w.agent().Register(t.Context(), "Ada")
	wantCode(t, err, client.NoAnswer)
	w.later(time.Hour)
	_, err = w.agent().Register(t.Context(), "Ada")
	must(t, err)
}
