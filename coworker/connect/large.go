package connect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// A large answer takes many times its bytes while it is read, decoded and told,
// so only so many are held at once. Small ones pass without waiting.
const (
	largeFrom = 512 << 10 // bytes of a body that is large
	largeMax  = 8         // calls that hold one
	largeOwn  = 6         // calls of one organisation that do
)

// shares hold the calls of each organisation to largeOwn, so that one whose
// services answer without end leaves places to the others.
type shares struct {
	mu sync.Mutex
	of map[coworker.OrganizationID]*share
}

type share struct {
	places chan struct{}
	users  int // that hold one or wait
}

func (s *shares) join(o coworker.OrganizationID) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, ok := s.of[o]
	if !ok {
		own = &share{places: make(chan struct{}, largeOwn)}
		s.of[o] = own
	}
	own.users++
	return own
}

func (s *shares) part(o coworker.OrganizationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.of[o]; own.users > 1 {
		own.users--
	} else {
		delete(s.of, o)
	}
}

// body reads an answer's body, one byte more than is read at most. What is
// beyond the first bytes of a large one is read once there is a place for it.
func (x *execution) body(ctx context.Context, answer *http.Response) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(answer.Body, largeFrom))
	if err != nil || len(raw) < largeFrom {
		return raw, err
	}
	if err := x.room(ctx, answer.StatusCode); err != nil {
		return raw, err
	}
	whole := bytes.NewBuffer(raw)
	_, err = whole.ReadFrom(io.LimitReader(answer.Body, readMax+1-largeFrom))
	return whole.Bytes(), err
}

// room waits for a place for a large body, until the call must end. A call
// takes one place, for all of its pages, and leaves it when it is answered.
func (x *execution) room(ctx context.Context, status int) error {
	if x.holds != nil || x.large == nil {
		return nil
	}
	own := x.shares.join(x.who.Organization)
	select {
	case own.places <- struct{}{}:
		select {
		case x.large <- struct{}{}:
			x.holds = own
			return nil
		case <-ctx.Done():
			<-own.places
		}
	case <-ctx.Done():
	}
	x.shares.part(x.who.Organization)
	switch {
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err()
	case x.class == catalog.Read:
		return coworker.Paced(time.Second, cap(x.large), "large answers at once on this server")
	}
	return x.tooLarge(status, "is large, and too many large ones are under way", map[string]any{"original_bytes": ">=" + strconv.Itoa(largeFrom), "limit": largeFrom})
}

// leave gives the place back.
func (x *execution) leave() {
	if x.holds != nil {
		<-x.large
		<-x.holds.places
		x.holds = nil
		x.shares.part(x.who.Organization)
	}
}
