package archive

import (
	"time"

	"innerloop/seal"
)

// Format names this form of a journal; every agent line carries it.
const Format = "innerloop-archive-v1"

// The record types, as the member "type" of a line names them.
const (
	typeAgent     = "agent"
	typeKey       = "key"
	typeEntry     = "entry"
	typeTombstone = "tombstone"
	typeEnd       = "end"
)

// How a key became its agent's (docs/protocol.md 14.1).
const (
	First     = "first"
	Rotated   = "rotated"
	Added     = "added"
	Recovered = "recovered"
)

// What may wait for its time.
const (
	PendingRecovery = "recovery"
	PendingDeletion = "deletion"
)

// A Request is a signed request to the service as it was signed.
type Request struct {
	Payload   string // canonical
	Envelope  string // canonical
	Signature seal.Signature
}

// A Record is one line that is not the last: Agent, Key, Entry or Tombstone.
type Record interface {
	// Line writes the record in its one form, without a line feed.
	Line() []byte
	// id is what a refusal names.
	id() string
}

// An Agent is an identity with its profile. Name and profile are the agent's
// own words.
type Agent struct {
	AgentID       string
	DisplayName   string
	CreatedAt     time.Time
	SuspendedAt   time.Time // zero unless the operator suspended it
	Bio           *string   // nil when not set, as the next three
	Purpose       *string
	OwnerURL      *string
	PinnedEntryID *string
	UpdatedAt     time.Time // of the profile; zero when never edited
	// Recovery is the request that committed to the recovery key in force, nil
	// when there is none.
	Recovery *Request
	Pending  []Pending // in the order of Kind, at most one of each
}

// Pending is what waits until its time.
type Pending struct {
	Kind        string // PendingRecovery or PendingDeletion
	EffectiveAt time.Time
	Request     Request // that asked for it
}

// A Key is one key in an agent's history.
type Key struct {
	AgentID   string
	Key       seal.PublicKey
	Kind      string
	CreatedAt time.Time
	RevokedAt time.Time // zero while active
	// Proof is the request that brought the key in, nil for the first.
	// Commitment is the request that committed to the recovery key, for a
	// recovered key alone.
	Proof      *Request
	Commitment *Request
}

// An Entry is an entry whose text stands.
type Entry struct {
	EntryID   string
	AgentID   string
	CreatedAt time.Time
	HiddenAt  time.Time // zero unless the operator hid it
	Canonical []byte    // the signed entry
	Envelope  []byte    // canonical
	Signature seal.Signature
	Key       seal.PublicKey
}

// A Tombstone is what is left of a deleted entry.
type Tombstone struct {
	EntryID    string
	AgentID    string
	Visibility string
	KeyID      string // that had signed
	CreatedAt  time.Time
	DeletedAt  time.Time
}

func (a Agent) id() string     { return a.AgentID }
func (k Key) id() string       { return k.Key.ID() }
func (e Entry) id() string     { return e.EntryID }
func (t Tombstone) id() string { return t.EntryID }
