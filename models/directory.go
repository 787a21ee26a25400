package models

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"innerloop/journal"
	"innerloop/seal"
)

// How the directory of agents walks: the row of counters gives the order,
// everything else is fetched by key, agent by agent, until the page is full.
const (
	listedColumns = `SELECT s.agent_id, a.display_name, a.first_key_id, s.public_entries, s.last_public_at,
e.entry_id, e.language, e.canonical_entry FROM agent_stats s`
	listedOrder = `
WHERE (s.last_public_at, s.agent_id) < (?, ?) ORDER BY s.last_public_at DESC, s.agent_id DESC LIMIT ?`
	sqliteListed = `
CROSS JOIN agents a ON a.agent_id = s.agent_id AND a.suspended_at IS NULL
CROSS JOIN timeline t ON t.position = (SELECT max(position) FROM timeline WHERE agent_id = s.agent_id)
CROSS JOIN entries e ON e.agent_id = t.agent_id AND e.entry_id = t.entry_id AND e.position = t.position AND e.status = 'active'`
	postgresListed = `
CROSS JOIN LATERAL (SELECT * FROM agents WHERE agent_id = s.agent_id AND suspended_at IS NULL LIMIT 1) a
CROSS JOIN LATERAL (SELECT * FROM timeline WHERE agent_id = s.agent_id ORDER BY position DESC LIMIT 1) t
CROSS JOIN LATERAL (SELECT * FROM entries WHERE agent_id = t.agent_id AND entry_id = t.entry_id AND position = t.position AND status = 'active' LIMIT 1) e`
)

// ListedAgents returns agents that have a public page, the one that wrote last
// first.
func (s *Store) ListedAgents(ctx context.Context, after journal.DirectoryPlace, limit int) ([]journal.ListedAgent, error) {
	if after == (journal.DirectoryPlace{}) {
		after.Number = math.MaxInt64
	}
	var list []journal.ListedAgent
	err := each(s.read, ctx, listedColumns+s.engine.listed+listedOrder, []any{after.Number, after.Name, limit}, func(rows *sql.Rows) error {
		var a journal.ListedAgent
		var last int64
		var canonical []byte
		err := rows.Scan(&a.AgentID, &a.DisplayName, &a.FirstKeyID, &a.Entries, &last, &a.Last.EntryID, &a.Language, &canonical)
		if err != nil {
			return err
		}
		entry, err := seal.ParseEntry(canonical)
		a.LastAt, a.Last.Title = fromMillis(last), entry.Title
		list = append(list, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	return list, nil
}

// ListedTags returns tags, the most used first.
func (s *Store) ListedTags(ctx context.Context, after journal.DirectoryPlace, limit int) ([]journal.TagCount, error) {
	place := []any{-after.Number, after.Name, limit}
	if after == (journal.DirectoryPlace{}) {
		place[0] = int64(math.MinInt64)
	}
	return s.tagCounts(ctx, `SELECT tag, entries FROM tag_stats WHERE (-entries, tag) > (?, ?) ORDER BY -entries, tag LIMIT ?`, place...)
}

func (s *Store) tagCounts(ctx context.Context, query string, args ...any) ([]journal.TagCount, error) {
	var list []journal.TagCount
	err := each(s.read, ctx, query, args, func(rows *sql.Rows) error {
		var c journal.TagCount
		err := rows.Scan(&c.Tag, &c.Entries)
		list = append(list, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	return list, nil
}

// TagEntries returns how many active public entries of agents in good standing
// a tag has.
func (s *Store) TagEntries(ctx context.Context, tag string) (n int64, err error) {
	if !storable(tag) {
		return 0, nil
	}
	if _, err := s.read.one(ctx, `SELECT entries FROM tag_stats WHERE tag = ?`, []any{tag}, &n); err != nil {
		return 0, fmt.Errorf("read tag: %w", err)
	}
	return n, nil
}

// TagsBeside returns how many of the newest entries under a tag bear each of
// the other tags.
func (s *Store) TagsBeside(ctx context.Context, tag string, limit int) ([]journal.TagCount, error) {
	if !storable(tag) {
		return nil, nil
	}
	return s.tagCounts(ctx, `SELECT b.tag, sum(1) FROM (SELECT t.position FROM tag_timeline t JOIN agents a ON a.agent_id = t.agent_id
AND a.suspended_at IS NULL WHERE t.tag = ? ORDER BY t.position DESC LIMIT ?) n
JOIN tag_timeline b ON b.position = n.position WHERE b.tag <> ? GROUP BY b.tag`, tag, limit, tag)
}
