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

// A week is the seven UTC days that end with a day.
const weekDays = 7

// While a clock is this near to midnight, the weeks of both days are kept: of
// the one that comes, so that it is whole when it begins, and of the one that
// went, for a process whose clock is behind.
const (
	weekAhead  = 6 * time.Hour
	weekBehind = time.Hour
)

// usedOn is what one counter of a day counts.
type usedOn struct {
	tag string
	day int64
}

// dayUse is a change of how many listed entries of agents in good standing
// there are of each.
type dayUse map[usedOn]int64

func (u dayUse) add(tag string, created, n int64) { u[usedOn{tag, created / dayMillis}] += n }

// What is left of a tag that is not in use any more.
var emptied = []string{
	`DELETE FROM tag_days WHERE entries = 0 AND tag IN (`,
	`DELETE FROM tag_weeks WHERE entries = 0 AND until IN (SELECT until FROM weeks) AND tag IN (`,
}

const (
	addDays  = ` ON CONFLICT (tag, day) DO UPDATE SET entries = tag_days.entries + excluded.entries`
	addWeeks = ` ON CONFLICT (until, tag) DO UPDATE SET entries = tag_weeks.entries + excluded.entries`
)

// useDays changes the counters of days that are kept, and of weeks that have
// got to the tag, under the order lock.
func (t *transaction) useDays(ctx context.Context, change dayUse) error {
	if len(change) == 0 {
		return nil
	}
	kept, since, err := keptWeeks(ctx, t)
	if err != nil {
		return err
	}
	var ofDays, ofWeeks, less []any
	sums := map[usedOn]int64{} // by the last day of a week
	for _, u := range sortedDays(change) {
		if u.day >= since {
			ofDays = append(ofDays, u.tag, u.day, change[u])
		}
		if change[u] < 0 {
			less = append(less, u.tag)
		}
		for _, w := range kept {
			if w.counts(u) {
				sums[usedOn{u.tag, w.until}] += change[u]
			}
		}
	}
	for _, u := range sortedDays(sums) {
		ofWeeks = append(ofWeeks, u.day, u.tag, sums[u])
	}
	if err := t.upsert(ctx, `INSERT INTO tag_days (tag, day, entries) VALUES `, 3, addDays, ofDays); err != nil {
		return err
	}
	if err := t.upsert(ctx, `INSERT INTO tag_weeks (until, tag, entries) VALUES `, 3, addWeeks, ofWeeks); err != nil {
		return err
	}
	for n := 0; len(less) > 0; less = less[n:] {
		n = few(len(less))
		for _, of := range emptied {
			if _, err := t.exec(ctx, of+marks(n)+`)`, less[:n]...); err != nil {
				return err
			}
		}
	}
	return nil
}

func sortedDays(change dayUse) []usedOn {
	list := make([]usedOn, 0, len(change))
	for u := range change {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b usedOn) int { return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.day, b.day)) })
	return list
}

// How all that an agent has listed on days that are kept goes into the
// counters: a table of tag, day and number. Everything it has listed is walked;
// a suspension leaves an event of each anyway.
const (
	useOfAgent = `WITH change (tag, day, n) AS (SELECT g.tag, e.created_at / 86400000, CAST(? AS BIGINT) * sum(1) FROM timeline t
CROSS JOIN entries e CROSS JOIN tag_timeline g
WHERE e.agent_id = t.agent_id AND e.entry_id = t.entry_id AND g.position = t.position AND t.agent_id = ?
AND e.created_at >= (SELECT max(since) * 86400000 FROM weeks) GROUP BY g.tag, e.created_at / 86400000)
`
	allDays  = useOfAgent + `INSERT INTO tag_days (tag, day, entries) SELECT c.tag, c.day, c.n FROM change c WHERE c.n <> 0` + addDays
	allWeeks = useOfAgent + `INSERT INTO tag_weeks (until, tag, entries) SELECT w.until, c.tag, sum(c.n) FROM weeks w CROSS JOIN change c
WHERE c.day BETWEEN w.until - 6 AND w.until AND (w.whole = 1 OR c.tag <= w.upto) GROUP BY w.until, c.tag` + addWeeks
)

// useAllDays takes everything of an agent off the counters of days and weeks
// (sign -1), or brings it back (1).
func (e *events) useAllDays(ctx context.Context, agent journal.AgentID, sign int) error {
	for _, statement := range []string{allDays, allWeeks} {
		if _, err := e.tx.exec(ctx, statement, sign, string(agent)); err != nil {
			return err
		}
	}
	if sign > 0 {
		return nil
	}
	for _, of := range emptied {
		if _, err := e.tx.exec(ctx, of+`SELECT tag FROM agent_tags WHERE agent_id = ?)`, string(agent)); err != nil {
			return err
		}
	}
	return nil
}

// WeekTags returns the tags that are used most in the week that ends with the
// day of now, and how often in it. There are none while that week is not whole.
func (s *Store) WeekTags(ctx context.Context, now time.Time, limit int) ([]journal.TagCount, error) {
	return s.tagCounts(ctx, `SELECT tag, entries FROM tag_weeks WHERE until = (SELECT until FROM weeks WHERE until = ? AND whole = 1)
ORDER BY -entries, tag LIMIT ?`, now.UnixMilli()/dayMillis, limit)
}

// A keptWeek is a row of weeks.
type keptWeek struct {
	until, since int64
	upto         string
	whole        bool
}

// counts tells whether the week has got to the tag and has that day.
func (w keptWeek) counts(u usedOn) bool {
	return u.day <= w.until && u.day > w.until-weekDays && (w.whole || u.tag <= w.upto)
}

// keptWeeks returns the weeks by their last days, and the first day that is
// kept for them.
func keptWeeks(ctx context.Context, q querier) (kept []keptWeek, since int64, err error) {
	err = each(q, ctx, `SELECT until, since, upto, whole = 1 FROM weeks ORDER BY until`, nil, func(rows *sql.Rows) error {
		var w keptWeek
		err := rows.Scan(&w.until, &w.since, &w.upto, &w.whole)
		kept, since = append(kept, w), max(since, w.since)
		return err
	})
	return kept, since, err
}

// A weekPlan is what is to be done about the weeks at a time.
type weekPlan struct {
	open     []keptWeek // to be begun
	closing  int64      // weeks that end before this day are over
	closed   bool       // there are such, or rows of such
	building *keptWeek  // not whole; nil when all are
}

func (p weekPlan) done() bool { return len(p.open) == 0 && !p.closed && p.building == nil }

func planWeeks(ctx context.Context, q querier, now time.Time) (p weekPlan, err error) {
	kept, since, err := keptWeeks(ctx, q)
	if err != nil || len(kept) == 0 {
		return p, err
	}
	p.closing = now.Add(-weekBehind).UnixMilli() / dayMillis
	last := now.Add(weekAhead).UnixMilli() / dayMillis
	for day := p.closing; day <= last; day++ {
		there := slices.ContainsFunc(kept, func(w keptWeek) bool { return w.until == day })
		// A week whose days are kept no longer cannot be told: the clock was
		// ahead and has been set back.
		if !there && day-weekDays+1 >= since {
			p.open = append(p.open, keptWeek{until: day, since: p.closing - weekDays + 1})
		}
	}
	for _, w := range kept {
		if !w.whole && p.building == nil && w.until >= p.closing {
			p.building = &w
		}
	}
	var one int
	p.closed, err = first(q, ctx, `SELECT 1 FROM tag_weeks WHERE until < ? LIMIT 1`, []any{p.closing}, &one)
	p.closed = p.closed || kept[0].until < p.closing
	return p, err
}

// TurnWeek does a step of what the turn of a day asks for, in one transaction:
// the week of the day that comes is summed up from its days, tag by tag, the
// days that no week needs go on the same walk, and the week that is over goes.
// A step takes about limit rows.
func (s *Store) TurnWeek(ctx context.Context, now time.Time, limit int) (more bool, err error) {
	plan, err := planWeeks(ctx, s.read, now)
	if err != nil {
		return false, fmt.Errorf("look at the weeks: %w", err)
	}
	if plan.done() {
		return false, nil
	}
	err = s.retry(ctx, "turn the week", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) error {
			if err := (&events{tx: tx}).lock(ctx); err != nil {
				return err
			}
			plan, err := planWeeks(ctx, tx, now)
			if err != nil {
				return err
			}
			return turnStep(ctx, tx, plan, limit)
		})
	})
	return err == nil, err
}

func turnStep(ctx context.Context, tx *transaction, p weekPlan, limit int) error {
	for _, w := range p.open {
		if _, err := tx.exec(ctx, `INSERT INTO weeks (until, since, upto, whole) VALUES (?, ?, '', 0)`, w.until, w.since); err != nil {
			return err
		}
	}
	if _, err := tx.exec(ctx, `DELETE FROM weeks WHERE until < ?`, p.closing); err != nil {
		return err
	}
	if p.building != nil {
		return buildWeek(ctx, tx, *p.building, limit)
	}
	_, err := tx.exec(ctx, `DELETE FROM tag_weeks WHERE (until, tag) IN
(SELECT until, tag FROM tag_weeks WHERE until < ? ORDER BY until, tag LIMIT ?)`, p.closing, limit)
	return err
}

// buildWeek takes the next tags into a week. Under the lock no counter moves
// meanwhile, and from here on the week follows those tags by itself.
func buildWeek(ctx context.Context, tx *transaction, w keptWeek, limit int) error {
	var upto string
	var rows int
	_, err := first(tx, ctx, `SELECT coalesce(max(tag), ''), coalesce(sum(1), 0) FROM
(SELECT tag FROM tag_days WHERE tag > ? ORDER BY tag, day LIMIT ?) d`, []any{w.upto, limit}, &upto, &rows)
	if err != nil {
		return err
	}
	if rows > 0 {
		if _, err := tx.exec(ctx, `DELETE FROM tag_days WHERE tag > ? AND tag <= ? AND day < ?`, w.upto, upto, w.since); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `INSERT INTO tag_weeks (until, tag, entries) SELECT CAST(? AS BIGINT), tag, sum(entries) FROM tag_days
WHERE tag > ? AND tag <= ? AND day BETWEEN ? AND ? GROUP BY tag HAVING sum(entries) > 0`,
			w.until, w.upto, upto, w.until-weekDays+1, w.until)
		if err != nil {
			return err
		}
	}
	whole := 0
	if rows < limit {
		whole = 1
	}
	_, err = tx.exec(ctx, `UPDATE weeks SET upto = ?, whole = ? WHERE until = ?`, upto, whole, w.until)
	return err
}
