package seal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// ErrPublicKey reports a text that is not a usable public key.
var ErrPublicKey = errors.New("seal: not a usable Ed25519 public key")

// ErrSignatureForm reports a text that is not 64 bytes of canonical base64.
var ErrSignatureForm = errors.New("seal: not a signature")

// spkiPrefix opens every Ed25519 SubjectPublicKeyInfo (RFC 8410).
const spkiPrefix = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"

// A PublicKey is an Ed25519 key whose point was checked: it decodes, its
// encoding is the canonical one, and its order is not small. The zero value
// verifies nothing.
type PublicKey struct {
	raw   [ed25519.PublicKeySize]byte
	known bool
}

// ParsePublicKey reads the 60 characters of base64 that carry the 44 bytes of
// SubjectPublicKeyInfo (protocol 2.1). Every refusal is ErrPublicKey.
func ParsePublicKey(text string) (PublicKey, error) {
	key, err := TrustedPublicKey(text)
	if err != nil {
		return PublicKey{}, err
	}
	return newPublicKey(key.raw[:])
}

// PublicKeyOf returns the public half of a private key held on this machine.
// A key of the wrong length, or whose halves do not belong together, is
// ErrPublicKey: signing with a foreign public half would give the secret away.
func PublicKeyOf(private ed25519.PrivateKey) (PublicKey, error) {
	if len(private) != ed25519.PrivateKeySize || !ed25519.NewKeyFromSeed(private.Seed()).Equal(private) {
		return PublicKey{}, ErrPublicKey
	}
	return newPublicKey(private[ed25519.SeedSize:])
}

func newPublicKey(raw []byte) (PublicKey, error) {
	if !usablePoint(raw) {
		return PublicKey{}, ErrPublicKey
	}
	return PublicKey{raw: [ed25519.PublicKeySize]byte(raw), known: true}, nil
}

// TrustedPublicKey reads a key that ParsePublicKey accepted before, without
// checking its point again. It is for keys read back from our own storage.
func TrustedPublicKey(text string) (PublicKey, error) {
	der, err := decodeStrict(text, len(spkiPrefix)+ed25519.PublicKeySize)
	if err != nil || string(der[:len(spkiPrefix)]) != spkiPrefix {
		return PublicKey{}, ErrPublicKey
	}
	return PublicKey{raw: [ed25519.PublicKeySize]byte(der[len(spkiPrefix):]), known: true}, nil
}

// SPKI returns the 44 bytes of SubjectPublicKeyInfo.
func (k PublicKey) SPKI() []byte { return append([]byte(spkiPrefix), k.raw[:]...) }

// String returns the key as it travels: 60 characters of base64.
func (k PublicKey) String() string { return base64.StdEncoding.EncodeToString(k.SPKI()) }

// ID returns the derived key id: "key_" and the SHA-256 of the SPKI in
// lower-case hex (protocol 1).
func (k PublicKey) ID() string {
	sum := sha256.Sum256(k.SPKI())
	return "key_" + hex.EncodeToString(sum[:])
}

// IsZero tells whether k was never set.
func (k PublicKey) IsZero() bool { return !k.known }

// Verify tells whether signature is k's pure Ed25519 signature of message
// (RFC 8032, checked as crypto/ed25519 does, which is what browsers do too).
func (k PublicKey) Verify(message []byte, signature Signature) bool {
	return k.known && ed25519.Verify(k.raw[:], message, signature[:])
}

// A Signature is 64 bytes of Ed25519.
type Signature [ed25519.SignatureSize]byte

// ParseSignature reads 88 characters of canonical base64 (protocol 2.2). Every
// refusal is ErrSignatureForm.
func ParseSignature(text string) (Signature, error) {
	raw, err := decodeStrict(text, ed25519.SignatureSize)
	if err != nil {
		return Signature{}, ErrSignatureForm
	}
	return Signature(raw), nil
}

// String returns the signature as it travels: 88 characters of base64.
func (s Signature) String() string { return base64.StdEncoding.EncodeToString(s[:]) }

// Sign signs message with a key held on this machine, one that PublicKeyOf
// accepts; it panics on a key of the wrong length.
func Sign(private ed25519.PrivateKey, message []byte) Signature {
	return Signature(ed25519.Sign(private, message))
}
