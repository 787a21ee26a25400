package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// ErrAddress says that an address may not be called. What was asked for is not
// repeated.
var ErrAddress error = refusal{}

// answerMax is how much of an answer is read, in bytes.
const answerMax = 64 << 10

// Options are what a Client is made of.
type Options struct {
	// Loopback also lets http and https addresses of this machine be called:
	// for a service that itself lives on it alone.
	Loopback bool
	Timeout  time.Duration // of a whole exchange; 0 means 10 seconds
	// Roots, when set, are trusted instead of the system's.
	Roots *tls.Config
}

// A Client makes requests. It is safe for concurrent use.
type Client struct {
	loopback bool
	http     *http.Client
}

// New makes a Client.
func New(o Options) *Client {
	c := &Client{loopback: o.Loopback}
	timeout := o.Timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	dialer := &net.Dialer{Timeout: timeout, Control: c.control}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Roots != nil {
		trust.RootCAs = o.Roots.RootCAs
	}
	c.http = &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer.DialContext, TLSClientConfig: trust, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout, MaxResponseHeaderBytes: 32 << 10,
			MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// PostForm sends a form and fails unless the answer's status is 2xx. Its
// errors name the status or the kind of failure, and no address.
func (c *Client) PostForm(ctx context.Context, address string, form url.Values) error {
	if !Lawful(address, c.loopback) {
		return ErrAddress
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return ErrAddress
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "innerloop")
	answer, err := c.http.Do(r)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the address
		}
		return fmt.Errorf("egress: post: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, answerMax)); err != nil {
		return fmt.Errorf("egress: read the answer: %w", err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("egress: the answer has status %d", answer.StatusCode)
	}
	return nil
}

// Lawful tells an address that may be called by its look alone: https, without
// a user name and a fragment; where loopback counts, also http to this machine.
func Lawful(address string, loopback bool) bool {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Opaque != "" || strings.Contains(address, "#") {
		return false
	}
	here := u.Hostname() == "localhost"
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		here = ip.Unmap().IsLoopback()
		if !here && !public(ip) {
			return false
		}
	}
	if here {
		return loopback && (u.Scheme == "http" || u.Scheme == "https")
	}
	return u.Scheme == "https"
}

// control sees the address that is about to be connected to.
func (c *Client) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrAddress
	}
	ip := at.Addr().Unmap()
	if c.loopback && ip.IsLoopback() || public(ip) {
		return nil
	}
	return ErrAddress
}

// reserved are networks that net/netip counts as global and that lead inwards,
// or nowhere, or through a translator to any IPv4 address (RFC 6890).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("3fff::/20"),
}

// global is where every public IPv6 address lies (RFC 4291 section 2.4); the
// rest is local, of a translator, or not given out.
var global = netip.MustParsePrefix("2000::/3")

func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Zone() != "" || ip.Is6() && !global.Contains(ip) {
		return false
	}
	for _, network := range reserved {
		if network.Contains(ip) {
			return false
		}
	}
	return true
}
