package seal

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// What Prove refuses.
var (
	ErrPayloadHash = errors.New("seal: payload does not have the hash in the envelope")
	ErrSigningKey  = errors.New("seal: key is not the one the envelope names")
	ErrSignature   = errors.New("seal: signature does not verify")
)

// A Proven is a payload whose envelope was signed by a known key. Only Prove
// makes one, so a store that takes a Proven cannot be handed anything else;
// the zero Proven is not valid.
type Proven struct {
	payload   []byte
	canonical []byte
	envelope  Envelope
	signature Signature
	key       PublicKey
	valid     bool
}

// Prove checks that payload (canonical bytes) has the hash the envelope names,
// that key is the key the envelope names, and that signature is that key's
// signature over the canonical envelope. It does not look at the clock, at who
// owns the key, or at what the payload says. Bytes that are not UTF-8 have no
// canonical form: in the payload they are ErrPayloadHash, in the envelope
// ErrSignature. The payload is copied, so the caller may reuse its buffer.
func Prove(key PublicKey, payload []byte, envelope Envelope, signature Signature) (Proven, error) {
	payload = bytes.Clone(payload)
	if !utf8.Valid(payload) || PayloadHash(payload) != envelope.PayloadHash {
		return Proven{}, ErrPayloadHash
	}
	if key.IsZero() || key.ID() != envelope.KeyID {
		return Proven{}, ErrSigningKey
	}
	canonical := envelope.Canonical()
	if !utf8.Valid(canonical) || !key.Verify(canonical, signature) {
		return Proven{}, ErrSignature
	}
	return Proven{
		payload: payload, canonical: canonical, envelope: envelope,
		signature: signature, key: key, valid: true,
	}, nil
}

// Valid tells whether p came from Prove.
func (p Proven) Valid() bool { return p.valid }

// Payload returns the canonical payload. The caller must not change it.
func (p Proven) Payload() []byte { return p.payload }

// CanonicalEnvelope returns the signed bytes. The caller must not change them.
func (p Proven) CanonicalEnvelope() []byte { return p.canonical }

// Envelope returns the seven fields.
func (p Proven) Envelope() Envelope { return p.envelope }

// Signature returns the signature over CanonicalEnvelope.
func (p Proven) Signature() Signature { return p.signature }

// Key returns the key that signed.
func (p Proven) Key() PublicKey { return p.key }
