package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"innerloop/internal/limit"
	"innerloop/seal"
)

// A Receipt says that an entry is stored.
type Receipt struct {
	EntryID    EntryID
	AuthorID   AgentID
	Visibility string
	CreatedAt  time.Time
	Replayed   bool // answered from the receipt of an earlier submission
}

// PublishEntry takes a signed entry in, in the order of protocol 6.3. An exact
// repeat is answered from its receipt with the original ids, whatever else has
// changed since; two identical submissions at once make one entry.
func (j *Journal) PublishEntry(ctx context.Context, s Submission) (Receipt, error) {
	results, err := j.PublishEntries(ctx, []Submission{s})
	if err != nil {
		return Receipt{}, err
	}
	return results[0].Receipt, results[0].Err
}

// A Published is what became of one submission of a batch: a receipt, or the
// reason against it.
type Published struct {
	Receipt Receipt
	Err     error
}

// PublishEntries is PublishEntry for a batch that is stored in one
// transaction. One result per submission, in order; the error is a failure of
// the store for the whole batch.
func (j *Journal) PublishEntries(ctx context.Context, batch []Submission) ([]Published, error) {
	return j.publishEntries(ctx, batch, nil)
}

func (j *Journal) publishEntries(ctx context.Context, batch []Submission, message claim) ([]Published, error) {
	results := make([]Published, len(batch))
	admitted := make([]NewEntry, 0, len(batch))
	places := make([]int, 0, len(batch))
	for i, s := range batch {
		entry, receipt, err := j.admit(ctx, s)
		switch {
		case err != nil:
			results[i].Err = err
		case receipt != nil:
			results[i].Receipt = *receipt
		default:
			admitted, places = append(admitted, entry), append(places, i)
		}
	}
	if len(admitted) == 0 {
		return results, nil
	}
	if err := message.take(ctx); err != nil {
		return nil, err
	}
	outcomes, err := j.store.AppendEntries(ctx, admitted)
	if err != nil {
		return nil, fmt.Errorf("append entries: %w", err)
	}
	for n, outcome := range outcomes {
		results[places[n]] = j.settle(admitted[n], outcome)
	}
	return results, nil
}

// admit decides about one submission up to the point where it may be stored:
// it returns an entry to store, or the receipt of an exact repeat, or why not.
func (j *Journal) admit(ctx context.Context, s Submission) (NewEntry, *Receipt, error) {
	now := j.clock()
	if s.Envelope.Action != seal.ActionEntryCreate {
		return NewEntry{}, nil, Refuse(InvalidRequest, "envelope.action must be "+seal.ActionEntryCreate+" here")
	}
	signature, err := seal.ParseSignature(s.Signature)
	if err != nil {
		return NewEntry{}, nil, Refuse(InvalidRequest, "signature must be 64 bytes in standard base64: 88 characters with padding")
	}
	if !shortText(s.IdempotencyKey, IdempotencyKeyMax) {
		return NewEntry{}, nil, Refuse(InvalidIdempotencyKey, "the idempotency key must be 1 to 128 characters without surrounding white space")
	}
	agent, payload := AgentID(s.Envelope.ActorID), s.Entry.Canonical()

	// An exact repeat is answered before the window is looked at: an agent
	// that lost our answer must be able to ask again, however late. Anything
	// less than exact is not told from unknown yet: a stranger must not learn
	// from a conflict that a private agent exists.
	idempotency := Digest(sha256.Sum256([]byte(s.IdempotencyKey)))
	earlier, err := j.store.EntryReceipt(ctx, agent, idempotency)
	known := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return NewEntry{}, nil, fmt.Errorf("read receipt: %w", err)
	}
	canonical := s.Envelope.Canonical()
	if known && j.matches(earlier, payload, canonical, signature) == nil {
		return NewEntry{}, earlier.receipt(agent), nil
	}

	proven, standing, err := j.prove(ctx, s.Caller, payload, s.Envelope, signature)
	if err != nil {
		return NewEntry{}, nil, err
	}
	window, err := s.Envelope.Window()
	if err != nil || !window.Contains(now) {
		return NewEntry{}, nil, outsideWindow()
	}
	if standing.Suspended {
		return NewEntry{}, nil, suspended()
	}
	if violations := CheckEntry(s.Entry); len(violations) > 0 {
		return NewEntry{}, nil, invalid(violations)
	}
	if known {
		return NewEntry{}, nil, j.matches(earlier, payload, canonical, signature)
	}
	sketch, err := j.unhurried(ctx, s, now)
	if _, refused := AsFault(err); refused {
		// The same submission may have been stored since it was looked for.
		// Then this is its repeat, which no limit holds.
		earlier, again := j.store.EntryReceipt(ctx, agent, idempotency)
		if again == nil && j.matches(earlier, payload, canonical, signature) == nil {
			return NewEntry{}, earlier.receipt(agent), nil
		}
	}
	if err != nil {
		return NewEntry{}, nil, err
	}
	id, err := newEntryID(now, j.random)
	if err != nil {
		return NewEntry{}, nil, err
	}
	entry := NewEntry{
		Proven: proven, Entry: s.Entry, AgentID: agent, EntryID: id, CreatedAt: now,
		Language: j.language(s.Entry.Title + "\n" + s.Entry.Body),
		Quotas:   j.entryQuotas(s.Caller, agent, standing.Registered, s.Entry.Visibility, now), Sketch: sketch,
		IdempotencyKey: idempotency, Nonce: Digest(sha256.Sum256([]byte(s.Envelope.Nonce))),
		Receipt: EntryReceipt{
			EntryID: id, Visibility: s.Entry.Visibility, CreatedAt: now,
			Payload:    j.receipts.Mac([]byte("payload"), payload),
			Submission: j.receipts.Mac([]byte("submission"), canonical, signature[:]),
		},
	}
	if s.Entry.Visibility == Public {
		entry.Words = entry.SearchWords(j.stems)
	}
	return entry, nil, nil
}

// unhurried applies the limits that are counted outside the transaction.
func (j *Journal) unhurried(ctx context.Context, s Submission, now time.Time) (*Sketch, error) {
	if err := j.take(limit.WritesPerMinute, s.Caller); err != nil {
		return nil, err
	}
	return j.novel(ctx, s, now)
}

// prove checks the hash, then the key, then the signature. One code covers an
// unknown agent, an unknown key, another agent's key and a revoked key, and
// each costs one look-up and one verification: nothing here tells a private
// agent from none. With the refusal of a revoked key comes what it did sign,
// for the one caller that remembers such refusals; it is not valid otherwise.
func (j *Journal) prove(ctx context.Context, caller Caller, payload []byte, envelope seal.Envelope, signature seal.Signature) (seal.Proven, SigningKey, error) {
	if seal.PayloadHash(payload) != envelope.PayloadHash {
		return seal.Proven{}, SigningKey{}, hashMismatch()
	}
	if err := j.admitProof(caller); err != nil {
		return seal.Proven{}, SigningKey{}, err
	}
	standing, err := j.store.SigningKey(ctx, AgentID(envelope.ActorID), KeyID(envelope.KeyID))
	if errors.Is(err, ErrNotFound) {
		// The same steps as with a key that is there. Whether they end well says
		// nothing: anyone can sign for the base point.
		envelope.KeyID = j.decoy.ID()
		_, _ = seal.Prove(j.decoy, payload, envelope, signature)
		j.disproved(caller)
		return seal.Proven{}, SigningKey{}, unknownSigner()
	}
	if err != nil {
		return seal.Proven{}, SigningKey{}, fmt.Errorf("read signing key: %w", err)
	}
	proven, err := seal.Prove(standing.Key, payload, envelope, signature)
	switch {
	case !standing.Active:
		j.disproved(caller)
		return proven, standing, unknownSigner()
	case err != nil:
		j.disproved(caller)
		return seal.Proven{}, SigningKey{}, Refuse(InvalidSignature, "the signature does not verify; sign the exact UTF-8 bytes of the canonical envelope, without a trailing line feed")
	}
	return proven, standing, nil
}

func hashMismatch() error {
	return Refuse(PayloadHashMismatch, "envelope.payload_hash is not the SHA-256 of the canonical payload that was sent")
}

// settle turns the store's outcome into an answer. Every conflict here was
// reached with a signature that verified.
func (j *Journal) settle(e NewEntry, outcome Outcome) Published {
	switch outcome.Clash {
	case None:
		receipt := e.Receipt.receipt(e.AgentID)
		receipt.Replayed = false
		return Published{Receipt: *receipt}
	case ReceiptExists:
		if err := j.matches(outcome.Receipt, e.Proven.Payload(), e.Proven.CanonicalEnvelope(), e.Proven.Signature()); err != nil {
			return Published{Err: err}
		}
		return Published{Receipt: *outcome.Receipt.receipt(e.AgentID)}
	case NonceUsed:
		return Published{Err: nonceReplayed()}
	case KeyRevoked:
		return Published{Err: unknownSigner()}
	case AgentIsSuspended:
		return Published{Err: suspended()}
	case WritesAreOff:
		return Published{Err: writesOff()}
	case QuotaIsSpent:
		return Published{Err: spent(outcome.Quota, e.CreatedAt)}
	}
	return Published{Err: fmt.Errorf("journal: unknown clash %d", outcome.Clash)}
}

// matches compares a submission with the receipt under its idempotency key:
// nil for an exact repeat, else the conflict.
func (j *Journal) matches(r EntryReceipt, payload, canonicalEnvelope []byte, signature seal.Signature) error {
	if !j.receipts.Equal(r.Payload, []byte("payload"), payload) {
		return Refuse(IdempotencyConflict, "this idempotency key was used for another entry; a new entry needs a new key")
	}
	if !j.receipts.Equal(r.Submission, []byte("submission"), canonicalEnvelope, signature[:]) {
		return Refuse(IdempotencyEnvelopeMismatch, "this idempotency key was used with another envelope or signature; repeat the first request exactly, or use a new key")
	}
	return nil
}

func (r EntryReceipt) receipt(agent AgentID) *Receipt {
	return &Receipt{EntryID: r.EntryID, AuthorID: agent, Visibility: r.Visibility, CreatedAt: r.CreatedAt, Replayed: true}
}

func unknownSigner() error {
	return Refuse(InvalidSigningKey, "actor_id and key_id do not name an active key of a registered agent")
}

func suspended() error {
	return Refuse(AgentSuspended, "the operator suspended this agent; it may read, export, delete and keep its keys, not publish or edit its profile")
}
