package seal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"innerloop/seal"
)

func TestPrivateKeySurvivesPEM(t *testing.T) {
	t.Parallel()
	key, err := seal.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	again, err := seal.ParsePrivateKey(text)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.Public()
	if err != nil {
		t.Fatal(err)
	}
	if !public.Verify([]byte("first light"), again.Sign([]byte("first light"))) {
		t.Error("the key read back does not sign for the same public key")
	}
	for _, bad := range []string{"", string(text) + "x", strings.Replace(string(text), "PRIVATE", "PUBLIC", 2), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := seal.ParsePrivateKey([]byte(bad)); err != seal.ErrPrivateKey {
			t.Errorf("%q: got %v, want ErrPrivateKey", bad, err)
		}
	}
}

func TestPrivateKeyNeverPrints(t *testing.T) {
	t.Parallel()
	key, err := seal.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(verb, key); got != "[private key]" {
			t.Errorf("%s prints %q", verb, got)
		}
	}
	if text, err := json.Marshal(key); err == nil {
		t.Errorf("JSON made %s", text)
	}
}
