package egress_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/internal/egress"
)

// A world is a resolver and a server that must not be reached.
type world struct {
	reached atomic.Int64
	names   map[string][]string // what a name leads to, the last for ever
	asked   map[string]int
}

func (w *world) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	turns, ok := w.names[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	n := min(w.asked[host], len(turns)-1)
	w.asked[host]++
	var out []netip.Addr
	for _, text := range strings.Fields(turns[n]) {
		out = append(out, netip.MustParseAddr(text))
	}
	return out, nil
}

func call(s *egress.Service, address string) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://placeholder.example/", nil)
	if err != nil {
		return err
	}
	if r.URL, err = url.Parse(address); err != nil {
		return egress.ErrAddress // what is no address is not called either
	}
	answer, err := s.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// TestWaysInwardsAreClosed tries to reach this machine, private networks and
// the addresses of cloud metadata by every spelling we know.
func TestWaysInwardsAreClosed(t *testing.T) {
	t.Parallel()
	w := &world{asked: map[string]int{}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.reached.Add(1) }))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	w.names = map[string][]string{
		"private.example": {"10.0.0.1"}, "loop.example": {"127.0.0.1"}, "meta.example": {"169.254.169.254"},
		"mapped.example": {"::ffff:127.0.0.1"}, "nat64.example": {"64:ff9b::7f00:1"}, "six.example": {"::1"},
		"rebind.example": {"127.0.0.1"}, "mixed.example": {"10.0.0.1 127.0.0.1 ::1"}, "zero.example": {"0.0.0.0"},
		"6to4.example": {"2002:7f00:1::"}, "local.example": {"fd12:3456::1"}, "link.example": {"fe80::1"},
		"aws6.example": {"fd00:ec2::254"}, "azure.example": {"168.63.129.16"}, "ali.example": {"100.100.100.200"},
		"bench.example": {"198.18.0.1"}, "many.example": {"224.0.0.1"}, "cgnat.example": {"100.64.0.1"},
		// What some resolvers make of numbers that are no addresses to us.
		"2130706433": {"127.0.0.1"}, "0x7f000001": {"127.0.0.1"}, "0177.0.0.1": {"127.0.0.1"}, "127.1": {"127.0.0.1"}, "0x7f.1": {"127.0.0.1"},
		"localhost": {"127.0.0.1"}, "localhost.": {"127.0.0.1"},
	}
	s := egress.NewService(egress.ServiceOptions{Lookup: w.lookup, Timeout: 3 * time.Second, Roots: rootsOf(server)})
	for _, address := range []string{
		// By look.
		"http://127.0.0.1:" + port + "/", "https://127.0.0.1:" + port + "/", "http://shop.example/", "https://shop.example:8443/", "https://shop.example:22/",
		"https://user@shop.example/", "https://shop.example:pw@127.0.0.1/", "ftp://shop.example/", "file:///etc/passwd", "gopher://127.0.0.1/", "https:///x", "https:shop.example",
		"unix:///run/x.sock", "https://[::1%25lo]/",
		// By address.
		"https://127.0.0.1/", "https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.0.1/", "https://169.254.169.254/latest/meta-data/", "https://0.0.0.0/",
		"https://[::1]/", "https://[::]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[64:ff9b::a9fe:a9fe]/", "https://[fd00:ec2::254]/", "https://[fe80::1]/", "https://[2002:a00:1::]/",
		"https://100.64.0.1/", "https://224.0.0.1/", "https://255.255.255.255/", "https://192.0.0.192/",
		// By name.
		"https://private.example/", "https://loop.example/", "https://meta.example/", "https://mapped.example/", "https://nat64.example/", "https://six.example/",
		"https://rebind.example/", "https://mixed.example/", "https://zero.example/", "https://6to4.example/", "https://local.example/", "https://link.example/",
		"https://aws6.example/", "https://azure.example/", "https://ali.example/", "https://bench.example/", "https://many.example/", "https://cgnat.example/",
		"https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/", "https://127.1/", "https://0x7f.1/", "https://localhost/", "https://localhost./",
	} {
		err := call(s, address)
		if !errors.Is(err, egress.ErrAddress) {
			t.Errorf("%s: %v", address, err)
		}
		var refused interface{ Refused() bool }
		if err != nil && (!errors.As(err, &refused) || strings.Contains(err.Error(), "example")) {
			t.Errorf("%s: told as %v", address, err)
		}
	}
	if n := w.reached.Load(); n != 0 {
		t.Errorf("%d requests reached this machine", n)
	}
}

func rootsOf(server *httptest.Server) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// TestANameIsLookedUpOnce: what was judged is what is connected to, however the
// name answers the second time.
func TestANameIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	w := &world{asked: map[string]int{}, names: map[string][]string{"rebind.example": {"192.0.2.1", "127.0.0.1"}, "turn.example": {"198.51.100.1 203.0.113.1", "127.0.0.1"}}}
	s := egress.NewService(egress.ServiceOptions{Lookup: w.lookup, Timeout: time.Second})
	for host := range w.names {
		_ = call(s, "https://"+host+"/")
		if w.asked[host] != 1 {
			t.Errorf("%s was looked up %d times for one request", host, w.asked[host])
		}
	}
}

// TestAnAdmittedNetworkOpensItsOwnAddressAlone, with any port and over http,
// and nothing beside it.
func TestAnAdmittedNetworkOpensItsOwnAddressAlone(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	serve := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	own, other := httptest.NewServer(serve), httptest.NewServer(serve)
	t.Cleanup(own.Close)
	t.Cleanup(other.Close)
	w := &world{asked: map[string]int{}, names: map[string][]string{"meta.example": {"169.254.169.254"}, "loop.example": {"127.0.0.1"}}}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	all := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	for name, c := range map[string]struct {
		own      string
		networks []netip.Prefix
		address  string
		ok       bool
	}{
		"the own address":                  {own.URL + "/base", loopback, own.URL + "/x", true},
		"without a network":                {own.URL, nil, own.URL + "/x", false},
		"another port":                     {own.URL, loopback, other.URL + "/x", false},
		"another scheme":                   {own.URL, loopback, strings.Replace(own.URL, "http:", "https:", 1), false},
		"another name":                     {own.URL, loopback, strings.Replace(own.URL, "127.0.0.1", "loop.example", 1), false},
		"another network":                  {own.URL, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, own.URL, false},
		"a network without an own address": {"", loopback, own.URL, false},
		"metadata, admitted":               {"http://169.254.169.254", all, "http://169.254.169.254/latest", false},
		"metadata by name, admitted":       {"https://meta.example", all, "https://meta.example/", false},
		"metadata through NAT64":           {"http://[64:ff9b::a9fe:a9fe]", all, "http://[64:ff9b::a9fe:a9fe]/", false},
		"metadata through a local NAT64":   {"http://[64:ff9b:1:a9fe:a9:fe00::]", all, "http://[64:ff9b:1:a9fe:a9:fe00::]/", false},
		"metadata through 6to4":            {"http://[2002:a9fe:a9fe::]", all, "http://[2002:a9fe:a9fe::]/", false},
		"metadata through Teredo":          {"http://[2001::5601:5601]", all, "http://[2001::5601:5601]/", false},
		"metadata in a compatible address": {"http://[::a9fe:a9fe]", all, "http://[::a9fe:a9fe]/", false},
		"metadata of another cloud":        {"http://[fd00:ec2::254]", all, "http://[fd00:ec2::254]/", false},
	} {
		s := (&egress.Services{Lookup: w.lookup}).For(c.networks, c.own)
		err := call(s, c.address)
		if c.ok && err != nil || !c.ok && !errors.Is(err, egress.ErrAddress) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if reached.Load() != 1 {
		t.Errorf("%d requests arrived", reached.Load())
	}
}

// TestTheEnvironmentNamesNoProxy. Go never sends loopback addresses to a proxy,
// so the service has a name that leads here.
func TestTheEnvironmentNamesNoProxy(t *testing.T) {
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	w := &world{asked: map[string]int{}, names: map[string][]string{"shop.example": {"127.0.0.1"}}}
	own := strings.Replace(server.URL, "127.0.0.1", "shop.example", 1)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, own, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := http.ProxyFromEnvironment(r); p == nil || err != nil {
		t.Fatalf("nobody would be sent to the proxy: %v", err)
	}
	s := egress.NewService(egress.ServiceOptions{Own: own, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Lookup: w.lookup})
	if err := call(s, own); err != nil || asked.Load() != 0 {
		t.Errorf("%v, the proxy was asked %d times", err, asked.Load())
	}
}

func serviceOf(server *httptest.Server, timeout time.Duration) *egress.Service {
	return egress.NewService(egress.ServiceOptions{Own: server.URL, Timeout: timeout, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

func get(t *testing.T, s *egress.Service, address string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Do(r)
}

func TestARedirectIsAnAnswer(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	answer, err := get(t, serviceOf(server, time.Second), server.URL)
	if err != nil || answer.StatusCode != http.StatusTemporaryRedirect || elsewhere.Load() != 0 {
		t.Fatalf("%v %+v", err, answer)
	}
	_ = answer.Body.Close()
}

// TestABombIsReadAsFarAsItsReaderGoes: a megabyte that unpacks to a gigabyte
// costs what is read of it.
func TestABombIsReadAsFarAsItsReaderGoes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		zeros := make([]byte, 1<<20)
		for range 1024 {
			if _, err := z.Write(zeros); err != nil {
				return // the reader has gone
			}
		}
	}))
	t.Cleanup(server.Close)
	answer, err := get(t, serviceOf(server, 20*time.Second), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 3<<20))
	if n != 3<<20 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestASlowDripEndsInTime(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, "x"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}))
	t.Cleanup(server.Close)
	answer, err := get(t, serviceOf(server, 300*time.Millisecond), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
}

func TestWhatIsNoGzipFailsToBeRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "plain")
	}))
	t.Cleanup(server.Close)
	answer, err := get(t, serviceOf(server, time.Second), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("it was read")
	}
}
