package coworker

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/netip"
	"time"
)

// What a Store answers beside its own failures.
var (
	ErrNotFound  = errors.New("coworker: not found")
	ErrDuplicate = errors.New("coworker: there already")
	ErrLast      = errors.New("coworker: the last one stays")
)

// A Sum is the SHA-256 of a secret.
type Sum = [sha256.Size]byte

// A Store keeps everything of this room. Each method is one transaction,
// durable when it returns nil, and safe for concurrent use. An Audit handed to
// a change is written with it or not at all.
type Store interface {
	OrganizationStore
	KeyStore
	SessionStore
	AuditStore
}

// OrganizationStore keeps organisations and users. Lists are in rising order
// of ids, after a given one.
type OrganizationStore interface {
	// CreateOrganization writes an organisation, its first user and that
	// user's key. ErrDuplicate: the key's prefix is taken.
	CreateOrganization(ctx context.Context, o Organization, u User, k StoredKey, a Audit) error
	Organization(ctx context.Context, id OrganizationID) (Organization, error)
	Organizations(ctx context.Context, after OrganizationID, limit int) ([]Organization, error)
	// DeleteOrganization removes an organisation with all that is its own.
	// A long audit goes before, in steps of ForgetAuditOf.
	DeleteOrganization(ctx context.Context, id OrganizationID) error
	// AddUser returns ErrNotFound when there is no such organisation.
	AddUser(ctx context.Context, u User, a Audit) error
	User(ctx context.Context, id UserID) (User, error)
	Users(ctx context.Context, o OrganizationID, after UserID, limit int) ([]User, error)
	// RemoveUser removes a user with keys and sessions; ErrLast when the
	// organisation has no other.
	RemoveUser(ctx context.Context, o OrganizationID, id UserID, a Audit) error
}

// KeyStore keeps keys.
type KeyStore interface {
	// CreateKey returns ErrNotFound when the organisation has no such user and
	// ErrDuplicate when the prefix is taken.
	CreateKey(ctx context.Context, k StoredKey, a Audit) error
	Key(ctx context.Context, id KeyID) (Key, error)
	// KeyByPrefix is the one read of a request: by an index, without a cache.
	KeyByPrefix(ctx context.Context, prefix string) (StoredKey, error)
	// Keys lists by falling id, below a given one unless that is empty.
	Keys(ctx context.Context, o OrganizationID, after KeyID, limit int) ([]Key, error)
	// UpdateKey lets change change a key that is not revoked, while nobody else
	// can, and returns it as it is then. change may be called more than once.
	UpdateKey(ctx context.Context, o OrganizationID, id KeyID, change func(*Key) error, a Audit) (Key, error)
	// RevokeKey revokes and returns the key; one that was revoked stays as it
	// was.
	RevokeKey(ctx context.Context, o OrganizationID, id KeyID, a Audit) (Key, error)
	// TouchKey remembers a use, unless one of the same minute is remembered.
	TouchKey(ctx context.Context, id KeyID, minute time.Time, from netip.Addr) error
}

// SessionStore keeps sessions. They go with their key's user.
type SessionStore interface {
	SaveSession(ctx context.Context, s Session, token Sum, a Audit) error
	// SessionByToken returns a session and its key as they are now.
	SessionByToken(ctx context.Context, token Sum) (Session, Key, error)
	TouchSession(ctx context.Context, id SessionID, minute time.Time) error
	// Sessions lists newest first those that did not end by time, by an idle
	// hour, or with the life or the scope of their key.
	Sessions(ctx context.Context, o OrganizationID, now time.Time, limit int) ([]Session, error)
	EndSession(ctx context.Context, o OrganizationID, id SessionID, a Audit) error
	// ForgetSessions removes sessions that ended by time, at most limit.
	ForgetSessions(ctx context.Context, now time.Time, limit int) (int, error)
}

// AuditStore keeps the audit.
type AuditStore interface {
	RecordAudit(ctx context.Context, a Audit) error
	// AuditPage lists newest first.
	AuditPage(ctx context.Context, q AuditQuery) ([]Audit, error)
	// AuditDays counts tool calls and their errors by day (UTC), oldest first.
	AuditDays(ctx context.Context, q AuditQuery) ([]AuditDay, error)
	// ForgetAudit removes rows of all organisations older than a time, or all
	// rows of one organisation, at most limit.
	ForgetAudit(ctx context.Context, before time.Time, limit int) (int, error)
	ForgetAuditOf(ctx context.Context, o OrganizationID, limit int) (int, error)
}
