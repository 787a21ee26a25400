package models

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"innerloop/journal"
)

// appending is one transaction that takes a batch in.
type appending struct {
	tx       *transaction
	batch    []journal.NewEntry
	outcomes []journal.Outcome
	closed   bool // the operator switched writing off
}

// slot is what two submissions of an agent may not share: an idempotency key
// or a nonce.
type slot struct {
	agent  journal.AgentID
	digest journal.Digest
}

func (e *appending) idempotency(i int) slot {
	return slot{e.batch[i].AgentID, e.batch[i].IdempotencyKey}
}
func (e *appending) nonce(i int) slot { return slot{e.batch[i].AgentID, e.batch[i].Nonce} }

// run decides each item as if the batch had come one by one, in few
// statements: items that share nothing are written together, and one that
// shares a slot with an earlier undecided item waits for the next round.
func (e *appending) run(ctx context.Context) error {
	undecided, err := e.refuseKeys(ctx)
	if err != nil {
		return err
	}
	var stored []int
	for len(undecided) > 0 {
		var round, later []int
		keys, nonces := map[slot]bool{}, map[slot]bool{}
		for _, i := range undecided {
			if keys[e.idempotency(i)] || nonces[e.nonce(i)] {
				later = append(later, i)
			} else {
				round = append(round, i)
			}
			keys[e.idempotency(i)], nonces[e.nonce(i)] = true, true
		}
		if round, err = e.claim(ctx, round); err != nil {
			return err
		}
		if round, err = e.spend(ctx, round); err != nil {
			return err
		}
		stored, undecided = append(stored, round...), later
	}
	slices.Sort(stored)
	return e.store(ctx, stored)
}

// refuseKeys decides the items whose key is revoked or whose agent is
// suspended, and keeps the others' keys as they are until commit.
func (e *appending) refuseKeys(ctx context.Context) ([]int, error) {
	type owned struct {
		agent journal.AgentID
		key   string
	}
	var agents, keys []any
	standing := map[owned]journal.Clash{}
	for i := range e.batch {
		o := owned{e.batch[i].AgentID, e.batch[i].Proven.Envelope().KeyID}
		if _, known := standing[o]; !known {
			standing[o] = journal.KeyRevoked // until the database says otherwise
			agents, keys = append(agents, string(o.agent)), append(keys, o.key)
		}
	}
	for start, n := 0, 0; start < len(keys); start += n {
		n = chunk(len(keys) - start)
		// Rows are locked in the order of FROM: the agent first, as Apply does.
		query := `SELECT k.agent_id, k.key_id, k.revoked_at, a.suspended_at
FROM agents a JOIN agent_keys k ON k.agent_id = a.agent_id
WHERE k.agent_id IN (` + marks(n) + `) AND k.key_id IN (` + marks(n) + `)
ORDER BY k.agent_id, k.key_id` + e.tx.conn.engine.share
		args := append(slices.Clone(agents[start:start+n]), keys[start:start+n]...)
		err := each(e.tx, ctx, query, args, func(rows *sql.Rows) error {
			var o owned
			var revoked, suspended sql.NullInt64
			if err := rows.Scan(&o.agent, &o.key, &revoked, &suspended); err != nil {
				return err
			}
			switch {
			case suspended.Valid:
				standing[o] = journal.AgentIsSuspended
			case !revoked.Valid:
				standing[o] = journal.None
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var good []int
	for i := range e.batch {
		clash := standing[owned{e.batch[i].AgentID, e.batch[i].Proven.Envelope().KeyID}]
		if clash == journal.None {
			good = append(good, i)
			continue
		}
		// A repeat is answered from its receipt, whatever became of the key.
		found, err := e.repeated(ctx, i)
		if err != nil {
			return nil, err
		}
		if !found {
			e.outcomes[i] = journal.Outcome{Clash: clash}
		}
	}
	return good, nil
}

func (e *appending) repeated(ctx context.Context, i int) (bool, error) {
	r, found, err := receipt(e.tx, ctx, e.batch[i].AgentID, e.batch[i].IdempotencyKey)
	if found {
		e.outcomes[i] = journal.Outcome{Clash: journal.ReceiptExists, Receipt: r}
	}
	return found, err
}

// claim takes the receipt and the nonce of each item and returns the items
// that got both. The insert of a slot that another transaction holds waits for
// that transaction, so of two identical submissions the later one sees the
// receipt of the earlier. Slots are taken in one order, against deadlocks.
func (e *appending) claim(ctx context.Context, items []int) ([]int, error) {
	slices.SortFunc(items, func(a, b int) int { return compareSlots(e.idempotency(a), e.idempotency(b)) })
	got, err := e.insertSlots(ctx, items, `INSERT INTO entry_receipts (agent_id, idempotency_key, entry_id, visibility,
created_at, payload_key, payload_mac, submission_key, submission_mac) VALUES `, 9,
		` ON CONFLICT DO NOTHING RETURNING agent_id, idempotency_key`,
		func(i int) []any {
			n, r := &e.batch[i], &e.batch[i].Receipt
			return []any{
				string(n.AgentID), n.IdempotencyKey[:], string(r.EntryID), r.Visibility, r.CreatedAt.UnixMilli(),
				r.Payload.KeyID, r.Payload.Sum, r.Submission.KeyID, r.Submission.Sum,
			}
		})
	if err != nil {
		return nil, err
	}
	var claimed []int
	for _, i := range items {
		if got[e.idempotency(i)] {
			claimed = append(claimed, i)
			continue
		}
		if _, err := e.repeated(ctx, i); err != nil {
			return nil, err
		}
		if e.outcomes[i].Clash != journal.ReceiptExists {
			return nil, errVanished
		}
	}
	slices.SortFunc(claimed, func(a, b int) int { return compareSlots(e.nonce(a), e.nonce(b)) })
	got, err = e.insertSlots(ctx, claimed, `INSERT INTO nonces (agent_id, nonce) VALUES `, 2,
		` ON CONFLICT DO NOTHING RETURNING agent_id, nonce`,
		func(i int) []any { return []any{string(e.batch[i].AgentID), e.batch[i].Nonce[:]} })
	if err != nil {
		return nil, err
	}
	var both []int
	for _, i := range claimed {
		if got[e.nonce(i)] {
			both = append(both, i)
			continue
		}
		e.outcomes[i] = journal.Outcome{Clash: journal.NonceUsed}
		n := &e.batch[i]
		if _, err := e.tx.exec(ctx, `DELETE FROM entry_receipts WHERE agent_id = ? AND idempotency_key = ?`,
			string(n.AgentID), n.IdempotencyKey[:]); err != nil {
			return nil, err
		}
	}
	return both, nil
}

func compareSlots(a, b slot) int {
	if c := strings.Compare(string(a.agent), string(b.agent)); c != 0 {
		return c
	}
	return slices.Compare(a.digest[:], b.digest[:])
}

// insertSlots inserts a row per item and returns the slots that were free.
func (e *appending) insertSlots(ctx context.Context, items []int, into string, width int, returning string, values func(int) []any) (map[slot]bool, error) {
	free := make(map[slot]bool, len(items))
	err := e.insert(ctx, items, into, width, returning, values, func(rows *sql.Rows) error {
		var agent string
		var digest []byte
		if err := rows.Scan(&agent, &digest); err != nil {
			return err
		}
		free[slot{journal.AgentID(agent), journal.Digest(digest)}] = true
		return nil
	})
	return free, err
}

// insert writes a row per item, many rows a statement, and hands each returned
// row to take.
func (e *appending) insert(ctx context.Context, items []int, into string, width int, returning string, values func(int) []any, take func(*sql.Rows) error) error {
	for n := 0; len(items) > 0; items = items[n:] {
		n = chunk(len(items))
		args := make([]any, 0, n*width)
		for _, i := range items[:n] {
			args = append(args, values(i)...)
		}
		query := into + strings.Repeat("("+marks(width)+"), ", n-1) + "(" + marks(width) + ")" + returning
		if err := each(e.tx, ctx, query, args, take); err != nil {
			return err
		}
	}
	return nil
}

// chunk returns how many of n rows the next statement takes: a power of two,
// so that a table has few statements and all stay prepared.
func chunk(n int) int {
	size := groupSize
	for size > n {
		size /= 2
	}
	return size
}

func marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }
