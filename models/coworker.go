package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"innerloop/coworker"
)

// Coworker is the part of a store that fulfils coworker.Store.
type Coworker struct{ s *Store }

var _ coworker.Store = Coworker{}

// Coworker returns the store as the organisation's toolbox needs it.
func (s *Store) Coworker() Coworker { return Coworker{s} }

// change runs a transaction that ends with its audit row.
func (c Coworker) change(ctx context.Context, what string, a coworker.Audit, work func(*transaction) error) error {
	err := c.s.retry(ctx, what, func() error {
		return c.s.write.inTransaction(ctx, func(tx *transaction) error {
			if err := work(tx); err != nil {
				return err
			}
			return insertAudit(ctx, tx, a)
		})
	})
	if unstorable(err) {
		err = coworker.ErrNotFound
	}
	return err
}

// unstorable tells that PostgreSQL was asked for a text that it cannot hold
// (character_not_in_repertoire): nothing is called like it. SQLite looks and
// finds nothing.
func unstorable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "22021"
}

// CreateOrganization writes an organisation with its first user and key.
func (c Coworker) CreateOrganization(ctx context.Context, o coworker.Organization, u coworker.User, k coworker.StoredKey, a coworker.Audit) error {
	return c.change(ctx, "create organization", a, func(tx *transaction) error {
		_, err := tx.exec(ctx, `INSERT INTO organizations (organization_id, name, created_at) VALUES (?, ?, ?)`,
			string(o.ID), o.Name, o.CreatedAt.UnixMilli())
		if err != nil {
			return err
		}
		if err := insertUser(ctx, tx, u); err != nil {
			return err
		}
		return insertKey(ctx, tx, k)
	})
}

const selectOrganization = `SELECT organization_id, name, created_at FROM organizations`

func scanOrganization(rows *sql.Rows) (o coworker.Organization, err error) {
	var at int64
	err = rows.Scan((*string)(&o.ID), &o.Name, &at)
	o.CreatedAt = fromMillis(at)
	return o, err
}

// Organization returns one.
func (c Coworker) Organization(ctx context.Context, id coworker.OrganizationID) (coworker.Organization, error) {
	return only(c.s.read, ctx, "read organization", scanOrganization, selectOrganization+` WHERE organization_id = ?`, string(id))
}

// Organizations lists by id.
func (c Coworker) Organizations(ctx context.Context, after coworker.OrganizationID, limit int) ([]coworker.Organization, error) {
	return all(c.s.read, ctx, "list organizations", scanOrganization,
		selectOrganization+` WHERE organization_id > ? ORDER BY organization_id LIMIT ?`, string(after), limit)
}

// DeleteOrganization removes everything of one.
func (c Coworker) DeleteOrganization(ctx context.Context, id coworker.OrganizationID) error {
	return c.s.retry(ctx, "delete organization", func() error {
		return c.s.write.inTransaction(ctx, func(tx *transaction) error {
			n, err := tx.exec(ctx, `DELETE FROM organizations WHERE organization_id = ?`, string(id))
			if err != nil {
				return err
			}
			if n == 0 {
				return coworker.ErrNotFound
			}
			_, err = tx.exec(ctx, `DELETE FROM audit WHERE organization_id = ?`, string(id))
			return err
		})
	})
}

// lockOrganization makes changes of an organisation's users one after the
// other.
func lockOrganization(ctx context.Context, tx *transaction, id coworker.OrganizationID) error {
	var one int
	found, err := first(tx, ctx, `SELECT 1 FROM organizations WHERE organization_id = ?`+tx.conn.engine.own, []any{string(id)}, &one)
	if err == nil && !found {
		return coworker.ErrNotFound
	}
	return err
}

// AddUser adds a user.
func (c Coworker) AddUser(ctx context.Context, u coworker.User, a coworker.Audit) error {
	return c.change(ctx, "add user", a, func(tx *transaction) error {
		if err := lockOrganization(ctx, tx, u.Organization); err != nil {
			return err
		}
		return insertUser(ctx, tx, u)
	})
}

func insertUser(ctx context.Context, tx *transaction, u coworker.User) error {
	_, err := tx.exec(ctx, `INSERT INTO users (organization_id, user_id, name, created_at) VALUES (?, ?, ?, ?)`,
		string(u.Organization), string(u.ID), u.Name, u.CreatedAt.UnixMilli())
	return err
}

const selectUser = `SELECT organization_id, user_id, name, created_at FROM users`

func scanUser(rows *sql.Rows) (u coworker.User, err error) {
	var at int64
	err = rows.Scan((*string)(&u.Organization), (*string)(&u.ID), &u.Name, &at)
	u.CreatedAt = fromMillis(at)
	return u, err
}

// User returns one.
func (c Coworker) User(ctx context.Context, id coworker.UserID) (coworker.User, error) {
	return only(c.s.read, ctx, "read user", scanUser, selectUser+` WHERE user_id = ?`, string(id))
}

// Users lists by id.
func (c Coworker) Users(ctx context.Context, o coworker.OrganizationID, after coworker.UserID, limit int) ([]coworker.User, error) {
	return all(c.s.read, ctx, "list users", scanUser,
		selectUser+` WHERE organization_id = ? AND user_id > ? ORDER BY user_id LIMIT ?`, string(o), string(after), limit)
}

// RemoveUser removes a user, and with it keys and sessions.
func (c Coworker) RemoveUser(ctx context.Context, o coworker.OrganizationID, id coworker.UserID, a coworker.Audit) error {
	return c.change(ctx, "remove user", a, func(tx *transaction) error {
		if err := lockOrganization(ctx, tx, o); err != nil {
			return err
		}
		n, err := tx.exec(ctx, `DELETE FROM users WHERE organization_id = ? AND user_id = ?`, string(o), string(id))
		switch {
		case err != nil:
			return err
		case n == 0:
			return coworker.ErrNotFound
		}
		var left bool
		if _, err := first(tx, ctx, `SELECT EXISTS (SELECT 1 FROM users WHERE organization_id = ?)`, []any{string(o)}, &left); err != nil {
			return err
		}
		if !left {
			return coworker.ErrLast
		}
		return nil
	})
}

// only scans the one row of a query.
func only[T any](q querier, ctx context.Context, what string, scan func(*sql.Rows) (T, error), query string, args ...any) (found T, err error) {
	list, err := all(q, ctx, what, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = coworker.ErrNotFound
	}
	if err != nil {
		return found, err
	}
	return list[0], nil
}

// all scans the rows of a query.
func all[T any](q querier, ctx context.Context, what string, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	var list []T
	err := each(q, ctx, query, args, func(rows *sql.Rows) error {
		one, err := scan(rows)
		list = append(list, one)
		return err
	})
	switch {
	case unstorable(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// joined writes a list: NULL for none, so that an empty one is told apart.
func joined(list []string) any {
	if list == nil {
		return nil
	}
	return strings.Join(list, ",")
}

func parted(text sql.NullString) []string {
	switch {
	case !text.Valid:
		return nil
	case text.String == "":
		return []string{}
	}
	return strings.Split(text.String, ",")
}

var errStoredKey = errors.New("models: a stored key cannot be read")
