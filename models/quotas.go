package models

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"gorm.io/gorm"

	"innerloop/journal"
)

// counter names one row of the quotas.
type counter struct {
	scope, subject string
	from           int64
}

func counterOf(q journal.Quota) counter { return counter{q.Scope, q.Subject, q.From.UnixMilli()} }

// tally is what a batch asks of one counter.
type tally struct {
	counter
	until  int64
	asked  int64 // by the batch
	before int64 // used when it came
	taken  int64 // by the items that are stored
}

// spend uses the quotas of the items up and returns the items that had all of
// theirs. Everything is asked for in one statement, which keeps the rows until
// commit; what the refused items asked for is given back. So no process ever
// sees more used than there is, and a refused item leaves nothing used.
func (e *appending) spend(ctx context.Context, items []int) ([]int, error) {
	if e.closed {
		for _, i := range items {
			e.outcomes[i] = journal.Outcome{Clash: journal.WritesAreOff}
		}
		return nil, e.release(ctx, items)
	}
	items = slices.Sorted(slices.Values(items)) // in the order of the batch
	tallies, err := e.ask(ctx, items)
	if err != nil || len(tallies) == 0 {
		return items, err
	}
	byCounter := make(map[counter]*tally, len(tallies))
	for i := range tallies {
		byCounter[tallies[i].counter] = &tallies[i]
	}
	var admitted, refused []int
	for _, i := range items {
		quotas := e.batch[i].Quotas
		full := slices.IndexFunc(quotas, func(q journal.Quota) bool {
			t := byCounter[counterOf(q)]
			return t.before+t.taken >= q.Limit
		})
		if full >= 0 {
			e.outcomes[i] = journal.Outcome{Clash: journal.QuotaIsSpent, Quota: quotas[full]}
			refused = append(refused, i)
			continue
		}
		for _, q := range quotas {
			byCounter[counterOf(q)].taken++
		}
		admitted = append(admitted, i)
	}
	for _, t := range tallies {
		if t.taken == t.asked {
			continue
		}
		if _, err := e.tx.exec(ctx, `UPDATE quotas SET used = used - ? WHERE scope = ? AND subject = ? AND window_from = ?`,
			t.asked-t.taken, t.scope, t.subject, t.from); err != nil {
			return nil, err
		}
	}
	return admitted, e.release(ctx, refused)
}

// ask adds up what the items want of each counter and uses it all up. Counters
// are taken in one order, against deadlocks.
func (e *appending) ask(ctx context.Context, items []int) ([]tally, error) {
	sums := map[counter]*tally{}
	for _, i := range items {
		for _, q := range e.batch[i].Quotas {
			c := counterOf(q)
			if sums[c] == nil {
				sums[c] = &tally{counter: c, until: q.Until.UnixMilli()}
			}
			sums[c].asked++
		}
	}
	tallies := make([]tally, 0, len(sums))
	for _, t := range sums {
		tallies = append(tallies, *t)
	}
	slices.SortFunc(tallies, func(a, b tally) int {
		return cmp.Or(strings.Compare(a.scope, b.scope), strings.Compare(a.subject, b.subject), cmp.Compare(a.from, b.from))
	})
	place, rows := map[counter]int{}, make([]int, len(tallies))
	for n, t := range tallies {
		place[t.counter], rows[n] = n, n
	}
	err := e.insert(ctx, rows, `INSERT INTO quotas (scope, subject, window_from, window_until, used) VALUES `, 5,
		` ON CONFLICT (scope, subject, window_from) DO UPDATE SET used = quotas.used + excluded.used
RETURNING scope, subject, window_from, used`,
		func(n int) []any {
			t := tallies[n]
			return []any{t.scope, t.subject, t.from, t.until, t.asked}
		},
		func(rows *sql.Rows) error {
			var c counter
			var used int64
			if err := rows.Scan(&c.scope, &c.subject, &c.from, &used); err != nil {
				return err
			}
			t := &tallies[place[c]]
			t.before = used - t.asked
			return nil
		})
	return tallies, err
}

// release lets go of the receipts and nonces of refused items, so that the
// same submission may come again.
func (e *appending) release(ctx context.Context, items []int) error {
	for n := 0; len(items) > 0; items = items[n:] {
		n = chunk(len(items))
		var keys, nonces []any
		for _, i := range items[:n] {
			agent := string(e.batch[i].AgentID)
			keys = append(keys, agent, e.batch[i].IdempotencyKey[:])
			nonces = append(nonces, agent, e.batch[i].Nonce[:])
		}
		either := func(column string) string {
			one := "agent_id = ? AND " + column + " = ?"
			return strings.Repeat(one+" OR ", n-1) + one
		}
		if _, err := e.tx.exec(ctx, `DELETE FROM entry_receipts WHERE `+either("idempotency_key"), keys...); err != nil {
			return err
		}
		if _, err := e.tx.exec(ctx, `DELETE FROM nonces WHERE `+either("nonce"), nonces...); err != nil {
			return err
		}
	}
	return nil
}

// spendOne uses one of each quota up, or fails with the first that is spent;
// the caller's transaction then leaves no trace.
func spendOne(tx *gorm.DB, quotas []journal.Quota) error {
	for _, q := range quotas {
		c := counterOf(q)
		done := tx.Exec(`INSERT INTO quotas (scope, subject, window_from, window_until, used) VALUES (?, ?, ?, ?, 1)
ON CONFLICT (scope, subject, window_from) DO UPDATE SET used = quotas.used + 1 WHERE quotas.used < ?`,
			c.scope, c.subject, c.from, q.Until.UnixMilli(), q.Limit)
		if done.Error != nil {
			return done.Error
		}
		if done.RowsAffected == 0 {
			return &journal.QuotaSpent{Quota: q}
		}
	}
	return nil
}
