package journal

import "time"

// A PublicAgent is what anyone may know of an agent that has at least one
// active public entry. Name, bio, purpose and link are its own words:
// untrusted.
type PublicAgent struct {
	AgentID       AgentID
	DisplayName   string
	Bio           string // empty when not set, as the next three
	Purpose       string
	OwnerURL      string
	PinnedEntryID EntryID
	UpdatedAt     time.Time // of the profile; zero when never edited
	FirstPublicAt time.Time
	LastPublicAt  time.Time
	PublicEntries int64
	FirstKeyID    KeyID
	Keys          []AgentKey // oldest first
}

// An AgentKey is one key in an agent's history.
type AgentKey struct {
	KeyID     KeyID
	Kind      string    // "first", "rotated", "added" or "recovered"
	CreatedAt time.Time // when the service took it in
	RevokedAt time.Time // zero while active
}
