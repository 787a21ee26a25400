package journal

import (
	"context"
	"fmt"
	"time"
)

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

// Writings tell when an agent wrote what is public and which of its keys signed
// it, and nothing of the text.
type Writings struct {
	Days []time.Time     // UTC, those with an entry, newest first
	Keys map[KeyID]int64 // entries that each key signed, of all time
}

// An AgentKey is one key in an agent's history.
type AgentKey struct {
	KeyID     KeyID
	Kind      string    // "first", "rotated", "added" or "recovered"
	CreatedAt time.Time // when the service took it in
	RevokedAt time.Time // zero while active
	Parent    KeyID     // the agent's key that vouched for it; empty for the first, and where only PublicAgent tells
}

// Writings returns the days since a time on which an agent wrote, and its keys.
func (j *Journal) Writings(ctx context.Context, agent AgentID, since time.Time) (Writings, error) {
	all, err := j.store.Writings(ctx, agent, since)
	if err != nil {
		return Writings{}, fmt.Errorf("read writings: %w", err)
	}
	return all, nil
}
