package handlers_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/journal"
)

// An echo is a tool door that keeps what it was asked.
type echo struct {
	mu     sync.Mutex
	method string
	header http.Header
	body   string
	status int
	fall   bool
}

func (e *echo) Serve(_ context.Context, _ journal.Caller, method string, header http.Header, body []byte) (int, http.Header, []byte, iter.Seq[[]byte]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.method, e.header, e.body = method, header, string(body)
	if e.fall {
		panic("secret words")
	}
	return e.status, http.Header{
		"Content-Type": {"application/json"}, "Connection": {"close"}, "Cache-Control": {"public"}, "Server": {"mcp/1.0"}, "X-Extra": {"a", "b"},
	}, []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), nil
}

func withTools(e *echo) func(*handlers.Options) {
	return func(o *handlers.Options) {
		o.Tools = e
		o.Origins = discovery.Origins{Web: origin, API: "https://api.journal.example", Gateway: "https://gateway.journal.example:8443"}
		o.AllowedOrigins = []string{"https://friend.example"}
	}
}

func TestToolDoorIsMounted(t *testing.T) {
	t.Parallel()
	e := &echo{status: http.StatusOK}
	d := open(t, withTools(e))
	for _, path := range []string{"/mcp", "/mcp/"} {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT", "PATCH"} {
			r := d.do(method, path, `{"x":1}`, "Content-Type", "application/json", "Mcp-Method", "ping", "Authorization", "Bearer nothing")
			if r.Status != http.StatusOK || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("X-Extra") != "a" ||
				r.Header.Get("Server") != "" || !strings.Contains(r.Body, "result") || r.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s %s: %d %v", method, path, r.Status, r.Header)
			}
			wantMachineHeaders(t, r)
			if e.method != method || e.body != `{"x":1}` || e.header.Get("Mcp-Method") != "ping" {
				t.Errorf("%s %s: the door heard %s %q %v", method, path, e.method, e.body, e.header)
			}
		}
	}
}

func TestToolDoorRefusesInJSONRPC(t *testing.T) {
	t.Parallel()
	e := &echo{status: http.StatusOK}
	d := open(t, withTools(e))
	rows := []struct {
		name   string
		answer func() reply
		status int
	}{
		{"too large", func() reply { return d.post("/mcp", strings.Repeat("x", 1<<20+1)) }, 413},
		{"compressed", func() reply { return d.post("/mcp", "{}", "Content-Encoding", "gzip") }, 415},
		{"another origin", func() reply { return d.post("/mcp", "{}", "Origin", "https://evil.example") }, 403},
		{"no such path", func() reply { return d.post("/mcp/nothing", "{}") }, 404},
		{"a verb nobody knows", func() reply { return d.raw("BREW /mcp" + head + "\r\n") }, 405},
	}
	for _, row := range rows {
		r := row.answer()
		if r.Status != row.status || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", row.name, r.Status, r.Header)
		}
		wantMachineHeaders(t, r)
		if v := decode(t, r.Body); v["jsonrpc"] != "2.0" || v["id"] != nil || v["error"] == nil {
			t.Errorf("%s: %s", row.name, r.Body)
		}
		if e.method != "" {
			t.Errorf("%s: reached the door", row.name)
		}
	}
}

func TestPanicTellsNothing(t *testing.T) {
	t.Parallel()
	e := &echo{fall: true}
	d := open(t, withTools(e))
	r := d.post("/mcp", "{}")
	if r.Status != http.StatusServiceUnavailable || strings.Contains(r.Body, "secret") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if log := d.Log.String(); !strings.Contains(log, r.Header.Get("X-Request-Id")) || strings.Contains(log, "secret") {
		t.Errorf("the log holds %s", log)
	}
	if again := d.get("/healthz"); again.Status != http.StatusOK {
		t.Errorf("after a panic: %d", again.Status)
	}
}

func TestHostAndOrigin(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, host, origin string
		allowed            bool
	}{
		{"this machine", "127.0.0.1:1", "", true},
		{"this machine by name", "localhost:8080", "", true},
		{"this machine in IPv6", "[::1]:8080", "", true},
		{"our own name", "journal.example", "", true},
		{"our gateway behind a proxy", "gateway.journal.example", "", true},
		{"a name pointed at us", "evil.example", "", false},
		{"a name pointed at us with our port", "evil.example:8080", "", false},
		{"a name that begins like ours", "journal.example.evil.example", "", false},
		{"a name that ends like ours", "evil-journal.example", "", false},
		{"nonsense", "127.0.0.1!evil.example", "", false},
		{"our page", "localhost", origin, true},
		{"our gateway's page", "localhost", "https://gateway.journal.example:8443", true},
		{"a page of this machine", "localhost", "http://localhost:6274", true},
		{"a friend's page", "localhost", "https://friend.example", true},
		{"a friend's page on another port", "localhost", "https://friend.example:444", false},
		{"a friend's page without encryption", "localhost", "http://friend.example", false},
		{"another page", "localhost", "https://evil.example", false},
		{"a sandboxed page", "localhost", "null", false},
		{"an origin with a path", "localhost", "https://friend.example/x", false},
	}
	e := &echo{status: http.StatusOK}
	d := open(t, withTools(e))
	entry := bodyOf(t, d.Agent("Ada").Signs("One"))
	for _, row := range rows {
		headers := []string{"Host", row.host}
		if row.origin != "" {
			headers = append(headers, "Origin", row.origin)
		}
		tool := d.post("/mcp", "{}", headers...)
		write := d.post("/v1/entries", entry, append([]string{"Idempotency-Key", "k"}, headers...)...)
		if got := tool.Status == http.StatusOK; got != row.allowed {
			t.Errorf("%s: /mcp answers %d", row.name, tool.Status)
		}
		if got := write.Status < 300; got != row.allowed {
			t.Errorf("%s: /v1/entries answers %d", row.name, write.Status)
		}
		if !row.allowed {
			wantError(t, write, http.StatusForbidden, journal.InvalidRequest)
		}
		want := ""
		if row.allowed {
			want = row.origin
		}
		if got := tool.Header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("%s: allow-origin %q, want %q", row.name, got, want)
		}
		// What is public may be read by any page's script.
		if r := d.get("/v1/feed", headers...); r.Status != http.StatusOK || r.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: /v1/feed answers %d", row.name, r.Status)
		}
	}
}

func TestBrowsersMayAskFirst(t *testing.T) {
	t.Parallel()
	e := &echo{status: http.StatusOK}
	d := open(t, withTools(e))
	for _, row := range []struct {
		path, origin, method string
		status               int
		allow                string
	}{
		{"/mcp", "https://friend.example", "POST", 204, "https://friend.example"},
		{"/mcp", "https://evil.example", "POST", 403, ""},
		{"/v1/entries", "https://friend.example", "POST", 204, "https://friend.example"},
		{"/v1/entries", "https://evil.example", "POST", 403, ""},
		{"/v1/feed", "https://evil.example", "GET", 204, "*"},
	} {
		r := d.do(http.MethodOptions, row.path, "", "Origin", row.origin, "Access-Control-Request-Method", row.method, "Access-Control-Request-Headers", "content-type")
		if r.Status != row.status || r.Header.Get("Access-Control-Allow-Origin") != row.allow {
			t.Errorf("%s from %s: %d %v", row.path, row.origin, r.Status, r.Header)
		}
		if row.status == 204 && !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "content-type") {
			t.Errorf("%s: %v", row.path, r.Header)
		}
	}
	if e.method != "" {
		t.Error("a question reached the tool door")
	}
}

func TestOriginsMustBeOrigins(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"https://friend.example/", "friend.example", "*", "ftp://friend.example", "https://u@friend.example", ""} {
		o := handlers.Options{}
		withTools(&echo{})(&o)
		o.AllowedOrigins = []string{bad}
		d := open(t)
		o.Journal, o.Now, o.Random, o.Logger = d.Journal, d.Clock.Now, d.Random, quiet()
		if _, err := handlers.New(o); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
