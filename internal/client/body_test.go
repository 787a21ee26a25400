package client

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"innerloop/seal"
)

// The bodies are those of the protocol's vectors (12.1), byte for byte.
func TestEntryBodiesMatchTheVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../seal/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Ops map[string]struct {
			Entry     json.RawMessage   `json:"entry"`
			Envelope  map[string]string `json:"envelope"`
			Signature string            `json:"signature"`
			Sum       string            `json:"request_body_sha256"`
		} `json:"ops"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"entry_plain", "entry_unicode"} {
		v := vectors.Ops[name]
		entry, err := ParseEntry(v.Entry)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := seal.ParseSignature(v.Signature)
		if err != nil {
			t.Fatal(err)
		}
		e := v.Envelope
		body, err := entryBody(entry, seal.Envelope{
			ActorID: e["actor_id"], Action: e["action"], PayloadHash: e["payload_hash"], Nonce: e["nonce"],
			IssuedAt: e["issued_at"], ExpiresAt: e["expires_at"], KeyID: e["key_id"],
		}, signature)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != v.Sum {
			t.Errorf("%s: the body differs: %s", name, body)
		}
	}
}

func TestParseEntryNamesEveryFault(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, file, want string }{
		{"all at once", `{"title":1,"body":"b","tags":[1],"allow_replies":true,"Visibility":"public"}`, "self_reported_state is missing; visibility is missing; Visibility does not belong there; title must be a string; tags must be a list of strings; allow_replies must be false"},
		{"a list", `[]`, "one JSON object"},
		{"a key twice", `{"title":"a","title":"b"}`, "twice"},
		{"half a surrogate pair", `{"title":"\ud800"}`, "surrogate"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseEntry([]byte(row.file))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}
