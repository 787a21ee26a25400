package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"innerloop/internal/keyring"
)

// ErrSealed reports a value that does not open: it was changed, belongs
// elsewhere, or its key is not here.
var ErrSealed = errors.New("vault: the value does not open")

// Purpose is what the vault's part of the master key is derived for.
const Purpose = "vault"

const keySize = 32

// A Vault wraps and unwraps data keys. It is safe for concurrent use.
type Vault struct {
	master keyring.Key
	random io.Reader // safe for concurrent use
}

// New makes a vault over the master key's part for Purpose.
func New(master keyring.Key, random io.Reader) (*Vault, error) {
	if master.Current() == "" || random == nil {
		return nil, errors.New("vault: a master key and randomness are required")
	}
	return &Vault{master, random}, nil
}

// Wrapped is a data key as it is stored.
type Wrapped = keyring.Sealed

// NewKey makes the data key of an organisation.
func (v *Vault) NewKey(organization string) (Wrapped, error) {
	key := make([]byte, keySize)
	if _, err := io.ReadFull(v.random, key); err != nil {
		return Wrapped{}, fmt.Errorf("make a data key: %w", err)
	}
	return v.master.Seal(v.random, key, bound("data key", organization))
}

// Current tells whether a data key is wrapped under the current master key.
func (v *Vault) Current(w Wrapped) bool { return w.KeyID == v.master.Current() }

// Rewrap wraps a data key under the current master key.
func (v *Vault) Rewrap(organization string, w Wrapped) (Wrapped, error) {
	key, err := v.master.Open(w, bound("data key", organization))
	if err != nil {
		return Wrapped{}, ErrSealed
	}
	return v.master.Seal(v.random, key, bound("data key", organization))
}

// A Key is the data key of an organisation, unwrapped. It cannot be printed.
type Key struct {
	aead   cipher.AEAD
	random io.Reader
	of     string
}

// Unwrap opens a data key.
func (v *Vault) Unwrap(organization string, w Wrapped) (Key, error) {
	raw, err := v.master.Open(w, bound("data key", organization))
	if err != nil || len(raw) != keySize {
		return Key{}, ErrSealed
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return Key{}, fmt.Errorf("open a data key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return Key{}, fmt.Errorf("open a data key: %w", err)
	}
	return Key{aead, v.random, organization}, nil
}

// A Place is where a value belongs. Version grows with every change of the
// connection, so that an older value cannot be put back.
type Place struct {
	User       string // empty: the whole organisation's
	Service    string
	Connection string
	Field      string
	Version    int64
}

func (k Key) bound(p Place) []byte {
	return binary.BigEndian.AppendUint64(bound("field", k.of, p.User, p.Service, p.Connection, p.Field), uint64(p.Version))
}

// Seal encrypts a value for its place: 12 bytes of nonce, then the ciphertext
// with its tag. The nonce is random, so one data key is good for some four
// thousand million values.
func (k Key) Seal(p Place, value string) ([]byte, error) {
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(value)+k.aead.Overhead())
	if _, err := io.ReadFull(k.random, nonce); err != nil {
		return nil, fmt.Errorf("seal a value: %w", err)
	}
	return k.aead.Seal(nonce, nonce, []byte(value), k.bound(p)), nil
}

// Open decrypts a value at its place.
func (k Key) Open(p Place, sealed []byte) (string, error) {
	if len(sealed) < k.aead.NonceSize() {
		return "", ErrSealed
	}
	value, err := k.aead.Open(nil, sealed[:k.aead.NonceSize()], sealed[k.aead.NonceSize():], k.bound(p))
	if err != nil {
		return "", ErrSealed
	}
	return string(value), nil
}

// Format keeps fmt from printing a key under any verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "vault.Key") }

// Tail is what a list shows of a secret: its last four characters, when it is
// long enough that they give nothing away.
func Tail(value string) string {
	const shown, least = 4, 16
	runes := []rune(value)
	if len(runes) < least {
		return ""
	}
	return string(runes[len(runes)-shown:])
}

// bound joins parts so that none can be shifted into another.
func bound(parts ...string) []byte {
	var out []byte
	for _, p := range parts {
		out = binary.BigEndian.AppendUint64(out, uint64(len(p)))
		out = append(out, p...)
	}
	return out
}
