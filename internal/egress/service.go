package egress

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A refusal is the error of an address that may not be called.
type refusal struct{}

func (refusal) Error() string { return "egress: the address may not be called" }

// Refused tells a refusal of ours from a failure of the network.
func (refusal) Refused() bool { return true }

// errSwitch is the error of an answer that nobody asked for.
var errSwitch = errors.New("egress: malformed answer: it switches protocols")

// metadata are the addresses where clouds hand out credentials of the machine.
// No setting opens them.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::/32"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
}

// ServiceOptions are what a Service is made of.
type ServiceOptions struct {
	// Own is the base address that an organisation gave to its connection, if
	// it gave one. Networks are those that an admin admitted: an Own that leads
	// into one of them may be called over http and on any port. Nothing else is
	// opened by them.
	Own      string
	Networks []netip.Prefix
	Timeout  time.Duration // of a whole exchange; 0 means 60 seconds
	Roots    *tls.Config   // when set, RootCAs are trusted instead of the system's
	// Lookup resolves a name; nil means the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// A Service sends requests to services that connectors reach. It is safe for
// concurrent use.
type Service struct {
	own      *url.URL
	networks []netip.Prefix
	lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	timeout  time.Duration
	http     *http.Client
}

// NewService makes a Service. An Own that is no address opens nothing.
func NewService(o ServiceOptions) *Service {
	s := &Service{networks: slices.Clone(o.Networks), lookup: o.Lookup, timeout: o.Timeout}
	if s.timeout == 0 {
		s.timeout = time.Minute
	}
	if u, err := url.Parse(o.Own); err == nil && o.Own != "" && u.Host != "" {
		s.own = u
	}
	if s.lookup == nil {
		s.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Roots != nil {
		trust.RootCAs = o.Roots.RootCAs
	}
	s.http = &http.Client{
		Transport: &http.Transport{
			Proxy: nil, DialContext: s.dial, TLSClientConfig: trust, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: s.timeout, MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost: 8, MaxIdleConns: 64, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// plainKey marks the context of a request that only an admitted network may
// get: over http, or on a port of its own.
type plainKey struct{}

// Do sends a request as it stands and returns the answer, whose body the caller
// closes. A gzip body is decompressed as it is read, so a bound on reading is a
// bound on memory. Redirects are answers. An address that may not be called is
// ErrAddress.
func (s *Service) Do(r *http.Request) (*http.Response, error) {
	plain, err := s.judge(r.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	r = r.Clone(context.WithValue(ctx, plainKey{}, plain))
	if r.Header.Get("Accept-Encoding") == "" {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	answer, err := s.http.Do(r)
	if err != nil {
		cancel()
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the address
		}
		return nil, fmt.Errorf("egress: %w", err)
	}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the bare connection, which no deadline of ours would end.
		_ = answer.Body.Close()
		cancel()
		return nil, errSwitch
	}
	body := &ended{ReadCloser: answer.Body, cancel: cancel}
	answer.Body = body
	if coding := strings.ToLower(answer.Header.Get("Content-Encoding")); coding == "gzip" || coding == "x-gzip" {
		answer.Body = &unzipped{from: body}
		answer.Header.Del("Content-Encoding")
		answer.Header.Del("Content-Length")
		answer.ContentLength = -1
	}
	return answer, nil
}

// CloseIdle closes connections that nobody uses.
func (s *Service) CloseIdle() { s.http.CloseIdleConnections() }

// judge tells an address that may be called by its look alone, and whether it
// needs an admitted network.
func (s *Service) judge(u *url.URL) (plain bool, err error) {
	if u.User != nil || u.Opaque != "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false, ErrAddress
	}
	plain = u.Scheme != "https" || u.Port() != "" && u.Port() != "443"
	if plain && !s.isOwn(u) {
		return false, ErrAddress
	}
	return plain, nil
}

func (s *Service) isOwn(u *url.URL) bool {
	return s.own != nil && u.Scheme == s.own.Scheme && strings.EqualFold(u.Host, s.own.Host)
}

// dial resolves a name once, judges each address it leads to, and connects to
// that very address: there is no second look-up that could say otherwise.
func (s *Service) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, ErrAddress
	}
	var found []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{ip}
	} else if found, err = s.lookup(ctx, host); err != nil {
		return nil, err
	}
	plain, _ := ctx.Value(plainKey{}).(bool)
	own := s.own != nil && strings.EqualFold(s.own.Hostname(), host)
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !s.admits(at.Addr(), own, plain) {
			return ErrAddress
		}
		return nil
	}}
	last := error(ErrAddress)
	for _, ip := range found {
		if !s.admits(ip, own, plain) {
			continue
		}
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(ip.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, last
}

func (s *Service) admits(ip netip.Addr, own, plain bool) bool {
	ip = ip.Unmap()
	for _, one := range append(embedded(ip), ip) {
		for _, never := range metadata {
			if never.Contains(one) {
				return false
			}
		}
	}
	if own && slices.ContainsFunc(s.networks, func(n netip.Prefix) bool { return n.Contains(ip) }) {
		return true
	}
	return !plain && public(ip)
}

// embedded are the IPv4 addresses that a translator or a tunnel would take out
// of an IPv6 address: NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056), Teredo
// (RFC 4380), IPv4-translated and IPv4-compatible ones.
func embedded(ip netip.Addr) []netip.Addr {
	if !ip.Is6() {
		return nil
	}
	b := ip.As16()
	last := netip.AddrFrom4([4]byte(b[12:16]))
	switch {
	case b[0] == 0x20 && b[1] == 0x02:
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case [4]byte(b[:4]) == [4]byte{0x20, 0x01}:
		return []netip.Addr{netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	case [4]byte(b[:4]) == [4]byte{0x00, 0x64, 0xff, 0x9b}:
		// The local prefix may be 48, 56, 64 or 96 bits long.
		return []netip.Addr{
			last, netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}), netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),
			netip.AddrFrom4([4]byte(b[9:13])),
		}
	case [8]byte(b[:8]) == [8]byte{}:
		return []netip.Addr{last}
	}
	return nil
}

// ended ends the time of an exchange when its body is closed.
type ended struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (e *ended) Close() error {
	defer e.cancel()
	return e.ReadCloser.Close()
}

// unzipped decompresses as it is read. What is no gzip fails at the first read.
type unzipped struct {
	from *ended
	gzip *gzip.Reader
	err  error
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.gzip == nil && u.err == nil {
		u.gzip, u.err = gzip.NewReader(u.from)
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.gzip.Read(p)
}

func (u *unzipped) Close() error { return u.from.Close() }

// Services keeps a Service for each set of networks and own address, so that
// connections opened under one rule are never used under another.
type Services struct {
	Roots  *tls.Config
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	of    map[string]*Service
	order []string // oldest first
}

const servicesMax = 512

// For returns the Service for a connection.
func (s *Services) For(networks []netip.Prefix, own string) *Service {
	key := own
	if own == "" {
		networks = nil // they open nothing then
	}
	for _, n := range networks {
		key += " " + n.String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.of[key]; ok {
		return found
	}
	if s.of == nil {
		s.of = map[string]*Service{}
	}
	if len(s.order) >= servicesMax {
		s.of[s.order[0]].CloseIdle()
		delete(s.of, s.order[0])
		s.order = s.order[1:]
	}
	made := NewService(ServiceOptions{Own: own, Networks: networks, Roots: s.Roots, Lookup: s.Lookup})
	s.of[key] = made
	s.order = append(s.order, key)
	return made
}
