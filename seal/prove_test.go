package seal

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"
)

// signed returns a payload with an envelope and a signature that prove.
func signed(t testing.TB, private ed25519.PrivateKey, payload []byte, nonce string) (PublicKey, Envelope, Signature) {
	t.Helper()
	key, err := PublicKeyOf(private)
	if err != nil {
		t.Fatal(err)
	}
	envelope := Envelope{
		ActorID: "agent_test", Action: ActionEntryCreate, PayloadHash: PayloadHash(payload), Nonce: nonce,
		IssuedAt: "2026-09-01T10:00:00.000Z", ExpiresAt: "2026-09-01T10:05:00.000Z", KeyID: key.ID(),
	}
	return key, envelope, Sign(private, envelope.Canonical())
}

func TestProvenCarriesWhatWasSigned(t *testing.T) {
	t.Parallel()
	private, _ := keyFromLabel(t, "proven")
	payload := troubled().Canonical()
	key, envelope, signature := signed(t, private, payload, "n")
	proven, err := Prove(key, payload, envelope, signature)
	if err != nil || !proven.Valid() {
		t.Fatal(err)
	}
	original := slices.Clone(payload)
	for i := range payload { // the caller's buffer serves the next request
		payload[i] = '#'
	}
	if !bytes.Equal(proven.Payload(), original) || !bytes.Equal(proven.CanonicalEnvelope(), envelope.Canonical()) ||
		proven.Envelope() != envelope || proven.Signature() != signature || proven.Key() != key {
		t.Error("the proof carries something else")
	}
	if again, err := Prove(proven.Key(), proven.Payload(), proven.Envelope(), proven.Signature()); err != nil || !again.Valid() {
		t.Errorf("what a proof carries does not prove: %v", err)
	}
	_ = append(proven.Payload(), "tail"...)
	if PayloadHash(proven.Payload()) != envelope.PayloadHash {
		t.Error("appending to the payload changed it")
	}
}

func TestZeroProvenIsNotValid(t *testing.T) {
	t.Parallel()
	if (Proven{}).Valid() {
		t.Error("the zero Proven is valid")
	}
	private, _ := keyFromLabel(t, "zero")
	key, envelope, signature := signed(t, private, []byte("{}"), "n")
	envelope.Nonce = "m"
	if proven, err := Prove(key, []byte("{}"), envelope, signature); err == nil || proven.Valid() || proven.Payload() != nil {
		t.Error("a refusal carries something")
	}
}

// The hash is looked at before the key and the key before the signature: the
// code an agent sees must name the first thing wrong (protocol 6.3).
func TestProveNamesTheFirstFault(t *testing.T) {
	t.Parallel()
	private, _ := keyFromLabel(t, "first")
	_, other := keyFromLabel(t, "second")
	key, envelope, _ := signed(t, private, []byte("{}"), "n")
	if _, err := Prove(other, []byte("[]"), envelope, Signature{}); !errors.Is(err, ErrPayloadHash) {
		t.Errorf("all three wrong: %v", err)
	}
	if _, err := Prove(other, []byte("{}"), envelope, Signature{}); !errors.Is(err, ErrSigningKey) {
		t.Errorf("key and signature wrong: %v", err)
	}
	if _, err := Prove(key, []byte("{}"), envelope, Signature{}); !errors.Is(err, ErrSignature) {
		t.Errorf("signature wrong: %v", err)
	}
}

// Bytes that are not UTF-8 are nobody's canonical JSON, even with a fitting
// hash and a signature over them.
func TestBrokenTextNeverProves(t *testing.T) {
	t.Parallel()
	private, _ := keyFromLabel(t, "broken")
	for _, broken := range []string{"\xff", "\xed\xa0\x80", "caf\xc3"} {
		payload := Entry{Title: broken}.Canonical()
		key, envelope, signature := signed(t, private, payload, "n")
		if _, err := Prove(key, payload, envelope, signature); !errors.Is(err, ErrPayloadHash) {
			t.Errorf("payload with %q: %v", broken, err)
		}
		key, envelope, signature = signed(t, private, []byte("{}"), broken)
		if _, err := Prove(key, []byte("{}"), envelope, signature); !errors.Is(err, ErrSignature) {
			t.Errorf("envelope with %q: %v", broken, err)
		}
	}
}

// Text cannot move from one field of the envelope into another and keep its
// signature.
func TestEnvelopeFieldsDoNotFlow(t *testing.T) {
	t.Parallel()
	private, _ := keyFromLabel(t, "flow")
	key, envelope, signature := signed(t, private, []byte("{}"), `n","payload_hash":"x`)
	for name, change := range map[string]func(*Envelope){
		"quotation in the nonce": func(e *Envelope) { e.Nonce = "n" },
		"actor into action":      func(e *Envelope) { e.Action, e.ActorID = e.Action+`","actor_id":"`+e.ActorID, "" },
		"times exchanged":        func(e *Envelope) { e.IssuedAt, e.ExpiresAt = e.ExpiresAt, e.IssuedAt },
	} {
		changed := envelope
		change(&changed)
		if _, err := Prove(key, []byte("{}"), changed, signature); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
