package models

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// versionLease is how long the public version may be answered from memory
// when this process has written nothing: what another process publishes or
// withdraws shows within it.
const versionLease = 200 * time.Millisecond

const newestEvent = `SELECT coalesce(max(position), 0) FROM outbox`

// versionCache remembers the public version, so that a reader who holds the
// newest page costs no statement. It is never behind a commit of this process.
type versionCache struct {
	commits atomic.Uint64 // write transactions of this process that may have ended well
	known   atomic.Pointer[knownVersion]
	asking  sync.Mutex
	now     func() time.Time
}

type knownVersion struct {
	value   int64
	commits uint64 // when the question was asked, before its answer was read
	asked   time.Time
}

// current returns the remembered version if no commit came after it was asked
// for and its lease still runs.
func (v *versionCache) current() (int64, bool) {
	k := v.known.Load()
	if k == nil || k.commits != v.commits.Load() || v.now().Sub(k.asked) >= versionLease {
		return 0, false
	}
	return k.value, true
}

// outliveLease is called after a withdrawal. On PostgreSQL another process may
// still remember the version before it, and show what was withdrawn; it waits
// until no memory can be that old. The embedded store has one serving process,
// which is never behind its own commits.
func (s *Store) outliveLease(ctx context.Context) error {
	if s.engine.name != postgresEngine.name {
		return nil
	}
	if err := s.wait(ctx, versionLease); err != nil {
		return fmt.Errorf("wait for other processes to see a withdrawal: %w", err)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// PublicVersion returns the position of the newest public event.
func (s *Store) PublicVersion(ctx context.Context) (int64, error) {
	v := &s.version
	if value, ok := v.current(); ok {
		return value, nil
	}
	v.asking.Lock()
	defer v.asking.Unlock()
	if value, ok := v.current(); ok { // another reader asked meanwhile
		return value, nil
	}
	// The commits are counted before the question: one that lands while it is
	// answered makes the answer old at once.
	k := &knownVersion{commits: v.commits.Load(), asked: v.now()}
	if _, err := s.read.one(ctx, newestEvent, nil, &k.value); err != nil {
		return 0, fmt.Errorf("read public version: %w", err)
	}
	v.known.Store(k)
	return k.value, nil
}
