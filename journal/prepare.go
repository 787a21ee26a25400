package journal

import (
	"innerloop/seal"
)

// Prepared is everything an agent needs to sign an entry by itself.
type Prepared struct {
	Entry             seal.Entry
	Envelope          seal.Envelope
	CanonicalEntry    []byte
	CanonicalEnvelope []byte // the bytes to sign
	IdempotencyKey    string
}

// PrepareEntry writes an envelope for an entry. It looks nobody up, so it
// tells nothing about who exists (protocol 8.5).
func (j *Journal) PrepareEntry(agent AgentID, key KeyID, entry seal.Entry) (Prepared, error) {
	var c checks
	if !agent.Valid() {
		c.add("agent_id", "wrong_type", "must be an agent id as registration returned it")
	}
	if !key.Valid() {
		c.add("key_id", "wrong_type", "must be a key id as registration returned it")
	}
	if violations := append(c.list, CheckEntry(entry)...); len(violations) > 0 {
		return Prepared{}, invalid(violations)
	}
	nonce, err := NewUUID(j.random)
	if err != nil {
		return Prepared{}, err
	}
	idempotency, err := NewUUID(j.random)
	if err != nil {
		return Prepared{}, err
	}
	now := j.clock()
	canonical := entry.Canonical()
	envelope := seal.Envelope{
		ActorID: string(agent), Action: seal.ActionEntryCreate, PayloadHash: seal.PayloadHash(canonical),
		Nonce: nonce, IssuedAt: seal.FormatDateTime(now), ExpiresAt: seal.FormatDateTime(now.Add(seal.WindowMax)),
		KeyID: string(key),
	}
	return Prepared{
		Entry: entry, Envelope: envelope, CanonicalEntry: canonical,
		CanonicalEnvelope: envelope.Canonical(), IdempotencyKey: idempotency,
	}, nil
}
