package handlers

import (
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
)

const (
	eventsPath     = "/events"
	streamBeat     = 15 * time.Second // between signs of life; a reader who left is noticed at the second
	streamPatience = 10 * time.Second // for one write to a reader who takes nothing
	streamBuffer   = 16 << 10         // bytes that the kernel keeps for a reader
	streamRetry    = "retry: 2000\n"  // milliseconds before a browser comes back
)

func (s *Server) streamRoutes() { s.app.Get(eventsPath, s.events) }

// events is GET /events: ids of public entries as they come, as server-sent
// events (WHATWG HTML section 9.2).
func (s *Server) events(c *fiber.Ctx) error {
	after, err := lastEvent(c)
	if err != nil {
		return err
	}
	caller := s.caller(c)
	if err := s.journal.AdmitRead(caller, false); err != nil {
		return err
	}
	h := &c.Context().Response.Header
	h.SetContentType("text/event-stream")
	h.Set(fiber.HeaderCacheControl, "no-store, no-transform")
	h.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	h.Set("X-Accel-Buffering", "no")
	if c.Context().IsHead() {
		return nil
	}
	if !s.streams.begin() {
		return journal.Refuse(journal.ServiceUnavailable, brokenHint)
	}
	ctx, cancel := work()
	defer cancel()
	f, err := s.journal.Follow(ctx, caller, after)
	if err != nil {
		s.streams.running.Done()
		return err
	}
	h.SetConnectionClose()
	head := append([]byte(nil), h.Header()...)
	id := requestID(c.Context())
	// fasthttp gives the connection away, and keeps nothing for it: no timeout
	// of a whole answer, no buffers, no pipe between us and the socket, which
	// would hide that a reader takes nothing. If it never does, because the
	// connection is gone, nobody waits for long.
	taken, given := make(chan net.Conn), make(chan struct{})
	c.Context().HijackSetNoResponse(true)
	c.Context().Hijack(func(conn net.Conn) {
		if inner, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
			conn = inner.UnsafeConn()
		}
		select {
		case taken <- conn:
		case <-given:
			_ = conn.Close()
		}
	})
	go func() {
		defer s.streams.running.Done()
		defer f.Close()
		defer close(given)
		select {
		case conn := <-taken:
			defer func() { _ = conn.Close() }()
			shrink(conn)
			if err := pump(patient{conn, s.patience}, head, f, s.streams.ending); err != nil && !errors.As(err, new(net.Error)) {
				s.logger.Error("stream ended", "request_id", id, "error", err.Error())
			}
		case <-time.After(writeTimeout):
		}
	}()
	return nil
}

var eventPattern = regexp.MustCompile(`^[0-9]{1,18}$`)

// lastEvent is where the reader was. A browser names it in the header when it
// comes back; for its first request only the address can.
func lastEvent(c *fiber.Ctx) (*int64, error) {
	const rule = "must be the id of an event of this stream"
	values, err := query(c, "last_event_id")
	if err != nil {
		return nil, err
	}
	text, given, field := "", false, "last_event_id"
	if lines := c.Context().Request.Header.PeekAll("Last-Event-ID"); len(lines) > 0 && len(lines[0]) > 0 {
		text, given, field = string(lines[0]), true, "last-event-id"
	} else {
		text, given = values["last_event_id"]
	}
	if !given {
		return nil, nil
	}
	position, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !eventPattern.MatchString(text) {
		return nil, violated(field, "wrong_type", rule)
	}
	return &position, nil
}

// shrink keeps the kernel from holding megabytes for a reader who is slow.
func shrink(conn net.Conn) {
	if lingering, ok := conn.(*lingerConn); ok {
		conn = lingering.Conn
	}
	if socket, ok := conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = socket.SetWriteBuffer(streamBuffer) // without it, only more memory is used
	}
}

// patient writes to a reader as long as the reader takes something.
type patient struct {
	net.Conn
	limit time.Duration
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(p.limit)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// follower is what pump needs of a journal.Follower.
type follower interface {
	Position() int64
	Bell() <-chan struct{}
	Next(ctx context.Context) (journal.Heard, error)
}

// pump tells a reader of public events until it is gone or all streams end.
// What it holds for the reader is one step: the reader who takes nothing holds
// up nobody else, and after its time is cut.
func pump(w io.Writer, head []byte, f follower, ending <-chan struct{}) error {
	frame := appendPosition(append(head, streamRetry...), f.Position())
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for {
		bell := f.Bell()
		before := f.Position()
		ctx, cancel := work()
		h, err := f.Next(ctx)
		cancel()
		if err != nil {
			return err
		}
		for _, e := range h.Events {
			frame = appendEvent(frame, e)
			before = e.Position
		}
		if before != h.Position {
			// What was not worth telling is not looked at again after a break.
			frame = appendPosition(frame, h.Position)
		}
		if len(frame) > 0 {
			if _, err := w.Write(frame); err != nil {
				return err
			}
		}
		frame = frame[:0]
		if h.More {
			bell = at(h.Wait)
		}
		select {
		case <-ending:
			return nil
		case <-bell:
		case <-beat.C:
			if _, err := io.WriteString(w, ":\n\n"); err != nil {
				return err
			}
		}
	}
}

// at returns a channel that is closed after a wait; at once without one.
func at(wait time.Duration) <-chan struct{} {
	done := make(chan struct{})
	if wait <= 0 {
		close(done)
	} else {
		time.AfterFunc(wait, func() { close(done) })
	}
	return done
}

// appendEvent writes one event. Ids hold nothing that JSON would escape
// (protocol 1).
func appendEvent(dst []byte, e journal.LiveEvent) []byte {
	dst = strconv.AppendInt(append(dst, "id: "...), e.Position, 10)
	dst = append(append(dst, "\nevent: "...), e.Kind...)
	dst = append(append(dst, "\ndata: {\"entry_id\":\""...), e.EntryID...)
	return append(dst, "\"}\n\n"...)
}

// appendPosition moves the reader's place without telling anything.
func appendPosition(dst []byte, position int64) []byte {
	return append(strconv.AppendInt(append(dst, "id: "...), position, 10), "\n\n"...)
}

// streams are all that run.
type streams struct {
	mu      sync.Mutex
	ended   bool
	ending  chan struct{}
	running sync.WaitGroup
}

func newStreams() streams { return streams{ending: make(chan struct{})} }

// begin counts a stream in, unless all have ended.
func (s *streams) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.running.Add(1)
	}
	return !s.ended
}

// end ends all streams and waits for them until ctx is done.
func (s *streams) end(ctx context.Context) error {
	s.mu.Lock()
	if !s.ended {
		s.ended = true
		close(s.ending)
	}
	s.mu.Unlock()
	gone := make(chan struct{})
	go func() { s.running.Wait(); close(gone) }()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
