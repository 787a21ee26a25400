package vault_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"innerloop/coworker/vault"
	"innerloop/internal/keyring"
)

const secret = "planted-in-the-vault-0123456789"

func open(t *testing.T, master byte, previous ...byte) *vault.Vault {
	t.Helper()
	var old [][]byte
	for _, p := range previous {
		old = append(old, bytes.Repeat([]byte{p}, keyring.MasterSize))
	}
	ring, err := keyring.New(bytes.Repeat([]byte{master}, keyring.MasterSize), old...)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ring.For(vault.Purpose)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.New(key, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

var place = vault.Place{User: "user_1", Service: "ozon", Connection: "connection_1", Field: "api_key", Version: 3}

func TestAValueOpensAtItsPlaceAlone(t *testing.T) {
	t.Parallel()
	v := open(t, 1)
	wrapped := must[vault.Wrapped](t)(v.NewKey("org_1"))
	key := must[vault.Key](t)(v.Unwrap("org_1", wrapped))
	sealed := must[[]byte](t)(key.Seal(place, secret))
	if got := must[string](t)(key.Open(place, sealed)); got != secret {
		t.Fatalf("opened %q", got)
	}
	if bytes.Contains(sealed, []byte("planted")) {
		t.Error("the value lies open")
	}
	for name, change := range map[string]func(*vault.Place){
		"another user":       func(p *vault.Place) { p.User = "user_2" },
		"another service":    func(p *vault.Place) { p.Service = "github" },
		"another connection": func(p *vault.Place) { p.Connection = "connection_2" },
		"another field":      func(p *vault.Place) { p.Field = "client_id" },
		"an earlier version": func(p *vault.Place) { p.Version-- },
		"parts shifted":      func(p *vault.Place) { p.User, p.Service = "user_1o", "zon" },
	} {
		other := place
		change(&other)
		if _, err := key.Open(other, sealed); !errors.Is(err, vault.ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := v.Unwrap("org_2", wrapped); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("another organisation: %v", err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := key.Open(place, changed); !errors.Is(err, vault.ErrSealed) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	for n := range len(sealed) {
		if _, err := key.Open(place, sealed[:n]); !errors.Is(err, vault.ErrSealed) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	if again := must[[]byte](t)(key.Seal(place, secret)); bytes.Equal(again, sealed) {
		t.Error("one value is sealed alike twice")
	}
}

func TestANewMasterKeyTouchesNoValue(t *testing.T) {
	t.Parallel()
	before := open(t, 1)
	wrapped := must[vault.Wrapped](t)(before.NewKey("org_1"))
	sealed := must[[]byte](t)(must[vault.Key](t)(before.Unwrap("org_1", wrapped)).Seal(place, secret))
	both := open(t, 2, 1)
	if both.Current(wrapped) {
		t.Error("the old wrapping counts as current")
	}
	again := must[vault.Wrapped](t)(both.Rewrap("org_1", wrapped))
	after := open(t, 2)
	if got := must[string](t)(must[vault.Key](t)(after.Unwrap("org_1", again)).Open(place, sealed)); got != secret || !after.Current(again) {
		t.Errorf("opened %q", got)
	}
	if _, err := after.Unwrap("org_1", wrapped); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("the old wrapping opens without its master key: %v", err)
	}
	if _, err := both.Rewrap("org_2", wrapped); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("re-wrapped for another organisation: %v", err)
	}
}

func TestAKeyIsNeverPrinted(t *testing.T) {
	t.Parallel()
	v := open(t, 1)
	key := must[vault.Key](t)(v.Unwrap("org_1", must[vault.Wrapped](t)(v.NewKey("org_1"))))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, key); got != "vault.Key" {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	if got := vault.Tail(secret); got != "6789" {
		t.Errorf("the tail is %q", got)
	}
	if got := vault.Tail("short-secret"); got != "" {
		t.Errorf("a short secret shows %q", got)
	}
}
