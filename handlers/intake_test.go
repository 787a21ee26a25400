package handlers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"innerloop/internal/discovery"
	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// A hall is a server whose callers come from where they say. What a caller
// has written the server has read: a pipe keeps nothing in between.
type hall struct {
	*Server
	t    *testing.T
	come chan net.Conn
}

type comer struct {
	net.Conn
	from net.Addr
}

func (c comer) RemoteAddr() net.Addr { return c.from }

func (h *hall) Accept() (net.Conn, error) {
	c, open := <-h.come
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (h *hall) Close() error   { return nil }
func (h *hall) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 1), Port: 80} }

// lengths is a tool door that tells how much it was sent.
type lengths struct{}

func (lengths) Serve(_ context.Context, _ journal.Caller, _ string, _ http.Header, body []byte) (int, http.Header, []byte, iter.Seq[[]byte]) {
	return http.StatusOK, http.Header{"Content-Type": {"application/json"}}, fmt.Appendf(nil, `{"bytes":%d}`, len(body)), nil
}

func openHall(t *testing.T, limits *limit.Settings, proxies limit.Proxies) *hall {
	t.Helper()
	j := journaltest.Open(t)
	s, err := New(Options{
		Journal: j.Journal, Origins: discovery.Origins{Web: "https://w.example", API: "https://a.example", Gateway: "https://g.example"},
		Logger: slog.New(slog.DiscardHandler), Now: j.Clock.Now, Random: j.Random, Tools: lengths{}, Limits: limits, TrustedProxies: proxies,
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &hall{Server: s, t: t, come: make(chan net.Conn)}
	done := make(chan error, 1)
	go func() { done <- s.Serve(h) }()
	t.Cleanup(func() {
		close(h.come)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h
}

// dial opens a connection; it is accepted when dial returns.
func (h *hall) dial(from string) net.Conn {
	h.t.Helper()
	ours, theirs := net.Pipe()
	h.t.Cleanup(func() { _ = ours.Close() })
	h.come <- comer{theirs, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 4000))}
	return ours
}

func (h *hall) write(c net.Conn, text string) {
	h.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hall) answer(c net.Conn) (*http.Response, string) {
	h.t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return r, string(body)
}

// calls sends a whole request with a body of so many bytes.
func (h *hall) calls(from string, bytes int) (*http.Response, string) {
	h.t.Helper()
	c := h.dial(from)
	h.write(c, announced("/mcp", bytes)+strings.Repeat("x", bytes))
	return h.answer(c)
}

func announced(path string, bytes int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: g.example\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, bytes)
}

const attacker, honest = "192.0.2.9", "198.51.100.7"

// A body costs what arrived of it, not what was announced.
func TestAnAnnouncedBodyTakesNothing(t *testing.T) {
	t.Parallel()
	h := openHall(t, limit.Defaults(), nil)
	for range 100 {
		h.write(h.dial(attacker), announced("/mcp", 1<<20)+strings.Repeat("x", readAhead-1))
	}
	if held, networks := h.arriving.Held(); held != 0 || networks != 0 {
		t.Errorf("%d bytes are held by %d networks", held, networks)
	}
	c := h.dial(honest)
	h.write(c, announced("/mcp", 1<<20)+strings.Repeat("x", readAhead+1))
	if held, networks := h.arriving.Held(); held > readAhead || networks > 1 {
		t.Errorf("%d bytes are held by %d networks", held, networks)
	}
	h.write(c, strings.Repeat("x", 1<<20-readAhead-1))
	if r, body := h.answer(c); r.StatusCode != 200 || body != `{"bytes":1048576}` {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	h.write(c, announced("/mcp", 0)) // the turn of the first is over when this is read
	if held, networks := h.arriving.Held(); held != 0 || networks != 0 {
		t.Errorf("%d bytes are held by %d networks at the end", held, networks)
	}
}

// Attack: many connections that send half of a large body and stall.
// Expectation: what they hold is bounded, the rest is refused in the dialect of
// its path and closed, and callers of other networks are served meanwhile.
func TestHalfBodiesAreBounded(t *testing.T) {
	t.Parallel()
	h := openHall(t, limit.Defaults(), nil)
	stalled, refused := 0, 0
	for range 40 {
		c := h.dial(attacker)
		h.write(c, announced("/mcp", 1<<20))
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c, strings.Repeat("x", 1<<20-1))
			sent <- err
		}()
		first := make([]byte, 1)
		answered := make(chan error, 1)
		go func() {
			_, err := c.Read(first)
			answered <- err
		}()
		select {
		case err := <-sent:
			if err != nil {
				t.Fatal(err)
			}
			stalled++
			continue
		case err := <-answered:
			if err != nil {
				t.Fatal(err)
			}
		}
		r, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader(string(first)), c)), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		var told struct {
			JSONRPC string
			Error   struct{ Data struct{ Error string } }
		}
		if err := json.Unmarshal(body, &told); err != nil || r.StatusCode != 429 || r.Header.Get("Retry-After") != "1" || !r.Close ||
			told.JSONRPC != "2.0" || told.Error.Data.Error != "rate_limited" {
			t.Errorf("%d %v %s", r.StatusCode, r.Header, body)
		}
		refused++
	}
	if held, networks := h.arriving.Held(); stalled < 15 || refused < 20 || held > arrivingEach || networks != 1 {
		t.Errorf("%d stall, %d were refused; %d bytes are held by %d networks", stalled, refused, held, networks)
	}
	for range 20 {
		if r, body := h.calls(honest, 300_000); r.StatusCode != 200 || body != `{"bytes":300000}` {
			t.Errorf("an honest caller: %d %s", r.StatusCode, body)
		}
	}
	if r, _ := h.calls(attacker, readAhead); r.StatusCode != 200 {
		t.Errorf("a small request of the same network: %d", r.StatusCode)
	}
}

// The same from many networks, and where no limits are set.
func TestHalfBodiesAreBoundedInAll(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]*limit.Settings{"limits": limit.Defaults(), "no limits": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := openHall(t, limits, nil)
			granted := arrivingMax / (1<<20 - readAhead)
			for i := range granted {
				h.write(h.dial(fmt.Sprintf("192.0.%d.9", i/10)), announced("/mcp", 1<<20)+strings.Repeat("x", 1<<20-1))
			}
			c := h.dial(honest)
			go func() { _, _ = io.WriteString(c, announced("/mcp", 1<<20)+strings.Repeat("x", 1<<20-1)) }()
			if r, body := h.answer(c); r.StatusCode != 503 || r.Header.Get("Retry-After") != "1" || !r.Close || !strings.Contains(body, "service_unavailable") {
				t.Errorf("%d %v %s", r.StatusCode, r.Header, body)
			}
			if held, _ := h.arriving.Held(); held > arrivingMax {
				t.Errorf("%d bytes are held", held)
			}
			if r, _ := h.calls(honest, readAhead); r.StatusCode != 200 {
				t.Errorf("a small request: %d", r.StatusCode)
			}
		})
	}
}

// Attack: a thousand connections that send half a head, or a head and half a
// body, and stall. Expectation: everybody else is served.
func TestAThousandStalledConnections(t *testing.T) {
	t.Parallel()
	h := openHall(t, limit.Defaults(), nil)
	for i := range 1000 {
		c := h.dial(attacker)
		if i%2 == 0 {
			h.write(c, "POST /v1/entries HTTP/1.1\r\nHost: g.exa")
			continue
		}
		h.write(c, announced("/v1/entries", 200_000)+strings.Repeat("x", readAhead+1))
	}
	if held, _ := h.connections.Held(); held != 1000 {
		t.Errorf("%d connections are held", held)
	}
	if held, _ := h.arriving.Held(); held == 0 || held > 500*readAhead {
		t.Errorf("%d bytes are held", held)
	}
	for _, from := range []string{honest, attacker} {
		for range 100 {
			if r, body := h.calls(from, 1000); r.StatusCode != 200 {
				t.Fatalf("%s: %d %s", from, r.StatusCode, body)
			}
		}
	}
}

func TestConnectionsOfANetworkAreCounted(t *testing.T) {
	t.Parallel()
	limits := limit.Defaults()
	limits.Numbers[limit.Connections] = 3
	proxy := netip.MustParsePrefix("203.0.113.0/24")
	h := openHall(t, limits, limit.Proxies{proxy})
	for i := range 3 {
		h.dial(fmt.Sprintf("192.0.2.%d", i))
	}
	refused := h.dial("192.0.2.200")
	r, body := h.answer(refused)
	var told struct {
		Error     string
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(body), &told); err != nil || r.StatusCode != 429 || r.Header.Get("Retry-After") != "10" || !r.Close ||
		told.Error != "rate_limited" || told.RequestID != r.Header.Get("X-Request-Id") || r.Header.Get("Server") != "" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v, %d %v %s", err, r.StatusCode, r.Header, body)
	}
	if _, err := refused.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection stays open: %v", err)
	}
	if r, _ := h.calls(honest, 10); r.StatusCode != 200 {
		t.Errorf("another network: %d", r.StatusCode)
	}
	for _, exempt := range []string{"203.0.113.5", "127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		for range 5 {
			h.dial(exempt)
		}
		c := h.dial(exempt)
		h.write(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if r, _ := h.answer(c); r.StatusCode != 200 {
			t.Errorf("%s: %d", exempt, r.StatusCode)
		}
	}
}

// What a connection holds comes back when it closes, once.
func TestAClosedConnectionIsGivenBack(t *testing.T) {
	t.Parallel()
	limits := limit.Defaults()
	limits.Numbers[limit.Connections] = 1
	h := openHall(t, limits, nil)
	for range 20 {
		c := h.dial(attacker)
		h.write(c, "GET /healthz HTTP/1.1\r\nHost: g.example\r\nConnection: close\r\n\r\n")
		if r, body := h.answer(c); r.StatusCode != 200 {
			t.Fatalf("%d %s", r.StatusCode, body)
		}
		if _, err := c.Read(make([]byte, 1)); err != io.EOF { // closed, and given back just after
			t.Fatal(err)
		}
		for held := 1; held > 0; {
			held, _ = h.connections.Held()
		}
	}
	release, ok := h.hold(&net.TCPAddr{IP: net.ParseIP(attacker)})
	if !ok {
		t.Fatal("not given back")
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	c := &lingerConn{Conn: theirs, from: &lingering{}, leave: sync.OnceFunc(release)}
	_, _ = c.Close(), c.Close()
	if held, networks := h.connections.Held(); held != 0 || networks != 0 {
		t.Errorf("%d are held by %d networks", held, networks)
	}
}
