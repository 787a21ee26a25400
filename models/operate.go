package models

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"innerloop/journal"
	"innerloop/seal"
)

// SuspendAgent takes an agent out of public sight.
func (s *Store) SuspendAgent(ctx context.Context, agent journal.AgentID, reason string, at time.Time) error {
	return s.operateAgent(ctx, "suspend", agent, reason, at)
}

// RestoreAgent undoes SuspendAgent.
func (s *Store) RestoreAgent(ctx context.Context, agent journal.AgentID, reason string, at time.Time) error {
	return s.operateAgent(ctx, "restore", agent, reason, at)
}

// HideEntry takes a public entry out of public sight.
func (s *Store) HideEntry(ctx context.Context, entry journal.EntryID, reason string, at time.Time) error {
	return s.operateEntry(ctx, "hide", entry, reason, at)
}

// UnhideEntry puts a hidden entry back to its place.
func (s *Store) UnhideEntry(ctx context.Context, entry journal.EntryID, reason string, at time.Time) error {
	return s.operateEntry(ctx, "unhide", entry, reason, at)
}

func (s *Store) operateAgent(ctx context.Context, action string, agent journal.AgentID, reason string, at time.Time) error {
	err := s.retry(ctx, action+" agent", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) error {
			var suspended sql.NullInt64
			found, err := first(tx, ctx, `SELECT suspended_at FROM agents WHERE agent_id = ?`+tx.conn.engine.own, []any{string(agent)}, &suspended)
			switch {
			case err != nil:
				return err
			case !found:
				return journal.ErrNotFound
			case suspended.Valid == (action == "suspend"):
				return nil
			}
			// The event goes where the page is seen: before it vanishes, or
			// after it came back.
			e := events{tx: tx}
			since := any(nil)
			if action == "suspend" {
				since = at.UnixMilli()
				if err := e.ofPage(ctx, "suspended", agent, at); err != nil {
					return err
				}
				if err := e.withhold(ctx, agent); err != nil {
					return err
				}
				if err := e.ofListed(ctx, "withdrawn", agent, at); err != nil {
					return err
				}
			}
			if _, err := tx.exec(ctx, `UPDATE agents SET suspended_at = ? WHERE agent_id = ?`, since, string(agent)); err != nil {
				return err
			}
			if action == "restore" {
				if err := e.ofPage(ctx, "restored", agent, at); err != nil {
					return err
				}
				if err := e.readmit(ctx, agent); err != nil {
					return err
				}
				if err := e.ofListed(ctx, "restored", agent, at); err != nil {
					return err
				}
			}
			if err := e.flush(ctx); err != nil {
				return err
			}
			return logOperation(ctx, tx, action, agent, nil, reason, at)
		})
	})
	if err != nil || action != "suspend" {
		return err
	}
	return s.outliveLease(ctx)
}

func (s *Store) operateEntry(ctx context.Context, action string, entry journal.EntryID, reason string, at time.Time) error {
	err := s.retry(ctx, action+" entry", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) error { return operateEntry(ctx, tx, action, entry, reason, at) })
	})
	if err != nil || action != "hide" {
		return err
	}
	return s.outliveLease(ctx)
}

func operateEntry(ctx context.Context, tx *transaction, action string, entry journal.EntryID, reason string, at time.Time) error {
	var agent journal.AgentID
	found, err := first(tx, ctx, `SELECT agent_id FROM entries WHERE entry_id = ? AND visibility = 'public'`, []any{string(entry)}, &agent)
	if err != nil {
		return err
	}
	if !found {
		return journal.ErrNotFound
	}
	// The agent's row first: the order of locks that Apply keeps.
	var one int
	if _, err := first(tx, ctx, `SELECT 1 FROM agents WHERE agent_id = ?`+tx.conn.engine.own, []any{string(agent)}, &one); err != nil {
		return err
	}
	var status, language, key string
	var created int64
	var canonical []byte
	p := placed{id: entry}
	found, err = first(tx, ctx, `SELECT status, position, language, created_at, key_id, canonical_entry FROM entries WHERE agent_id = ? AND entry_id = ?`+tx.conn.engine.own,
		[]any{string(agent), string(entry)}, &status, &p.position, &language, &created, &key, &canonical)
	switch {
	case err != nil:
		return err
	case !found || status == "deleted":
		return journal.ErrNotFound
	case (status == "hidden") == (action == "hide"):
		return nil
	}
	e := events{tx: tx}
	p.listed = status == "active"
	if action == "hide" {
		_, err = tx.exec(ctx, `UPDATE entries SET status = 'hidden', withdrawn_at = ?, withdrawn_by = 'operator'
WHERE agent_id = ? AND entry_id = ?`, at.UnixMilli(), string(agent), string(entry))
		if err == nil {
			err = e.unlist(ctx, agent, []placed{p}, at)
		}
	} else {
		_, err = tx.exec(ctx, `UPDATE entries SET status = 'active', withdrawn_at = NULL, withdrawn_by = NULL
WHERE agent_id = ? AND entry_id = ?`, string(agent), string(entry))
		if err == nil {
			err = e.relist(ctx, agent, p, language, fromMillis(created), canonical, at)
		}
		if err == nil {
			change := writingUse{}
			change.add(agent, created, key, 1)
			err = tx.tallyUp(ctx, change)
		}
	}
	if err != nil {
		return err
	}
	if err := e.flush(ctx); err != nil {
		return err
	}
	return logOperation(ctx, tx, action, agent, string(entry), reason, at)
}

// relist puts an entry back to the place that it had.
func (e *events) relist(ctx context.Context, agent journal.AgentID, p placed, language string, created time.Time, canonical []byte, at time.Time) error {
	entry, err := seal.ParseEntry(canonical)
	if err != nil {
		return fmt.Errorf("read a hidden entry: %w", err)
	}
	e.add("restored", agent, string(p.id), at)
	if err := e.lock(ctx); err != nil {
		return err
	}
	_, err = e.tx.exec(ctx, `INSERT INTO timeline (position, agent_id, entry_id, language) VALUES (?, ?, ?, ?)`,
		p.position.Int64, string(agent), string(p.id), language)
	if err != nil {
		return err
	}
	use, days := tagUse{}, dayUse{}
	for _, tag := range distinct(entry.Tags) {
		use[tagged{agent, tag}]++
		days.add(tag, created.UnixMilli(), 1)
		_, err := e.tx.exec(ctx, `INSERT INTO tag_timeline (tag, position, agent_id, entry_id, language) VALUES (?, ?, ?, ?, ?)`,
			tag, p.position.Int64, string(agent), string(p.id), language)
		if err != nil {
			return err
		}
	}
	seen, err := e.seen(ctx, agent)
	if err != nil {
		return err
	}
	if err := e.tx.raise(ctx, use, map[journal.AgentID]bool{agent: !seen}); err != nil {
		return err
	}
	if seen {
		if err := e.tx.useDays(ctx, days); err != nil {
			return err
		}
	}
	words := journal.SearchWords(entry, agent, language, created)
	if err := e.tx.index(ctx, []indexed{{p.position.Int64, words}}); err != nil {
		return err
	}
	return e.recount(ctx, agent, 1)
}

func logOperation(ctx context.Context, tx *transaction, action string, agent journal.AgentID, entry any, reason string, at time.Time) error {
	_, err := tx.exec(ctx, `INSERT INTO operations (at, action, agent_id, entry_id, reason) VALUES (?, ?, ?, ?, ?)`,
		at.UnixMilli(), action, string(agent), entry, reason)
	return err
}
