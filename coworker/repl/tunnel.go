package repl

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// connect carries TLS to a host that is open, once the first message of it has
// named that very host.
func (w *way) connect(out http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(out, "innerloop: CONNECT takes a host and a port", http.StatusBadRequest)
		return
	}
	road, ok := w.road("https", host, port)
	if !ok {
		http.Error(out, notOpen, http.StatusForbidden)
		return
	}
	upstream, err := road.Dial(w.ctx, host, port)
	if err != nil {
		refuse(out, err)
		return
	}
	defer func() { _ = upstream.Close() }()
	hijacker, ok := out.(http.Hijacker)
	if !ok {
		http.Error(out, "innerloop: cannot be done", http.StatusInternalServerError)
		return
	}
	client, early, err := hijacker.Hijack()
	if err != nil {
		return
	}
	w.tunnel.Add(1)
	defer w.tunnel.Done()
	defer func() { _ = client.Close() }()
	defer context.AfterFunc(w.ctx, func() { _, _ = client.Close(), upstream.Close() })()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	if client.SetReadDeadline(time.Now().Add(headerTime)) != nil {
		return
	}
	hello, err := readHello(w.ctx, early, host)
	if err != nil || client.SetReadDeadline(time.Time{}) != nil {
		return
	}
	w.remember(strings.ToLower(host))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, err := io.Copy(upstream, &counted{from: io.MultiReader(bytes.NewReader(hello), early), sum: &w.out, most: bytesOut})
		half(upstream, err)
	}()
	_, err = io.Copy(client, &counted{from: upstream, sum: &w.in, most: bytesIn})
	half(client, err)
	if err != nil {
		_, _ = client.Close(), upstream.Close()
	}
	<-sent
}

// half ends one direction, and all of it when it did not end well.
func half(c net.Conn, err error) {
	if one, ok := c.(interface{ CloseWrite() error }); ok && err == nil {
		_ = one.CloseWrite()
		return
	}
	_ = c.Close()
}

const helloMax = 32 << 10

var errSeen = errors.New("repl: seen")

// readHello reads the first message of TLS and returns its bytes, if it asks
// for the given host by name. A hidden name could be any, so an encrypted one
// is refused. An address has no name to ask for (RFC 6066, 3).
func readHello(ctx context.Context, from io.Reader, host string) ([]byte, error) {
	var raw bytes.Buffer
	var hello *tls.ClientHelloInfo
	reader := tls.Server(&onlyReads{from: io.TeeReader(io.LimitReader(from, helloMax), &raw)}, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = h
			return nil, errSeen
		},
	})
	if err := reader.HandshakeContext(ctx); !errors.Is(err, errSeen) || hello == nil {
		return nil, errors.New("repl: this is no TLS")
	}
	want := strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil {
		want = ""
	}
	const encryptedHello = 0xfe0d
	if strings.ToLower(strings.TrimSuffix(hello.ServerName, ".")) != want || slices.Contains(hello.Extensions, encryptedHello) {
		return nil, errors.New("repl: TLS asks for another host")
	}
	return raw.Bytes(), nil
}

// onlyReads is a connection that nothing is sent over.
type onlyReads struct {
	net.Conn
	from io.Reader
}

func (o *onlyReads) Read(p []byte) (int, error)        { return o.from.Read(p) }
func (o *onlyReads) Write([]byte) (int, error)         { return 0, io.ErrClosedPipe }
func (o *onlyReads) Close() error                      { return nil }
func (o *onlyReads) SetDeadline(time.Time) error       { return nil }
func (o *onlyReads) SetWriteDeadline(time.Time) error  { return nil }
func (o *onlyReads) SetReadDeadline(_ time.Time) error { return nil }
