package models

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"innerloop/journal"
)

// tagged is an agent's use of a tag.
type tagged struct {
	agent journal.AgentID
	tag   string
}

// tagUse is a change of how many listed entries there are of each use.
type tagUse map[tagged]int64

// raise adds to the counters of tags, under the order lock. unseen are agents
// that are suspended: what they wrote counts for them and not for the tag.
func (t *transaction) raise(ctx context.Context, use tagUse, unseen map[journal.AgentID]bool) error {
	own, all := make([]any, 0, 3*len(use)), map[string]int64{}
	for _, u := range sortedUse(use) {
		own = append(own, string(u.agent), u.tag, use[u])
		if !unseen[u.agent] {
			all[u.tag] += use[u]
		}
	}
	err := t.upsert(ctx, `INSERT INTO agent_tags (agent_id, tag, entries) VALUES `, 3,
		` ON CONFLICT (agent_id, tag) DO UPDATE SET entries = agent_tags.entries + excluded.entries`, own)
	if err != nil {
		return err
	}
	together := make([]any, 0, 2*len(all))
	for tag, n := range all {
		together = append(together, tag, n)
	}
	return t.upsert(ctx, `INSERT INTO tag_stats (tag, entries) VALUES `, 2,
		` ON CONFLICT (tag) DO UPDATE SET entries = tag_stats.entries + excluded.entries`, together)
}

func sortedUse(use tagUse) []tagged {
	list := make([]tagged, 0, len(use))
	for u := range use {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b tagged) int { return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.tag, b.tag)) })
	return list
}

// upsert inserts rows of some width, many a statement.
func (t *transaction) upsert(ctx context.Context, into string, width int, conflict string, values []any) error {
	for len(values) > 0 {
		n := few(len(values) / width)
		query := into
		for i := range n {
			if i > 0 {
				query += ", "
			}
			query += "(" + marks(width) + ")"
		}
		if _, err := t.exec(ctx, query+conflict, values[:n*width]...); err != nil {
			return err
		}
		values = values[n*width:]
	}
	return nil
}

// lower takes one agent's uses off the counters.
func (e *events) lower(ctx context.Context, agent journal.AgentID, tags map[string]int64, days dayUse) error {
	if len(tags) == 0 {
		return nil
	}
	seen, err := e.seen(ctx, agent)
	if err != nil {
		return err
	}
	alike := map[int64][]any{} // tags that lose as many entries
	for tag, n := range tags {
		alike[n] = append(alike[n], tag)
	}
	for n, list := range alike {
		for len(list) > 0 {
			some := few(len(list))
			if err := e.lowerBy(ctx, n, agent, seen, list[:some]); err != nil {
				return err
			}
			list = list[some:]
		}
	}
	if !seen {
		return nil
	}
	return e.tx.useDays(ctx, days)
}

func (e *events) lowerBy(ctx context.Context, n int64, agent journal.AgentID, seen bool, tags []any) error {
	in := ` tag IN (` + marks(len(tags)) + `)`
	_, err := e.tx.exec(ctx, `UPDATE agent_tags SET entries = entries - ? WHERE agent_id = ? AND`+in, append([]any{n, string(agent)}, tags...)...)
	if err != nil {
		return err
	}
	if _, err := e.tx.exec(ctx, `DELETE FROM agent_tags WHERE entries = 0 AND agent_id = ? AND`+in, append([]any{string(agent)}, tags...)...); err != nil {
		return err
	}
	if !seen {
		return nil
	}
	if _, err := e.tx.exec(ctx, `UPDATE tag_stats SET entries = entries - ? WHERE`+in, append([]any{n}, tags...)...); err != nil {
		return err
	}
	_, err = e.tx.exec(ctx, `DELETE FROM tag_stats WHERE entries = 0 AND`+in, tags...)
	return err
}

// few returns how many of n rows the next statement takes: all that the tags
// of one entry can be, for more a power of two.
func few(n int) int {
	if n <= journal.TagsMax {
		return n
	}
	return chunk(n)
}

// seen tells whether the agent is in good standing.
func (e *events) seen(ctx context.Context, agent journal.AgentID) (bool, error) {
	var seen bool
	_, err := first(e.tx, ctx, `SELECT suspended_at IS NULL FROM agents WHERE agent_id = ?`, []any{string(agent)}, &seen)
	return seen, err
}

// withhold takes everything of a suspended agent off the counts of its tags,
// and readmit brings it back.
func (e *events) withhold(ctx context.Context, agent journal.AgentID) error {
	if err := e.lock(ctx); err != nil {
		return err
	}
	_, err := e.tx.exec(ctx, `UPDATE tag_stats SET entries = tag_stats.entries - t.entries FROM agent_tags t
WHERE t.agent_id = ? AND t.tag = tag_stats.tag`, string(agent))
	if err != nil {
		return err
	}
	_, err = e.tx.exec(ctx, `DELETE FROM tag_stats WHERE -entries = 0`) // by the index
	if err != nil {
		return err
	}
	return e.useAllDays(ctx, agent, -1)
}

func (e *events) readmit(ctx context.Context, agent journal.AgentID) error {
	if err := e.lock(ctx); err != nil {
		return err
	}
	_, err := e.tx.exec(ctx, `INSERT INTO tag_stats (tag, entries) SELECT tag, entries FROM agent_tags WHERE agent_id = ?
ON CONFLICT (tag) DO UPDATE SET entries = tag_stats.entries + excluded.entries`, string(agent))
	if err != nil {
		return err
	}
	return e.useAllDays(ctx, agent, 1)
}

// unlistTags takes rows out from under tags and returns how many there were of
// each, and the change of the days on which they arrived.
func (e *events) unlistTags(ctx context.Context, positions []any, arrived map[int64]int64) (map[string]int64, dayUse, error) {
	tags, days := map[string]int64{}, dayUse{}
	for start, n := 0, 0; start < len(positions); start += n {
		n = chunk(len(positions) - start)
		err := each(e.tx, ctx, `DELETE FROM tag_timeline WHERE position IN (`+marks(n)+`) RETURNING tag, position`, positions[start:start+n],
			func(rows *sql.Rows) error {
				var tag string
				var position int64
				err := rows.Scan(&tag, &position)
				tags[tag]++
				days.add(tag, arrived[position], -1)
				return err
			})
		if err != nil {
			return nil, nil, err
		}
	}
	return tags, days, nil
}
