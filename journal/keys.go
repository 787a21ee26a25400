package journal

import (
	"context"
	"errors"
	"fmt"

	"innerloop/seal"
)

// What a new key signs to prove that its holder agrees (protocol 6.8).
const (
	purposeRotation = "innerloop-key-rotation-v1"
	purposeAddition = "innerloop-key-add-v1"
	purposeRecovery = "innerloop-recovery-v1"
	// purposeRecoveryChange is what the old recovery key signs over to change
	// the commitment at once.
	purposeRecoveryChange = "innerloop-recovery-set-v1"
)

// KeyProof is the canonical text that a new key signs: it binds the purpose,
// the agent, the signing key, the new key and the envelope's nonce and times.
func KeyProof(purpose string, e seal.Envelope, newKey string) []byte {
	return mustCanonical(map[string]any{
		"purpose": purpose, "actor_id": e.ActorID, "current_key_id": e.KeyID, "new_public_key": newKey,
		"nonce": e.Nonce, "issued_at": e.IssuedAt, "expires_at": e.ExpiresAt,
	})
}

// RecoveryProof is the canonical text that the old recovery key signs when the
// commitment is to change at once.
func RecoveryProof(e seal.Envelope, newHash *string) []byte {
	var hash any
	if newHash != nil {
		hash = *newHash
	}
	return mustCanonical(map[string]any{
		"purpose": purposeRecoveryChange, "actor_id": e.ActorID, "recovery_key_hash": hash,
		"nonce": e.Nonce, "issued_at": e.IssuedAt, "expires_at": e.ExpiresAt,
	})
}

func mustCanonical(object map[string]any) []byte {
	text, err := seal.Canonical(object)
	if err != nil {
		panic(err) // unreachable: strings of a parsed request are valid UTF-8
	}
	return text
}

// newKey reads the new key of a payload and checks that it signed the proof. A
// published test key is refused, unless one signs already: such an agent is a
// test of its own and has nothing to lose.
func (r OwnerRequest) newKey(purpose string, signer seal.PublicKey) (seal.PublicKey, error) {
	var c checks
	text, signature := r.text(&c, "new_public_key"), r.text(&c, "new_key_signature")
	if len(c.list) > 0 {
		return seal.PublicKey{}, invalid(c.list)
	}
	key, err := seal.ParsePublicKey(text)
	if err != nil || seal.PublishedTestKey(key) && !seal.PublishedTestKey(signer) {
		return seal.PublicKey{}, Refuse(InvalidPublicKey, "payload.new_public_key must be an Ed25519 key of your own as 44 bytes of DER SubjectPublicKeyInfo in standard base64")
	}
	signed, err := seal.ParseSignature(signature)
	if err != nil || key.ID() == r.Envelope.KeyID || !key.Verify(KeyProof(purpose, r.Envelope, text), signed) {
		return seal.PublicKey{}, Refuse(InvalidReplacementKeyProof, "new_key_signature must be the new key's signature over the canonical proof object, and the new key must differ from the signing one")
	}
	return key, nil
}

// RotateKey replaces the signing key by a new one, in one step.
func (j *Journal) RotateKey(ctx context.Context, r OwnerRequest) (Done, error) {
	return j.mutate(ctx, r, func(o *owned) (Change, error) {
		key, err := r.newKey(purposeRotation, o.proven.Key())
		return KeyRotation{Key: key}, err
	})
}

// AddKey makes one more key active for the signer.
func (j *Journal) AddKey(ctx context.Context, r OwnerRequest) (Done, error) {
	return j.mutate(ctx, r, func(o *owned) (Change, error) {
		key, err := r.newKey(purposeAddition, o.proven.Key())
		return KeyAddition{Key: key}, err
	})
}

// RevokeKey revokes one of the signer's keys. The last active one stays.
func (j *Journal) RevokeKey(ctx context.Context, r OwnerRequest) (Done, error) {
	return j.mutate(ctx, r, func(*owned) (Change, error) {
		var c checks
		id := KeyID(r.text(&c, "key_id"))
		if len(c.list) == 0 && !id.Valid() {
			c.add("payload.key_id", "not_in_enum", "must be a key of this agent")
		}
		if len(c.list) > 0 {
			return nil, invalid(c.list)
		}
		return KeyRevocation{KeyID: id}, nil
	})
}

// SetRecovery commits to a recovery key by its hash, before any loss. The
// first commitment holds at once, and so does a change that the old recovery
// key signed; any other change waits, so that a thief of the signing key
// cannot replace the commitment unseen (protocol 14.3).
func (j *Journal) SetRecovery(ctx context.Context, r OwnerRequest) (Done, error) {
	return j.mutate(ctx, r, func(o *owned) (Change, error) {
		var c checks
		hash, old := r.textOrNull(&c, "recovery_key_hash"), r.textOrNull(&c, "old_recovery_signature")
		if hash != nil && !seal.ValidHash(*hash) {
			c.add("payload.recovery_key_hash", "not_in_enum", "must be sha256: and the hex SHA-256 of the recovery key's SPKI, or null")
		}
		if len(c.list) > 0 {
			return nil, invalid(c.list)
		}
		current, err := j.store.Recovery(ctx, o.agent, o.now)
		if err != nil {
			return nil, fmt.Errorf("read recovery commitment: %w", err)
		}
		s := RecoverySetting{Expect: current, EffectiveAt: o.now.Add(PendingWait)}
		if hash != nil {
			s.Hash = *hash
		}
		if old == nil {
			if current == "" {
				s.EffectiveAt = o.now
			}
			return s, nil
		}
		// Only the hash of the old key is known, so its signature comes with
		// the key itself: 60 characters of key, a colon, 88 of signature.
		if !recoverySigned(*old, current, RecoveryProof(r.Envelope, hash)) {
			return nil, Refuse(InvalidReplacementKeyProof, "old_recovery_signature must be the old recovery key's public key, a colon and its signature over the canonical proof object")
		}
		s.EffectiveAt = o.now
		return s, nil
	})
}

func recoverySigned(text, commitment string, proof []byte) bool {
	const keyLength = 60
	if len(text) < keyLength+1 || text[keyLength] != ':' {
		return false
	}
	key, err := seal.ParsePublicKey(text[:keyLength])
	if err != nil || seal.PayloadHash(key.SPKI()) != commitment {
		return false
	}
	signature, err := seal.ParseSignature(text[keyLength+1:])
	return err == nil && key.Verify(proof, signature)
}

// UseRecovery gives the agent back to the holder of the recovery key: every
// active key is revoked and a new one takes over. The envelope is signed by
// the recovery key, whose derived id is its key_id.
func (j *Journal) UseRecovery(ctx context.Context, r OwnerRequest) (Done, error) {
	return j.durably(ctx, r, func(o *owned) (Change, error) { return j.recover(ctx, r, o) })
}

// recover proves the request under the committed recovery key.
func (j *Journal) recover(ctx context.Context, r OwnerRequest, o *owned) (Change, error) {
	if seal.PayloadHash(o.payload) != r.Envelope.PayloadHash {
		return nil, hashMismatch()
	}
	var c checks
	text := r.text(&c, "recovery_public_key")
	if len(c.list) > 0 {
		return nil, invalid(c.list)
	}
	key, err := seal.ParsePublicKey(text)
	if err != nil || seal.PublishedTestKey(key) {
		return nil, Refuse(InvalidPublicKey, "payload.recovery_public_key must be an Ed25519 key of your own as 44 bytes of DER SubjectPublicKeyInfo in standard base64")
	}
	if err := j.admitProof(r.Caller); err != nil {
		return nil, err
	}
	committed, err := j.store.Recovery(ctx, o.agent, o.now)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("read recovery commitment: %w", err)
	}
	// The signature is checked under the key in the request whether or not it
	// is the committed one: both ways cost the same.
	proven, proofErr := seal.Prove(key, o.payload, r.Envelope, o.signature)
	if proofErr != nil || committed == "" || seal.PayloadHash(key.SPKI()) != committed {
		j.disproved(r.Caller)
	}
	if committed == "" || seal.PayloadHash(key.SPKI()) != committed {
		return nil, unknownSigner()
	}
	if proofErr != nil {
		return nil, Refuse(InvalidSignature, "the signature does not verify under the recovery key")
	}
	o.proven = proven
	if err := j.timely(r, o); err != nil {
		return nil, err
	}
	fresh, err := r.newKey(purposeRecovery, key)
	if err != nil {
		return nil, err
	}
	return RecoveryUse{Hash: committed, Key: fresh}, nil
}
