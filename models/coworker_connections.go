package models

import (
	"context"
	"database/sql"
	"errors"
	"net/netip"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/coworker/vault"
)

var _ connect.Store = Coworker{}

// VaultKey returns an organisation's wrapped data key.
func (c Coworker) VaultKey(ctx context.Context, o coworker.OrganizationID) (vault.Wrapped, error) {
	return only(c.s.read, ctx, "read vault key", scanVaultKey, `SELECT master, wrapped FROM vault_keys WHERE organization_id = ?`, string(o))
}

func scanVaultKey(rows *sql.Rows) (w vault.Wrapped, err error) {
	err = rows.Scan(&w.KeyID, &w.Box)
	return w, err
}

// AddVaultKey keeps the first key that is given.
func (c Coworker) AddVaultKey(ctx context.Context, o coworker.OrganizationID, w vault.Wrapped) (kept vault.Wrapped, err error) {
	err = c.s.retry(ctx, "add vault key", func() error {
		return c.s.write.inTransaction(ctx, func(tx *transaction) error {
			if err := lockOrganization(ctx, tx, o); err != nil {
				return err
			}
			_, err := tx.exec(ctx, `INSERT INTO vault_keys (organization_id, master, wrapped) VALUES (?, ?, ?) ON CONFLICT (organization_id) DO NOTHING`, string(o), w.KeyID, w.Box)
			if err != nil {
				return err
			}
			kept, err = only(tx, ctx, "read vault key", scanVaultKey, `SELECT master, wrapped FROM vault_keys WHERE organization_id = ?`, string(o))
			return err
		})
	})
	return kept, err
}

// VaultKeys lists by organisation.
func (c Coworker) VaultKeys(ctx context.Context, after coworker.OrganizationID, limit int) (map[coworker.OrganizationID]vault.Wrapped, error) {
	keys := map[coworker.OrganizationID]vault.Wrapped{}
	err := each(c.s.read, ctx, `SELECT organization_id, master, wrapped FROM vault_keys WHERE organization_id > ? ORDER BY organization_id LIMIT ?`, []any{string(after), limit}, func(rows *sql.Rows) error {
		var o string
		var w vault.Wrapped
		err := rows.Scan(&o, &w.KeyID, &w.Box)
		keys[coworker.OrganizationID(o)] = w
		return err
	})
	return keys, err
}

// ReplaceVaultKey puts another wrapping in the place of one.
func (c Coworker) ReplaceVaultKey(ctx context.Context, o coworker.OrganizationID, old, w vault.Wrapped) error {
	return c.s.retry(ctx, "replace vault key", func() error {
		_, err := c.s.write.exec(ctx, `UPDATE vault_keys SET master = ?, wrapped = ? WHERE organization_id = ? AND wrapped = ?`, w.KeyID, w.Box, string(o), old.Box)
		return err
	})
}

// SaveConnection writes a connection with its values: all of them or none.
func (c Coworker) SaveConnection(ctx context.Context, s connect.Stored, a *coworker.Audit) error {
	return c.s.retry(ctx, "save connection", func() error {
		return c.s.write.inTransaction(ctx, func(tx *transaction) error {
			if err := lockOrganization(ctx, tx, s.Organization); err != nil {
				return err
			}
			if err := saveConnection(ctx, tx, s); err != nil {
				return err
			}
			for _, v := range s.Values {
				_, err := tx.exec(ctx, `INSERT INTO connection_values (organization_id, connection_id, kind, name, sealed, plain, tail) VALUES (?, ?, ?, ?, ?, ?, ?)`,
					string(s.Organization), s.ID, v.Kind, v.Name, bytesOrNull(v.Kind == "field", v.Sealed), textOrNull(v.Kind == "param", v.Plain), v.Tail)
				if err != nil {
					return err
				}
			}
			if a == nil {
				return nil
			}
			return insertAudit(ctx, tx, *a)
		})
	})
}

func saveConnection(ctx context.Context, tx *transaction, s connect.Stored) error {
	if s.User != "" {
		var one int
		found, err := first(tx, ctx, `SELECT 1 FROM users WHERE organization_id = ? AND user_id = ?`, []any{string(s.Organization), string(s.User)}, &one)
		if err != nil {
			return err
		}
		if !found {
			return coworker.ErrNotFound
		}
	}
	changed, checked := s.ChangedAt.UnixMilli(), millisOrNull(s.CheckedAt)
	var n int64
	var err error
	if s.Version == 1 {
		n, err = tx.exec(ctx, `INSERT INTO connections (organization_id, connection_id, user_id, service, name, auth, base_url, test, state, version, created_at, changed_at, checked_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			string(s.Organization), s.ID, textOrNull(s.User != "", string(s.User)), s.Service, s.Name, s.Auth, s.BaseURL, s.Test, string(s.State), s.Version,
			s.CreatedAt.UnixMilli(), changed, checked)
	} else {
		n, err = tx.exec(ctx, `UPDATE connections SET auth = ?, base_url = ?, test = ?, state = ?, version = ?, changed_at = ?, checked_at = ?
WHERE organization_id = ? AND connection_id = ? AND version = ?`,
			s.Auth, s.BaseURL, s.Test, string(s.State), s.Version, changed, checked, string(s.Organization), s.ID, s.Version-1)
		if err == nil && n == 1 {
			_, err = tx.exec(ctx, `DELETE FROM connection_values WHERE organization_id = ? AND connection_id = ?`, string(s.Organization), s.ID)
		}
	}
	if err == nil && n == 0 {
		return coworker.ErrDuplicate
	}
	return err
}

func textOrNull(there bool, text string) any {
	if !there {
		return nil
	}
	return text
}

func bytesOrNull(there bool, raw []byte) any {
	if !there {
		return nil
	}
	return raw
}

const selectConnection = `SELECT organization_id, connection_id, user_id, service, name, auth, base_url, test, state, version, created_at, changed_at, checked_at FROM connections`

func scanConnection(rows *sql.Rows) (s connect.Stored, err error) {
	var user sql.NullString
	var created, changed int64
	var checked sql.NullInt64
	err = rows.Scan((*string)(&s.Organization), &s.ID, &user, &s.Service, &s.Name, &s.Auth, &s.BaseURL, &s.Test, (*string)(&s.State), &s.Version, &created, &changed, &checked)
	s.User, s.CreatedAt, s.ChangedAt, s.CheckedAt = coworker.UserID(user.String), fromMillis(created), fromMillis(changed), fromMillisOrZero(checked)
	return s, err
}

// FindConnection prefers the user's own.
func (c Coworker) FindConnection(ctx context.Context, o coworker.OrganizationID, u coworker.UserID, service, name string) (connect.Stored, error) {
	where, args := ` WHERE organization_id = ? AND service = ? AND (user_id IS NULL OR user_id = ?)`, []any{string(o), service, string(u)}
	if name != "" {
		where += ` AND name = ?`
		args = append(args, name)
	}
	s, err := only(c.s.read, ctx, "find connection", scanConnection, selectConnection+where+` ORDER BY user_id IS NULL, created_at, connection_id LIMIT 1`, args...)
	if err != nil {
		return s, err
	}
	return c.withValues(ctx, s)
}

// ConnectionByID returns one; an empty organisation means whichever it is of.
func (c Coworker) ConnectionByID(ctx context.Context, o coworker.OrganizationID, id string) (connect.Stored, error) {
	s, err := only(c.s.read, ctx, "read connection", scanConnection, selectConnection+` WHERE connection_id = ?`, id)
	if err != nil {
		return s, err
	}
	if o != "" && s.Organization != o {
		return connect.Stored{}, coworker.ErrNotFound
	}
	return c.withValues(ctx, s)
}

func (c Coworker) withValues(ctx context.Context, s connect.Stored) (connect.Stored, error) {
	values, err := all(c.s.read, ctx, "read connection values", func(rows *sql.Rows) (v connect.Value, err error) {
		var plain sql.NullString
		err = rows.Scan(&v.Kind, &v.Name, &v.Sealed, &plain, &v.Tail)
		v.Plain = plain.String
		return v, err
	}, `SELECT kind, name, sealed, plain, tail FROM connection_values WHERE organization_id = ? AND connection_id = ? ORDER BY kind, name`, string(s.Organization), s.ID)
	s.Values = values
	return s, err
}

// Connections lists without what is sealed.
func (c Coworker) Connections(ctx context.Context, o coworker.OrganizationID, u coworker.UserID, after string, limit int) ([]connect.Stored, error) {
	where, args := ` WHERE organization_id = ? AND connection_id > ?`, []any{string(o), after}
	if u != "" {
		where += ` AND (user_id IS NULL OR user_id = ?)`
		args = append(args, string(u))
	}
	list, err := all(c.s.read, ctx, "list connections", scanConnection, selectConnection+where+` ORDER BY connection_id LIMIT ?`, append(args, limit)...)
	if err != nil || len(list) == 0 {
		return list, err
	}
	at := map[string]int{}
	for i := range list {
		at[list[i].ID] = i
	}
	err = each(c.s.read, ctx, `SELECT connection_id, kind, name, plain, tail FROM connection_values WHERE organization_id = ? AND connection_id >= ? AND connection_id <= ? ORDER BY connection_id, kind, name`,
		[]any{string(o), list[0].ID, list[len(list)-1].ID}, func(rows *sql.Rows) error {
			var id string
			var v connect.Value
			var plain sql.NullString
			if err := rows.Scan(&id, &v.Kind, &v.Name, &plain, &v.Tail); err != nil {
				return err
			}
			v.Plain = plain.String
			if i, ok := at[id]; ok {
				list[i].Values = append(list[i].Values, v)
			}
			return nil
		})
	return list, err
}

// CountConnections counts an organisation's, up to a number.
func (c Coworker) CountConnections(ctx context.Context, o coworker.OrganizationID, limit int) (n int, err error) {
	err = each(c.s.read, ctx, `SELECT 1 FROM connections WHERE organization_id = ? LIMIT ?`, []any{string(o), limit}, func(*sql.Rows) error {
		n++
		return nil
	})
	return n, err
}

// SetState remembers what a service said to a version.
func (c Coworker) SetState(ctx context.Context, id string, version int64, state connect.State, checked time.Time) error {
	return c.s.retry(ctx, "set connection state", func() error {
		_, err := c.s.write.exec(ctx, `UPDATE connections SET state = ?, checked_at = ? WHERE connection_id = ? AND version = ?`, string(state), checked.UnixMilli(), id, version)
		return err
	})
}

// RemoveConnection removes one with its values.
func (c Coworker) RemoveConnection(ctx context.Context, o coworker.OrganizationID, id string, a coworker.Audit) error {
	return c.removed(ctx, "remove connection", a, `DELETE FROM connections WHERE organization_id = ? AND connection_id = ?`, string(o), id)
}

// removed deletes what must be there.
func (c Coworker) removed(ctx context.Context, what string, a coworker.Audit, query string, args ...any) error {
	return c.change(ctx, what, a, func(tx *transaction) error {
		n, err := tx.exec(ctx, query, args...)
		if err == nil && n == 0 {
			return coworker.ErrNotFound
		}
		return err
	})
}

var errStoredNetwork = errors.New("models: a stored network cannot be read")

// Networks lists those that an organisation admits.
func (c Coworker) Networks(ctx context.Context, o coworker.OrganizationID) ([]netip.Prefix, error) {
	return all(c.s.read, ctx, "list networks", func(rows *sql.Rows) (netip.Prefix, error) {
		var text string
		if err := rows.Scan(&text); err != nil {
			return netip.Prefix{}, err
		}
		n, err := netip.ParsePrefix(text)
		if err != nil {
			return n, errStoredNetwork
		}
		return n, nil
	}, `SELECT network FROM organization_networks WHERE organization_id = ? ORDER BY network`, string(o))
}

// AddNetwork admits a network.
func (c Coworker) AddNetwork(ctx context.Context, o coworker.OrganizationID, n netip.Prefix, a coworker.Audit) error {
	return c.change(ctx, "add network", a, func(tx *transaction) error {
		if err := lockOrganization(ctx, tx, o); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `INSERT INTO organization_networks (organization_id, network) VALUES (?, ?) ON CONFLICT DO NOTHING`, string(o), n.String())
		return err
	})
}

// RemoveNetwork takes one back.
func (c Coworker) RemoveNetwork(ctx context.Context, o coworker.OrganizationID, n netip.Prefix, a coworker.Audit) error {
	return c.removed(ctx, "remove network", a, `DELETE FROM organization_networks WHERE organization_id = ? AND network = ?`, string(o), n.String())
}

// Settings returns an organisation's; all off when it never saved any.
func (c Coworker) Settings(ctx context.Context, o coworker.OrganizationID) (connect.Settings, error) {
	return settingsOf(ctx, c.s.read, o)
}

func settingsOf(ctx context.Context, q querier, o coworker.OrganizationID) (s connect.Settings, err error) {
	_, err = first(q, ctx, `SELECT must_confirm, broker_only, all_when_unnamed FROM organization_settings WHERE organization_id = ?`, []any{string(o)},
		&s.MustConfirm, &s.BrokerOnly, &s.AllWhenUnnamed)
	return s, err
}

// ChangeSettings reads and writes them while no other change can.
func (c Coworker) ChangeSettings(ctx context.Context, o coworker.OrganizationID, change connect.SettingsChange, a coworker.Audit) (s connect.Settings, err error) {
	err = c.change(ctx, "change settings", a, func(tx *transaction) error {
		if err := lockOrganization(ctx, tx, o); err != nil {
			return err
		}
		before, err := settingsOf(ctx, tx, o)
		if err != nil {
			return err
		}
		s = change.Of(before)
		_, err = tx.exec(ctx, `INSERT INTO organization_settings (organization_id, must_confirm, broker_only, all_when_unnamed) VALUES (?, ?, ?, ?)
ON CONFLICT (organization_id) DO UPDATE SET must_confirm = excluded.must_confirm, broker_only = excluded.broker_only, all_when_unnamed = excluded.all_when_unnamed`,
			string(o), s.MustConfirm, s.BrokerOnly, s.AllWhenUnnamed)
		return err
	})
	return s, err
}
