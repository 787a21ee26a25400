package coworker

import (
	"net/netip"
	"time"
)

// Records are how doors write what this room knows, wherever it is written as
// JSON: REST, the command line, exports. Times are RFC 3339 in UTC with
// milliseconds, or null.

// An OrganizationRecord is an organisation as it is written.
type OrganizationRecord struct {
	ID        OrganizationID `json:"organization_id"`
	Name      string         `json:"name"`
	CreatedAt string         `json:"created_at"`
}

// Record returns the organisation as it is written.
func (o Organization) Record() OrganizationRecord {
	return OrganizationRecord{o.ID, o.Name, FormatTime(o.CreatedAt)}
}

// A UserRecord is a user as it is written.
type UserRecord struct {
	Organization OrganizationID `json:"organization_id"`
	ID           UserID         `json:"user_id"`
	Name         string         `json:"name"`
	CreatedAt    string         `json:"created_at"`
}

// Record returns the user as it is written.
func (u User) Record() UserRecord {
	return UserRecord{u.Organization, u.ID, u.Name, FormatTime(u.CreatedAt)}
}

// A KeyRecord is a key as it is written: never its secret.
type KeyRecord struct {
	ID           KeyID          `json:"key_id"`
	Organization OrganizationID `json:"organization_id"`
	User         UserID         `json:"user_id"`
	Prefix       string         `json:"prefix"`
	Name         string         `json:"name"`
	Status       string         `json:"status"` // active, expired or revoked
	Scopes       Scopes         `json:"scopes"`
	Connectors   []string       `json:"connectors"` // null: every connector
	Class        Class          `json:"class"`
	Networks     []netip.Prefix `json:"networks"`        // null: from anywhere
	Rate         int            `json:"rate_per_minute"` // 0: no limit of its own
	CreatedAt    string         `json:"created_at"`
	CreatedBy    *KeyID         `json:"created_by"` // null: the command line
	ExpiresAt    string         `json:"expires_at"`
	RevokedAt    *string        `json:"revoked_at"`
	LastUsedAt   *string        `json:"last_used_at"` // to the minute
	LastUsedFrom *netip.Addr    `json:"last_used_ip"`
}

// Record returns the key as it is written at a time.
func (k Key) Record(now time.Time) KeyRecord {
	r := KeyRecord{
		ID: k.ID, Organization: k.Organization, User: k.User, Prefix: k.Prefix, Name: k.Name, Status: k.Status(now), Scopes: k.Scopes,
		Connectors: k.Connectors, Class: k.Class, Networks: k.Networks, Rate: k.Rate,
		CreatedAt: FormatTime(k.CreatedAt), ExpiresAt: FormatTime(k.ExpiresAt), RevokedAt: timeOrNull(k.RevokedAt), LastUsedAt: timeOrNull(k.LastUsedAt),
	}
	if k.CreatedBy != "" {
		r.CreatedBy = &k.CreatedBy
	}
	if k.LastUsedFrom.IsValid() {
		r.LastUsedFrom = &k.LastUsedFrom
	}
	return r
}

func timeOrNull(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := FormatTime(at)
	return &text
}

// An AuditRecord is a row of the audit as it is written. What a row does not
// have is left out.
type AuditRecord struct {
	ID       AuditID  `json:"id"`
	At       string   `json:"at"`
	Action   string   `json:"action"`
	User     UserID   `json:"user_id,omitempty"`
	Key      KeyID    `json:"key_id,omitempty"`
	Target   string   `json:"target,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Service  string   `json:"service,omitempty"`
	Module   string   `json:"module,omitempty"`
	Method   string   `json:"method,omitempty"`
	Path     string   `json:"path,omitempty"`
	Class    Class    `json:"class,omitempty"`
	Status   int      `json:"status,omitempty"`
	BytesIn  int64    `json:"bytes_in"`
	BytesOut int64    `json:"bytes_out"`
	Took     int64    `json:"took_ms"`
	Retries  int      `json:"retries"`
	Hosts    []string `json:"hosts,omitempty"`
	Error    Code     `json:"error,omitempty"`
}

// Record returns the row as it is written.
func (a Audit) Record() AuditRecord {
	return AuditRecord{
		ID: a.ID, At: FormatTime(a.At), Action: a.Action, User: a.User, Key: a.Key, Target: a.Target, Tool: a.Tool, Service: a.Service, Module: a.Module,
		Method: a.Method, Path: a.Path, Class: a.Class, Status: a.Status, BytesIn: a.BytesIn, BytesOut: a.BytesOut, Took: a.Took.Milliseconds(),
		Retries: a.Retries, Hosts: a.Hosts, Error: a.Error,
	}
}

// An ExportedRecord is one line of an export: its kind and the record itself
// under the name of the kind.
type ExportedRecord struct {
	Kind         string              `json:"kind"` // organization, user, key, audit, or what another room keeps
	Organization *OrganizationRecord `json:"organization,omitempty"`
	User         *UserRecord         `json:"user,omitempty"`
	Key          *KeyRecord          `json:"key,omitempty"`
	Audit        *AuditRecord        `json:"audit,omitempty"`
	Kept         any                 `json:"kept,omitempty"` // the record of another room
}
