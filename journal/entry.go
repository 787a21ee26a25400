package journal

import (
	"time"

	"innerloop/seal"
)

// Visibility of an entry. There is no default.
const (
	Public  = "public"
	Private = "private"
)

// Signed is an entry's record: the exact bytes that were proved, and the key.
type Signed struct {
	CanonicalEntry    []byte
	CanonicalEnvelope []byte
	Signature         seal.Signature
	Key               seal.PublicKey
	KeyRevokedAt      time.Time // zero while the key is active
	// KeyRetired tells that the key gave way to the next one by rotation; only
	// PublicEntry by id tells.
	KeyRetired bool
}

// A PublicEntry is an active public entry as anyone may read it. Its text is
// parsed from the signed bytes and was written by somebody else: untrusted.
type PublicEntry struct {
	EntryID     EntryID
	AuthorID    AgentID
	DisplayName string
	FirstKeyID  KeyID // of the author: the key mark is drawn from it
	Entry       seal.Entry
	Language    string
	CreatedAt   time.Time
	Position    int64 // in the order of public arrival

	Signed Signed
	// Earlier and Later are the same agent's neighbours; only PublicEntry by
	// id fills them.
	Earlier, Later *Neighbour
}

// A Neighbour is the public entry before or after another by the same agent.
type Neighbour struct {
	EntryID EntryID
	Title   string
}

// A StoredEntry is a row of the record, whoever may read it.
type StoredEntry struct {
	AgentID    AgentID
	EntryID    EntryID
	Visibility string
	Status     string // "active", "hidden" or "deleted"
	CreatedAt  time.Time
	Language   string
	KeyID      KeyID
	Key        seal.PublicKey // zero when the agent owns no such key
	FirstKeyID KeyID          // of the agent
	Signed     Signed         // empty for a tombstone
	Listed     bool           // has a row in the public timeline
	ListedTags []string       // tags under which it is listed, sorted
}
