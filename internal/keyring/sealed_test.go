package keyring

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
)

func TestSealedTextOpensForItsKeyAndPlaceAlone(t *testing.T) {
	t.Parallel()
	old := key(t, ring(t, 1), "a2a reply")
	text, place := []byte("the reply"), []byte("message 1")
	sealed, err := old.Seal(rand.Reader, text, place)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed.Box, text) {
		t.Error("the text can be read")
	}
	again, err := old.Seal(rand.Reader, text, place)
	if err != nil || bytes.Equal(again.Box, sealed.Box) {
		t.Errorf("two seals of one text are equal: %v", err)
	}
	for name, k := range map[string]Key{"its own": old, "a ring that rotated": key(t, ring(t, 2, 1), "a2a reply")} {
		if got, err := k.Open(sealed, place); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	flipped := bytes.Clone(sealed.Box)
	flipped[len(flipped)-1] ^= 1
	rotated := key(t, ring(t, 2, 1), "a2a reply")
	for name, open := range map[string]func() ([]byte, error){
		"another place":           func() ([]byte, error) { return rotated.Open(sealed, []byte("message 2")) },
		"another purpose":         func() ([]byte, error) { return key(t, ring(t, 1), "receipt").Open(sealed, place) },
		"a key that is gone":      func() ([]byte, error) { return key(t, ring(t, 2), "a2a reply").Open(sealed, place) },
		"a key id that is forged": func() ([]byte, error) { return rotated.Open(Sealed{rotated.Current(), sealed.Box}, place) },
		"a flipped bit":           func() ([]byte, error) { return rotated.Open(Sealed{sealed.KeyID, flipped}, place) },
		"a box cut short":         func() ([]byte, error) { return rotated.Open(Sealed{sealed.KeyID, sealed.Box[:11]}, place) },
		"nothing":                 func() ([]byte, error) { return rotated.Open(Sealed{KeyID: sealed.KeyID}, place) },
		"the zero key":            func() ([]byte, error) { return Key{}.Open(sealed, place) },
	} {
		if got, err := open(); !errors.Is(err, ErrSealed) || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := old.Seal(strings.NewReader("short"), text, place); err == nil {
		t.Error("sealed without randomness")
	}
}
