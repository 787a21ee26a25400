package handlers

import (
	"io"
	"iter"
	"net"
	"time"
)

// A pouring is a body that comes in pieces. fasthttp reads it while it sends
// the answer, and flushes after each read; it closes it when a write fails,
// which is how a caller who left is noticed.
type pouring struct {
	to   net.Conn
	next func() ([]byte, bool)
	stop func()
	left []byte
}

func pour(to net.Conn, pieces iter.Seq[[]byte]) *pouring {
	next, stop := iter.Pull(pieces)
	return &pouring{to: to, next: next, stop: stop}
}

// Read waits for the next piece. The time to write begins anew with each: the
// whole may take longer than an answer is allowed to.
func (p *pouring) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		piece, more := p.next()
		if !more {
			return 0, io.EOF
		}
		p.left = piece
	}
	if err := p.to.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// Close leaves the pieces that were not sent.
func (p *pouring) Close() error {
	p.stop()
	return nil
}
