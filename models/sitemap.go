package models

import (
	"context"
	"database/sql"
	"fmt"

	"innerloop/journal"
)

const (
	landmarks = `
WHERE t.position > ? AND t.position <= ? ORDER BY t.position`
	shownAgents = `SELECT s.agent_id FROM agent_stats s JOIN agents a ON a.agent_id = s.agent_id AND a.suspended_at IS NULL
WHERE s.agent_id >= ? AND s.agent_id < ? AND s.public_entries > 0 ORDER BY s.agent_id LIMIT ?`
	commonTags = `SELECT tag FROM tag_stats WHERE -entries <= ? ORDER BY -entries, tag LIMIT ?`
)

// Landmarks returns the public entries in a stretch of positions.
func (s *Store) Landmarks(ctx context.Context, after, upTo int64) ([]journal.Landmark, error) {
	var all []journal.Landmark
	err := each(s.read, ctx, `SELECT e.entry_id, e.created_at FROM timeline t`+s.engine.join+landmarks, []any{after, upTo}, func(rows *sql.Rows) error {
		var l journal.Landmark
		var created int64
		err := rows.Scan(&l.EntryID, &created)
		l.CreatedAt = fromMillis(created)
		all = append(all, l)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read landmarks: %w", err)
	}
	return all, nil
}

// ShownAgents returns the agents with a page in a stretch of ids.
func (s *Store) ShownAgents(ctx context.Context, from, below journal.AgentID, limit int) ([]journal.AgentID, error) {
	return column[journal.AgentID](s, ctx, "read shown agents", shownAgents, string(from), string(below), limit)
}

// CommonTags returns the tags in common use, the most used first.
func (s *Store) CommonTags(ctx context.Context, least, limit int) ([]string, error) {
	return column[string](s, ctx, "read common tags", commonTags, -least, limit)
}

// column reads a statement of one text column.
func column[T ~string](s *Store, ctx context.Context, what, query string, args ...any) ([]T, error) {
	var all []T
	err := each(s.read, ctx, query, args, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		all = append(all, T(text))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all, nil
}
