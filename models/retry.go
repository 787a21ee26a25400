package models

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	gosqlite "github.com/glebarez/go-sqlite"
	"github.com/jackc/pgx/v5/pgconn"
)

const attempts = 8

// retry repeats work that lost against another transaction, a few times with
// growing pauses. Work must be a whole transaction.
func (s *Store) retry(ctx context.Context, what string, work func() error) error {
	pause := 2 * time.Millisecond
	for n := 1; ; n++ {
		err := work()
		if err == nil {
			return nil
		}
		if n == attempts || !lost(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		s.log.DebugContext(ctx, "transaction repeated", "what", what, "attempt", n)
		timer := time.NewTimer(pause + rand.N(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-timer.C:
		}
		pause *= 2
	}
}

// lost tells whether a transaction left no trace because of another one.
func lost(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// serialization_failure, deadlock_detected, lock_not_available
		return pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "55P03"
	}
	var lite *gosqlite.Error
	if errors.As(err, &lite) {
		primary := lite.Code() & 0xff
		return primary == 5 || primary == 6 // SQLITE_BUSY, SQLITE_LOCKED
	}
	return false
}
