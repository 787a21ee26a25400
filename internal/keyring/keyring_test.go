package keyring

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func ring(t *testing.T, current byte, previous ...byte) *Ring {
	t.Helper()
	var old [][]byte
	for _, p := range previous {
		old = append(old, bytes.Repeat([]byte{p}, MasterSize))
	}
	r, err := New(bytes.Repeat([]byte{current}, MasterSize), old...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func key(t *testing.T, r *Ring, purpose string) Key {
	t.Helper()
	k, err := r.For(purpose)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestMacSurvivesRotationAndNothingElse(t *testing.T) {
	t.Parallel()
	old := key(t, ring(t, 1), "receipt").Mac([]byte("a"), []byte("b"))
	rotated := key(t, ring(t, 2, 1), "receipt")
	if !rotated.Equal(old, []byte("a"), []byte("b")) {
		t.Error("a value made under the previous key must still check")
	}
	for name, equal := range map[string]bool{
		"other parts":         rotated.Equal(old, []byte("a"), []byte("c")),
		"shifted parts":       rotated.Equal(old, []byte("ab"), nil),
		"other purpose":       key(t, ring(t, 2, 1), "cursor").Equal(old, []byte("a"), []byte("b")),
		"key no longer given": key(t, ring(t, 2), "receipt").Equal(old, []byte("a"), []byte("b")),
		"forged key id":       rotated.Equal(Mac{KeyID: ring(t, 2).Current(), Sum: old.Sum}, []byte("a"), []byte("b")),
	} {
		if equal {
			t.Errorf("%s: must not be equal", name)
		}
	}
}

func TestMasterKeyHasOneLength(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 31, 33} {
		if _, err := New(make([]byte, size)); err == nil {
			t.Errorf("%d bytes accepted", size)
		}
	}
	if ring(t, 1).Fingerprint() == ring(t, 2).Fingerprint() {
		t.Error("two keys share a fingerprint")
	}
}

// Stored receipts, cursors and the fingerprint stand on these values: they
// were computed apart from this code, by RFC 5869 and RFC 2104 in Python.
func TestDerivationStaysTheSame(t *testing.T) {
	t.Parallel()
	r := ring(t, 1)
	if r.Fingerprint() != "f7c27e197701775d7e20ca388d72237d" || r.Current() != "f7c27e19" {
		t.Errorf("fingerprint %s, id %s", r.Fingerprint(), r.Current())
	}
	mac := key(t, r, "receipt").Mac([]byte("a"), []byte("bc"))
	if got := hex.EncodeToString(mac.Sum); got != "39bdeea249d3a9616771c4771be420ac2da8fad069e6be61325566165fbd8000" || mac.KeyID != "f7c27e19" {
		t.Errorf("sum %s under %s", got, mac.KeyID)
	}
}

func TestKeysAreNeverPrinted(t *testing.T) {
	t.Parallel()
	r, err := New([]byte("MASTERMASTERMASTERMASTERMASTER!!"), bytes.Repeat([]byte{0xab}, MasterSize))
	if err != nil {
		t.Fatal(err)
	}
	k := key(t, r, "vault")
	derived := k.keys[k.current]()
	held := struct {
		ring *Ring
		key  Key
	}{r, k}
	for _, value := range []any{r, *r, k, &k, held, &held, []any{r, k}, map[string]any{"k": k}} {
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		printed := []string{string(asJSON)}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			printed = append(printed, fmt.Sprintf(verb, value))
		}
		for _, text := range printed {
			for _, secret := range [][]byte{[]byte("MASTERMASTER"), bytes.Repeat([]byte{0xab}, 8), derived[:8]} {
				for _, spelled := range []string{
					string(secret), hex.EncodeToString(secret), strings.Trim(fmt.Sprint(secret), "[]"),
					strings.Trim(fmt.Sprintf("%#v", secret), "[]byte{}"),
				} {
					if strings.Contains(strings.ToLower(text), strings.ToLower(spelled)) {
						t.Errorf("%T printed as %s", value, text)
					}
				}
			}
		}
	}
}

func TestZeroKeyIsNoKey(t *testing.T) {
	t.Parallel()
	if (Key{}).Equal(Mac{}) {
		t.Error("the zero Key equals the zero Mac")
	}
	defer func() {
		if recover() == nil {
			t.Error("the zero Key made a Mac")
		}
	}()
	Key{}.Mac([]byte("a"))
}

func TestRingOwnsItsKeys(t *testing.T) {
	t.Parallel()
	raw := bytes.Repeat([]byte{1}, MasterSize)
	r, err := New(raw)
	if err != nil {
		t.Fatal(err)
	}
	before := key(t, r, "receipt").Mac([]byte("a"))
	clear(raw)
	if !key(t, r, "receipt").Equal(before, []byte("a")) {
		t.Error("the ring changed with the caller's buffer")
	}
}
