package handlers

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/internal/limit"
	"innerloop/journal"
)

// How much of a refused body is read away after the answer, and for how long.
const (
	lingerBytes = 1 << 20
	lingerTime  = time.Second
)

// silentTime is what a connection that has never said a word has left to say
// one when the listener closes. Browsers and programs open such ones ahead;
// fasthttp takes them for requests under way and would wait for them.
const silentTime = time.Second

// A lingering listener hands out at most so many connections at a time, which
// can close gently. To close a socket with unread bytes resets it, and the
// refusal of an oversized body may be lost on its way; so the rest is read
// away, within bounds. It counts them itself: what netutil.LimitListener hands
// out hides the socket, whose buffer a stream has to make small. A connection
// that is one too many of its network is refused before anything is read.
type lingering struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
	hold   func(net.Addr) (release func(), ok bool)
	refuse func(net.Conn)

	mu     sync.Mutex
	silent map[*lingerConn]struct{} // nothing came of them yet
}

func (s *Server) lingering(l net.Listener) *lingering {
	return &lingering{
		Listener: l, places: make(chan struct{}, s.maxOpen), closed: make(chan struct{}),
		hold: s.hold, refuse: s.turnAway, silent: map[*lingerConn]struct{}{},
	}
}

// Accept waits for a place and the next connection that may be held.
func (l *lingering) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.places
			return nil, err
		}
		release, ok := l.hold(c.RemoteAddr())
		if ok {
			conn := &lingerConn{Conn: c, from: l}
			conn.leave = sync.OnceFunc(func() { l.heard(conn); release(); <-l.places })
			l.mu.Lock()
			l.silent[conn] = struct{}{}
			l.mu.Unlock()
			return conn, nil
		}
		l.refuse(c)
		_ = c.Close()
	}
}

// Close ends the listener; connections go on, but for silent ones.
func (l *lingering) Close() error {
	l.once.Do(func() { close(l.closed) })
	err := l.Listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.silent {
		_ = c.hurry()
	}
	return err
}

func (l *lingering) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// heard takes a connection off the silent ones.
func (l *lingering) heard(c *lingerConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.silent, c)
}

type lingerConn struct {
	net.Conn
	from   *lingering
	spoke  bool // of whoever reads
	leave  func()
	unread atomic.Bool
	ended  atomic.Bool // the other side will send no more
	joined joined
}

// Read remembers that the end was met.
func (c *lingerConn) Read(b []byte) (int, error) {
	if c.spoke {
		return c.read(b)
	}
	if c.from.isClosed() { // fasthttp may have given it more time since
		_ = c.hurry()
	}
	n, err := c.read(b)
	if c.spoke = n > 0; c.spoke {
		c.from.heard(c)
		if c.from.isClosed() {
			_ = c.Conn.SetReadDeadline(time.Now().Add(readTimeout))
		}
	}
	return n, err
}

func (c *lingerConn) read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF {
		c.ended.Store(true)
	}
	return n, err
}

func (c *lingerConn) hurry() error { return c.Conn.SetReadDeadline(time.Now().Add(silentTime)) }

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

// hold counts a connection. A trusted proxy's are those of others, and what
// comes from this machine mostly comes from a proxy too.
func (s *Server) hold(from net.Addr) (release func(), ok bool) {
	address := remoteAddr(from)
	if address.IsLoopback() || s.proxies.Trusts(address) {
		return func() {}, true
	}
	network := s.limits.Network(address)
	if s.connections.Take(network, 1, s.limits.Number(limit.Connections, network)) != limit.Granted {
		return nil, false
	}
	return func() { s.connections.Give(network, 1) }, true
}

// holdWait is what a caller is told who holds too many connections.
const holdWait = 10 * time.Second

// turnAway answers a connection whose request is not read. The answer fits
// into what the system keeps for a new connection, so writing it never waits.
func (s *Server) turnAway(c net.Conn) {
	var ctx fasthttp.RequestCtx
	ctx.Init2(c, nil, false)
	ctx.Request.SetRequestURI(machinePaths[0]) // whatever is asked, a program asks
	s.stamp(&ctx)
	s.refuse(&ctx, refusal{
		status: fiber.StatusTooManyRequests, code: journal.RateLimited, wait: holdWait,
		hint: "this network holds as many connections as it may",
	})
	ctx.Response.SetConnectionClose()
	ctx.Response.Header.SetNoDefaultContentType(true)
	var b bytes.Buffer
	if _, err := ctx.Response.WriteTo(&b); err == nil {
		_ = c.SetWriteDeadline(time.Now().Add(lingerTime))
		_, _ = c.Write(b.Bytes())
	}
}
