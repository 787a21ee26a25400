package limit

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Buckets count what networks use per minute, in this process alone. A bucket
// holds a minute's worth and fills evenly. At most a fixed number of networks
// is remembered; the one unseen for longest is forgotten first. It is safe for
// concurrent use.
type Buckets struct {
	most int

	mu    sync.Mutex
	byKey map[Network]*list.Element
	order *list.List // of *bucket, latest use first
}

type bucket struct {
	network Network
	tokens  *rate.Limiter
}

// NewBuckets makes buckets for at most so many networks.
func NewBuckets(most int) *Buckets {
	return &Buckets{most: max(most, 1), byKey: map[Network]*list.Element{}, order: list.New()}
}

// Take uses one of perMinute up and returns zero, or uses nothing up and
// returns how long to wait until one is there. No limit (0 or less) and an
// unknown network always may.
func (b *Buckets) Take(n Network, perMinute int, now time.Time) time.Duration {
	if n.IsZero() || perMinute <= 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens := b.bucket(n, perMinute)
	if tokens.AllowN(now, 1) {
		return 0
	}
	return wait(tokens, now)
}

// Wait is Take without using anything up.
func (b *Buckets) Wait(n Network, perMinute int, now time.Time) time.Duration {
	if n.IsZero() || perMinute <= 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.byKey[n]
	if !ok || at.Value.(*bucket).tokens.TokensAt(now) >= 1 {
		return 0
	}
	return wait(at.Value.(*bucket).tokens, now)
}

func (b *Buckets) bucket(n Network, perMinute int) *rate.Limiter {
	if at, ok := b.byKey[n]; ok {
		b.order.MoveToFront(at)
		return at.Value.(*bucket).tokens
	}
	for b.order.Len() >= b.most {
		delete(b.byKey, b.order.Remove(b.order.Back()).(*bucket).network)
	}
	tokens := rate.NewLimiter(rate.Limit(perMinute)/60, perMinute)
	b.byKey[n] = b.order.PushFront(&bucket{n, tokens})
	return tokens
}

// wait is until one token is there, rounded up to whole seconds: a caller who
// waits as told is not refused again.
func wait(tokens *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - tokens.TokensAt(now)
	seconds := time.Duration(missing / float64(tokens.Limit()) * float64(time.Second))
	return max(seconds.Truncate(time.Second)+time.Second, time.Second)
}
