package models

import (
	"context"
	"database/sql"
	"time"

	"innerloop/journal"
	"innerloop/seal"
)

func (a *applying) rotate(ctx context.Context, c journal.KeyRotation) (e journal.Effect, code journal.Code, err error) {
	old := journal.KeyID(a.m.Proven.Envelope().KeyID)
	if err := a.revokeKey(ctx, old); err != nil {
		return e, "", err
	}
	made, err := a.makeKey(ctx, c.Key, "rotated", string(old), nil)
	if err != nil || !made {
		return e, journal.KeyRotationConflict, err
	}
	e = journal.Effect{At: a.m.At, KeyID: old, ActiveKey: journal.KeyID(c.Key.ID()), CreatedAt: a.m.At}
	return e, "", a.events.ofPage(ctx, "keys", a.m.Agent, a.m.At)
}

func (a *applying) addKey(ctx context.Context, c journal.KeyAddition) (e journal.Effect, code journal.Code, err error) {
	active, err := a.activeKeys(ctx)
	switch {
	case err != nil:
		return e, "", err
	case len(active) >= journal.ActiveKeysMax:
		return e, journal.TooManyKeys, nil
	}
	made, err := a.makeKey(ctx, c.Key, "added", a.m.Proven.Envelope().KeyID, nil)
	if err != nil || !made {
		return e, journal.KeyRotationConflict, err
	}
	if active, err = a.activeKeys(ctx); err != nil {
		return e, "", err
	}
	e = journal.Effect{At: a.m.At, ActiveKey: journal.KeyID(c.Key.ID()), CreatedAt: a.m.At, Keys: active}
	return e, "", a.events.ofPage(ctx, "keys", a.m.Agent, a.m.At)
}

func (a *applying) revoke(ctx context.Context, c journal.KeyRevocation) (e journal.Effect, code journal.Code, err error) {
	var revoked sql.NullInt64
	found, err := first(a.tx, ctx, `SELECT revoked_at FROM agent_keys WHERE agent_id = ? AND key_id = ?`,
		[]any{string(a.m.Agent), string(c.KeyID)}, &revoked)
	switch {
	case err != nil:
		return e, "", err
	case !found:
		return e, journal.UnknownKey, nil
	case revoked.Valid:
		return journal.Effect{KeyID: c.KeyID, At: fromMillis(revoked.Int64)}, "", nil
	}
	active, err := a.activeKeys(ctx)
	if err != nil {
		return e, "", err
	}
	if len(active) == 1 {
		return e, journal.LastActiveKey, nil
	}
	if err := a.revokeKey(ctx, c.KeyID); err != nil {
		return e, "", err
	}
	return journal.Effect{KeyID: c.KeyID, At: a.m.At}, "", a.events.ofPage(ctx, "keys", a.m.Agent, a.m.At)
}

// setRecovery replaces the commitment now, or lets the replacement wait.
func (a *applying) setRecovery(ctx context.Context, c journal.RecoverySetting) (e journal.Effect, code journal.Code, err error) {
	if err := a.ripen(ctx); err != nil {
		return e, "", err
	}
	hash, _, err := recovery(a.tx, ctx, a.m.Agent, a.m.At)
	switch {
	case err != nil:
		return e, "", err
	case hash != c.Expect:
		return e, journal.KeyRotationConflict, nil
	}
	e = journal.Effect{At: a.m.At, Recovery: c.Hash, EffectiveAt: c.EffectiveAt}
	if err := a.dropPending(ctx, "recovery"); err != nil {
		return e, "", err
	}
	var next any
	if c.Hash != "" {
		next = c.Hash
	}
	if err := a.wait(ctx, "recovery", c.EffectiveAt, next, ``); err != nil {
		return e, "", err
	}
	return e, "", a.ripen(ctx)
}

// useRecovery gives the agent to the holder of the recovery key.
func (a *applying) useRecovery(ctx context.Context, c journal.RecoveryUse) (e journal.Effect, code journal.Code, err error) {
	if err := a.ripen(ctx); err != nil {
		return e, "", err
	}
	var hash string
	var commit signedRow
	found, err := first(a.tx, ctx, `SELECT key_hash, payload, envelope, signature FROM agent_recovery WHERE agent_id = ?`,
		[]any{string(a.m.Agent)}, &hash, &commit.payload, &commit.envelope, &commit.signature)
	switch {
	case err != nil:
		return e, "", err
	case !found || hash != c.Hash:
		return e, journal.RecoveryRefused, nil
	}
	envelope, err := seal.ParseEnvelope(commit.envelope)
	if err != nil {
		return e, "", err
	}
	revoked, err := a.activeKeys(ctx)
	if err != nil {
		return e, "", err
	}
	for _, key := range revoked {
		if err := a.revokeKey(ctx, key); err != nil {
			return e, "", err
		}
	}
	made, err := a.makeKey(ctx, c.Key, "recovered", envelope.KeyID, &commit)
	if err != nil || !made {
		return e, journal.KeyRotationConflict, err
	}
	if _, err := a.tx.exec(ctx, `DELETE FROM agent_recovery WHERE agent_id = ?`, string(a.m.Agent)); err != nil {
		return e, "", err
	}
	if err := a.dropPending(ctx, "recovery"); err != nil {
		return e, "", err
	}
	e = journal.Effect{At: a.m.At, ActiveKey: journal.KeyID(c.Key.ID()), CreatedAt: a.m.At, Keys: revoked}
	return e, "", a.events.ofPage(ctx, "keys", a.m.Agent, a.m.At)
}

// wait stores what is to take effect later, with the request that asked for it.
func (a *applying) wait(ctx context.Context, kind string, effective time.Time, hash any, conflict string) error {
	proof := a.m.Proven.Signature()
	_, err := a.tx.exec(ctx, `INSERT INTO agent_pending (agent_id, kind, effective_at, key_hash, payload, envelope, signature)
VALUES (?, ?, ?, ?, ?, ?, ?)`+conflict, string(a.m.Agent), kind, effective.UnixMilli(), hash,
		string(a.m.Proven.Payload()), string(a.m.Proven.CanonicalEnvelope()), proof[:])
	return err
}

func (a *applying) dropPending(ctx context.Context, kind string) error {
	_, err := a.tx.exec(ctx, `DELETE FROM agent_pending WHERE agent_id = ? AND kind = ?`, string(a.m.Agent), kind)
	return err
}

// ripen puts a commitment whose time has come in force.
func (a *applying) ripen(ctx context.Context) error {
	agent, at := string(a.m.Agent), a.m.At.UnixMilli()
	var due int
	found, err := first(a.tx, ctx, `SELECT 1 FROM agent_pending WHERE agent_id = ? AND kind = 'recovery' AND effective_at <= ?`,
		[]any{agent, at}, &due)
	if err != nil || !found {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM agent_recovery WHERE agent_id = ?`,
		`INSERT INTO agent_recovery (agent_id, key_hash, payload, envelope, signature)
SELECT agent_id, key_hash, payload, envelope, signature FROM agent_pending
WHERE agent_id = ? AND kind = 'recovery' AND key_hash IS NOT NULL`,
	} {
		if _, err := a.tx.exec(ctx, statement, agent); err != nil {
			return err
		}
	}
	return a.dropPending(ctx, "recovery")
}

// activeKeys lists the agent's active keys, oldest first.
func (a *applying) activeKeys(ctx context.Context) ([]journal.KeyID, error) {
	var keys []journal.KeyID
	err := each(a.tx, ctx, `SELECT key_id FROM agent_keys WHERE agent_id = ? AND revoked_at IS NULL ORDER BY created_at, key_id`,
		[]any{string(a.m.Agent)}, func(rows *sql.Rows) error {
			var id journal.KeyID
			err := rows.Scan(&id)
			keys = append(keys, id)
			return err
		})
	return keys, err
}

func (a *applying) revokeKey(ctx context.Context, key journal.KeyID) error {
	_, err := a.tx.exec(ctx, `UPDATE agent_keys SET revoked_at = ? WHERE agent_id = ? AND key_id = ? AND revoked_at IS NULL`,
		a.m.At.UnixMilli(), string(a.m.Agent), string(key))
	return err
}

// makeKey stores a key with the link that vouches for it; false when the key
// was ever registered by anyone.
func (a *applying) makeKey(ctx context.Context, key seal.PublicKey, kind, parent string, commit *signedRow) (bool, error) {
	agent, id := string(a.m.Agent), key.ID()
	made, err := a.tx.exec(ctx, `INSERT INTO agent_keys (agent_id, key_id, public_key, kind, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING`, agent, id, key.String(), kind, a.m.At.UnixMilli())
	if err != nil || made == 0 {
		return false, err
	}
	var payload, envelope, signature any
	if commit != nil {
		payload, envelope, signature = string(commit.payload), string(commit.envelope), commit.signature
	}
	proof := a.m.Proven.Signature()
	_, err = a.tx.exec(ctx, `INSERT INTO key_links (agent_id, key_id, parent_key_id, payload, envelope, signature,
commit_payload, commit_envelope, commit_signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, agent, id, parent,
		string(a.m.Proven.Payload()), string(a.m.Proven.CanonicalEnvelope()), proof[:], payload, envelope, signature)
	return true, err
}
