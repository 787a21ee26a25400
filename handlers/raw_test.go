package handlers_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
)

// raw sends bytes as they are and reads one answer.
func (d *door) raw(text string) reply {
	d.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		d.t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, text) }()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		d.t.Fatalf("read answer: %v", err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatalf("read body: %v", err)
	}
	return reply{answer.StatusCode, answer.Header, string(body)}
}

const head = " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"

// Whatever arrives under a machine path, the answer is coded JSON, and nothing
// is stored.
func TestBrokenRequestsAreAnsweredInJSON(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 300<<10)
	rows := []struct {
		name, text string
		status     int
		code       journal.Code
	}{
		{"an unknown path", "GET /v1/nothing" + head + "\r\n", 404, journal.InvalidRequest},
		{"a document with a query", "GET /openapi.json?x=1" + head + "\r\n", 400, journal.ValidationFailed},
		{"a slash too many", "GET /v1/feed/" + head + "\r\n", 404, journal.InvalidRequest},
		{"an empty tag", "GET /v1/tags//entries" + head + "\r\n", 404, journal.InvalidRequest},
		{"a wrong verb", "PUT /v1/entries" + head + "Content-Length: 2\r\n\r\n{}", 405, journal.InvalidRequest},
		{"a verb for another path", "POST /v1/feed" + head + "Content-Length: 2\r\n\r\n{}", 405, journal.InvalidRequest},
		{"a verb nobody knows", "BREW /v1/feed" + head + "\r\n", 405, journal.InvalidRequest},
		{"a verb nobody knows on no path", "BREW /v1/nothing" + head + "\r\n", 404, journal.InvalidRequest},
		{"a malformed header", "GET /v1/feed HTTP/1.1\r\nHost: 127.0.0.1\r\nno colon\r\nAccept: text/html\r\n\r\n", 400, journal.InvalidRequest},
		{"a request line of nonsense", "nonsense\r\n\r\n", 400, journal.InvalidRequest},
		{"headers without end", "GET /v1/feed HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + big + "\r\n\r\n", 431, journal.InvalidRequest},
		{"a percent sign alone", "GET /v1/entries/%zz" + head + "\r\n", 400, journal.InvalidRequest},
		{"an oversized registration", "POST /v1/agents/challenges" + head + "Content-Length: 2049\r\n\r\n" + big[:2049], 413, journal.RequestTooLarge},
		{"an oversized completion", "POST /v1/agents/register" + head + "Content-Length: 2049\r\n\r\n" + big[:2049], 413, journal.RequestTooLarge},
		{"an oversized entry", "POST /v1/entries" + head + "Content-Length: 307200\r\n\r\n" + big, 413, journal.RequestTooLarge},
		{"an oversized entry that is announced and not sent", "POST /v1/entries" + head + "Content-Length: 99999999999\r\n\r\n", 413, journal.RequestTooLarge},
		{"an oversized entry in chunks", "POST /v1/entries" + head + "Transfer-Encoding: chunked\r\n\r\n4b000\r\n" + big + "\r\n0\r\n\r\n", 413, journal.RequestTooLarge},
		{"another media type", strings.Replace("POST /v1/entries"+head, "application/json", "text/plain", 1) + "Content-Length: 2\r\n\r\n{}", 415, journal.InvalidRequest},
		{"no media type", "POST /v1/entries HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}", 415, journal.InvalidRequest},
		{"a compressed body", "POST /v1/entries" + head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 415, journal.InvalidRequest},
		{"a form", strings.Replace("POST /v1/entries"+head, "application/json", "multipart/form-data; boundary=x", 1) + "Content-Length: 2\r\n\r\n{}", 415, journal.InvalidRequest},
		{"no body", "POST /v1/entries" + head + "Content-Length: 0\r\n\r\n", 400, journal.InvalidRequest},
		{"not JSON", "POST /v1/entries" + head + "Content-Length: 3\r\n\r\n{x}", 400, journal.InvalidRequest},
		{"not an object", "POST /v1/entries" + head + "Content-Length: 2\r\n\r\n[]", 400, journal.InvalidRequest},
		{"text after the value", "POST /v1/entries" + head + "Content-Length: 4\r\n\r\n{}{}", 400, journal.InvalidRequest},
		{"not UTF-8", "POST /v1/entries" + head + "Content-Length: 3\r\n\r\n\"\xff\"", 400, journal.InvalidRequest},
		{"a key nobody asked for", "POST /v1/agents/register" + head + "Content-Length: 45\r\n\r\n" + `{"challenge_id":"","signature":"","seed":"x"}`, 400, journal.InvalidRequest},
		{"a string that is a number", "POST /v1/agents/register" + head + "Content-Length: 35\r\n\r\n" + `{"challenge_id":5,"signature":"  "}`, 400, journal.InvalidRequest},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			r := d.raw(row.text)
			wantError(t, r, row.status, row.code)
			if _, has := r.Header["Allow"]; has != (row.status == 405) {
				t.Errorf("allow %v with status %d", r.Header.Values("Allow"), r.Status)
			}
			if n := d.stored(); n != 0 {
				t.Errorf("%d entries stored", n)
			}
			for _, word := range []string{"nonsense", "xxxx", "Cannot", "fasthttp", "invalid character", "BREW", "%zz"} {
				if strings.Contains(r.Body, word) {
					t.Errorf("the answer says %q: %s", word, r.Body)
				}
			}
		})
	}
}

func TestAllowNamesTheVerbs(t *testing.T) {
	t.Parallel()
	d := open(t)
	for path, want := range map[string]string{"/v1/feed": "GET, HEAD", "/v1/entries": "POST", "/": "GET, HEAD"} {
		if got := d.raw("DELETE " + path + head + "\r\n").Header.Get("Allow"); got != want {
			t.Errorf("%s: allow %q, want %q", path, got, want)
		}
	}
}

func TestAddressInQueryIsNoHost(t *testing.T) {
	t.Parallel()
	d := open(t)
	if r := d.get("/?from=https://other.example/v1/feed"); r.Status != 200 || !strings.Contains(r.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%d %q", r.Status, r.Header.Get("Content-Type"))
	}
}

func TestPeopleGetPages(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, text := range []string{"GET /nothing" + head + "\r\n", "DELETE /" + head + "\r\n", "BREW /ru/nothing" + head + "\r\n", "GET /%zz/%00" + head + "\r\n"} {
		r := d.raw(text)
		if r.Status < 400 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || r.Header.Get("Cache-Control") != "no-store" ||
			r.Header.Get("Content-Security-Policy") == "" || !uuid.MatchString(r.Header.Get("X-Request-Id")) {
			t.Errorf("%q: %d %v", text[:20], r.Status, r.Header)
		}
	}
}

// Browsers and programs connect ahead. Whoever never said a word does not hold
// up the end of the server.
func TestASilentConnectionDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	d := open(t)
	for range 3 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	if r := d.get("/"); r.Status != http.StatusOK { // came after them
		t.Errorf("status %d", r.Status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := d.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
