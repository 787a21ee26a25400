package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// A recorder is a road that remembers what was sent over it, and goes nowhere.
type recorder struct {
	mu   sync.Mutex
	sent []string
}

func (r *recorder) Do(q *http.Request) (*http.Response, error) {
	body := ""
	if q.Body != nil {
		raw, _ := io.ReadAll(q.Body)
		body = string(raw)
	}
	r.note(fmt.Sprintf("%s %s host=%s %v %s", q.Method, q.URL, q.Host, q.Header, body))
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("reached")), Request: q,
	}, nil
}

func (r *recorder) Dial(_ context.Context, host, port string) (net.Conn, error) {
	r.note("dial " + net.JoinHostPort(host, port))
	return nil, errors.New("repl: goes nowhere")
}

func (r *recorder) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, what)
}

// Attack: requests written by hand that mean one host to the proxy and another
// to whoever reads them next: spellings of addresses, a second Host, lengths
// that contradict each other, requests inside of requests, ports beside 443,
// the metadata address in every notation. Expectation: nothing is sent but to
// the open host, under its own name, and no request carries another inside.
func TestNothingIsSmuggledThroughTheProxy(t *testing.T) {
	t.Parallel()
	const open = "api.example"
	for name, raw := range map[string]string{
		"CONNECT to another port":            "CONNECT api.example:80 HTTP/1.1\r\nHost: api.example:80\r\n\r\n",
		"CONNECT to mail":                    "CONNECT api.example:25 HTTP/1.1\r\nHost: api.example:25\r\n\r\n",
		"CONNECT without a port":             "CONNECT api.example HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"CONNECT to a port by name":          "CONNECT api.example:https HTTP/1.1\r\nHost: api.example:https\r\n\r\n",
		"CONNECT to a port with zeros":       "CONNECT api.example:00443 HTTP/1.1\r\nHost: api.example:00443\r\n\r\n",
		"CONNECT to a denied host":           "CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n",
		"CONNECT, denied, with an open Host": "CONNECT other.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n",
		"CONNECT to a user at a host":        "CONNECT api.example:443@other.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n",
		"CONNECT to metadata":                "CONNECT 169.254.169.254:443 HTTP/1.1\r\nHost: 169.254.169.254:443\r\n\r\n",
		"CONNECT to metadata, version 6":     "CONNECT [::ffff:169.254.169.254]:443 HTTP/1.1\r\nHost: [::ffff:169.254.169.254]:443\r\n\r\n",
		"CONNECT with a zero byte":           "CONNECT api.example\x00.other.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n",
		"metadata as one number":             "GET http://2852039166/latest/meta-data/ HTTP/1.1\r\nHost: 2852039166\r\n\r\n",
		"metadata in hexadecimal":            "GET http://0xA9FEA9FE/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"metadata by name":                   "GET http://metadata.google.internal/ HTTP/1.1\r\nHost: metadata.google.internal\r\nMetadata-Flavor: Google\r\n\r\n",
		"http instead of https":              "GET http://api.example:443/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"another scheme":                     "GET ftp://api.example:443/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"a user at a host":                   "GET https://api.example:443@other.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"a fragment for a host":              "GET https://other.example#@api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"a backslash for a slash":            "GET https://api.example\\.other.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"only a Host":                        "GET / HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"two Hosts":                          "GET https://other.example/ HTTP/1.1\r\nHost: api.example\r\nHost: other.example\r\n\r\n",
		"a line inside the address":          "GET https://other.example/%0d%0aHost:%20api.example HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"a header that is folded":            "GET https://other.example/ HTTP/1.1\r\nHost: api.example\r\nX: a\r\n Host: api.example\r\n\r\n",
		"a length and pieces":                "POST https://other.example/ HTTP/1.1\r\nHost: api.example\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET https://other.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"two lengths":                        "POST https://api.example/ HTTP/1.1\r\nHost: api.example\r\nContent-Length: 4\r\nContent-Length: 0\r\n\r\nGET /",
		"an unknown encoding":                "POST https://api.example/ HTTP/1.1\r\nHost: api.example\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"no HTTP":                            "\x16\x03\x01\x00\xa5\x01\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			road := &recorder{}
			w, address := openWay(t, map[string]Road{"https://" + open + ":443": road})
			said := spoken(t, address, raw)
			road.mu.Lock()
			defer road.mu.Unlock()
			if strings.Contains(said, " 200 ") || len(road.sent) > 0 || len(w.reached()) > 0 {
				t.Errorf("%q\nsent %q, remembered %q", said, road.sent, w.reached())
			}
		})
	}
	// What reaches the open host says so itself, and nothing of the way there.
	for name, raw := range map[string]string{
		"a Host of another":         "GET https://api.example/a HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"capitals":                  "GET https://API.example/a HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"headers of the connection": "GET https://api.example/a HTTP/1.1\r\nHost: api.example\r\nConnection: X-Inner, close\r\nX-Inner: 1\r\nProxy-Authorization: Basic eA==\r\nTe: trailers\r\nUpgrade: h2c\r\n\r\n",
		"a request after a request": "GET https://api.example/a HTTP/1.1\r\nHost: api.example\r\n\r\nGET https://other.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n",
		"a request in a body":       "POST https://api.example/a HTTP/1.1\r\nHost: api.example\r\nContent-Length: 44\r\n\r\nGET https://api.example/b HTTP/1.1\r\nHost: x\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			road := &recorder{}
			_, address := openWay(t, map[string]Road{"https://" + open + ":443": road})
			said := spoken(t, address, raw)
			road.mu.Lock()
			defer road.mu.Unlock()
			if len(road.sent) != 1 || !strings.Contains(said, "reached") {
				t.Fatalf("%q\nsent %q", said, road.sent)
			}
			head, _, _ := strings.Cut(strings.ToLower(road.sent[0]), "]")
			if !strings.Contains(head, "host="+open+" ") || strings.Contains(head, "other") {
				t.Errorf("sent %s", road.sent[0])
			}
			for _, inner := range []string{"x-inner", "proxy-", "upgrade", "te:"} {
				if strings.Contains(head, inner) {
					t.Errorf("sent %s", road.sent[0])
				}
			}
		})
	}
}

// spoken sends words to the proxy and returns all that it says.
func spoken(t *testing.T, address, words string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, words); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(conn)
	return string(said)
}
