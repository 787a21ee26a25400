package models

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"innerloop/journal"
)

const (
	dayMillis = 24 * 60 * 60 * 1000
	keyDay    = 1_000_000 // where a row counts a key; behind every day
)

const writings = `SELECT day, key_id, entries FROM agent_tally WHERE agent_id = ? AND day >= ?`

// Writings returns days and keys as they were counted when the entries came
// and went: reading them costs the same however many entries there are.
func (s *Store) Writings(ctx context.Context, agent journal.AgentID, since time.Time) (journal.Writings, error) {
	w := journal.Writings{Keys: map[journal.KeyID]int64{}}
	if !agent.Valid() {
		return w, nil
	}
	err := each(s.read, ctx, writings, []any{string(agent), since.UnixMilli() / dayMillis}, func(rows *sql.Rows) error {
		var day, entries int64
		var key journal.KeyID
		err := rows.Scan(&day, &key, &entries)
		if day == keyDay {
			w.Keys[key] = entries
		} else {
			w.Days = append(w.Days, fromMillis(day*dayMillis))
		}
		return err
	})
	if err != nil {
		return w, fmt.Errorf("read writings: %w", err)
	}
	slices.SortFunc(w.Days, func(a, b time.Time) int { return b.Compare(a) })
	return w, nil
}

// tallied is what one row of the tally counts: a day, or a key.
type tallied struct {
	agent journal.AgentID
	day   int64
	key   string
}

// writingUse is a change of how many listed entries there are of each.
type writingUse map[tallied]int64

func (t writingUse) add(agent journal.AgentID, created int64, key string, n int64) {
	t[tallied{agent, created / dayMillis, ""}] += n
	t[tallied{agent, keyDay, key}] += n
}

// tallyUp writes the change, under the order lock.
func (t *transaction) tallyUp(ctx context.Context, change writingUse) error {
	list := make([]tallied, 0, len(change))
	for c := range change {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b tallied) int {
		return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.day, b.day), cmp.Compare(a.key, b.key))
	})
	values := make([]any, 0, 4*len(list))
	for _, c := range list {
		values = append(values, string(c.agent), c.day, c.key, change[c])
	}
	return t.upsert(ctx, `INSERT INTO agent_tally (agent_id, day, key_id, entries) VALUES `, 4,
		` ON CONFLICT (agent_id, day, key_id) DO UPDATE SET entries = agent_tally.entries + excluded.entries`, values)
}

// untally takes entries of one agent that are listed no longer off the tally,
// and returns when those at each position arrived, in unix milliseconds.
func (e *events) untally(ctx context.Context, agent journal.AgentID, ids []any) (arrived map[int64]int64, err error) {
	change := writingUse{}
	arrived = make(map[int64]int64, len(ids))
	for start, n := 0, 0; start < len(ids); start += n {
		n = chunk(len(ids) - start)
		err := each(e.tx, ctx, `SELECT position, created_at, key_id FROM entries WHERE agent_id = ? AND entry_id IN (`+marks(n)+`)`,
			append([]any{string(agent)}, ids[start:start+n]...), func(rows *sql.Rows) error {
				var position, created int64
				var key string
				err := rows.Scan(&position, &created, &key)
				change.add(agent, created, key, -1)
				arrived[position] = created
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	if err := e.tx.tallyUp(ctx, change); err != nil {
		return nil, err
	}
	_, err = e.tx.exec(ctx, `DELETE FROM agent_tally WHERE agent_id = ? AND entries = 0`, string(agent))
	return arrived, err
}
