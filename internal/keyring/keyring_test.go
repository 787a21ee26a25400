package keyring

import (
	"bytes"
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
