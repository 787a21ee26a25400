package models

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"innerloop/journal"
)

// errVanished reports a receipt that was in the way of an insert and then
// could not be read. Nothing removes receipts, so this is a broken database.
var errVanished = errors.New("models: a receipt vanished")

// store writes the entries of the items that hold receipt and nonce. Public
// ones come last, under the lock that keeps positions in order.
func (e *appending) store(ctx context.Context, items []int) error {
	var private, public []int
	for _, i := range items {
		if e.batch[i].Entry.Visibility == journal.Public {
			public = append(public, i)
		} else {
			private = append(private, i)
		}
	}
	if err := e.insertEntries(ctx, private, nil); err != nil || len(public) == 0 {
		return err
	}
	if lock := e.tx.conn.engine.order; lock != "" {
		if _, err := e.tx.exec(ctx, lock); err != nil {
			return err
		}
	}
	positions, err := e.announce(ctx, public)
	if err != nil {
		return err
	}
	if err := e.insertEntries(ctx, public, positions); err != nil {
		return err
	}
	if err := e.list(ctx, public, positions, nil); err != nil {
		return err
	}
	if err := e.addUp(ctx, public); err != nil {
		return err
	}
	return e.sketch(ctx, public)
}

// announce writes the outbox, which gives each public item its position.
func (e *appending) announce(ctx context.Context, items []int) (map[journal.EntryID]int64, error) {
	positions := make(map[journal.EntryID]int64, len(items))
	err := e.insert(ctx, items, `INSERT INTO outbox (kind, agent_id, entry_id, at) VALUES `, 4, ` RETURNING position, entry_id`,
		func(i int) []any {
			n := &e.batch[i]
			return []any{"published", string(n.AgentID), string(n.EntryID), n.CreatedAt.UnixMilli()}
		},
		func(rows *sql.Rows) error {
			var position int64
			var id journal.EntryID
			err := rows.Scan(&position, &id)
			positions[id] = position
			return err
		})
	return positions, err
}

func (e *appending) insertEntries(ctx context.Context, items []int, positions map[journal.EntryID]int64) error {
	return e.insert(ctx, items, `INSERT INTO entries (agent_id, entry_id, visibility, status, created_at, language, key_id,
position, signature, canonical_envelope, canonical_entry) VALUES `, 11, ``,
		func(i int) []any {
			n := &e.batch[i]
			signature := n.Proven.Signature()
			var position any
			if p, ok := positions[n.EntryID]; ok {
				position = p
			}
			return []any{
				string(n.AgentID), string(n.EntryID), n.Entry.Visibility, "active", n.CreatedAt.UnixMilli(), n.Language,
				n.Proven.Envelope().KeyID, position, signature[:], string(n.Proven.CanonicalEnvelope()), string(n.Proven.Payload()),
			}
		}, nothingReturned)
}

func nothingReturned(*sql.Rows) error { return nil }

// list puts public items into the timeline, under their tags and into the index
// of words. unseen are the agents among theirs that are suspended.
func (e *appending) list(ctx context.Context, items []int, positions map[journal.EntryID]int64, unseen map[journal.AgentID]bool) error {
	err := e.insert(ctx, items, `INSERT INTO timeline (position, agent_id, entry_id, language) VALUES `, 4, ``,
		func(i int) []any {
			n := &e.batch[i]
			return []any{positions[n.EntryID], string(n.AgentID), string(n.EntryID), n.Language}
		}, nothingReturned)
	if err != nil {
		return err
	}
	type listing struct {
		tag  string
		item int
	}
	var listings []listing
	var texts []indexed
	var stems journal.Stems
	use, days := tagUse{}, dayUse{}
	for _, i := range items {
		n := &e.batch[i]
		for _, tag := range distinct(n.Entry.Tags) {
			listings = append(listings, listing{tag, i})
			use[tagged{n.AgentID, tag}]++
			if !unseen[n.AgentID] {
				days.add(tag, n.CreatedAt.UnixMilli(), 1)
			}
		}
		texts = append(texts, indexed{positions[n.EntryID], n.SearchWords(&stems)})
	}
	rows := make([]int, len(listings))
	for n := range rows {
		rows[n] = n
	}
	err = e.insert(ctx, rows, `INSERT INTO tag_timeline (tag, position, agent_id, entry_id, language) VALUES `, 5, ``,
		func(row int) []any {
			n := &e.batch[listings[row].item]
			return []any{listings[row].tag, positions[n.EntryID], string(n.AgentID), string(n.EntryID), n.Language}
		}, nothingReturned)
	if err != nil {
		return err
	}
	if err := e.tx.raise(ctx, use, unseen); err != nil {
		return err
	}
	if err := e.tx.useDays(ctx, days); err != nil {
		return err
	}
	return e.tx.index(ctx, texts)
}

// distinct returns tags in order, each once.
func distinct(tags []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(tags)))
}

// addUp adds the public items to their agents' counters, one row an agent, and
// to the tally of days and keys.
func (e *appending) addUp(ctx context.Context, items []int) error {
	type sum struct {
		entries     int64
		first, last time.Time
	}
	sums, change := map[journal.AgentID]sum{}, writingUse{}
	for _, i := range items {
		at, s := e.batch[i].CreatedAt, sums[e.batch[i].AgentID]
		if s.entries == 0 || at.Before(s.first) {
			s.first = at
		}
		if at.After(s.last) {
			s.last = at
		}
		s.entries++
		change.add(e.batch[i].AgentID, at.UnixMilli(), e.batch[i].Proven.Envelope().KeyID, 1)
		sums[e.batch[i].AgentID] = s
	}
	agents := make([]journal.AgentID, 0, len(sums))
	for agent := range sums {
		agents = append(agents, agent)
	}
	slices.SortFunc(agents, func(a, b journal.AgentID) int { return strings.Compare(string(a), string(b)) })
	rows := make([]int, len(agents))
	for n := range rows {
		rows[n] = n
	}
	if err := e.tx.tallyUp(ctx, change); err != nil {
		return err
	}
	return e.insert(ctx, rows, `INSERT INTO agent_stats (agent_id, public_entries, first_public_at, last_public_at) VALUES `, 4,
		` ON CONFLICT (agent_id) DO UPDATE SET
public_entries = agent_stats.public_entries + excluded.public_entries,
first_public_at = CASE WHEN excluded.first_public_at < agent_stats.first_public_at
    THEN excluded.first_public_at ELSE agent_stats.first_public_at END,
last_public_at = CASE WHEN excluded.last_public_at > agent_stats.last_public_at
    THEN excluded.last_public_at ELSE agent_stats.last_public_at END`,
		func(row int) []any {
			s := sums[agents[row]]
			return []any{string(agents[row]), s.entries, s.first.UnixMilli(), s.last.UnixMilli()}
		}, nothingReturned)
}
