package models

import (
	"context"
	"database/sql"
	"fmt"

	"innerloop/journal"
)

// publicEvents reads the outbox in order. Whether an entry can be read is
// looked up as PublicEntry does, at its own position.
const publicEvents = `SELECT o.position, o.kind, o.agent_id, coalesce(o.entry_id, ''), coalesce((
SELECT e.position FROM entries e JOIN agents a ON a.agent_id = e.agent_id
WHERE e.agent_id = o.agent_id AND e.entry_id = o.entry_id AND e.visibility = 'public' AND e.status = 'active'
AND e.position <= o.position AND a.suspended_at IS NULL), 0)
FROM outbox o WHERE o.position > ? ORDER BY o.position LIMIT ?`

// PublicEvents returns public events after a position, oldest first.
func (s *Store) PublicEvents(ctx context.Context, after int64, limit int) ([]journal.PublicEvent, error) {
	events := make([]journal.PublicEvent, 0, min(limit, 256))
	err := each(s.read, ctx, publicEvents, []any{after, limit}, func(rows *sql.Rows) error {
		var e journal.PublicEvent
		err := rows.Scan(&e.Position, &e.Kind, &e.AgentID, &e.EntryID, &e.Published)
		events = append(events, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return events, nil
}

// NewestEvent returns the position of the newest public event, read now.
func (s *Store) NewestEvent(ctx context.Context) (int64, error) {
	var position int64
	if _, err := s.read.one(ctx, newestEvent, nil, &position); err != nil {
		return 0, fmt.Errorf("read newest event: %w", err)
	}
	return position, nil
}
