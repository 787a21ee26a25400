package handlers_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/journal"
)

// answers sends bytes and returns the statuses of all answers until the server
// closes the connection; done is sent in the end as a request that closes it.
func (d *door) answers(text string) []int {
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
	var statuses []int
	for r := bufio.NewReader(conn); ; {
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			return statuses
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if statuses = append(statuses, answer.StatusCode); answer.Close {
			return statuses
		}
	}
}

// hidden is a request that must not be found in what came before it.
const hidden = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

// A request that two readers may read in two ways is refused, and with it
// whatever follows on the connection (RFC 9112 sections 3 to 6 and 11.2).
func TestRequestsWithTwoReadings(t *testing.T) {
	t.Parallel()
	d := open(t)
	rows := map[string]string{
		"two lengths":                     "POST /v1/entries" + head + "Content-Length: 64\r\nContent-Length: 2\r\n\r\n{}",
		"one length twice":                "POST /v1/entries" + head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"chunks beside a length":          "POST /v1/entries" + head + "Content-Length: 64\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks twice":                    "POST /v1/entries" + head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"almost chunked":                  "POST /v1/entries" + head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"chunked and more":                "POST /v1/entries" + head + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		"compressed transfer":             "POST /v1/entries" + head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"identity and a length":           "POST /v1/entries" + head + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
		"a control before chunked":        "POST /v1/entries" + head + "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
		"chunks of HTTP/1.0":              "POST /v1/entries HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a folded field":                  "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n b\r\n\r\n",
		"a folded coding":                 "POST /v1/entries" + head + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"lines that end in a line feed":   "GET /healthz HTTP/1.1\nHost: 127.0.0.1\n\n",
		"a carriage return in a field":    "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\rY: b\r\n\r\n",
		"a zero byte in a field":          "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
		"a zero byte in a name":           "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX\x00Y: b\r\n\r\n",
		"no host":                         "GET /healthz HTTP/1.1\r\n\r\n",
		"an empty host":                   "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n",
		"two hosts":                       "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1\r\n\r\n",
		"a target that names another":     "GET http://evil.example/healthz" + head + "\r\n",
		"a target with a name and secret": "GET http://a:b@evil.example/healthz" + head + "\r\n",
		"a file":                          "GET file:///healthz" + head + "\r\n",
		"a space in the target":           "GET /healthz /x" + head + "\r\n",
		"a control in the target":         "GET /healthz\x01" + head + "\r\n",
		"another HTTP":                    "GET /healthz HTTP/2.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n",
		"a line feed in a chunk's size":   "POST /v1/entries" + head + "Transfer-Encoding: chunked\r\n\r\n2;a\nb\r\n{}\r\n0\r\n\r\n",
		"a field after the body":          "POST /v1/entries" + head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nIdempotency-Key: late\r\n\r\n",
		"a field after the body, twice":   "POST /v1/entries" + head + "X-Forwarded-For: 192.0.2.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n",
		"a field after the body, told of": "POST /v1/entries" + head + "Trailer: Idempotency-Key\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nIdempotency-Key: late\r\n\r\n",
	}
	for name, text := range rows {
		if got := d.answers(text + hidden); len(got) != 1 || got[0] != http.StatusBadRequest {
			t.Errorf("%s: answers %v, want one 400", name, got)
		}
	}
	wantError(t, d.raw("POST /v1/entries"+head+"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), 400, journal.InvalidRequest)
	for name, text := range map[string]string{
		"chunks":                "POST /v1/entries" + head + "transfer-encoding:  Chunked \r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"a length and cookies":  "POST /v1/entries" + head + "Cookie: a=b\r\nCookie: c=d\r\nContent-Length: 2\r\n\r\n{}",
		"chunks with cookies":   "POST /v1/entries" + head + "Cookie: a=b; c=d\r\nAccept: */*\r\naccept: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.0":              "POST /v1/entries HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"an absolute target":    "GET http://127.0.0.1/v1/nothing" + head + "\r\n",
		"an address in a query": "GET /v1/nothing?from=http://evil.example/" + head + "\r\n",
	} {
		if got := d.answers(text + hidden); len(got) != 2 || got[1] != http.StatusOK {
			t.Errorf("%s: answers %v, want two", name, got)
		}
	}
}

// No spelling of a target reaches a guarded path around its guard.
func TestNoWayAroundTheGuard(t *testing.T) {
	t.Parallel()
	e := &echo{status: http.StatusOK}
	d := open(t, withTools(e), func(o *handlers.Options) { o.AllowedOrigins = nil })
	for _, target := range []string{"/mcp", "//x/mcp", "x//y/mcp", "http://x/mcp", "http://127.0.0.1/mcp", "/mcp#a", "/mcp?://a", "x/://y/mcp", "mcp", "://x/mcp", "//mcp", "/%6dcp", "/mcp/", "/mcp//", "/./mcp", "/x/../mcp"} {
		for _, from := range []string{"Host: evil.example\r\n", "Host:\r\n", "", "Host: 127.0.0.1@evil.example\r\n", "Host: 127.0.0.1\r\nOrigin: http://evil.example\r\n"} {
			for _, version := range []string{"1.0", "1.1"} {
				text := "POST " + target + " HTTP/" + version + "\r\n" + from + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
				if r := d.raw(text); r.Status < 400 || e.method != "" {
					t.Fatalf("%q: %d, the tool door heard %q", text, r.Status, e.method)
				}
			}
		}
	}
}
