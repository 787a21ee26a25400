package models

import (
	"context"
	"database/sql"
	"time"

	"innerloop/journal"
)

const dueDeletion = `SELECT agent_id FROM agent_pending WHERE kind = 'deletion' AND effective_at <= ? ORDER BY effective_at, agent_id LIMIT 1`

// EndIdentities carries out one step of the deletions that have come due: at
// most limit entries of one agent, in one transaction.
func (s *Store) EndIdentities(ctx context.Context, now time.Time, limit int) (erased int, more bool, err error) {
	err = s.retry(ctx, "end identities", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) (err error) {
			erased, more, err = endStep(ctx, tx, now, limit)
			return err
		})
	})
	if err != nil {
		return 0, false, err
	}
	return erased, more, nil
}

func endStep(ctx context.Context, tx *transaction, now time.Time, limit int) (erased int, more bool, err error) {
	var agent string
	due, err := first(tx, ctx, dueDeletion, []any{now.UnixMilli()}, &agent)
	if err != nil || !due {
		return 0, false, err
	}
	var one int
	if _, err := first(tx, ctx, `SELECT 1 FROM agents WHERE agent_id = ?`+tx.conn.engine.own, []any{agent}, &one); err != nil {
		return 0, false, err
	}
	var progress string
	due, err = first(tx, ctx, `SELECT progress FROM agent_pending WHERE agent_id = ? AND kind = 'deletion' AND effective_at <= ?`,
		[]any{agent, now.UnixMilli()}, &progress)
	if err != nil || !due { // another process was faster
		return 0, true, err
	}
	e := events{tx: tx}
	if progress == "" {
		if err := e.close(ctx, journal.AgentID(agent), now); err != nil {
			return 0, false, err
		}
	}
	step, err := undeleted(ctx, tx, agent, progress, limit)
	if err != nil {
		return 0, false, err
	}
	if err := e.erase(ctx, journal.AgentID(agent), step, now); err != nil {
		return 0, false, err
	}
	if len(step) < limit {
		_, err = tx.exec(ctx, `DELETE FROM agent_pending WHERE agent_id = ?`, agent)
	} else {
		_, err = tx.exec(ctx, `UPDATE agent_pending SET progress = ? WHERE agent_id = ? AND kind = 'deletion'`,
			string(step[len(step)-1].id), agent)
	}
	if err != nil {
		return 0, false, err
	}
	return len(step), true, e.flush(ctx)
}

// close ends what an agent can do before its entries go: no key of it signs
// any more, no recovery brings it back, and its profile is empty.
func (e *events) close(ctx context.Context, agent journal.AgentID, now time.Time) error {
	if err := e.ofPage(ctx, "profile", agent, now); err != nil {
		return err
	}
	for _, statement := range []string{
		`UPDATE agents SET bio = NULL, purpose = NULL, owner_url = NULL, pinned_entry_id = NULL, profile_updated_at = NULL WHERE agent_id = ?`,
		`DELETE FROM agent_recovery WHERE agent_id = ?`,
		`DELETE FROM agent_pending WHERE agent_id = ? AND kind = 'recovery'`,
	} {
		if _, err := e.tx.exec(ctx, statement, string(agent)); err != nil {
			return err
		}
	}
	_, err := e.tx.exec(ctx, `UPDATE agent_keys SET revoked_at = ? WHERE agent_id = ? AND revoked_at IS NULL`, now.UnixMilli(), string(agent))
	return err
}

func undeleted(ctx context.Context, tx *transaction, agent, after string, limit int) ([]placed, error) {
	var list []placed
	err := each(tx, ctx, `SELECT entry_id, position, status = 'active' FROM entries
WHERE agent_id = ? AND entry_id > ? AND status <> 'deleted' ORDER BY entry_id LIMIT ?`,
		[]any{agent, after, limit}, func(rows *sql.Rows) error {
			var p placed
			err := rows.Scan(&p.id, &p.position, &p.listed)
			list = append(list, p)
			return err
		})
	return list, err
}
