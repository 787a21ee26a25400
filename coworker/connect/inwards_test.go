package connect_test

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/internal/egress"
	"innerloop/internal/keyring"
)

// A target is a listener on this machine that nobody may reach, at one port of
// both loopback addresses and at a unix socket.
type target struct {
	port    string
	socket  string
	reached atomic.Int64
}

func newTarget(t *testing.T) *target {
	t.Helper()
	target := &target{socket: filepath.Join(t.TempDir(), "s")}
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				target.reached.Add(1)
				go func() {
					defer func() { _ = c.Close() }()
					// Answered before it asks, a client takes it for noise and asks again.
					if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
						_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"))
					}
				}()
			}
		}()
		return l
	}
	_, target.port, _ = net.SplitHostPort(listen("tcp4", "127.0.0.1:0").Addr().String())
	listen("tcp6", "[::1]:"+target.port)
	listen("unix", target.socket)
	return target
}

// untouched fails the test when anything connected.
func (a *target) untouched(t *testing.T) {
	t.Helper()
	if n := a.reached.Load(); n != 0 {
		t.Errorf("the target was connected to %d times", n)
	}
}

// names is a resolver that knows a few names. Each turn of a name is one
// answer, the last for ever.
type names struct {
	mu    sync.Mutex
	of    map[string][]string
	asked map[string]int
}

func (n *names) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	turns, ok := n.of[host]
	if !ok { // as lenient as a resolver can be: whatever it is, it is this machine
		turns = []string{"127.0.0.1 ::1"}
	}
	turn := min(n.asked[host], len(turns)-1)
	n.asked[host]++
	var out []netip.Addr
	for _, text := range strings.Fields(turns[turn]) {
		out = append(out, netip.MustParseAddr(text))
	}
	return out, nil
}

// openOut makes a bench whose calls go out through the real guard.
func openOut(t *testing.T, of map[string][]string) (*bench, *names) {
	t.Helper()
	b := open(t, say(200, "{}"))
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
	n := &names{of: of, asked: map[string]int{}}
	ways := &egress.Services{Lookup: n.lookup}
	b.Engine, err = connect.New(connect.Options{
		Catalog: all, Book: b, Cursors: key, Files: b, Now: time.Now,
		Clients: func(networks []netip.Prefix, own string) connect.Doer { return ways.For(networks, own) },
		Sleep:   func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, n
}

var (
	everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	beside     = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
)

func githubAt(base string, networks []netip.Prefix) connect.Connection {
	return connect.Connection{ID: "connection_github", Service: "github", Version: 1, Fields: map[string]string{"token": secret}, BaseURL: base, Networks: networks}
}

// TestAddressesThatLeadInwards tries each spelling of an address as the host
// of a connection: at the target's port, where the organisation's own address
// could be called, and at the port that is open to every public address.
func TestAddressesThatLeadInwards(t *testing.T) {
	t.Parallel()
	hosts := map[string]string{
		"loopback": "127.0.0.1", "another loopback": "127.8.9.1", "loopback by name": "localhost", "loopback by name, with a dot": "localhost.",
		"a name below localhost": "a.localhost", "an address with a dot": "127.0.0.1.",
		"decimal": "2130706433", "octal": "0177.0.0.1", "octal in one": "017700000001", "octal with zeros": "00000177.0.0.1",
		"hex": "0x7f000001", "hex by parts": "0x7f.0x0.0x0.0x1", "hex and short": "0x7f.1", "short": "127.1", "three parts": "127.0.1",
		"too large a number": "4425673729", "a number in capitals": "0X7F000001",
		"zero": "0.0.0.0", "zero, short": "0", "broadcast": "255.255.255.255", "multicast": "224.0.0.1",
		"private 10": "10.255.0.1", "private 172": "172.16.0.1", "private 192": "192.168.0.1", "carrier-grade": "100.64.0.1", "benchmarking": "198.18.0.1", "documentation": "192.0.2.1",
		"IPv6 loopback": "[::1]", "IPv6 loopback, long": "[0:0:0:0:0:0:0:1]", "IPv6 unspecified": "[::]",
		"IPv4-mapped": "[::ffff:127.0.0.1]", "IPv4-mapped in hex": "[::ffff:7f00:1]", "IPv4-mapped, long": "[0:0:0:0:0:ffff:7f00:0001]", "IPv4-mapped private": "[::ffff:10.255.0.1]",
		"IPv4-compatible": "[::127.0.0.1]", "IPv4-translated": "[::ffff:0:7f00:1]",
		"NAT64": "[64:ff9b::7f00:1]", "NAT64 of a private address": "[64:ff9b::aff:1]", "NAT64 of a local prefix": "[64:ff9b:1::7f00:1]",
		"6to4": "[2002:7f00:1::]", "Teredo": "[2001::80ff:fffe]", "unique local": "[fd12:3456::1]", "site local": "[fec0::1]", "link local": "[fe80::1]",
		"a zone": "[::1%25lo]", "a zone of a link": "[fe80::1%25eth0]",
		"full-width digits": "１２７.０.０.１", "circled digits": "①②⑦.⓪.⓪.①", "ideographic dots": "127。0。0。1", "a full-width name": "ｌｏｃａｌｈｏｓｔ", "an invisible sign in a name": "local\u00adhost",
		"escaped digits":         "%31%32%37.0.0.1",
		"a name that leads here": "here.example", "a name that leads here by IPv6": "here6.example", "a name with one good answer": "mixed.example", "a name that maps": "mapped.example",
	}
	of := map[string][]string{
		"here.example": {"127.0.0.1"}, "here6.example": {"::1"}, "mixed.example": {"10.255.0.1 127.0.0.1 ::1"}, "mapped.example": {"::ffff:127.0.0.1"},
	}
	for name, host := range hosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTarget(t)
			for _, base := range []string{"http://" + host + ":" + a.port, "https://" + host + ":" + a.port, "https://" + host} {
				b, _ := openOut(t, of)
				networks := beside // of 127.0.0.2, which is not the target
				b.books["github"] = githubAt(base, networks)
				wantClosed(t, b, base)
			}
			a.untouched(t)
		})
	}
}

// wantClosed calls, and fails unless the call ended by our own word.
func wantClosed(t *testing.T, b *bench, what string) {
	t.Helper()
	_, trace, err := b.Execute(t.Context(), everything, connect.Call{Service: "github", Method: "GET", Path: "/user"})
	f, ok := coworker.AsFault(err)
	closed := ok && (f.Code == coworker.UpstreamError && strings.Contains(f.Hint, "may not be called") || f.Code == coworker.NotConnected || f.Code == coworker.InvalidArg)
	if !closed || f.Contract().Retryable || trace.Retries != 0 {
		t.Errorf("%s: %v, %d retries", what, err, trace.Retries)
	}
	if f != nil && (strings.Contains(f.Hint, "127.") || strings.Contains(f.Hint, "example")) {
		t.Errorf("%s: the address is told: %s", what, f.Hint)
	}
}

// TestMetadataOfCloudsIsNeverCalled, although an admin admitted every network
// there is.
func TestMetadataOfCloudsIsNeverCalled(t *testing.T) {
	t.Parallel()
	of := map[string][]string{"metadata.google.internal": {"169.254.169.254"}, "metadata.example": {"8.8.8.8 169.254.169.254", "169.254.169.254"}, "m6.example": {"fd00:ec2::254"}}
	for name, host := range map[string]string{
		"AWS, Google, Azure": "169.254.169.254", "AWS by IPv6": "[fd00:ec2::254]", "AWS for containers": "169.254.170.2", "Alibaba": "100.100.100.200", "Azure's wire server": "168.63.129.16",
		"Oracle": "192.0.0.192", "Tencent": "169.254.0.23", "Scaleway": "169.254.42.42", "Google by name": "metadata.google.internal", "a name of one's own": "m6.example",
		"mapped": "[::ffff:169.254.169.254]", "compatible": "[::a9fe:a9fe]", "through NAT64": "[64:ff9b::a9fe:a9fe]", "through 6to4": "[2002:a9fe:a9fe::]", "through Teredo": "[2001::5601:5601]",
		"full-width": "１６９.２５４.１６９.２５４", "link local": "[fe80::a9fe:a9fe]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, base := range []string{"http://" + host, "https://" + host, "http://" + host + ":8080"} {
				b, _ := openOut(t, of)
				b.books["github"] = githubAt(base+"/latest", everywhere)
				wantClosed(t, b, base)
			}
		})
	}
}

// TestAnAdmittedTargetIsReached: the tests of this file would see a way in.
func TestAnAdmittedTargetIsReached(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	for _, host := range []string{"127.0.0.1", "[::1]", "here.example"} {
		b, _ := openOut(t, nil)
		b.books["github"] = githubAt("http://"+host+":"+a.port, everywhere)
		b.do(connect.Call{Service: "github", Method: "GET", Path: "/user"})
	}
	if n := a.reached.Load(); n != 3 {
		t.Errorf("reached %d times", n)
	}
}

// besideServer serves at 127.0.0.2, which is admitted where the target is not.
func besideServer(t *testing.T, serve http.HandlerFunc) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(serve)
	_ = s.Listener.Close()
	s.Listener = l
	s.Config.SetKeepAlivesEnabled(false) // each call is a connection of its own
	s.Start()
	t.Cleanup(s.Close)
	return s
}
