package journal

import (
	"context"
	"fmt"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// vouching remembers which keys of the agent under verification are its own.
type vouching struct {
	agent AgentID
	own   map[KeyID]bool
}

// vouched tells whether proofs lead from the agent's first key to the one that
// signed the row (docs/protocol.md section 14.5). Without them anybody who can
// write a row of keys could sign in an agent's name.
func (j *Journal) vouched(ctx context.Context, v *vouching, row StoredEntry) (bool, error) {
	if v.agent != row.AgentID {
		*v = vouching{agent: row.AgentID, own: map[KeyID]bool{}}
	}
	own, known := v.own[row.KeyID]
	if !known {
		chain, err := j.store.KeyChain(ctx, row.AgentID, row.KeyID)
		if err != nil {
			return false, fmt.Errorf("read key chain: %w", err)
		}
		own = unbroken(chain, row)
		v.own[row.KeyID] = own
	}
	return own, nil
}

func unbroken(chain []KeyLink, row StoredEntry) bool {
	if len(chain) == 0 || chain[len(chain)-1].KeyID != row.KeyID {
		return false
	}
	// A chain at its bound was cut at its beginning.
	if head := chain[0]; len(chain) < KeyChainMax && (head.Kind != "first" || head.KeyID != row.FirstKeyID || head.Proof != nil) {
		return false
	}
	for i, link := range chain[1:] {
		if !link.follows(chain[i].Key, row.AgentID) {
			return false
		}
	}
	return true
}

// joined says how a key of each kind came in: by which action, and what the
// new key signed for.
var joined = map[string]struct{ action, purpose string }{
	"rotated":   {seal.ActionKeyRotate, purposeRotation},
	"added":     {seal.ActionKeyAdd, purposeAddition},
	"recovered": {seal.ActionRecoveryUse, purposeRecovery},
}

// follows tells whether the key before brought this one in and this one
// agreed.
func (l KeyLink) follows(before seal.PublicKey, agent AgentID) bool {
	how, known := joined[l.Kind]
	if !known || l.Proof == nil || l.Key.ID() != string(l.KeyID) {
		return false
	}
	signer := before
	if l.Kind == "recovered" {
		// The key before had committed to the recovery key, which then signed.
		var err error
		if signer, err = seal.ParsePublicKey(l.Proof.field("recovery_public_key")); err != nil || l.Commit == nil {
			return false
		}
		if _, ok := l.Commit.by(before, agent, seal.ActionRecoverySet); !ok || l.Commit.field("recovery_key_hash") != seal.PayloadHash(signer.SPKI()) {
			return false
		}
	}
	envelope, ok := l.Proof.by(signer, agent, how.action)
	agreed, err := seal.ParseSignature(l.Proof.field("new_key_signature"))
	text := l.Key.String()
	return ok && err == nil && l.Proof.field("new_public_key") == text && l.Key.Verify(KeyProof(how.purpose, envelope, text), agreed)
}

// by proves the request under a key, as one of this agent for this action.
func (p *SignedProof) by(key seal.PublicKey, agent AgentID, action string) (seal.Envelope, bool) {
	envelope, err := seal.ParseEnvelope(p.Envelope)
	if err != nil || envelope.ActorID != string(agent) || envelope.Action != action {
		return seal.Envelope{}, false
	}
	_, err = seal.Prove(key, p.Payload, envelope, p.Signature)
	return envelope, err == nil
}

// field is a member of the payload that is a string, else empty.
func (p *SignedProof) field(name string) string {
	v, err := strictjson.Parse(p.Payload)
	if err != nil {
		return ""
	}
	member, _ := v.Get(name)
	text, _ := member.Text()
	return text
}
