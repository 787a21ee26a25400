package models

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"innerloop/journal"
)

// switchLease is how long a switch may be answered from memory: what another
// process set holds here within it (decisions A.8).
const switchLease = 250 * time.Millisecond

// switchCache remembers the switch for writes.
type switchCache struct {
	mu    sync.Mutex
	on    bool
	asked time.Time // zero: never
}

// Writes tells whether the operator lets text and agents in.
func (s *Store) Writes(ctx context.Context) (bool, error) {
	w := &s.writing
	w.mu.Lock()
	defer w.mu.Unlock()
	now := s.version.now()
	if age := now.Sub(w.asked); !w.asked.IsZero() && age >= 0 && age < switchLease {
		return w.on, nil
	}
	on := true // unless the operator ever said otherwise
	if _, err := s.read.one(ctx, `SELECT is_on FROM switches WHERE name = 'writes'`, nil, &on); err != nil {
		return false, fmt.Errorf("read switch: %w", err)
	}
	w.on, w.asked = on, now
	return on, nil
}

// SetWrites sets the switch for every process.
func (s *Store) SetWrites(ctx context.Context, on bool, at time.Time) error {
	w := &s.writing
	w.mu.Lock()
	defer w.mu.Unlock()
	err := s.retry(ctx, "set switch", func() error {
		_, err := s.write.exec(ctx, `INSERT INTO switches (name, is_on, changed_at) VALUES ('writes', ?, ?)
ON CONFLICT (name) DO UPDATE SET is_on = excluded.is_on, changed_at = excluded.changed_at`, on, at.UnixMilli())
		return err
	})
	w.asked = time.Time{} // whatever became of it, it is to be asked again
	return err
}

// sketch keeps the sketches of public items.
func (e *appending) sketch(ctx context.Context, items []int) error {
	var with []int
	for _, i := range items {
		if e.batch[i].Sketch != nil {
			with = append(with, i)
		}
	}
	return e.insert(ctx, with, `INSERT INTO sketches (agent_id, at, entry_id, network, expires_at, sketch) VALUES `, 6, ``,
		func(i int) []any {
			n := &e.batch[i]
			var network any
			if n.Sketch.Network != "" {
				network = n.Sketch.Network
			}
			return []any{string(n.AgentID), n.CreatedAt.UnixMilli(), string(n.EntryID), network, n.Sketch.Until.UnixMilli(), []byte(n.Sketch.Values)}
		}, nothingReturned)
}

// Sketches returns those of the newest public entries by an agent and from a
// network. One that is both comes twice.
func (s *Store) Sketches(ctx context.Context, agent journal.AgentID, network string, after time.Time, most int) ([]journal.Sketched, error) {
	if !agent.Valid() {
		return nil, nil
	}
	const (
		byAgent   = `SELECT at, sketch FROM sketches WHERE agent_id = ? AND at > ? ORDER BY at DESC LIMIT ?`
		byNetwork = `SELECT at, sketch FROM sketches WHERE network = ? AND at > ? ORDER BY at DESC LIMIT ?`
	)
	var list []journal.Sketched
	take := func(rows *sql.Rows) error {
		var at int64
		var found journal.Sketched
		err := rows.Scan(&at, (*[]byte)(&found.Values))
		found.At = fromMillis(at)
		list = append(list, found)
		return err
	}
	err := each(s.read, ctx, byAgent, []any{string(agent), after.UnixMilli(), most}, take)
	if err == nil && network != "" {
		err = each(s.read, ctx, byNetwork, []any{network, after.UnixMilli(), most}, take)
	}
	if err != nil {
		return nil, fmt.Errorf("read sketches: %w", err)
	}
	return list, nil
}

// tidying are the statements of Tidy: what has ended goes, the oldest first.
var tidying = [...]string{
	`DELETE FROM quotas WHERE (scope, subject, window_from) IN
(SELECT scope, subject, window_from FROM quotas WHERE window_until <= ? ORDER BY window_until LIMIT ?)`,
	`DELETE FROM sketches WHERE (agent_id, at, entry_id) IN
(SELECT agent_id, at, entry_id FROM sketches WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
	`DELETE FROM challenges WHERE agent_id IS NULL AND challenge_id IN
(SELECT challenge_id FROM challenges WHERE agent_id IS NULL AND expires_at < ? ORDER BY expires_at LIMIT ?)`,
}

// Tidy removes rows that have served their time. A registration that completes
// at the last moment keeps its challenge: the row is looked at again when it
// is removed.
func (s *Store) Tidy(ctx context.Context, now time.Time, limit int) (removed int, more bool, err error) {
	for _, statement := range tidying {
		var gone int64
		err := s.retry(ctx, "tidy", func() (err error) {
			gone, err = s.write.exec(ctx, statement, now.UnixMilli(), limit)
			return err
		})
		if err != nil {
			return removed, false, err
		}
		removed += int(gone)
		more = more || gone == int64(limit)
	}
	return removed, more, nil
}
