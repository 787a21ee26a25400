package handlers

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/internal/limit"
	"innerloop/journal"
)

// How much memory bodies may take while they arrive. A body grows with what
// was really sent; its first bytes, which fasthttp reads ahead, are not counted,
// so that a small request is served however full it is.
const (
	arrivingMax  = 64 << 20 // of all callers
	arrivingEach = 16 << 20 // of one network
	readAhead    = 8 << 10
	arrivingWait = time.Second // what a caller is told to wait for room
)

// announce is called when a head is in. fasthttp reads a little of a body that
// it then finds too large; a body that take will refuse is therefore hidden
// from it, so that the refusal comes at once. The raw head keeps the length.
func announce(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	most := bodyLimit(pathOf(h))
	if h.ContentLength() > most {
		h.SetContentLength(0)
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: most}
}

// An intake is a body that was taken in, or why it was not.
type intake struct {
	held    *limit.Holding
	network limit.Network
	taken   int
	refused *refusal
}

func (i *intake) release() {
	if i.taken > 0 {
		i.held.Give(i.network, i.taken)
	}
}

// take reads the body of a request into memory that grows as it arrives.
func (s *Server) take(ctx *fasthttp.RequestCtx, f framing) (i intake) {
	most := bodyLimit(pathOf(&ctx.Request.Header))
	if f.announced > most {
		return i.refuse(s.translate(ctx, fiber.StatusRequestEntityTooLarge))
	}
	stream := ctx.Request.BodyStream()
	if stream == nil {
		return i
	}
	i.held, i.network = s.arriving, s.network(ctx)
	chunked, whole := f.codings > 0, f.announced
	if chunked {
		whole = most + 1 // which is too many
	}
	body := make([]byte, 0, min(whole, readAhead))
	for len(body) < whole {
		if len(body) == cap(body) {
			larger := min(2*len(body), whole)
			if refused := s.arriving.Take(i.network, larger-cap(body), s.share()); refused != limit.Granted {
				return i.refuse(noRoom(refused))
			}
			i.taken += larger - cap(body)
			body = append(make([]byte, 0, larger), body...)
		}
		n, err := stream.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF && chunked && !ended(ctx) {
			break
		}
		if err != nil && len(body) < whole {
			return i.refuse(s.translate(ctx, brokenBody(err)))
		}
	}
	if chunked && len(body) == whole {
		return i.refuse(s.translate(ctx, fiber.StatusRequestEntityTooLarge))
	}
	ctx.Request.SetBodyRaw(body)
	return i
}

func (i intake) refuse(r refusal) intake {
	i.refused = &r
	return i
}

func noRoom(refused limit.Refusal) refusal {
	if refused == limit.NetworkFull {
		return refusal{status: fiber.StatusTooManyRequests, code: journal.RateLimited, hint: "this network is sending too much at once", wait: arrivingWait}
	}
	return refusal{status: fiber.StatusServiceUnavailable, code: journal.ServiceUnavailable, hint: "too much is being sent at once", wait: arrivingWait}
}

// ended tells whether the other side stopped sending. fasthttp takes the end
// of a connection between two chunks for the end of the body; then half a
// message would be obeyed.
func ended(ctx *fasthttp.RequestCtx) bool {
	c, ok := ctx.Conn().(*lingerConn)
	return ok && c.ended.Load()
}

// share is what one network's bodies may take; none is told apart where
// nothing is limited.
func (s *Server) share() int {
	if s.limits == nil {
		return 0
	}
	return arrivingEach
}

func brokenBody(err error) int {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return fiber.StatusRequestTimeout
	}
	return fiber.StatusBadRequest
}

// leave ends the connection of a request whose body was not read.
func (s *Server) leave(ctx *fasthttp.RequestCtx) {
	ctx.Response.SetConnectionClose()
	if c, ok := ctx.Conn().(*lingerConn); ok {
		c.unread.Store(true)
	}
}
