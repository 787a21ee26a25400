package connect

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// paces hold calls to the pace that each service asks for, per connection. A
// call waits a little for its turn, and is refused when that would take longer.
type paces struct {
	mu sync.Mutex
	of map[string]*paceOf
}

type paceOf struct {
	limiter  *rate.Limiter // nil when only parallel calls are counted
	parallel chan struct{} // nil when they are not
	used     time.Time
}

const (
	pacesMax = 16_384
	// waitMax is how long a call waits for its turn.
	waitMax = 2 * time.Second
)

func (s *paces) entry(key string, r catalog.Rate, now time.Time) *paceOf {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.of[key]
	if !ok {
		if len(s.of) >= pacesMax {
			oldest := ""
			for other, o := range s.of {
				if len(o.parallel) == 0 && (oldest == "" || o.used.Before(s.of[oldest].used)) {
					oldest = other
				}
			}
			delete(s.of, oldest)
		}
		p = &paceOf{}
		if r.Requests > 0 {
			p.limiter = rate.NewLimiter(rate.Every(time.Duration(r.Per)/time.Duration(r.Requests)), max(r.Burst, 1))
		}
		if r.Parallel > 0 {
			p.parallel = make(chan struct{}, r.Parallel)
		}
		s.of[key] = p
	}
	p.used = now
	return p
}

// take waits for a call's turn under every rate that it counts under. done
// must be called when the call has ended.
func (e *Engine) take(ctx context.Context, p *prepared, call catalog.Call, host string) (done func(), err error) {
	var held []chan struct{}
	done = func() {
		for _, c := range held {
			<-c
		}
	}
	for _, r := range p.service.Paces(call) {
		key := p.ID
		switch r.Key {
		case "address":
			key = host
		case "connection+path":
			key += " " + call.Path + call.Method
		}
		entry := e.paces.entry(strings.Join([]string{p.Service, call.Module, r.Match, key}, "\x00"), r, e.now())
		if entry.limiter != nil {
			turn := entry.limiter.ReserveN(e.now(), 1)
			if wait := turn.DelayFrom(e.now()); wait > waitMax {
				turn.CancelAt(e.now())
				done()
				return nil, coworker.Paced(wait, r.Requests, "connection")
			} else if wait > 0 {
				if err := e.sleep(ctx, wait); err != nil {
					done()
					return nil, err
				}
			}
		}
		if entry.parallel != nil {
			waiting, cancel := context.WithTimeout(ctx, waitMax)
			select {
			case entry.parallel <- struct{}{}:
				held = append(held, entry.parallel)
			case <-waiting.Done():
			}
			over := waiting.Err() != nil && ctx.Err() == nil
			cancel()
			if len(held) == 0 || held[len(held)-1] != entry.parallel {
				done()
				if over {
					return nil, coworker.Paced(time.Second, r.Parallel, "parallel calls of the connection")
				}
				return nil, ctx.Err()
			}
		}
	}
	return done, nil
}

// sleep waits, or ends with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
