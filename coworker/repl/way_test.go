package repl

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/internal/egress"
)

// sham is a road to a server of the test, whatever host is asked for.
type sham struct {
	*egress.Service
	to string
}

func (s sham) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", s.to)
}

// openWay serves a way with roads, and returns it with its address.
func openWay(t *testing.T, roads map[string]Road) (*way, string) {
	t.Helper()
	w := newWay(t.Context(), &REPL{}, coworker.Caller{}, nil)
	w.roads = roads
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go w.serve(l)
	t.Cleanup(w.close)
	return w, l.Addr().String()
}

// through is a client whose proxy is the way; its TLS asks for sni.
func through(t *testing.T, address, sni string) *http.Client {
	t.Helper()
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: address}),
		TLSClientConfig: &tls.Config{ServerName: sni, InsecureSkipVerify: true}, //nolint:gosec // the test's own server
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Attack: hosts that were not opened, other ports, another name inside TLS,
// addresses of this machine and of a cloud's metadata behind an open name, and
// more bytes than a run may move. Expectation: only the open host is reached,
// and it alone is remembered.
func TestTheProxyOpensItsHostsAlone(t *testing.T) {
	t.Parallel()
	reached := 0
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "reached")
	}))
	t.Cleanup(upstream.Close)
	inward := func(ip string) Road {
		return egress.NewService(egress.ServiceOptions{Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(ip)}, nil
		}})
	}
	w, address := openWay(t, map[string]Road{
		"https://api.example:443":      sham{to: upstream.Listener.Addr().String()},
		"https://inward.example:443":   inward("127.0.0.1"),
		"https://metadata.example:443": inward("169.254.169.254"),
		"https://private.example:443":  inward("10.0.0.1"),
	})
	get := func(target, sni string, body io.Reader) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := through(t, address, sni).Do(r)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		said, _ := io.ReadAll(answer.Body)
		return string(said)
	}
	if said := get("https://api.example/", "", nil); said != "reached" {
		t.Fatalf("the open host: %s", said)
	}
	for _, row := range []struct{ target, sni, want string }{
		{"https://other.example/", "", "Forbidden"},
		{"https://api.example:8443/", "", "Forbidden"},
		{"https://api.example.evil.example/", "", "Forbidden"},
		{"http://api.example/", "", notOpen},
		{"http://169.254.169.254/latest/meta-data/", "", notOpen},
		{"http://" + upstream.Listener.Addr().String() + "/", "", notOpen},
		{"https://api.example/", "other.example", "EOF"},
		{"https://inward.example/", "", "Forbidden"},
		{"https://metadata.example/", "", "Forbidden"},
		{"https://private.example/", "", "Forbidden"},
	} {
		if said := get(row.target, row.sni, nil); !strings.Contains(said, row.want) {
			t.Errorf("%s asking for %q: %s", row.target, row.sni, said)
		}
	}
	if reached != 1 || !slices.Equal(w.reached(), []string{"api.example"}) {
		t.Errorf("reached %d times, remembered %q", reached, w.reached())
	}
	// No TLS at all through the tunnel.
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprint(conn, "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\nGET / HTTP/1.1\r\nHost: other\r\n\r\n")
	all, _ := io.ReadAll(bufio.NewReader(conn))
	if string(all) != "HTTP/1.1 200 Connection established\r\n\r\n" {
		t.Errorf("plain words through a tunnel: %q", all)
	}
	if said := get("https://api.example/", "", io.LimitReader(zeros{}, bytesOut+1)); said == "reached" {
		t.Error("a run moved more than it may")
	}
	if said := get("https://api.example/", "", nil); said == "reached" {
		t.Error("a run goes on after it moved all it may")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Attack: the broker is asked for what it does not take: a confirmation, other
// members, no JSON, another method, without end.
func TestTheBrokerTakesNoMoreThanItSays(t *testing.T) {
	t.Parallel()
	_, address := openWay(t, nil)
	post := func(method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		said, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(said)
	}
	for _, body := range []string{`{"service":"github","confirm":true}`, `{"NoConfirm":false}`, `nothing`, `{"body":"` + strings.Repeat("x", callBodyMax) + `"}`} {
		if said := post(http.MethodPost, "/coworker/call", body); !strings.Contains(said, "INVALID_ARG") {
			t.Errorf("%.40s: %s", body, said)
		}
	}
	if said := post(http.MethodGet, "/coworker/call", ""); !strings.Contains(said, "nothing here") {
		t.Error(said)
	}
	for range callsMax {
		post(http.MethodPost, "/coworker/call", `nothing`)
	}
	if said := post(http.MethodPost, "/coworker/call", `{}`); !strings.Contains(said, "SANDBOX_LIMIT") {
		t.Errorf("after its budget: %s", said)
	}
}
