package seal

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestVectorKeys(t *testing.T) {
	t.Parallel()
	for _, v := range get(t, readVectors(t).Value, "keys").Items() {
		private, key := keyFromLabel(t, text(t, v, "label"))
		if got := hex.EncodeToString(private.Seed()); got != text(t, v, "seed_hex") {
			t.Errorf("seed %s", got)
		}
		if got := hex.EncodeToString(key.SPKI()); got != text(t, v, "spki_hex") {
			t.Errorf("SPKI %s", got)
		}
		parsed, err := ParsePublicKey(text(t, v, "public_key"))
		if err != nil || parsed != key || key.String() != text(t, v, "public_key") || key.ID() != text(t, v, "key_id") {
			t.Errorf("%s: key %s, id %s, %v", text(t, v, "label"), key, key.ID(), err)
		}
		if trusted, err := TrustedPublicKey(text(t, v, "public_key")); err != nil || trusted != key {
			t.Errorf("a key read back from storage differs: %v", err)
		}
		if public, err := x509.ParsePKIXPublicKey(key.SPKI()); err != nil || !private.Public().(ed25519.PublicKey).Equal(public) {
			t.Errorf("the standard library reads the SPKI differently: %v", err)
		}
	}
}

func TestVectorRegistration(t *testing.T) {
	t.Parallel()
	v := get(t, readVectors(t).Value, "registration")
	private, key := keyFromLabel(t, "compat vector key A")
	message := "agent-journal-registration-v1:" + text(t, v, "challenge_id") + ":" + text(t, v, "challenge")
	if message != text(t, v, "signing_message") || key.String() != text(t, v, "public_key") {
		t.Fatal("the vector does not hang together")
	}
	if got := Sign(private, []byte(message)); got.String() != text(t, v, "signature") {
		t.Errorf("signature %s", got)
	}
	signature, err := ParseSignature(text(t, v, "signature"))
	if err != nil || !key.Verify([]byte(message), signature) {
		t.Errorf("the signature does not verify: %v", err)
	}
	if key.Verify([]byte(message+"\n"), signature) {
		t.Error("the signature verifies with a line feed after the message")
	}
}

// Protocol 12.5: the value of x-innerloop-registration-vector carries key A as
// PKCS#8 and signs the same message.
func TestVectorPKCS8(t *testing.T) {
	t.Parallel()
	der := []byte{48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32, 137, 237, 70, 129, 81, 124, 86, 173, 144, 229, 36, 76, 244, 22, 49, 169, 191, 237, 119, 43, 0, 164, 148, 3, 24, 118, 49, 146, 30, 225, 96, 80}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		t.Fatal(err)
	}
	private := parsed.(ed25519.PrivateKey)
	key, err := PublicKeyOf(private)
	v := get(t, readVectors(t).Value, "registration")
	if err != nil || key.String() != text(t, v, "public_key") || Sign(private, []byte(text(t, v, "signing_message"))).String() != text(t, v, "signature") {
		t.Errorf("the PKCS#8 key is not key A: %v", err)
	}
}

func TestVectorOperations(t *testing.T) {
	t.Parallel()
	file := readVectors(t)
	private, key := keyFromLabel(t, "compat vector key A")
	for _, op := range get(t, file.Value, "ops").Members() {
		t.Run(op.Name, func(t *testing.T) {
			t.Parallel()
			v, payloadName := op.Value, "payload"
			payload, ok := v.Get(payloadName)
			if !ok {
				payloadName = "entry"
				payload = get(t, v, payloadName)
			}
			canonical, err := Canonical(plainly(payload))
			if err != nil || string(canonical) != text(t, v, "canonical_payload") || len(canonical) != count(t, v, "canonical_payload_bytes") {
				t.Fatalf("canonical payload of %d bytes: %s, %v", len(canonical), canonical, err)
			}
			if got := PayloadHash(canonical); got != text(t, v, "payload_hash") || !ValidHash(got) {
				t.Errorf("payload hash %s", got)
			}
			envelope := envelopeOf(t, get(t, v, "envelope"))
			if envelope.Action != text(t, v, "action") || string(envelope.Canonical()) != text(t, v, "canonical_envelope") {
				t.Errorf("canonical envelope %s", envelope.Canonical())
			}
			if general, err := Canonical(plainly(get(t, v, "envelope"))); err != nil || !bytes.Equal(general, envelope.Canonical()) {
				t.Errorf("the two encoders differ: %s, %v", general, err)
			}
			if back, err := ParseEnvelope(envelope.Canonical()); err != nil || back != envelope {
				t.Errorf("the envelope does not come back: %v", err)
			}
			signature, err := ParseSignature(text(t, v, "signature"))
			if err != nil || Sign(private, envelope.Canonical()) != signature {
				t.Errorf("another signature, %v", err)
			}
			proven, err := Prove(key, canonical, envelope, signature)
			if err != nil || !proven.Valid() {
				t.Fatalf("the operation does not prove: %v", err)
			}
			body := append([]byte(nil), `{"`+payloadName+`":`...)
			body = compact(body, payload)
			body = compact(append(body, `,"envelope":`...), get(t, v, "envelope"))
			body = compact(append(body, `,"signature":`...), get(t, v, "signature"))
			body = append(body, '}')
			sum := sha256.Sum256(body)
			if len(body) != count(t, v, "request_body_bytes") || hex.EncodeToString(sum[:]) != text(t, v, "request_body_sha256") {
				t.Errorf("request body of %d bytes: %s", len(body), body)
			}
			if payloadName == "entry" {
				entry := entryOf(t, payload)
				back, err := ParseEntry(canonical)
				if err != nil || !sameEntry(back, entry) || !bytes.Equal(entry.Canonical(), canonical) {
					t.Errorf("the entry does not come back: %v", err)
				}
			}
		})
	}
}

func TestVectorRotationProof(t *testing.T) {
	t.Parallel()
	v := readVectors(t).op(t, "key_rotate")
	private, key := keyFromLabel(t, "compat vector key B")
	proof, err := Canonical(plainly(get(t, v, "proof")))
	if err != nil || string(proof) != text(t, v, "canonical_proof") {
		t.Fatalf("canonical proof %s, %v", proof, err)
	}
	if got := Sign(private, proof); got.String() != text(t, v, "new_key_signature") || !key.Verify(proof, got) {
		t.Errorf("signature of the new key %s", got)
	}
	if _, current := keyFromLabel(t, "compat vector key A"); current.Verify(proof, Sign(private, proof)) {
		t.Error("the proof verifies under the current key too")
	}
}

// The cross-check of protocol 4.2 fixes the hash of a published sample whose
// whole text is not given here, so only its form is held.
func TestHashForm(t *testing.T) {
	t.Parallel()
	const good = "sha256:4f716cb36e4a824ca0d79992cb67bc5da9e340eb0674626961ab515c0963b134"
	if !ValidHash(good) {
		t.Error("a good hash is refused")
	}
	for name, text := range map[string]string{
		"upper case":      "sha256:" + strings.ToUpper(good[7:]),
		"upper prefix":    "SHA256:" + good[7:],
		"no prefix":       good[7:],
		"a digit short":   good[:len(good)-1],
		"a digit more":    good + "0",
		"line feed":       good + "\n",
		"space before":    " " + good,
		"not hex":         good[:len(good)-1] + "g",
		"full-width zero": good[:len(good)-3] + "\uff10",
		"empty":           "",
	} {
		if ValidHash(text) {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The rows of protocol 12.3 that this layer decides. The plain entry is
// changed in one thing; re-signed rows carry a signature of their own.
func TestNegativeVectors(t *testing.T) {
	t.Parallel()
	file := readVectors(t)
	private, key := keyFromLabel(t, "compat vector key A")
	_, other := keyFromLabel(t, "compat vector key B")
	type request struct {
		key       PublicKey
		entry     Entry
		envelope  Envelope
		signature string
	}
	rehash := func(r *request) { r.envelope.PayloadHash = PayloadHash(r.entry.Canonical()) }
	resign := func(r *request) { r.signature = Sign(private, r.envelope.Canonical()).String() }
	for _, row := range []struct {
		name   string
		change func(*request)
		want   error
	}{
		{"nothing", func(*request) {}, nil},
		{"86th character h for g", func(r *request) { r.signature = r.signature[:85] + "h==" }, ErrSignatureForm},
		{"line feed after the signature", func(r *request) { r.signature += "\n" }, ErrSignatureForm},
		{"line feed for a padding character", func(r *request) { r.signature = r.signature[:87] + "\n" }, ErrSignatureForm},
		{"URL-safe alphabet", func(r *request) { r.signature = strings.NewReplacer("+", "-", "/", "_").Replace(r.signature) }, ErrSignatureForm},
		{"no padding", func(r *request) { r.signature = strings.TrimRight(r.signature, "=") }, ErrSignatureForm},
		{"one padding character", func(r *request) { r.signature = r.signature[:87] }, ErrSignatureForm},
		{"title has one more letter", func(r *request) { r.entry.Title += "s" }, ErrPayloadHash},
		{"title and hash changed together", func(r *request) { r.entry.Title += "s"; rehash(r) }, ErrSignature},
		{"title, hash and signature changed together", func(r *request) { r.entry.Title += "s"; rehash(r); resign(r) }, nil},
		{"hash in upper case", func(r *request) { r.envelope.PayloadHash = strings.ToUpper(r.envelope.PayloadHash) }, ErrPayloadHash},
		{"hash in upper-case hex", func(r *request) { r.envelope.PayloadHash = "sha256:" + strings.ToUpper(r.envelope.PayloadHash[7:]) }, ErrPayloadHash},
		{"hash in upper-case hex, signed so", func(r *request) {
			r.envelope.PayloadHash = "sha256:" + strings.ToUpper(r.envelope.PayloadHash[7:])
			resign(r)
		}, ErrPayloadHash},
		{"tags in another order", func(r *request) { r.entry.Tags[0], r.entry.Tags[1] = r.entry.Tags[1], r.entry.Tags[0] }, ErrPayloadHash},
		{"private for public", func(r *request) { r.entry.Visibility = "private" }, ErrPayloadHash},
		{"another action", func(r *request) { r.envelope.Action = ActionEntryDelete }, ErrSignature},
		{"another actor", func(r *request) { r.envelope.ActorID = "agent_vector0002" }, ErrSignature},
		{"another nonce", func(r *request) { r.envelope.Nonce += "1" }, ErrSignature},
		{"a longer window", func(r *request) { r.envelope.ExpiresAt = "2026-09-01T10:05:00.001Z" }, ErrSignature},
		{"the same time spelled otherwise", func(r *request) { r.envelope.IssuedAt = "2026-09-01T10:00:00Z" }, ErrSignature},
		{"the key of another", func(r *request) { r.key = other }, ErrSigningKey},
		{"the key of another, named so", func(r *request) { r.key, r.envelope.KeyID = other, other.ID() }, ErrSignature},
		{"no key", func(r *request) { r.key = PublicKey{} }, ErrSigningKey},
		{"no key, named by its id", func(r *request) { r.key, r.envelope.KeyID = PublicKey{}, PublicKey{}.ID() }, ErrSigningKey},
		{"a zero signature", func(r *request) { r.signature = Signature{}.String() }, ErrSignature},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			v := file.op(t, "entry_plain")
			r := request{key: key, entry: entryOf(t, get(t, v, "entry")), envelope: envelopeOf(t, get(t, v, "envelope")), signature: text(t, v, "signature")}
			row.change(&r)
			signature, err := ParseSignature(r.signature)
			var proven Proven
			if err == nil {
				proven, err = Prove(r.key, r.entry.Canonical(), r.envelope, signature)
			}
			if !errors.Is(err, row.want) || proven.Valid() != (row.want == nil) {
				t.Errorf("%v, valid %t; want %v", err, proven.Valid(), row.want)
			}
		})
	}
}

// Protocol 12.3: the rows about the clock.
func TestWindowVectors(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		moment, err := ParseDateTime(text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	const issued, expires = "2026-09-01T10:00:00.000Z", "2026-09-01T10:05:00.000Z"
	for _, row := range []struct {
		name, issued, expires, now string
		want                       bool
	}{
		{"a minute in", issued, expires, "2026-09-01T10:01:00Z", true},
		{"at the last millisecond", issued, expires, "2026-09-01T10:05:00.000Z", true},
		{"a nanosecond late", issued, expires, "2026-09-01T10:05:00.000000001Z", false},
		{"a millisecond late", issued, expires, "2026-09-01T10:05:00.001Z", false},
		{"issued 60 s ahead", issued, expires, "2026-09-01T09:59:00.000Z", true},
		{"issued 60.001 s ahead", issued, expires, "2026-09-01T09:58:59.999Z", false},
		{"issued 120.001 s ahead", issued, expires, "2026-09-01T09:57:59.999Z", false},
		{"window of 300.001 s", issued, "2026-09-01T10:05:00.001Z", "2026-09-01T10:01:00Z", false},
		{"empty window", issued, issued, issued, false},
		{"window that ends before it begins", expires, issued, "2026-09-01T10:01:00Z", false},
		{"window over a span that no Duration holds", "0000-01-01T00:00Z", "9999-12-31T23:59Z", "2026-09-01T10:01:00Z", false},
		{"window in another offset", "2026-09-01T12:00:00+02:00", "2026-09-01T06:05:00-04:00", "2026-09-01T10:01:00Z", true},
		{"window in the year 9999", "9999-12-31T23:55:00Z", "9999-12-31T23:59:00Z", "2026-09-01T10:01:00Z", false},
		{"window in the year 0", "0000-01-01T00:00:00Z", "0000-01-01T00:05:00Z", "2026-09-01T10:01:00Z", false},
	} {
		window, err := Envelope{IssuedAt: row.issued, ExpiresAt: row.expires}.Window()
		if err != nil || window.Contains(at(row.now)) != row.want {
			t.Errorf("%s: not %t, %v", row.name, row.want, err)
		}
	}
	for _, bad := range []Envelope{{IssuedAt: "now", ExpiresAt: expires}, {IssuedAt: issued, ExpiresAt: "later"}, {}} {
		if _, err := bad.Window(); !errors.Is(err, ErrDateTime) {
			t.Errorf("window of %q to %q: %v", bad.IssuedAt, bad.ExpiresAt, err)
		}
	}
}
