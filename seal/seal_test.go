package seal

import (
	"encoding/json"
	"os"
	"testing"
)

func TestVectorsSmoke(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Keys []struct {
			PublicKey string `json:"public_key"`
			KeyID     string `json:"key_id"`
		}
		Ops map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	for _, k := range v.Keys {
		key, err := ParsePublicKey(k.PublicKey)
		if err != nil || key.ID() != k.KeyID || key.String() != k.PublicKey {
			t.Fatalf("key %s: %v", k.KeyID, err)
		}
	}
}
