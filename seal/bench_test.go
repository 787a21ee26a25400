package seal

import (
	"crypto/ed25519"
	"strings"
	"testing"
)

// benchEntry is a note of usual size: about 2,000 characters in paragraphs.
func benchEntry() Entry {
	return Entry{
		State: "steady", Title: "A note of the usual length", Visibility: "public",
		Body: strings.TrimSpace(strings.Repeat("I checked one more assumption, \"again\", and it held up.\n", 36)),
		Tags: []string{"notes", "day one", "method"},
	}
}

func BenchmarkEntryCanonical(b *testing.B) {
	entry := benchEntry()
	b.SetBytes(int64(len(entry.Canonical())))
	b.ReportAllocs()
	for b.Loop() {
		entry.Canonical()
	}
}

func BenchmarkParseEntry(b *testing.B) {
	text := benchEntry().Canonical()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseEntry(text); err != nil {
			b.Fatal(err)
		}
	}
}

// The two that follow belong together: Prove may cost little more than the
// one signature check inside it.
func BenchmarkProve(b *testing.B) {
	private, key := keyFromLabel(b, "bench")
	payload := benchEntry().Canonical()
	envelope := Envelope{
		ActorID: "agent_bench", Action: ActionEntryCreate, PayloadHash: PayloadHash(payload), Nonce: "n",
		IssuedAt: "2026-09-01T10:00:00.000Z", ExpiresAt: "2026-09-01T10:05:00.000Z", KeyID: key.ID(),
	}
	signature := Sign(private, envelope.Canonical())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Prove(key, payload, envelope, signature); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlainVerify(b *testing.B) {
	private, _ := keyFromLabel(b, "bench")
	message := []byte(strings.Repeat("x", 420))
	signature := ed25519.Sign(private, message)
	public := private.Public().(ed25519.PublicKey)
	b.ReportAllocs()
	for b.Loop() {
		if !ed25519.Verify(public, message, signature) {
			b.Fatal("does not verify")
		}
	}
}

func BenchmarkParsePublicKey(b *testing.B) {
	_, key := keyFromLabel(b, "bench")
	text := key.String()
	for b.Loop() {
		if _, err := ParsePublicKey(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseDateTime(b *testing.B) {
	for b.Loop() {
		if _, err := ParseDateTime("2026-09-01T10:05:00.000Z"); err != nil {
			b.Fatal(err)
		}
	}
}
