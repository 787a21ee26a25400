package models

import (
	"context"
	"database/sql"
	"time"

	"innerloop/coworker"
)

// SaveSession writes a session of a key that is there.
func (c Coworker) SaveSession(ctx context.Context, s coworker.Session, token coworker.Sum, a coworker.Audit) error {
	return c.change(ctx, "save session", a, func(tx *transaction) error {
		_, err := tx.exec(ctx, `INSERT INTO sessions (session_id, token_sum, organization_id, key_id, created_at, used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			string(s.ID), token[:], string(s.Organization), string(s.Key), s.CreatedAt.UnixMilli(), s.UsedAt.UnixMilli(), s.ExpiresAt.UnixMilli())
		return err
	})
}

const (
	sessionColumns = `s.session_id, s.created_at, s.used_at, s.expires_at`
	selectSession  = `SELECT ` + sessionColumns + `, ` + keyColumns + ` FROM sessions s JOIN api_keys k ON k.organization_id = s.organization_id AND k.key_id = s.key_id`
)

type keyedSession struct {
	session coworker.Session
	key     coworker.Key
}

func scanSession(rows *sql.Rows) (keyedSession, error) {
	var k keyScan
	var id string
	var created, used, expires int64
	if err := rows.Scan(append([]any{&id, &created, &used, &expires}, k.targets()...)...); err != nil {
		return keyedSession{}, err
	}
	key, err := k.stored()
	return keyedSession{coworker.Session{
		ID: coworker.SessionID(id), Organization: key.Organization, User: key.User, Key: key.ID,
		CreatedAt: fromMillis(created), UsedAt: fromMillis(used), ExpiresAt: fromMillis(expires),
	}, key.Key}, err
}

// SessionByToken returns a session with its key.
func (c Coworker) SessionByToken(ctx context.Context, token coworker.Sum) (coworker.Session, coworker.Key, error) {
	found, err := only(c.s.read, ctx, "read session", scanSession, selectSession+` WHERE s.token_sum = ?`, token[:])
	return found.session, found.key, err
}

// TouchSession remembers a use.
func (c Coworker) TouchSession(ctx context.Context, id coworker.SessionID, minute time.Time) error {
	return c.s.retry(ctx, "touch session", func() error {
		_, err := c.s.write.exec(ctx, `UPDATE sessions SET used_at = ? WHERE session_id = ? AND used_at < ?`, minute.UnixMilli(), string(id), minute.UnixMilli())
		return err
	})
}

// Sessions lists newest first those that have not ended: by their own time, an
// idle hour, or with the life or the scope of their key.
func (c Coworker) Sessions(ctx context.Context, o coworker.OrganizationID, now time.Time, limit int) ([]coworker.Session, error) {
	found, err := all(c.s.read, ctx, "list sessions", scanSession,
		selectSession+` WHERE s.organization_id = ? AND s.expires_at > ? AND s.used_at > ? AND k.expires_at > ? ORDER BY s.session_id DESC LIMIT ?`,
		string(o), now.UnixMilli(), now.Add(-coworker.SessionIdle).UnixMilli(), now.UnixMilli(), limit)
	var list []coworker.Session
	for _, f := range found {
		if f.key.Scopes.Holds(coworker.Admin) {
			list = append(list, f.session)
		}
	}
	return list, err
}

// EndSession removes a session.
func (c Coworker) EndSession(ctx context.Context, o coworker.OrganizationID, id coworker.SessionID, a coworker.Audit) error {
	return c.change(ctx, "end session", a, func(tx *transaction) error {
		n, err := tx.exec(ctx, `DELETE FROM sessions WHERE organization_id = ? AND session_id = ?`, string(o), string(id))
		if err == nil && n == 0 {
			return coworker.ErrNotFound
		}
		return err
	})
}

// ForgetSessions removes sessions that have ended by time.
func (c Coworker) ForgetSessions(ctx context.Context, now time.Time, limit int) (int, error) {
	return c.forget(ctx, "forget sessions", `DELETE FROM sessions WHERE session_id IN (SELECT session_id FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`, now.UnixMilli(), limit)
}

func (c Coworker) forget(ctx context.Context, what, statement string, args ...any) (int, error) {
	var n int64
	err := c.s.retry(ctx, what, func() (err error) {
		n, err = c.s.write.exec(ctx, statement, args...)
		return err
	})
	return int(n), err
}
