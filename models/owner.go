package models

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"innerloop/journal"
	"innerloop/seal"
)

// UseReadNonce records the nonce of a live read; false when it was used before.
func (s *Store) UseReadNonce(ctx context.Context, agent journal.AgentID, nonce journal.Digest, until time.Time) (bool, error) {
	var rows int64
	err := s.retry(ctx, "use nonce", func() (err error) {
		rows, err = s.write.exec(ctx, `INSERT INTO nonces (agent_id, nonce, expires_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			string(agent), nonce[:], until.UnixMilli())
		return err
	})
	return rows == 1, err
}

// ForgetReadNonces removes nonces of live reads whose time is over.
func (s *Store) ForgetReadNonces(ctx context.Context, before time.Time, limit int) (int, error) {
	var rows int64
	err := s.retry(ctx, "forget nonces", func() (err error) {
		rows, err = s.write.exec(ctx, `DELETE FROM nonces WHERE (agent_id, nonce) IN
(SELECT agent_id, nonce FROM nonces WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`, before.UnixMilli(), limit)
		return err
	})
	return int(rows), err
}

const selectOwned = `SELECT e.entry_id, e.agent_id, e.status, e.visibility, e.created_at, e.withdrawn_at,
e.key_id, e.signature, e.canonical_envelope, e.canonical_entry, k.public_key, k.revoked_at
FROM entries e JOIN agent_keys k ON k.agent_id = e.agent_id AND k.key_id = e.key_id
WHERE e.agent_id = ?`

// OwnerEntries returns a page of an agent's own entries, newest id first.
func (s *Store) OwnerEntries(ctx context.Context, q journal.OwnerRange) ([]journal.OwnerEntry, error) {
	query, args := selectOwned, []any{string(q.Agent)}
	if q.Visibility != "" {
		query, args = query+` AND e.visibility = ?`, append(args, q.Visibility)
	}
	if !q.IncludeDeleted {
		query += ` AND e.status <> 'deleted'`
	}
	if q.Before != "" {
		query, args = query+` AND e.entry_id < ?`, append(args, string(q.Before))
	}
	page := make([]journal.OwnerEntry, 0, min(q.Limit, 256))
	err := each(s.read, ctx, query+` ORDER BY e.entry_id DESC LIMIT ?`, append(args, q.Limit), func(rows *sql.Rows) error {
		e, err := scanOwned(rows)
		page = append(page, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read owner entries: %w", err)
	}
	return page, nil
}

// OwnerEntry returns one of the agent's entries, a tombstone too.
func (s *Store) OwnerEntry(ctx context.Context, agent journal.AgentID, id journal.EntryID) (e journal.OwnerEntry, err error) {
	found := false
	err = each(s.read, ctx, selectOwned+` AND e.entry_id = ?`, []any{string(agent), string(id)}, func(rows *sql.Rows) (err error) {
		found = true
		e, err = scanOwned(rows)
		return err
	})
	switch {
	case err != nil:
		return e, fmt.Errorf("read owner entry: %w", err)
	case !found:
		return e, journal.ErrNotFound
	}
	return e, nil
}

func scanOwned(rows *sql.Rows) (e journal.OwnerEntry, err error) {
	var created int64
	var withdrawn, revoked sql.NullInt64
	var raw []byte
	var key string
	var s journal.Signed
	err = rows.Scan(&e.EntryID, &e.AuthorID, &e.Status, &e.Visibility, &created, &withdrawn,
		&e.KeyID, &raw, &s.CanonicalEnvelope, &s.CanonicalEntry, &key, &revoked)
	if err != nil {
		return e, err
	}
	e.CreatedAt, e.WithdrawnAt = fromMillis(created), fromMillisOrZero(withdrawn)
	if raw == nil { // a tombstone
		return e, nil
	}
	s.KeyRevokedAt = fromMillisOrZero(revoked)
	if s.Signature, err = signature(raw); err != nil {
		return e, err
	}
	if s.Key, err = seal.TrustedPublicKey(key); err != nil {
		return e, err
	}
	e.Signed = s
	e.Entry, err = seal.ParseEntry(s.CanonicalEntry)
	return e, err
}

// Profile returns an agent's profile.
func (s *Store) Profile(ctx context.Context, id journal.AgentID) (journal.Profile, error) {
	var a agentRow
	err := s.read.gorm.WithContext(ctx).Take(&a, "agent_id = ?", string(id)).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return journal.Profile{}, journal.ErrNotFound
	case err != nil:
		return journal.Profile{}, fmt.Errorf("read profile: %w", err)
	}
	p := journal.Profile{AgentID: id, Bio: a.Bio, Purpose: a.Purpose, OwnerURL: a.OwnerURL, UpdatedAt: timeOf(a.ProfileUpdatedAt)}
	if a.PinnedEntryID != nil {
		pin := journal.EntryID(*a.PinnedEntryID)
		p.PinnedEntryID = &pin
	}
	return p, nil
}

// AgentKeys returns every key of an agent, oldest first.
func (s *Store) AgentKeys(ctx context.Context, id journal.AgentID) ([]journal.AgentKey, error) {
	var rows []keyRow
	err := s.read.gorm.WithContext(ctx).Where("agent_id = ?", string(id)).Order("created_at, key_id").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read agent keys: %w", err)
	}
	keys := make([]journal.AgentKey, 0, len(rows))
	for _, k := range rows {
		keys = append(keys, k.agentKey())
	}
	return keys, nil
}

// KeyChain returns the links from an agent's first key to one of its keys.
func (s *Store) KeyChain(ctx context.Context, agent journal.AgentID, key journal.KeyID) ([]journal.KeyLink, error) {
	var chain []journal.KeyLink
	err := each(s.read, ctx, `WITH RECURSIVE chain (key_id, depth) AS (
    SELECT key_id, 1 FROM agent_keys WHERE agent_id = ? AND key_id = ?
    UNION ALL
    SELECT l.parent_key_id, c.depth + 1 FROM chain c JOIN key_links l ON l.agent_id = ? AND l.key_id = c.key_id
    WHERE c.depth < ?
)
SELECT k.key_id, k.public_key, k.kind, l.payload, l.envelope, l.signature, l.commit_payload, l.commit_envelope, l.commit_signature
FROM chain c
JOIN agent_keys k ON k.agent_id = ? AND k.key_id = c.key_id
LEFT JOIN key_links l ON l.agent_id = k.agent_id AND l.key_id = k.key_id
ORDER BY c.depth DESC`,
		[]any{string(agent), string(key), string(agent), journal.KeyChainMax, string(agent)}, func(rows *sql.Rows) error {
			var link journal.KeyLink
			var key string
			var proof, commit signedRow
			err := rows.Scan(&link.KeyID, &key, &link.Kind, &proof.payload, &proof.envelope, &proof.signature,
				&commit.payload, &commit.envelope, &commit.signature)
			if err == nil {
				link.Key, err = seal.TrustedPublicKey(key)
			}
			if err == nil {
				link.Proof, err = proof.signed()
			}
			if err == nil {
				link.Commit, err = commit.signed()
			}
			chain = append(chain, link)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read key chain: %w", err)
	}
	return chain, nil
}

// signedRow is a signed request as three columns, all null or none.
type signedRow struct{ payload, envelope, signature []byte }

func (r signedRow) signed() (*journal.SignedProof, error) {
	if r.signature == nil {
		return nil, nil
	}
	raw, err := signature(r.signature)
	return &journal.SignedProof{Payload: r.payload, Envelope: r.envelope, Signature: raw}, err
}

// Recovery returns the recovery key hash in force at a time.
func (s *Store) Recovery(ctx context.Context, agent journal.AgentID, at time.Time) (string, error) {
	if !agent.Valid() {
		return "", journal.ErrNotFound
	}
	hash, found, err := recovery(s.read, ctx, agent, at)
	switch {
	case err != nil:
		return "", fmt.Errorf("read recovery commitment: %w", err)
	case !found:
		return "", journal.ErrNotFound
	}
	return hash, nil
}

func recovery(q querier, ctx context.Context, agent journal.AgentID, at time.Time) (hash string, found bool, err error) {
	found, err = first(q, ctx, `SELECT coalesce(CASE WHEN p.agent_id IS NOT NULL THEN p.key_hash ELSE r.key_hash END, '')
FROM agents a
LEFT JOIN agent_recovery r ON r.agent_id = a.agent_id
LEFT JOIN agent_pending p ON p.agent_id = a.agent_id AND p.kind = 'recovery' AND p.effective_at <= ?
WHERE a.agent_id = ?`, []any{at.UnixMilli(), string(agent)}, &hash)
	return hash, found, err
}

// OwnerReceipt returns the receipt that agent holds for an action under a nonce.
func (s *Store) OwnerReceipt(ctx context.Context, agent journal.AgentID, action string, nonce journal.Digest) (journal.OwnerReceipt, error) {
	if !agent.Valid() {
		return journal.OwnerReceipt{}, journal.ErrNotFound
	}
	r, found, err := ownerReceipt(s.read, ctx, agent, action, nonce)
	switch {
	case err != nil:
		return r, fmt.Errorf("read owner receipt: %w", err)
	case !found:
		return r, journal.ErrNotFound
	}
	return r, nil
}

func ownerReceipt(q querier, ctx context.Context, agent journal.AgentID, action string, nonce journal.Digest) (r journal.OwnerReceipt, found bool, err error) {
	var effect []byte
	found, err = first(q, ctx, `SELECT payload_key, payload_mac, submission_key, submission_mac, effect
FROM owner_receipts WHERE agent_id = ? AND nonce = ? AND action = ?`, []any{string(agent), nonce[:], action},
		&r.Payload.KeyID, &r.Payload.Sum, &r.Submission.KeyID, &r.Submission.Sum, &effect)
	if err != nil || !found {
		return r, found, err
	}
	return r, true, json.Unmarshal(effect, &r.Effect)
}
