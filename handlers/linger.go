package handlers

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// How much of a refused body is read away after the answer, and for how long.
const (
	lingerBytes = 1 << 20
	lingerTime  = time.Second
)

// A lingering listener hands out at most so many connections at a time, which
// can close gently. To close a socket with unread bytes resets it, and the
// refusal of an oversized body may be lost on its way; so the rest is read
// away, within bounds. It counts them itself: what netutil.LimitListener hands
// out hides the socket, whose buffer a stream has to make small.
type lingering struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newLingering(l net.Listener, most int) *lingering {
	return &lingering{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept waits for a place and the next connection.
func (l *lingering) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &lingerConn{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close ends the listener; connections go on.
func (l *lingering) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type lingerConn struct {
	net.Conn
	leave  func()
	unread atomic.Bool
}

// Close closes the connection, after reading away what the peer still sends
// if it was marked as unread.
func (c *lingerConn) Close() error {
	defer c.leave()
	if c.unread.Swap(false) {
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	return c.Conn.Close()
}
