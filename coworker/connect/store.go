package connect

import (
	"context"
	"net/netip"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/vault"
)

// A Stored connection is one as it lies in the database: values of fields
// sealed, the others plain.
type Stored struct {
	ID           string // "connection_" and 32 hex digits
	Organization coworker.OrganizationID
	User         coworker.UserID // empty: every user's of the organisation
	Service      string
	Name         string
	Auth         string
	BaseURL      string
	Test         bool
	State        State
	Version      int64
	CreatedAt    time.Time
	ChangedAt    time.Time
	CheckedAt    time.Time // zero: never
	Values       []Value
}

// A Value belongs to a stored connection.
type Value struct {
	Kind   string // "field" or "param"
	Name   string
	Sealed []byte // of a field
	Plain  string // of a param
	Tail   string // what a list shows of a field; "" for nothing
}

// State of a connection, as far as we know.
type State string

// The states.
const (
	Connected State = "connected"
	Reconnect State = "reconnect" // the service refused the credential
)

// Settings are an organisation's rules for calls.
type Settings struct {
	// MustConfirm asks for a confirmation of every call that cannot be undone.
	MustConfirm bool `json:"must_confirm"`
	// BrokerOnly gives code in the sandbox no credential, only the broker.
	BrokerOnly bool `json:"broker_only"`
	// AllWhenUnnamed gives code that names no service the credentials of all.
	AllWhenUnnamed bool `json:"all_when_unnamed"`
}

// A SettingsChange is what becomes of an organisation's rules: those that are nil
// stay as they are, whoever changes them at the same time.
type SettingsChange struct{ MustConfirm, BrokerOnly, AllWhenUnnamed *bool }

// Of returns the rules after the change.
func (c SettingsChange) Of(s Settings) Settings {
	for _, rule := range []struct{ to, of *bool }{{c.MustConfirm, &s.MustConfirm}, {c.BrokerOnly, &s.BrokerOnly}, {c.AllWhenUnnamed, &s.AllWhenUnnamed}} {
		if rule.to != nil {
			*rule.of = *rule.to
		}
	}
	return s
}

// A Store keeps connections. Each method is one transaction, durable when it
// returns nil, and safe for concurrent use. coworker.ErrNotFound and
// ErrDuplicate mean what they say there.
type Store interface {
	// VaultKey returns an organisation's wrapped data key.
	VaultKey(ctx context.Context, o coworker.OrganizationID) (vault.Wrapped, error)
	// AddVaultKey keeps the key unless there is one, and returns the one that
	// is kept.
	AddVaultKey(ctx context.Context, o coworker.OrganizationID, w vault.Wrapped) (vault.Wrapped, error)
	// VaultKeys lists those of all organisations by rising id, after one.
	VaultKeys(ctx context.Context, after coworker.OrganizationID, limit int) (map[coworker.OrganizationID]vault.Wrapped, error)
	// ReplaceVaultKey puts another wrapping in the place of one.
	ReplaceVaultKey(ctx context.Context, o coworker.OrganizationID, old, w vault.Wrapped) error

	// SaveConnection writes a new connection (of version 1), or changes the one
	// that has its id and the version before. ErrDuplicate when the name is
	// taken, or when the version is another; ErrNotFound without its owner.
	SaveConnection(ctx context.Context, s Stored, a *coworker.Audit) error
	// Connection returns a user's own by service and name, or else the
	// organisation's; any name when it is empty.
	FindConnection(ctx context.Context, o coworker.OrganizationID, u coworker.UserID, service, name string) (Stored, error)
	ConnectionByID(ctx context.Context, o coworker.OrganizationID, id string) (Stored, error)
	// Connections lists by rising id after one, without sealed values; with a
	// user, that user's and the organisation's only.
	Connections(ctx context.Context, o coworker.OrganizationID, u coworker.UserID, after string, limit int) ([]Stored, error)
	// CountConnections counts an organisation's, up to limit.
	CountConnections(ctx context.Context, o coworker.OrganizationID, limit int) (int, error)
	// SetState remembers what a service said to a version of a connection.
	SetState(ctx context.Context, id string, version int64, state State, checked time.Time) error
	RemoveConnection(ctx context.Context, o coworker.OrganizationID, id string, a coworker.Audit) error

	Networks(ctx context.Context, o coworker.OrganizationID) ([]netip.Prefix, error)
	AddNetwork(ctx context.Context, o coworker.OrganizationID, n netip.Prefix, a coworker.Audit) error
	RemoveNetwork(ctx context.Context, o coworker.OrganizationID, n netip.Prefix, a coworker.Audit) error

	Settings(ctx context.Context, o coworker.OrganizationID) (Settings, error)
	// ChangeSettings returns what they are after the change.
	ChangeSettings(ctx context.Context, o coworker.OrganizationID, change SettingsChange, a coworker.Audit) (Settings, error)
}
