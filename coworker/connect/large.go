package connect

import (
	"context"
	"errors"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// An answer that was decoded takes many times the bytes it came in, so only so
// many large ones are held at once. Small ones pass without waiting.
const (
	largeFrom = 512 << 10 // bytes of a body that is large
	largeMax  = 8         // calls that hold one
)

// room waits for a place for a body of n bytes, until the call must end. A call
// takes one place, for all of its pages, and leaves it when it is answered.
func (x *execution) room(ctx context.Context, status, n int) error {
	if n < largeFrom || x.holds || x.large == nil {
		return nil
	}
	select {
	case x.large <- struct{}{}:
		x.holds = true
		return nil
	case <-ctx.Done():
	}
	switch {
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err()
	case x.class == catalog.Read:
		return coworker.Paced(time.Second, cap(x.large), "large answers at once on this server")
	}
	return x.tooLarge(status, "is large, and too many large ones are under way", map[string]any{"original_bytes": n, "limit": largeFrom})
}

// leave gives the place back.
func (x *execution) leave() {
	if x.holds {
		x.holds = false
		<-x.large
	}
}
