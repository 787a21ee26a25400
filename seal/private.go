package seal

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
)

// ErrPrivateKey reports bytes that are not an Ed25519 private key in PEM.
var ErrPrivateKey = errors.New("seal: not an Ed25519 private key in PKCS#8 PEM")

// A PrivateKey signs on the machine that holds it. It prints as a fixed word
// under every verb, so that no log or error can carry it. The zero value signs
// nothing and panics when asked to.
type PrivateKey struct{ raw ed25519.PrivateKey }

// GenerateKey makes a key from 32 bytes of random. The same bytes make the
// same key (RFC 8032 section 5.1.5).
func GenerateKey(random io.Reader) (PrivateKey, error) {
	var seed [ed25519.SeedSize]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return PrivateKey{}, fmt.Errorf("read randomness: %w", err)
	}
	return PrivateKey{raw: ed25519.NewKeyFromSeed(seed[:])}, nil
}

// ParsePrivateKey reads what PEM wrote: one PKCS#8 block (RFC 8410) and
// nothing after it. Every refusal is ErrPrivateKey.
func ParsePrivateKey(text []byte) (PrivateKey, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" || len(rest) != 0 {
		return PrivateKey{}, ErrPrivateKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return PrivateKey{}, ErrPrivateKey // the cause may quote the key
	}
	raw, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return PrivateKey{}, ErrPrivateKey
	}
	return PrivateKey{raw: raw}, nil
}

// PEM writes the key for a file that only its owner can read.
func (k PrivateKey) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.raw)
	if err != nil {
		return nil, ErrPrivateKey
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Public returns the public half.
func (k PrivateKey) Public() (PublicKey, error) { return PublicKeyOf(k.raw) }

// Sign returns the pure Ed25519 signature of message.
func (k PrivateKey) Sign(message []byte) Signature { return Sign(k.raw, message) }

// Format hides the key from every verb of fmt.
func (PrivateKey) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "[private key]") }

// MarshalText refuses: a private key has no text form but PEM.
func (PrivateKey) MarshalText() ([]byte, error) { return nil, ErrPrivateKey }
