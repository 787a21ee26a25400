package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
)

// ErrSealed reports a text that does not open: its key is not in the ring, or
// it was changed, or it is bound to something else.
var ErrSealed = errors.New("keyring: the sealed text does not open")

// A Sealed text is encrypted and authenticated (AES-256-GCM) under the master
// key that KeyID names.
type Sealed struct {
	KeyID string // 8 hex digits
	Box   []byte // 12 bytes of nonce, then the ciphertext with its tag
}

// Seal encrypts text under the current key. It opens only together with the
// same bound bytes, which are not part of it: where the text belongs. The
// nonce is random, so one key is good for some four thousand million texts.
// Seal panics on the zero Key.
func (k Key) Seal(random io.Reader, text, bound []byte) (Sealed, error) {
	aead, err := newAEAD(k.keys[k.current])
	if err != nil {
		return Sealed{}, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(text)+aead.Overhead())
	if _, err := io.ReadFull(random, nonce); err != nil {
		return Sealed{}, fmt.Errorf("read randomness: %w", err)
	}
	return Sealed{KeyID: k.current, Box: aead.Seal(nonce, nonce, text, bound)}, nil
}

// Open decrypts what Seal made under the current or an earlier key, or
// returns ErrSealed.
func (k Key) Open(s Sealed, bound []byte) ([]byte, error) {
	key, ok := k.keys[s.KeyID]
	if !ok {
		return nil, ErrSealed
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	if len(s.Box) < aead.NonceSize() {
		return nil, ErrSealed
	}
	text, err := aead.Open(nil, s.Box[:aead.NonceSize()], s.Box[aead.NonceSize():], bound)
	if err != nil {
		return nil, ErrSealed
	}
	return text, nil
}

func newAEAD(key secret) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key())
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return cipher.NewGCM(block)
}
