package handlers

import (
	"net"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// writeBuffer is how many bytes of answers fasthttp gathers before it writes.
const writeBuffer = 4096

// joined makes one write of the two in which fasthttp sends a large answer:
// the head with as much of the body as its buffer takes, and the rest. That is
// one call of the system and one small segment less for each page.
type joined struct {
	awaited bool // one more write is certain to follow the next
	first   *[]byte
	both    [2][]byte
	buffers net.Buffers
}

var firsts = sync.Pool{New: func() any { b := make([]byte, 0, writeBuffer); return &b }}

// join readies the connection for an answer that is certain to be written in
// two pieces or more. It is asked last, when nothing can replace the answer.
func join(ctx *fasthttp.RequestCtx) {
	r := &ctx.Response
	if r.StatusCode() != fiber.StatusOK || ctx.IsHead() || r.SkipBody || r.IsBodyStream() || len(r.Body()) <= 2*writeBuffer {
		return
	}
	if conn, ok := ctx.Conn().(*lingerConn); ok {
		conn.joined.awaited = true
	}
}

// Write keeps the first piece of a large answer and sends it with the second.
// A connection has one writer at a time.
func (c *lingerConn) Write(b []byte) (int, error) {
	j := &c.joined
	if j.awaited {
		j.awaited, j.first = false, firsts.Get().(*[]byte)
		*j.first = append((*j.first)[:0], b...)
		return len(b), nil
	}
	if j.first == nil {
		return c.Conn.Write(b)
	}
	kept := len(*j.first)
	j.both = [2][]byte{*j.first, b}
	j.buffers = j.both[:]
	n, err := j.buffers.WriteTo(c.Conn)
	firsts.Put(j.first)
	*j = joined{}
	return max(int(n)-kept, 0), err
}
