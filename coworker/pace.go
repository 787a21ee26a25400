package coworker

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// pace counts the calls of keys that have a rate, in this process alone. The
// key unseen for longest is forgotten first.
type pace struct {
	most int

	mu    sync.Mutex
	byKey map[KeyID]*list.Element
	order *list.List // of *paced, latest use first
}

type paced struct {
	key       KeyID
	perMinute int
	tokens    *rate.Limiter
}

func newPace(most int) *pace {
	return &pace{most: most, byKey: map[KeyID]*list.Element{}, order: list.New()}
}

// take uses one call up and returns zero, or returns how long to wait.
func (p *pace) take(key KeyID, perMinute int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.byKey[key]
	if ok && at.Value.(*paced).perMinute != perMinute { // the key was changed
		p.order.Remove(at)
		ok = false
	}
	if !ok {
		for p.order.Len() >= p.most {
			delete(p.byKey, p.order.Remove(p.order.Back()).(*paced).key)
		}
		at = p.order.PushFront(&paced{key, perMinute, rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)})
		p.byKey[key] = at
	}
	p.order.MoveToFront(at)
	tokens := at.Value.(*paced).tokens
	if tokens.AllowN(now, 1) {
		return 0
	}
	missing := 1 - tokens.TokensAt(now)
	wait := time.Duration(missing / float64(tokens.Limit()) * float64(time.Second))
	return max(wait.Truncate(time.Second)+time.Second, time.Second)
}
