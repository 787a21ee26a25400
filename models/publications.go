package models

import (
	"context"
	"database/sql"
	"fmt"

	"innerloop/journal"
	"innerloop/seal"
)

const selectReceipt = `SELECT entry_id, visibility, created_at, payload_key, payload_mac, submission_key, submission_mac
FROM entry_receipts WHERE agent_id = ? AND idempotency_key = ?`

// EntryReceipt returns the receipt that agent holds under an idempotency key.
func (s *Store) EntryReceipt(ctx context.Context, agent journal.AgentID, key journal.Digest) (journal.EntryReceipt, error) {
	if !agent.Valid() {
		return journal.EntryReceipt{}, journal.ErrNotFound
	}
	r, found, err := receipt(s.read, ctx, agent, key)
	switch {
	case err != nil:
		return journal.EntryReceipt{}, fmt.Errorf("read receipt: %w", err)
	case !found:
		return journal.EntryReceipt{}, journal.ErrNotFound
	}
	return r, nil
}

func receipt(q querier, ctx context.Context, agent journal.AgentID, key journal.Digest) (r journal.EntryReceipt, found bool, err error) {
	var created int64
	found, err = first(q, ctx, selectReceipt, []any{string(agent), key[:]}, &r.EntryID, &r.Visibility, &created,
		&r.Payload.KeyID, &r.Payload.Sum, &r.Submission.KeyID, &r.Submission.Sum)
	r.CreatedAt = fromMillis(created)
	return r, found, err
}

// SigningKey returns a key of agent with the state of the agent.
func (s *Store) SigningKey(ctx context.Context, agent journal.AgentID, key journal.KeyID) (journal.SigningKey, error) {
	if !agent.Valid() || !key.Valid() {
		return journal.SigningKey{}, journal.ErrNotFound
	}
	var text string
	var revoked, suspended sql.NullInt64
	var registered int64
	found, err := s.read.one(ctx, `SELECT k.public_key, k.revoked_at, a.suspended_at, a.created_at
FROM agent_keys k JOIN agents a ON a.agent_id = k.agent_id
WHERE k.agent_id = ? AND k.key_id = ?`, []any{string(agent), string(key)}, &text, &revoked, &suspended, &registered)
	switch {
	case err != nil:
		return journal.SigningKey{}, fmt.Errorf("read signing key: %w", err)
	case !found:
		return journal.SigningKey{}, journal.ErrNotFound
	}
	public, err := seal.TrustedPublicKey(text)
	if err != nil {
		return journal.SigningKey{}, fmt.Errorf("read signing key: %w", err)
	}
	return journal.SigningKey{Key: public, Active: !revoked.Valid, Suspended: suspended.Valid, Registered: fromMillis(registered)}, nil
}

// AppendEntries writes a batch in one transaction, with one outcome per item.
// Calls that arrive while another commit runs share the next one.
func (s *Store) AppendEntries(ctx context.Context, batch []journal.NewEntry) ([]journal.Outcome, error) {
	for i := range batch {
		e := &batch[i]
		if !e.Proven.Valid() || e.Proven.Envelope().ActorID != string(e.AgentID) {
			return nil, ErrUnproven
		}
	}
	if len(batch) == 0 {
		return nil, nil
	}
	call := &appendCall{ctx: ctx, batch: batch, answer: make(chan appendAnswer, 1)}
	if err := s.enqueue(call); err != nil {
		return nil, err
	}
	select {
	case a := <-call.answer:
		return a.outcomes, a.err
	case <-ctx.Done():
		// The batch may still be committed; a retry then finds its receipt.
		return nil, fmt.Errorf("append entries: %w", ctx.Err())
	}
}
