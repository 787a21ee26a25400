package models

import (
	"context"
	"database/sql"
	"time"

	"innerloop/journal"
)

// events changes what the public sees, under the lock that keeps public
// positions in order.
type events struct {
	tx     *transaction
	locked bool
	queue  []event
}

type event struct {
	kind  string
	agent journal.AgentID
	entry any // nil for an event of the agent
	at    time.Time
}

// placed is an entry with its public position, not valid for a private one.
type placed struct {
	id       journal.EntryID
	position sql.NullInt64
	listed   bool // it is active
}

// lock takes the order lock; it is the last lock of every transaction.
func (e *events) lock(ctx context.Context) error {
	if e.locked || e.tx.conn.engine.order == "" {
		return nil
	}
	e.locked = true
	_, err := e.tx.exec(ctx, e.tx.conn.engine.order)
	return err
}

func (e *events) add(kind string, agent journal.AgentID, entry any, at time.Time) {
	e.queue = append(e.queue, event{kind, agent, entry, at})
}

// ofPage leaves an event if the agent has a page that anyone can see.
func (e *events) ofPage(ctx context.Context, kind string, agent journal.AgentID, at time.Time) error {
	var one int
	found, err := first(e.tx, ctx, `SELECT 1 FROM agent_stats s JOIN agents a ON a.agent_id = s.agent_id
WHERE s.agent_id = ? AND s.public_entries > 0 AND a.suspended_at IS NULL`, []any{string(agent)}, &one)
	if found {
		e.add(kind, agent, nil, at)
	}
	return err
}

// ofListed leaves an event of each listed entry of the agent, in one
// statement, so that who follows hears what went and what came back. It is
// called under the lock.
func (e *events) ofListed(ctx context.Context, kind string, agent journal.AgentID, at time.Time) error {
	_, err := e.tx.exec(ctx, `INSERT INTO outbox (kind, agent_id, entry_id, at)
SELECT ?, agent_id, entry_id, ? FROM timeline WHERE agent_id = ? ORDER BY position`, kind, at.UnixMilli(), string(agent))
	return err
}

// flush writes the events.
func (e *events) flush(ctx context.Context) error {
	for _, q := range e.queue {
		if err := e.lock(ctx); err != nil {
			return err
		}
		_, err := e.tx.exec(ctx, `INSERT INTO outbox (kind, agent_id, entry_id, at) VALUES (?, ?, ?, ?)`,
			q.kind, string(q.agent), q.entry, q.at.UnixMilli())
		if err != nil {
			return err
		}
	}
	e.queue = nil
	return nil
}

// erase turns entries of one agent into tombstones. What is left of a text is
// nothing: not its language either.
func (e *events) erase(ctx context.Context, agent journal.AgentID, entries []placed, at time.Time) error {
	for start, n := 0, 0; start < len(entries); start += n {
		n = chunk(len(entries) - start)
		args := []any{at.UnixMilli(), string(agent)}
		for _, p := range entries[start : start+n] {
			args = append(args, string(p.id))
		}
		_, err := e.tx.exec(ctx, `UPDATE entries SET status = 'deleted', canonical_entry = NULL, canonical_envelope = NULL,
signature = NULL, language = 'und', withdrawn_at = ?, withdrawn_by = 'author'
WHERE agent_id = ? AND entry_id IN (`+marks(n)+`)`, args...)
		if err != nil {
			return err
		}
	}
	return e.unlist(ctx, agent, entries, at)
}

// unlist takes entries out of every public list, counter and pin. Private ones
// among them leave no event.
func (e *events) unlist(ctx context.Context, agent journal.AgentID, entries []placed, at time.Time) error {
	var positions, ids []any
	for _, p := range entries {
		if !p.position.Valid {
			continue
		}
		e.add("withdrawn", agent, string(p.id), at)
		if p.listed {
			positions, ids = append(positions, p.position.Int64), append(ids, string(p.id))
		}
		if _, err := e.tx.exec(ctx, `UPDATE agents SET pinned_entry_id = NULL WHERE agent_id = ? AND pinned_entry_id = ?`,
			string(agent), string(p.id)); err != nil {
			return err
		}
	}
	if len(positions) == 0 {
		return nil
	}
	if err := e.lock(ctx); err != nil {
		return err
	}
	for _, list := range []string{`DELETE FROM timeline WHERE position IN `, e.tx.conn.engine.words.remove} {
		if err := e.tx.removeAt(ctx, list, positions); err != nil {
			return err
		}
	}
	created, err := e.untally(ctx, agent, ids)
	if err != nil {
		return err
	}
	tags, days, err := e.unlistTags(ctx, positions, created)
	if err != nil {
		return err
	}
	if err := e.lower(ctx, agent, tags, days); err != nil {
		return err
	}
	return e.recount(ctx, agent, -len(positions))
}

const listedTime = `SELECT e.created_at FROM timeline t CROSS JOIN entries e
WHERE e.agent_id = t.agent_id AND e.entry_id = t.entry_id AND t.agent_id = ? ORDER BY t.position`

// recount corrects an agent's counters after its part of the timeline changed.
// First and last come from the ends of that part; nothing is counted anew.
func (e *events) recount(ctx context.Context, agent journal.AgentID, change int) error {
	var begun, last int64
	found, err := first(e.tx, ctx, listedTime+` LIMIT 1`, []any{string(agent)}, &begun)
	if err != nil {
		return err
	}
	if !found {
		_, err := e.tx.exec(ctx, `DELETE FROM agent_stats WHERE agent_id = ?`, string(agent))
		return err
	}
	if _, err := first(e.tx, ctx, listedTime+` DESC LIMIT 1`, []any{string(agent)}, &last); err != nil {
		return err
	}
	_, err = e.tx.exec(ctx, `INSERT INTO agent_stats (agent_id, public_entries, first_public_at, last_public_at) VALUES (?, ?, ?, ?)
ON CONFLICT (agent_id) DO UPDATE SET public_entries = agent_stats.public_entries + ?,
first_public_at = excluded.first_public_at, last_public_at = excluded.last_public_at`,
		string(agent), max(change, 1), min(begun, last), max(begun, last), change)
	return err
}
