package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"innerloop/internal/keyring"
	"innerloop/seal"
)

// owned is an owner request that was believed: its signature verified in its
// window under a key that may sign it.
type owned struct {
	agent      AgentID
	proven     seal.Proven
	window     seal.Window
	nonce      Digest
	standing   SigningKey
	payload    []byte
	canonical  []byte
	signature  seal.Signature
	now        time.Time
	receipt    OwnerReceipt // what is stored under the nonce already
	hasReceipt bool
}

// allowedWhileSuspended says which owner actions a suspended agent may still
// take: all but publishing and editing what is shown (protocol 11.2).
func allowedWhileSuspended(action string) bool { return action != seal.ActionProfileSet }

// durable tells the actions that leave a receipt from the live reads.
func durable(action string) bool {
	switch action {
	case seal.ActionProfileRead, seal.ActionEntryList, seal.ActionEntryRead, seal.ActionEntryExport, seal.ActionKeyList:
		return false
	}
	return true
}

// open reads what every owner request has in common, and looks for the receipt
// of an exact repeat.
func (j *Journal) open(ctx context.Context, r OwnerRequest) (owned, error) {
	o := owned{agent: AgentID(r.Envelope.ActorID), now: j.clock(), canonical: r.Envelope.Canonical()}
	o.nonce = Digest(sha256.Sum256([]byte(r.Envelope.Nonce)))
	var err error
	if o.signature, err = seal.ParseSignature(r.Signature); err != nil {
		return o, Refuse(InvalidRequest, "signature must be 64 bytes in standard base64: 88 characters with padding")
	}
	if o.payload, err = r.canonical(); err != nil {
		return o, err
	}
	if !durable(r.Action) {
		return o, nil
	}
	return o, j.lookUp(ctx, r, &o)
}

func (j *Journal) lookUp(ctx context.Context, r OwnerRequest, o *owned) error {
	var err error
	o.receipt, err = j.store.OwnerReceipt(ctx, o.agent, r.Action, o.nonce)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("read owner receipt: %w", err)
	}
	o.hasReceipt = err == nil
	return nil
}

// repeated tells whether the request is, to the letter, the one that left the
// receipt. It is asked before the window and before the key: the receipt
// outlives both (protocol 6.3, 6.8, 6.10).
func (j *Journal) repeated(o owned) bool {
	return o.hasReceipt &&
		j.receipts.Equal(o.receipt.Payload, []byte("payload"), o.payload) &&
		j.receipts.Equal(o.receipt.Submission, []byte("submission"), o.canonical, o.signature[:])
}

// believe proves the request under an active key of the actor and checks its
// window and the agent's standing. Whether the nonce is free is decided last,
// by the store (protocol 6.3).
func (j *Journal) believe(ctx context.Context, r OwnerRequest, o *owned) error {
	var err error
	if o.proven, o.standing, err = j.prove(ctx, r.Caller, o.payload, r.Envelope, o.signature); err != nil {
		return err
	}
	return j.timely(r, o)
}

// timely checks the window and the agent's standing, in that order.
func (j *Journal) timely(r OwnerRequest, o *owned) error {
	var err error
	if o.window, err = r.Envelope.Window(); err != nil || !o.window.Contains(o.now) {
		return outsideWindow()
	}
	if o.standing.Suspended && !allowedWhileSuspended(r.Action) {
		return suspended()
	}
	return nil
}

// live runs the common part of a live read: it proves, checks the payload
// with check, and uses the nonce up, so that a captured request is worth
// nothing (protocol 6.5).
func (j *Journal) live(ctx context.Context, r OwnerRequest, check func() []Violation) (owned, error) {
	o, err := j.open(ctx, r)
	if err == nil {
		err = j.believe(ctx, r, &o)
	}
	if err != nil {
		return o, err
	}
	if violations := check(); len(violations) > 0 {
		return o, invalid(violations)
	}
	fresh, err := j.store.UseReadNonce(ctx, o.agent, o.nonce, o.window.ExpiresAt.Add(seal.ClockAhead))
	if err != nil {
		return o, fmt.Errorf("use nonce: %w", err)
	}
	if !fresh {
		return o, nonceReplayed()
	}
	return o, nil
}

// A Done is what a durable mutation came to, with the standing of its receipt.
type Done struct {
	Effect   Effect
	Replayed bool
}

// mutate runs a durable mutation whose request any active key of the agent may
// sign: plan checks the payload once the request is believed.
func (j *Journal) mutate(ctx context.Context, r OwnerRequest, plan func(o *owned) (Change, error)) (Done, error) {
	return j.durably(ctx, r, func(o *owned) (Change, error) {
		if err := j.believe(ctx, r, o); err != nil {
			return nil, err
		}
		return plan(o)
	})
}

// durably answers an exact repeat from its receipt, and otherwise carries the
// change that decide makes of the request out, with its receipt, in one
// transaction.
func (j *Journal) durably(ctx context.Context, r OwnerRequest, decide func(o *owned) (Change, error)) (Done, error) {
	o, err := j.open(ctx, r)
	if err != nil {
		return Done{}, err
	}
	if j.repeated(o) {
		return settled(o.receipt.Effect, true)
	}
	change, err := decide(&o)
	if err != nil {
		return j.refuse(ctx, r, o, err)
	}
	return j.apply(ctx, r, o, change)
}

// refuse ends a mutation that was refused, unless its twin succeeded in the
// meantime: a rotation revokes the very key that signed it. The receipt is
// looked for whoever asked, known or not.
func (j *Journal) refuse(ctx context.Context, r OwnerRequest, o owned, refusal error) (Done, error) {
	if _, ok := AsFault(refusal); !ok {
		return Done{}, refusal
	}
	if err := j.lookUp(ctx, r, &o); err != nil {
		return Done{}, err
	}
	if j.repeated(o) {
		return settled(o.receipt.Effect, true)
	}
	return Done{}, j.recordRejection(ctx, r, o, refusal)
}

func (j *Journal) apply(ctx context.Context, r OwnerRequest, o owned, change Change) (Done, error) {
	outcome, err := j.store.Apply(ctx, Mutation{
		Proven: o.proven, Agent: o.agent, Action: r.Action, Nonce: o.nonce, At: o.now, Change: change,
		Payload:    j.receipts.Mac([]byte("payload"), o.payload),
		Submission: j.receipts.Mac([]byte("submission"), o.canonical, o.signature[:]),
	})
	if err != nil {
		return Done{}, fmt.Errorf("apply %s: %w", r.Action, err)
	}
	switch {
	case outcome.Refusal != "":
		return Done{}, refusals[outcome.Refusal]()
	case outcome.Existing == nil:
		return settled(outcome.Effect, false)
	}
	// Another call with this nonce was first: an exact twin is its replay.
	o.receipt, o.hasReceipt = *outcome.Existing, true
	if !j.repeated(o) {
		return Done{}, nonceReplayed()
	}
	return settled(o.receipt.Effect, true)
}

// settled turns a stored effect into an answer. A stored refusal is a refusal
// again, marked as durable.
func settled(e Effect, replayed bool) (Done, error) {
	if e.Refusal != "" {
		f := refusals[e.Refusal]().(*Fault)
		f.Durable = "created"
		if replayed {
			f.Durable = "replayed"
		}
		return Done{}, f
	}
	return Done{Effect: e, Replayed: replayed}, nil
}

// recordRejection stores the refusal of a profile update for good, so that its
// author learns that this very request will never succeed (protocol 6.6). It
// does so only when the signature verifies under a key that the agent owns or
// once owned: strangers cannot fill the store.
func (j *Journal) recordRejection(ctx context.Context, r OwnerRequest, o owned, refusal error) error {
	f, ok := AsFault(refusal)
	if !ok || r.Action != seal.ActionProfileSet || !o.proven.Valid() || o.hasReceipt ||
		f.Code != AgentSuspended && f.Code != InvalidSigningKey {
		return refusal
	}
	_, err := j.apply(ctx, r, o, Rejection{Code: f.Code})
	if other, ok := AsFault(err); ok && other.Code == NonceReplayed {
		return refusal // another request has this nonce: nothing to remember under it
	}
	return err
}

// refusals are the faults that a store's outcome or a stored effect can name.
var refusals = map[Code]func() error{
	AgentSuspended:    suspended,
	InvalidSigningKey: unknownSigner,
	EntryNotFound:     func() error { return Refuse(EntryNotFound, "this agent has no entry with this id") },
	InvalidPinnedEntry: func() error {
		return Refuse(InvalidPinnedEntry, "pinned_entry_id must name a public, active entry of this agent")
	},
	KeyRotationConflict: func() error {
		return Refuse(KeyRotationConflict, "the keys of this agent changed meanwhile, or the new key is registered already")
	},
	LastActiveKey: func() error {
		return Refuse(LastActiveKey, "the last active key cannot be revoked; rotate to a new key instead")
	},
	TooManyKeys:    func() error { return Refuse(TooManyKeys, "an agent holds at most 5 active keys; revoke one first") },
	NothingPending: func() error { return Refuse(NothingPending, "nothing of this kind is waiting") },
	UnknownKey: func() error {
		return invalid([]Violation{{"payload.key_id", "not_in_enum", "must be a key of this agent"}})
	},
	RecoveryRefused: unknownSigner,
}

func outsideWindow() error {
	return Refuse(InvalidSignatureWindow, "the signature window does not contain the server's time; it spans at most 300 seconds, begins at most 60 seconds ahead, and both times are signed. Prepare a fresh envelope")
}

func nonceReplayed() error {
	return Refuse(NonceReplayed, "envelope.nonce was used before by this agent; prepare a fresh envelope")
}

// An OwnerReceipt remembers a durable mutation: keyed hashes of the request,
// and what it came to.
type OwnerReceipt struct {
	Payload    keyring.Mac
	Submission keyring.Mac
	Effect     Effect
}
