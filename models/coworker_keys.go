package models

import (
	"context"
	"database/sql"
	"net/netip"
	"time"

	"innerloop/coworker"
)

func insertKey(ctx context.Context, tx *transaction, k coworker.StoredKey) error {
	n, err := tx.exec(ctx, `INSERT INTO api_keys (organization_id, key_id, user_id, prefix, secret_sum, name, scopes, connectors, class, networks, rate, created_at, created_by, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (prefix) DO NOTHING`,
		string(k.Organization), string(k.ID), string(k.User), k.Prefix, k.Sum[:], k.Name, k.Scopes.String(), joined(k.Connectors), string(k.Class),
		networkTexts(k.Networks), k.Rate, k.CreatedAt.UnixMilli(), string(k.CreatedBy), k.ExpiresAt.UnixMilli())
	if err == nil && n == 0 {
		return coworker.ErrDuplicate
	}
	return err
}

func networkTexts(networks []netip.Prefix) any {
	if networks == nil {
		return nil
	}
	texts := []string{}
	for _, n := range networks {
		texts = append(texts, n.String())
	}
	return joined(texts)
}

// keyColumns are read by scanStoredKey, in this order.
const keyColumns = `k.organization_id, k.key_id, k.user_id, k.prefix, k.secret_sum, k.name, k.scopes, k.connectors, k.class, k.networks, k.rate, k.created_at, k.created_by, k.expires_at, k.revoked_at, k.last_used_at, k.last_used_ip`

const selectKey = `SELECT ` + keyColumns + ` FROM api_keys k`

// keyScan is the row of a key on its way out of the database.
type keyScan struct {
	key                               coworker.StoredKey
	sum                               []byte
	scopes                            string
	connectors, networks, usedFrom    sql.NullString
	createdAt, expiresAt              int64
	revokedAt, usedAt                 sql.NullInt64
	organization, id, user, by, class string
}

func (s *keyScan) targets() []any {
	return []any{
		&s.organization, &s.id, &s.user, &s.key.Prefix, &s.sum, &s.key.Name, &s.scopes, &s.connectors, &s.class, &s.networks, &s.key.Rate,
		&s.createdAt, &s.by, &s.expiresAt, &s.revokedAt, &s.usedAt, &s.usedFrom,
	}
}

func (s *keyScan) stored() (coworker.StoredKey, error) {
	k := s.key
	k.Organization, k.ID, k.User, k.CreatedBy = coworker.OrganizationID(s.organization), coworker.KeyID(s.id), coworker.UserID(s.user), coworker.KeyID(s.by)
	k.Class = coworker.Class(s.class)
	var ok bool
	if k.Scopes, ok = coworker.ParseScopes(parted(sql.NullString{String: s.scopes, Valid: true})); !ok || len(s.sum) != len(k.Sum) {
		return k, errStoredKey
	}
	copy(k.Sum[:], s.sum)
	k.Connectors = parted(s.connectors)
	for _, text := range parted(s.networks) {
		n, err := netip.ParsePrefix(text)
		if err != nil {
			return k, errStoredKey
		}
		k.Networks = append(k.Networks, n)
	}
	k.CreatedAt, k.ExpiresAt = fromMillis(s.createdAt), fromMillis(s.expiresAt)
	k.RevokedAt, k.LastUsedAt = fromMillisOrZero(s.revokedAt), fromMillisOrZero(s.usedAt)
	if s.usedFrom.Valid {
		k.LastUsedFrom, _ = netip.ParseAddr(s.usedFrom.String)
	}
	return k, nil
}

func scanStoredKey(rows *sql.Rows) (coworker.StoredKey, error) {
	var s keyScan
	if err := rows.Scan(s.targets()...); err != nil {
		return coworker.StoredKey{}, err
	}
	return s.stored()
}

func scanKey(rows *sql.Rows) (coworker.Key, error) {
	k, err := scanStoredKey(rows)
	return k.Key, err
}

// CreateKey writes a key of a user that is there.
func (c Coworker) CreateKey(ctx context.Context, k coworker.StoredKey, a coworker.Audit) error {
	return c.change(ctx, "create key", a, func(tx *transaction) error {
		var one int
		found, err := first(tx, ctx, `SELECT 1 FROM users WHERE organization_id = ? AND user_id = ?`+tx.conn.engine.share,
			[]any{string(k.Organization), string(k.User)}, &one)
		switch {
		case err != nil:
			return err
		case !found:
			return coworker.ErrNotFound
		}
		return insertKey(ctx, tx, k)
	})
}

// Key returns one.
func (c Coworker) Key(ctx context.Context, id coworker.KeyID) (coworker.Key, error) {
	return only(c.s.read, ctx, "read key", scanKey, selectKey+` WHERE k.key_id = ?`, string(id))
}

// KeyByPrefix returns the key that a secret begins like.
func (c Coworker) KeyByPrefix(ctx context.Context, prefix string) (coworker.StoredKey, error) {
	return only(c.s.read, ctx, "read key by prefix", scanStoredKey, selectKey+` WHERE k.prefix = ?`, prefix)
}

// Keys lists newest first.
func (c Coworker) Keys(ctx context.Context, o coworker.OrganizationID, after coworker.KeyID, limit int) ([]coworker.Key, error) {
	const order = ` ORDER BY k.key_id DESC LIMIT ?`
	if after == "" {
		return all(c.s.read, ctx, "list keys", scanKey, selectKey+` WHERE k.organization_id = ?`+order, string(o), limit)
	}
	return all(c.s.read, ctx, "list keys", scanKey, selectKey+` WHERE k.organization_id = ? AND k.key_id < ?`+order, string(o), string(after), limit)
}

// lockKey reads a key that nobody else changes until the transaction ends.
func lockKey(ctx context.Context, tx *transaction, o coworker.OrganizationID, id coworker.KeyID) (coworker.Key, error) {
	return only(tx, ctx, "read key", scanKey, selectKey+` WHERE k.organization_id = ? AND k.key_id = ?`+tx.conn.engine.own, string(o), string(id))
}

// UpdateKey changes a key that is not revoked.
func (c Coworker) UpdateKey(ctx context.Context, o coworker.OrganizationID, id coworker.KeyID, change func(*coworker.Key) error, a coworker.Audit) (k coworker.Key, err error) {
	err = c.change(ctx, "update key", a, func(tx *transaction) (err error) {
		if k, err = lockKey(ctx, tx, o, id); err != nil {
			return err
		}
		if !k.RevokedAt.IsZero() {
			return coworker.ErrNotFound
		}
		if err := change(&k); err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE api_keys SET name = ?, scopes = ?, connectors = ?, class = ?, networks = ?, rate = ? WHERE organization_id = ? AND key_id = ?`,
			k.Name, k.Scopes.String(), joined(k.Connectors), string(k.Class), networkTexts(k.Networks), k.Rate, string(o), string(id))
		return err
	})
	return k, err
}

// RevokeKey revokes a key once.
func (c Coworker) RevokeKey(ctx context.Context, o coworker.OrganizationID, id coworker.KeyID, a coworker.Audit) (k coworker.Key, err error) {
	err = c.s.retry(ctx, "revoke key", func() error {
		return c.s.write.inTransaction(ctx, func(tx *transaction) (err error) {
			if k, err = lockKey(ctx, tx, o, id); err != nil || !k.RevokedAt.IsZero() {
				return err
			}
			k.RevokedAt = a.At
			if _, err := tx.exec(ctx, `UPDATE api_keys SET revoked_at = ? WHERE organization_id = ? AND key_id = ?`, a.At.UnixMilli(), string(o), string(id)); err != nil {
				return err
			}
			if _, err := tx.exec(ctx, `DELETE FROM sessions WHERE organization_id = ? AND key_id = ?`, string(o), string(id)); err != nil {
				return err
			}
			return insertAudit(ctx, tx, a)
		})
	})
	return k, err
}

// TouchKey remembers a use.
func (c Coworker) TouchKey(ctx context.Context, id coworker.KeyID, minute time.Time, from netip.Addr) error {
	var address any
	if from.IsValid() {
		address = from.String()
	}
	return c.s.retry(ctx, "touch key", func() error {
		_, err := c.s.write.exec(ctx, `UPDATE api_keys SET last_used_at = ?, last_used_ip = ? WHERE key_id = ? AND (last_used_at IS NULL OR last_used_at < ?)`,
			minute.UnixMilli(), address, string(id), minute.UnixMilli())
		return err
	})
}
