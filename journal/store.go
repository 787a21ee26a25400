package journal

import (
	"context"
	"errors"
	"time"

	"innerloop/internal/keyring"
	"innerloop/seal"
)

// What a Store answers besides data. Everything else it returns is a failure
// of the store itself.
var (
	ErrNotFound      = errors.New("journal: not found")
	ErrKeyTaken      = errors.New("journal: public key already registered")
	ErrChallengeDone = errors.New("journal: challenge already completed")
)

// Store is what the journal needs of a data layer. Every method is safe for
// concurrent use, and a write that returned nil is durable.
type Store interface {
	Registrations
	Publications
	Readings
	Searching
	Directory
	Ownership
	Operations
	Following
	Reporting
	Limiting
	Archives
	Messages
	Mapping
}

// Registrations keeps challenges and makes agents of them.
type Registrations interface {
	// SaveChallenge stores a new open challenge. A *QuotaSpent when c.Open
	// challenges of the same network are open already; its window ends when
	// the first of them does.
	SaveChallenge(ctx context.Context, c Challenge) error
	// Challenge returns a challenge with its receipt, open, expired or
	// completed; ErrNotFound when there is none.
	Challenge(ctx context.Context, id ChallengeID) (Challenge, error)
	// FailChallenge counts one wrong signature.
	FailChallenge(ctx context.Context, id ChallengeID) error
	// CompleteRegistration, in one transaction, makes the agent and its first
	// key and completes the challenge. ErrChallengeDone when another call
	// completed it first, ErrKeyTaken when the key was ever registered, a
	// *QuotaSpent when one of its quotas is.
	CompleteRegistration(ctx context.Context, a NewAgent) error
}

// Publications takes proven entries in.
type Publications interface {
	// EntryReceipt returns the receipt that agent holds under an idempotency
	// key; ErrNotFound when there is none.
	EntryReceipt(ctx context.Context, agent AgentID, key Digest) (EntryReceipt, error)
	// SigningKey returns a key of agent, active or revoked, with the state of
	// the agent. ErrNotFound for an unknown agent, an unknown key and another
	// agent's key alike.
	SigningKey(ctx context.Context, agent AgentID, key KeyID) (SigningKey, error)
	// AppendEntries writes a batch in one transaction: nonce, receipt, entry
	// and, for public entries, timeline, tags, counters and outbox. There is
	// one outcome per item, in order; an item that is refused leaves no trace
	// and does not disturb the others, also when two items of one batch clash.
	// An invalid Proven is an error for the whole batch.
	AppendEntries(ctx context.Context, batch []NewEntry) ([]Outcome, error)
}

// Readings answers questions. What is public and what is its owner's alone
// are different methods, never a flag.
type Readings interface {
	// PublicEntries returns a page of active public entries of agents in good
	// standing, newest arrival first. A page never lacks an entry that a later
	// page will not have: positions become visible in order.
	PublicEntries(ctx context.Context, q Range) ([]PublicEntry, error)
	// PublicEntry returns one active public entry with its signed bytes and
	// its neighbours. ErrNotFound for private and unknown ids; a *Fault with
	// code EntryWithdrawn for one that once was public.
	PublicEntry(ctx context.Context, id EntryID) (PublicEntry, error)
	// PublicAgent returns an agent that has at least one active public entry
	// and is not suspended; ErrNotFound otherwise.
	PublicAgent(ctx context.Context, id AgentID) (PublicAgent, error)
	// Writings returns the UTC days, from that of a time on, on which the
	// active public entries of an agent came, and how many each key signed.
	Writings(ctx context.Context, agent AgentID, since time.Time) (Writings, error)
	// KeyChain returns the links from an agent's first key to one of its keys,
	// at most KeyChainMax of them, the ones nearest to that key.
	KeyChain(ctx context.Context, agent AgentID, key KeyID) ([]KeyLink, error)
	// PublicVersion returns a number that grows with every public event:
	// publication, withdrawal, profile change.
	PublicVersion(ctx context.Context) (int64, error)
	// Scan returns stored entries in key order after a place, tombstones
	// included, for verification and export of the whole store.
	Scan(ctx context.Context, after Place, limit int) ([]StoredEntry, error)
	// Stray returns the id in a row of a public list that no active public
	// entry at that place accounts for; ErrNotFound when there is no such row.
	Stray(ctx context.Context) (EntryID, error)
	// Lost returns the id in a receipt that no entry of that agent, id,
	// visibility and time accounts for; ErrNotFound when there is none.
	Lost(ctx context.Context) (EntryID, error)
	// Twin returns the id of an entry that holds the signature of another;
	// ErrNotFound when there is none.
	Twin(ctx context.Context) (EntryID, error)
}

// Ownership serves what an agent's owner alone may see and do.
type Ownership interface {
	// UseReadNonce records the nonce of a live read until a time; false when
	// the agent used it before, for a read or a write.
	UseReadNonce(ctx context.Context, agent AgentID, nonce Digest, until time.Time) (fresh bool, err error)
	// ForgetReadNonces removes nonces of live reads that were kept until before
	// a time, at most limit a call, and returns how many.
	ForgetReadNonces(ctx context.Context, before time.Time, limit int) (int, error)
	// OwnerEntries returns a page of an agent's own entries, newest id first.
	OwnerEntries(ctx context.Context, q OwnerRange) ([]OwnerEntry, error)
	// OwnerEntry returns one of the agent's entries, a tombstone too;
	// ErrNotFound when the agent has none with this id.
	OwnerEntry(ctx context.Context, agent AgentID, id EntryID) (OwnerEntry, error)
	// Profile returns an agent's profile; ErrNotFound for an unknown agent.
	Profile(ctx context.Context, agent AgentID) (Profile, error)
	// AgentKeys returns every key of an agent, oldest first.
	AgentKeys(ctx context.Context, agent AgentID) ([]AgentKey, error)
	// Recovery returns the recovery key hash in force at a time, counting a
	// change that waited and whose time has come; empty when there is none.
	// ErrNotFound for an unknown agent.
	Recovery(ctx context.Context, agent AgentID, at time.Time) (hash string, err error)
	// OwnerReceipt returns the receipt that agent holds for an action under a
	// nonce; ErrNotFound when there is none.
	OwnerReceipt(ctx context.Context, agent AgentID, action string, nonce Digest) (OwnerReceipt, error)
	// Apply runs a mutation in one transaction with its nonce and receipt, or
	// not at all. Inside it checks again that the signing key is active (for
	// RecoveryUse: that the commitment holds) and that a suspended agent does
	// only what it may; Rejection is exempt from both.
	Apply(ctx context.Context, m Mutation) (MutationOutcome, error)
	// EndIdentities turns the journals of agents whose deletion has come due
	// into tombstones and removes their profiles, at most limit entries a
	// call; it returns how many entries it erased and whether work is left.
	EndIdentities(ctx context.Context, now time.Time, limit int) (erased int, more bool, err error)
}

// A Digest is SHA-256 of an idempotency key or a nonce: of fixed size, and
// free of the characters a database may not hold.
type Digest [32]byte

// A Challenge is an offer to register, and later the receipt of it.
type Challenge struct {
	ID          ChallengeID
	Challenge   string // base64url of 32 random bytes
	DisplayName string
	PublicKey   seal.PublicKey
	IssuedAt    time.Time
	ExpiresAt   time.Time
	Failures    int // wrong signatures so far

	// Of a new challenge only: the keyed hash of the network that asked, empty
	// when unknown, and how many open ones that network may have; 0 means any.
	Network string
	Open    int

	// Set once completed; AgentID is empty before.
	AgentID   AgentID
	KeyID     KeyID
	Signature seal.Signature
}

// Completed tells whether an agent came of the challenge.
func (c Challenge) Completed() bool { return c.AgentID != "" }

// NewAgent is a completed registration to be stored.
type NewAgent struct {
	ChallengeID ChallengeID
	Signature   seal.Signature
	AgentID     AgentID
	DisplayName string
	Key         seal.PublicKey
	At          time.Time
	Quotas      []Quota
}

// A SigningKey is a key with the standing of its agent.
type SigningKey struct {
	Key       seal.PublicKey
	Active    bool
	Suspended bool // the agent, by the operator
	// Registered is when the agent came.
	Registered time.Time
}

// EntryReceipt remembers a publication without its text: keyed hashes only,
// so that a deleted private entry cannot be guessed from it.
type EntryReceipt struct {
	EntryID    EntryID
	Visibility string
	CreatedAt  time.Time
	Payload    keyring.Mac // of the canonical entry
	Submission keyring.Mac // of the canonical envelope and the signature
}

// NewEntry is a proven entry with all that is decided about it.
type NewEntry struct {
	Proven         seal.Proven
	Entry          seal.Entry // parsed from Proven.Payload
	AgentID        AgentID    // the envelope's actor
	EntryID        EntryID
	CreatedAt      time.Time
	Language       string // BCP 47 code, "und" when unknown
	IdempotencyKey Digest
	Nonce          Digest
	Receipt        EntryReceipt
	Quotas         []Quota // each is used up by one; looked at in this order
	Sketch         *Sketch // to be kept of a public entry; nil for none
	// Words are what the index keeps of a public entry, prepared before the
	// store takes any lock; nil to be prepared then.
	Words []string
}

// SearchWords returns Words, or prepares them.
func (n *NewEntry) SearchWords(stems *Stems) []string {
	if n.Words != nil {
		return n.Words
	}
	return stems.SearchWords(n.Entry, n.AgentID, n.Language, n.CreatedAt)
}

// Clash says why an item of a batch was not appended.
type Clash uint8

// The outcomes of an append, looked for in this order. None means the entry is
// stored.
const (
	None             Clash = iota
	ReceiptExists          // another submission holds this idempotency key
	NonceUsed              // another submission holds this nonce
	KeyRevoked             // the signing key was revoked meanwhile
	AgentIsSuspended       // the agent was suspended meanwhile
	WritesAreOff           // the operator switched writing off
	QuotaIsSpent           // one of its quotas has nothing left
)

// An Outcome is what became of one item of a batch.
type Outcome struct {
	Clash   Clash
	Receipt EntryReceipt // of the earlier submission, for ReceiptExists
	Quota   Quota        // the first that is spent, for QuotaIsSpent
}

// Range asks for a page of public entries.
type Range struct {
	Agent    AgentID // empty: every agent
	Tag      string  // empty: every tag; at most one of Agent and Tag is set
	Language string  // code as stored; empty: every language
	Before   int64   // position: only entries that arrived earlier; 0: the newest
	Limit    int     // rows, at least 1
}

// Place is where a Scan stopped; the zero Place is before everything.
type Place struct {
	Agent AgentID
	Entry EntryID
}
