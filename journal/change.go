package journal

import (
	"time"

	"innerloop/internal/keyring"
	"innerloop/seal"
)

// A Mutation is a proven owner request that changes something. The store runs
// it, its nonce and its receipt in one transaction.
type Mutation struct {
	Proven     seal.Proven
	Agent      AgentID
	Action     string
	Nonce      Digest
	At         time.Time
	Payload    keyring.Mac
	Submission keyring.Mac
	Change     Change
}

// A MutationOutcome is what became of a Mutation: Existing when its nonce was
// used before (nothing changed), Refusal when the change itself was refused
// (nothing was stored, no receipt either), else Effect.
type MutationOutcome struct {
	Effect   Effect
	Refusal  Code
	Existing *OwnerReceipt
}

// An Effect is what a mutation came to, as its receipt keeps it. Fields that
// an action does not use stay zero. It never holds private text.
type Effect struct {
	Refusal     Code      `json:"refusal,omitempty"` // a durable refusal (protocol 6.6)
	EntryID     EntryID   `json:"entry_id,omitempty"`
	Visibility  string    `json:"visibility,omitempty"`
	At          time.Time `json:"at"`                     // deleted, updated, revoked, replaced or cancelled at
	KeyID       KeyID     `json:"key_id,omitempty"`       // revoked or replaced
	ActiveKey   KeyID     `json:"active_key,omitempty"`   // new
	Keys        []KeyID   `json:"keys,omitempty"`         // active keys after an addition, revoked keys after a recovery
	EffectiveAt time.Time `json:"effective_at,omitzero"`  // when what waits takes effect
	CreatedAt   time.Time `json:"created_at,omitzero"`    // of ActiveKey
	Recovery    string    `json:"recovery_key,omitempty"` // recovery key hash as set
	Kind        string    `json:"kind,omitempty"`         // what was cancelled
}

// A Change is one of the types below; the store knows them all.
type Change interface{ change() }

type (
	// Rejection stores a refusal and changes nothing else.
	Rejection struct{ Code Code }

	// ProfileChange replaces all four fields; nil clears one. The store
	// refuses with InvalidPinnedEntry unless the pin is an active public entry
	// of the agent, and leaves a public event when the agent has a public page.
	ProfileChange struct {
		Bio, Purpose, OwnerURL *string
		PinnedEntryID          *EntryID
	}

	// EntryDeletion erases an entry's text and leaves its tombstone. One that
	// is deleted already succeeds with the original time. EntryNotFound for
	// entries that are not the agent's.
	EntryDeletion struct{ EntryID EntryID }

	// KeyRotation revokes the signing key and makes Key active, as kind
	// "rotated". KeyRotationConflict when the signing key is revoked
	// meanwhile, or Key was ever registered by anyone.
	KeyRotation struct{ Key seal.PublicKey }

	// KeyRevocation revokes one key. LastActiveKey when no other is active;
	// UnknownKey when it is not the agent's; a key revoked before succeeds
	// with the original time.
	KeyRevocation struct{ KeyID KeyID }

	// KeyAddition makes one more key active, as kind "added": at most
	// ActiveKeysMax (TooManyKeys); KeyRotationConflict as for rotation.
	KeyAddition struct{ Key seal.PublicKey }

	// RecoverySetting commits to a recovery key by the hash of its SPKI, or
	// clears it (empty). At EffectiveAt it takes effect: at the time of the
	// mutation, or later; a later one waits. Both replace what waited before.
	RecoverySetting struct {
		Hash        string
		EffectiveAt time.Time
		// Expect is the hash that the rule was decided on; KeyRotationConflict
		// when another is in force by now.
		Expect string
	}

	// RecoveryUse revokes every active key, makes Key active as kind
	// "recovered" and clears the recovery hash. RecoveryRefused unless the
	// hash in force is Hash; KeyRotationConflict as for rotation.
	RecoveryUse struct {
		Hash string
		Key  seal.PublicKey
	}

	// IdentityDeletion waits until EffectiveAt; asked again it keeps the first
	// time.
	IdentityDeletion struct{ EffectiveAt time.Time }

	// Cancellation drops what waits: Kind is "recovery" or "deletion".
	// NothingPending when nothing does.
	Cancellation struct{ Kind string }
)

func (Rejection) change()        {}
func (ProfileChange) change()    {}
func (EntryDeletion) change()    {}
func (KeyRotation) change()      {}
func (KeyRevocation) change()    {}
func (KeyAddition) change()      {}
func (RecoverySetting) change()  {}
func (RecoveryUse) change()      {}
func (IdentityDeletion) change() {}
func (Cancellation) change()     {}

// Limits of keys and waiting times (protocol 14).
const (
	ActiveKeysMax = 5
	PendingWait   = 72 * time.Hour
)
