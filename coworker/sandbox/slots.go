package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// AnswerTime is kept of a caller's time for telling what came of a job.
const AnswerTime = 3 * time.Second

// workTime is the least that a job gets.
const workTime = time.Second

// patience is how long a caller may wait before its job begins.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	end, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-AnswerTime-workTime))
}

// impatient tells an end of a caller's patience from an end of the call.
func impatient(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return &Stop{Reason: Busy, Hint: "no place became free in time; try again in a few seconds"}
	}
	return err
}

// within is what of a job's time fits into the rest of its caller's.
func within(ctx context.Context, timeout time.Duration) time.Duration {
	if end, bounded := ctx.Deadline(); bounded {
		return min(timeout, max(time.Until(end)-AnswerTime, workTime))
	}
	return timeout
}

// slot waits for a slot as long as the caller may.
func (s *Sandbox) slot(ctx context.Context, user string) (release func(), err error) {
	wait, cancel := patience(ctx)
	defer cancel()
	release, err = s.slots.take(wait, user)
	return release, impatient(ctx, err)
}

// slots share out what may run at a time: so many in all, so many of one user,
// and a bounded number that waits, first come first served.
type slots struct {
	all, perUser, queue int

	mu      sync.Mutex
	running int
	of      map[string]int
	waiting []*waiter
}

type waiter struct {
	user string
	free chan struct{} // closed when the slot is the waiter's
}

func newSlots(all, perUser, queue int) *slots {
	return &slots{all: all, perUser: perUser, queue: queue, of: map[string]int{}}
}

// take waits for a slot. A *Stop with reason Busy when too many wait already.
func (s *slots) take(ctx context.Context, user string) (release func(), err error) {
	release = sync.OnceFunc(func() { s.give(user) })
	s.mu.Lock()
	if s.fits(user) {
		s.hold(user)
		s.mu.Unlock()
		return release, nil
	}
	if len(s.waiting) >= s.queue {
		s.mu.Unlock()
		return nil, &Stop{Reason: Busy, Hint: "too many runs are waiting; try again in a few seconds"}
	}
	w := &waiter{user, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.free:
		return release, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for i, other := range s.waiting {
		if other == w {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			s.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	s.mu.Unlock()
	release() // it was given meanwhile
	return nil, ctx.Err()
}

func (s *slots) fits(user string) bool { return s.running < s.all && s.of[user] < s.perUser }

func (s *slots) hold(user string) {
	s.running++
	s.of[user]++
}

// give frees a slot and hands it to the first that it fits.
func (s *slots) give(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.of[user]--; s.of[user] == 0 {
		delete(s.of, user)
	}
	for i := 0; i < len(s.waiting); {
		w := s.waiting[i]
		if !s.fits(w.user) {
			i++
			continue
		}
		s.hold(w.user)
		s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
		close(w.free)
	}
}
