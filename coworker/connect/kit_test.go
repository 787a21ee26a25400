package connect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/internal/keyring"
)

const secret = "S3cr3t-planted/value+0123456789"

// services are the same for every test, and reading them takes a while.
var services = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Load() })

// A bench is an engine whose services all live in one handler.
type bench struct {
	*connect.Engine
	t testing.TB

	mu      sync.Mutex
	books   map[string]connect.Connection // by service
	broken  []string
	works   []string
	renewed map[string]string
	asked   []*http.Request
	bodies  []string
	slept   []time.Duration
	now     time.Time
	kept    map[string][]byte
	full    error // of Keep
	serve   http.HandlerFunc
	stumble int // times that Renew fails
}

var everything = coworker.Caller{Scopes: coworker.WriteTools | coworker.ReadData, Class: coworker.ClassIrreversible}

// open makes a bench. serve answers each request; the body is read for it.
func open(t testing.TB, serve http.HandlerFunc) *bench {
	t.Helper()
	var b *bench
	do := doer(func(r *http.Request) (*http.Response, error) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		var body []byte
		if r.Body != nil {
			body, _ = io.ReadAll(r.Body)
		}
		b.mu.Lock()
		b.asked = append(b.asked, r)
		b.bodies = append(b.bodies, string(body))
		b.mu.Unlock()
		in := r.Clone(r.Context())
		in.Body = io.NopCloser(bytes.NewReader(body))
		w := httptest.NewRecorder()
		b.serve(w, in)
		if w.Code == http.StatusTeapot {
			return nil, errors.New("dial tcp 203.0.113.9:443: connection refused")
		}
		return w.Result(), nil
	})
	b = openTo(t, func([]netip.Prefix, string) connect.Doer { return do })
	b.serve = serve
	return b
}

// openTo makes a bench with a way out of its own.
func openTo(t testing.TB, clients func([]netip.Prefix, string) connect.Doer) *bench {
	t.Helper()
	all, err := services()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(bytes.Repeat([]byte{1}, keyring.MasterSize))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ring.For("connector cursor")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, books: map[string]connect.Connection{}, renewed: map[string]string{}, kept: map[string][]byte{}, now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	b.Engine, err = connect.New(connect.Options{
		Catalog: all, Book: b, Cursors: key, Files: b,
		Clients: clients,
		Now: func() time.Time {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.now
		},
		Sleep: func(_ context.Context, d time.Duration) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.slept = append(b.slept, d)
			b.now = b.now.Add(d)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for service, fields := range map[string]map[string]string{
		"wildberries":     {"api_key": secret},
		"ozon":            {"client_id": "77", "api_key": secret},
		"bitrix24":        {"webhook_url": "https://acme.bitrix24.ru/rest/1/s3cr3tcode123456/"},
		"cdek":            {"client_id": "account", "client_secret": secret},
		"onec":            {"user": "robot", "password": secret},
		"telegram_bot":    {"token": "123456789:AAsecretsecretsecretsecretsecretsec"},
		"tbank_acquiring": {"terminal_key": "Terminal1", "password": secret},
		"github":          {"token": secret},
		"yandex_direct":   {"token": secret},
		"s3":              {"access_key_id": "AKIDEXAMPLE-planted", "secret_access_key": secret},
	} {
		b.books[service] = connect.Connection{ID: "connection_" + service, Service: service, Fields: fields, Version: 1, Params: map[string]string{
			"base_url": "https://one.acme.example/base",
		}}
	}
	return b
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func (b *bench) Connection(_ context.Context, _ coworker.Caller, service, name string) (connect.Connection, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.books[service]
	if !ok || name != "" {
		return connect.Connection{}, &coworker.Fault{Code: coworker.NotConnected}
	}
	return c, nil
}

func (b *bench) Broken(_ context.Context, id string, _ int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = append(b.broken, id)
	return nil
}

func (b *bench) Works(_ context.Context, id string, _ int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.works = append(b.works, id)
	return nil
}

func (b *bench) Renew(_ context.Context, id string, version int64, field, value string) (connect.Connection, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stumble--; b.stumble >= 0 {
		return connect.Connection{}, errors.New("disk")
	}
	b.renewed[field] = value
	for service, c := range b.books {
		if c.ID == id {
			c.Version, c.Fields = version+1, maps.Clone(c.Fields)
			c.Fields[field] = value
			b.books[service] = c
			return c, nil
		}
	}
	return connect.Connection{}, errors.New("no such connection")
}

func (b *bench) Keep(_ context.Context, _ coworker.Caller, name string, body []byte) (string, error) {
	if b.full != nil {
		return "", b.full
	}
	b.kept[name] = body
	return "downloads/" + name, nil
}

// do does a call that must succeed.
func (b *bench) do(call connect.Call) *connect.Answer {
	b.t.Helper()
	a, _, err := b.Execute(b.t.Context(), everything, call)
	if err != nil {
		b.t.Fatalf("%v %+v", err, details(err))
	}
	return a
}

// refused does a call that must be refused with a code.
func (b *bench) refused(call connect.Call, code coworker.Code) *coworker.Fault {
	b.t.Helper()
	a, _, err := b.Execute(b.t.Context(), everything, call)
	f, ok := coworker.AsFault(err)
	if !ok || f.Code != code {
		b.t.Fatalf("got %+v %v, not %s", a, err, code)
	}
	return f
}

func details(err error) any {
	if f, ok := coworker.AsFault(err); ok {
		return f.Details
	}
	return nil
}

func (b *bench) requests() ([]*http.Request, []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked, b.bodies
}

func say(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// turns answers each request in order, the last one for ever.
func turns(handlers ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[0]
		if len(handlers) > 1 {
			handlers = handlers[1:]
		}
		mu.Unlock()
		h(w, r)
	}
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
