package models

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// publicSignal is the channel on which PostgreSQL tells of public events. A
// signal carries nothing and is sent with the lock of note 0008, so that it
// costs no statement of its own and comes once a transaction.
const publicSignal = `innerloop_public`

// How long to wait before the connection for signals is tried again. Until it
// stands, whoever listens goes by polling.
const (
	listenAgain = time.Second
	listenMost  = 30 * time.Second
)

// bells are who wants to hear of commits of this process.
type bells struct {
	mu    sync.Mutex
	rings map[*func()]func()
}

func (b *bells) add(ring func()) (remove func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rings == nil {
		b.rings = map[*func()]func(){}
	}
	key := &ring
	b.rings[key] = ring
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.rings, key)
	}
}

func (b *bells) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ring := range b.rings {
		ring()
	}
}

// committed is called after each transaction of this process.
func (s *Store) committed() {
	s.version.commits.Add(1)
	s.bells.ring()
}

// Listen calls ring after each commit of this process and, on PostgreSQL, when
// another process tells of a public event. The embedded store has no such
// signal: who listens polls.
func (s *Store) Listen(ctx context.Context, ring func()) {
	defer s.bells.add(ring)()
	if s.engine.name != postgresEngine.name {
		<-ctx.Done()
		return
	}
	for pause := listenAgain; ; {
		begun := time.Now()
		if err := s.hear(ctx, ring); ctx.Err() == nil {
			s.log.WarnContext(ctx, "no signals of public events from the database for now; polling", "error", err)
		}
		if time.Since(begun) > listenMost {
			pause = listenAgain // it stood for a while
		}
		if err := s.wait(ctx, pause); err != nil {
			return
		}
		pause = min(2*pause, listenMost)
	}
}

// hear waits for signals on a connection of its own, not through a pooler,
// which would not deliver them.
func (s *Store) hear(ctx context.Context, ring func()) error {
	config, err := pgx.ParseConfig(s.direct)
	if err != nil {
		return ErrDatabaseURL // the cause may quote the password
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenAgain)
		defer cancel()
		_ = c.Close(ending) // nothing is lost with it
	}()
	if _, err := c.Exec(ctx, `LISTEN `+publicSignal); err != nil {
		return err
	}
	for {
		// Also at first: what happened before the connection stood.
		s.version.commits.Add(1)
		ring()
		if _, err := c.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
