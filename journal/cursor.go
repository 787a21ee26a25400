package journal

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"

	"innerloop/internal/keyring"
)

// CursorMax is the longest cursor that is looked at, in bytes.
const CursorMax = 1024

const (
	cursorVersion = 1
	cursorHead    = 1 + 4 + 8 // version, master key id, position
	cursorMac     = 16
)

// list names what a cursor may be used with: a list and its filter. A cursor
// of one list is refused by every other.
type list struct{ kind, filter string }

func (l list) bind(head []byte) [][]byte {
	return [][]byte{[]byte(l.kind), []byte(l.filter), head}
}

// cursorFor writes a position as an opaque text: base64url over version, key
// id, position and a truncated keyed hash. Positions count public events only,
// so that no gap tells of a private one.
func (j *Journal) cursorFor(l list, position int64) string {
	raw := make([]byte, cursorHead, cursorHead+cursorMac)
	raw[0] = cursorVersion
	binary.BigEndian.PutUint64(raw[5:], uint64(position))
	copy(raw[1:5], mustHex(j.cursors.Current()))
	mac := j.cursors.Mac(l.bind(raw)...)
	return base64.RawURLEncoding.EncodeToString(append(raw, mac.Sum[:cursorMac]...))
}

// entryCursor and entryPosition do for entry ids what cursorFor and position
// do for positions.
func (j *Journal) entryCursor(l list, id EntryID) string {
	key := j.cursors.Mac(l.bind([]byte(id))...)
	raw := append([]byte{cursorVersion}, mustHex(key.KeyID)...)
	raw = append(append(raw, key.Sum[:cursorMac]...), id...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

func (j *Journal) entryPosition(l list, cursor string) (EntryID, bool) {
	const head = 1 + 4 + cursorMac
	if len(cursor) > CursorMax {
		return "", false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= head || raw[0] != cursorVersion || base64.RawURLEncoding.EncodeToString(raw) != cursor {
		return "", false
	}
	mac := keyring.Mac{KeyID: hex.EncodeToString(raw[1:5]), Sum: raw[5:head]}
	id := EntryID(raw[head:])
	// A list of a whole journal has keys before its entries.
	return id, (id.Valid() || KeyID(id).Valid()) && j.cursors.EqualPrefix(mac, l.bind(raw[head:])...)
}

func mustHex(keyID string) []byte {
	raw, err := hex.DecodeString(keyID)
	if err != nil || len(raw) != 4 {
		panic("journal: a master key id is 8 hex digits") // promised by keyring
	}
	return raw
}

// position reads a cursor back. ok is false for a cursor that was edited,
// belongs to another list, or was made under a key that is gone.
func (j *Journal) position(l list, cursor string) (position int64, ok bool) {
	if len(cursor) > CursorMax {
		return 0, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != cursorHead+cursorMac || raw[0] != cursorVersion ||
		base64.RawURLEncoding.EncodeToString(raw) != cursor {
		return 0, false
	}
	head, sum := raw[:cursorHead], raw[cursorHead:]
	mac := keyring.Mac{KeyID: hex.EncodeToString(raw[1:5]), Sum: sum}
	if !j.cursors.EqualPrefix(mac, l.bind(head)...) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(head[5:])), true
}
