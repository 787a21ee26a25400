// Package keyring derives every secret key of the service from one master key,
// a purpose at a time, and tells which master key a stored value was made with.
//
// It promises that keys of different purposes are independent (HKDF-SHA-256
// with the purpose as info, RFC 5869), that values made under an earlier
// master key stay checkable while that key is given, and that comparison takes
// constant time. No way of printing a Ring, a Key or a value that holds one
// shows a key.
package keyring

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// MasterSize is the length of a master key in bytes.
const MasterSize = 32

// ErrMasterKey reports a master key of the wrong length.
var ErrMasterKey = errors.New("keyring: a master key has 32 bytes")

// A Mac is a keyed hash and the id of the master key it stands on.
type Mac struct {
	KeyID string // 8 hex digits
	Sum   []byte // 32 bytes
}

// A Ring holds the current master key and any earlier ones.
type Ring struct{ masters []master }

type master struct {
	fingerprint string // 32 hex digits
	key         secret
}

// A secret hands out its bytes, and fmt can only print its address. Neither a
// pointer nor a String method is enough: fmt follows a pointer under a wrong
// verb, and calls no method of a field that is not exported.
type secret func() []byte

func keep(key []byte) secret { return func() []byte { return key } }

// id is what a Mac names its master key by: 8 hex digits.
func (m master) id() string { return m.fingerprint[:8] }

// New makes a ring. The first key is current and makes new values; the others
// only check old ones.
func New(current []byte, previous ...[]byte) (*Ring, error) {
	r := &Ring{}
	for _, key := range append([][]byte{current}, previous...) {
		if len(key) != MasterSize {
			return nil, ErrMasterKey
		}
		held := keep(bytes.Clone(key))
		mark, err := derive(held, "fingerprint")
		if err != nil {
			return nil, err
		}
		r.masters = append(r.masters, master{fingerprint: hex.EncodeToString(mark()[:16]), key: held})
	}
	return r, nil
}

func derive(key secret, purpose string) (secret, error) {
	derived, err := hkdf.Key(sha256.New, key(), nil, "innerloop "+purpose, MasterSize)
	if err != nil {
		return nil, fmt.Errorf("derive %s key: %w", purpose, err)
	}
	return keep(derived), nil
}

// Fingerprint identifies the current master key and reveals nothing of it: 32
// hex digits.
func (r *Ring) Fingerprint() string { return r.masters[0].fingerprint }

// Previous identifies the earlier master keys, as Fingerprint does.
func (r *Ring) Previous() []string {
	var all []string
	for _, m := range r.masters[1:] {
		all = append(all, m.fingerprint)
	}
	return all
}

// Holds tells whether what was made under a master key of this id can be read.
func (r *Ring) Holds(id string) bool {
	return slices.ContainsFunc(r.masters, func(m master) bool { return m.id() == id })
}

// Current returns the id of the current master key.
func (r *Ring) Current() string { return r.masters[0].id() }

// A Key is the key of one purpose. The zero Key equals nothing and cannot make
// a Mac.
type Key struct {
	current string
	keys    map[string]secret
}

// For returns the key of one purpose, such as "cursor" or "receipt".
func (r *Ring) For(purpose string) (Key, error) {
	k := Key{current: r.Current(), keys: map[string]secret{}}
	for _, m := range r.masters {
		derived, err := derive(m.key, purpose)
		if err != nil {
			return Key{}, err
		}
		k.keys[m.id()] = derived
	}
	return k, nil
}

// Mac hashes the parts under the current key. Each part is preceded by its
// length, so that parts cannot be shifted into one another. It panics on the
// zero Key: a hash under no key would look secret and not be.
func (k Key) Mac(parts ...[]byte) Mac {
	return Mac{KeyID: k.current, Sum: sum(k.keys[k.current], parts)}
}

// Equal tells whether mac is the keyed hash of the parts, under whichever key
// it names. A key that is not in the ring equals nothing.
func (k Key) Equal(mac Mac, parts ...[]byte) bool {
	key, ok := k.keys[mac.KeyID]
	return ok && hmac.Equal(mac.Sum, sum(key, parts))
}

func sum(key secret, parts [][]byte) []byte {
	h := hmac.New(sha256.New, key())
	for _, part := range parts {
		n := uint64(len(part))
		h.Write([]byte{byte(n >> 56), byte(n >> 48), byte(n >> 40), byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		h.Write(part)
	}
	return h.Sum(nil)
}

// EqualPrefix is Equal for a keyed hash that was cut to its first bytes, at
// least 16 of them.
func (k Key) EqualPrefix(mac Mac, parts ...[]byte) bool {
	key, ok := k.keys[mac.KeyID]
	if !ok || len(mac.Sum) < 16 || len(mac.Sum) > sha256.Size {
		return false
	}
	return hmac.Equal(mac.Sum, sum(key, parts)[:len(mac.Sum)])
}

// Current returns the id of the master key that Mac uses.
func (k Key) Current() string { return k.current }
