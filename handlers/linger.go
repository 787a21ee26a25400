package handlers

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// How much of a refused body is read away after the answer, and for how long.
const (
	lingerBytes = 1 << 20
	lingerTime  = time.Second
)

// A lingering listener hands out connections that can close gently. To close
// a socket with unread bytes resets it, and the refusal of an oversized body
// may be lost on its way; so the rest is read away, within bounds.
type lingering struct{ net.Listener }

// Accept waits for the next connection.
func (l lingering) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingerConn{Conn: c}, nil
}

type lingerConn struct {
	net.Conn
	unread atomic.Bool
}

// Close closes the connection, after reading away what the peer still sends
// if it was marked as unread.
func (c *lingerConn) Close() error {
	if c.unread.Swap(false) {
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	return c.Conn.Close()
}
