package models

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"innerloop/journal"
)

// errUndone rolls a transaction back whose outcome is known.
var errUndone = errors.New("models: nothing is to be kept of this transaction")

// applying is one transaction that carries a mutation out.
type applying struct {
	tx *transaction
	m  journal.Mutation
	// changes of the public sight
	events events
}

// Apply runs a mutation in one transaction with its nonce and receipt, or not
// at all.
func (s *Store) Apply(ctx context.Context, m journal.Mutation) (journal.MutationOutcome, error) {
	if !m.Proven.Valid() || m.Proven.Envelope().ActorID != string(m.Agent) || m.Proven.Envelope().Action != m.Action {
		return journal.MutationOutcome{}, ErrUnproven
	}
	var outcome journal.MutationOutcome
	err := s.retry(ctx, "apply mutation", func() error {
		err := s.write.inTransaction(ctx, func(tx *transaction) (err error) {
			a := &applying{tx: tx, m: m, events: events{tx: tx}}
			outcome, err = a.run(ctx)
			if err == nil && (outcome.Refusal != "" || outcome.Existing != nil) {
				return errUndone
			}
			return err
		})
		if errors.Is(err, errUndone) {
			return nil
		}
		return err
	})
	if err != nil {
		return journal.MutationOutcome{}, err
	}
	if _, deletion := m.Change.(journal.EntryDeletion); deletion && outcome.Effect.Visibility == journal.Public {
		if err := s.outliveLease(ctx); err != nil {
			return journal.MutationOutcome{}, err // the retry finds the receipt
		}
	}
	return outcome, nil
}

func refused(code journal.Code) (journal.MutationOutcome, error) {
	return journal.MutationOutcome{Refusal: code}, nil
}

// run holds the agent's row until commit, so that changes of one agent come
// one after the other and none meets a publication half way.
func (a *applying) run(ctx context.Context) (journal.MutationOutcome, error) {
	agent, nonce := string(a.m.Agent), a.m.Nonce[:]
	var suspended sql.NullInt64
	found, err := first(a.tx, ctx, `SELECT suspended_at FROM agents WHERE agent_id = ?`+a.tx.conn.engine.own, []any{agent}, &suspended)
	if err != nil {
		return journal.MutationOutcome{}, err
	}
	if !found {
		return refused(journal.InvalidSigningKey)
	}
	fresh, err := a.tx.exec(ctx, `INSERT INTO nonces (agent_id, nonce) VALUES (?, ?) ON CONFLICT DO NOTHING`, agent, nonce)
	if err != nil {
		return journal.MutationOutcome{}, err
	}
	if fresh == 0 {
		// Without a receipt of this action the zero one stands for whatever
		// else used the nonce; it equals no request.
		existing, _, err := ownerReceipt(a.tx, ctx, a.m.Agent, a.m.Action, a.m.Nonce)
		return journal.MutationOutcome{Existing: &existing}, err
	}
	if code, err := a.standing(ctx, suspended.Valid); err != nil || code != "" {
		return journal.MutationOutcome{Refusal: code}, err
	}
	effect, code, err := a.change(ctx)
	if err != nil || code != "" {
		return journal.MutationOutcome{Refusal: code}, err
	}
	if err := a.events.flush(ctx); err != nil {
		return journal.MutationOutcome{}, err
	}
	text, err := json.Marshal(effect)
	if err != nil {
		return journal.MutationOutcome{}, fmt.Errorf("encode effect: %w", err)
	}
	_, err = a.tx.exec(ctx, `INSERT INTO owner_receipts
(agent_id, nonce, action, at, payload_key, payload_mac, submission_key, submission_mac, effect)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, agent, nonce, a.m.Action, a.m.At.UnixMilli(),
		a.m.Payload.KeyID, a.m.Payload.Sum, a.m.Submission.KeyID, a.m.Submission.Sum, string(text))
	return journal.MutationOutcome{Effect: effect}, err
}

// standing looks again at what the journal saw before the transaction.
func (a *applying) standing(ctx context.Context, suspended bool) (journal.Code, error) {
	switch a.m.Change.(type) {
	case journal.Rejection, journal.RecoveryUse: // the latter checks the commitment
		return "", nil
	case journal.ProfileChange:
		if suspended {
			return journal.AgentSuspended, nil
		}
	}
	var active bool
	found, err := first(a.tx, ctx, `SELECT revoked_at IS NULL FROM agent_keys WHERE agent_id = ? AND key_id = ?`,
		[]any{string(a.m.Agent), a.m.Proven.Envelope().KeyID}, &active)
	switch {
	case err != nil || found && active:
		return "", err
	case found:
		switch a.m.Change.(type) {
		case journal.KeyRotation, journal.KeyAddition:
			return journal.KeyRotationConflict, nil
		}
	}
	return journal.InvalidSigningKey, nil
}

func (a *applying) change(ctx context.Context) (journal.Effect, journal.Code, error) {
	switch c := a.m.Change.(type) {
	case journal.Rejection:
		return journal.Effect{Refusal: c.Code, At: a.m.At}, "", nil
	case journal.ProfileChange:
		return a.profile(ctx, c)
	case journal.EntryDeletion:
		return a.deleteEntry(ctx, c)
	case journal.KeyRotation:
		return a.rotate(ctx, c)
	case journal.KeyRevocation:
		return a.revoke(ctx, c)
	case journal.KeyAddition:
		return a.addKey(ctx, c)
	case journal.RecoverySetting:
		return a.setRecovery(ctx, c)
	case journal.RecoveryUse:
		return a.useRecovery(ctx, c)
	case journal.IdentityDeletion:
		return a.endLater(ctx, c)
	case journal.Cancellation:
		return a.cancel(ctx, c)
	}
	return journal.Effect{}, "", fmt.Errorf("models: unknown change %T", a.m.Change)
}

func (a *applying) profile(ctx context.Context, c journal.ProfileChange) (e journal.Effect, code journal.Code, err error) {
	agent := string(a.m.Agent)
	if c.PinnedEntryID != nil {
		var one int
		found, err := first(a.tx, ctx, `SELECT 1 FROM entries
WHERE agent_id = ? AND entry_id = ? AND visibility = 'public' AND status = 'active'`, []any{agent, string(*c.PinnedEntryID)}, &one)
		if err != nil {
			return e, "", err
		}
		if !found {
			return e, journal.InvalidPinnedEntry, nil
		}
	}
	_, err = a.tx.exec(ctx, `UPDATE agents SET bio = ?, purpose = ?, owner_url = ?, pinned_entry_id = ?, profile_updated_at = ?
WHERE agent_id = ?`, nullable(c.Bio), nullable(c.Purpose), nullable(c.OwnerURL), nullable((*string)(c.PinnedEntryID)), a.m.At.UnixMilli(), agent)
	if err != nil {
		return e, "", err
	}
	return journal.Effect{At: a.m.At}, "", a.events.ofPage(ctx, "profile", a.m.Agent, a.m.At)
}

func nullable(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func (a *applying) deleteEntry(ctx context.Context, c journal.EntryDeletion) (e journal.Effect, code journal.Code, err error) {
	var status string
	var position, withdrawn sql.NullInt64
	e = journal.Effect{EntryID: c.EntryID, At: a.m.At}
	found, err := first(a.tx, ctx, `SELECT visibility, status, position, withdrawn_at FROM entries WHERE agent_id = ? AND entry_id = ?`+
		a.tx.conn.engine.own, []any{string(a.m.Agent), string(c.EntryID)}, &e.Visibility, &status, &position, &withdrawn)
	switch {
	case err != nil:
		return e, "", err
	case !found:
		return e, journal.EntryNotFound, nil
	case status == "deleted":
		e.At = fromMillisOrZero(withdrawn)
		return e, "", nil
	}
	return e, "", a.events.erase(ctx, a.m.Agent, []placed{{c.EntryID, position, status == "active"}}, a.m.At)
}

func (a *applying) endLater(ctx context.Context, c journal.IdentityDeletion) (journal.Effect, journal.Code, error) {
	err := a.wait(ctx, "deletion", c.EffectiveAt, nil, ` ON CONFLICT DO NOTHING`)
	var effective int64
	if err == nil {
		_, err = first(a.tx, ctx, `SELECT effective_at FROM agent_pending WHERE agent_id = ? AND kind = 'deletion'`,
			[]any{string(a.m.Agent)}, &effective)
	}
	return journal.Effect{At: a.m.At, EffectiveAt: fromMillis(effective)}, "", err
}

func (a *applying) cancel(ctx context.Context, c journal.Cancellation) (journal.Effect, journal.Code, error) {
	// What has come due does not wait any more, whether or not it was carried
	// out yet.
	dropped, err := a.tx.exec(ctx, `DELETE FROM agent_pending WHERE agent_id = ? AND kind = ? AND effective_at > ?`,
		string(a.m.Agent), c.Kind, a.m.At.UnixMilli())
	if err != nil || dropped == 0 {
		return journal.Effect{}, journal.NothingPending, err
	}
	return journal.Effect{At: a.m.At, Kind: c.Kind}, "", nil
}
