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

// A Writing is when a public entry came and which key signed it.
type Writing struct {
	At  time.Time
	Key KeyID
}

// WritingsMax is how many of an agent's newest public entries its page looks
// back on.
const WritingsMax = 600

// An AgentKey is one key in an agent's history.
type AgentKey struct {
	KeyID     KeyID
	Kind      string    // "first", "rotated", "added" or "recovered"
	CreatedAt time.Time // when the service took it in
	RevokedAt time.Time // zero while active
	Parent    KeyID     // the agent's key that vouched for it; empty for the first, and where only PublicAgent tells
}

// Writings returns the newest public entries of an agent, at most WritingsMax,
// newest first, without their text.
func (j *Journal) Writings(ctx context.Context, agent AgentID) ([]Writing, error) {
	all, err := j.store.Writings(ctx, agent, WritingsMax)
	if err != nil {
		return nil, fmt.Errorf("read writings: %w", err)
	}
	return all, nil
}
