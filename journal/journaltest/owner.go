package journaltest

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"

	"innerloop/internal/strictjson"
	"innerloop/journal"
	"innerloop/seal"
)

// A question is an owner request before it is signed.
type question struct {
	envelope seal.Envelope
	private  ed25519.PrivateKey
	payload  map[string]any
}

// An Ask changes an owner request before it is signed.
type Ask func(*question)

// AskWith changes the envelope in any way.
func AskWith(change func(*seal.Envelope)) Ask { return func(q *question) { change(&q.envelope) } }

// AskSignedBy signs with another key than the agent's and names it.
func AskSignedBy(private ed25519.PrivateKey, public seal.PublicKey) Ask {
	return func(q *question) { q.private, q.envelope.KeyID = private, public.ID() }
}

// AskSigned signs with another key and leaves the envelope as it is.
func AskSigned(private ed25519.PrivateKey) Ask { return func(q *question) { q.private = private } }

// WithNewKey adds a new key and its signature over the proof to the payload,
// as rotation, addition and recovery want it (protocol 6.8).
func WithNewKey(purpose string, private ed25519.PrivateKey, public seal.PublicKey) Ask {
	return func(q *question) {
		q.payload["new_public_key"] = public.String()
		q.payload["new_key_signature"] = seal.Sign(private, journal.KeyProof(purpose, q.envelope, public.String())).String()
	}
}

// WithOldRecovery adds the old recovery key and its signature to a change of
// the commitment.
func WithOldRecovery(private ed25519.PrivateKey, public seal.PublicKey) Ask {
	return func(q *question) {
		var hash *string
		if text, ok := q.payload["recovery_key_hash"].(string); ok {
			hash = &text
		}
		q.payload["old_recovery_signature"] = public.String() + ":" + seal.Sign(private, journal.RecoveryProof(q.envelope, hash)).String()
	}
}

// Asks signs a request of the agent about its own, with a fresh nonce.
// Options are applied in order: those that change the envelope come before
// those that sign over it.
func (a *Agent) Asks(action string, payload map[string]any, options ...Ask) journal.OwnerRequest {
	a.j.t.Helper()
	request, err := journal.ReadOwnerRequest(action, JSON(a.j.t, a.AsksBody(action, payload, options...)))
	if err != nil {
		a.j.t.Fatalf("read %s: %v", action, err)
	}
	return request
}

// AsksBody is Asks as the JSON text that travels.
func (a *Agent) AsksBody(action string, payload map[string]any, options ...Ask) string {
	a.j.t.Helper()
	nonce, err := journal.NewUUID(a.j.Random)
	if err != nil {
		a.j.t.Fatal(err)
	}
	now := a.j.Clock.Now()
	q := question{private: a.Private, payload: map[string]any{}, envelope: seal.Envelope{
		ActorID: string(a.ID), Action: action, Nonce: nonce, KeyID: string(a.KeyID),
		IssuedAt: seal.FormatDateTime(now), ExpiresAt: seal.FormatDateTime(now.Add(seal.WindowMax)),
	}}
	for name, value := range payload {
		q.payload[name] = value
	}
	for _, option := range options {
		option(&q)
	}
	canonical, err := seal.Canonical(q.payload)
	if err != nil {
		a.j.t.Fatal(err)
	}
	if q.envelope.PayloadHash == "" {
		q.envelope.PayloadHash = seal.PayloadHash(canonical)
	}
	signed := q.envelope.Canonical()
	body, err := json.Marshal(map[string]any{
		"payload": json.RawMessage(canonical), "envelope": json.RawMessage(signed), "signature": seal.Sign(q.private, signed).String(),
	})
	if err != nil {
		a.j.t.Fatal(err)
	}
	return string(body)
}

// Becomes is the agent signing with another key of its own from now on.
func (a *Agent) Becomes(private ed25519.PrivateKey, public seal.PublicKey) *Agent {
	b := *a
	b.Private, b.Public, b.KeyID = private, public, journal.KeyID(public.ID())
	return &b
}

// Joins is an agent of another journal that was imported into this one.
func (j *J) Joins(a *Agent) *Agent {
	b := *a
	b.j = j
	return &b
}

// JSON reads a body as the doors do.
func JSON(t testing.TB, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Payloads of owner requests that tests share.

// ListAll asks for everything, tombstones included.
func ListAll(limit int, cursor any) map[string]any {
	return map[string]any{"visibility": "all", "include_deleted": true, "limit": limit, "cursor": cursor}
}

// ExportAll is ListAll as an export.
func ExportAll(limit int, cursor any) map[string]any {
	return map[string]any{"format": "json", "include_deleted": true, "limit": limit, "cursor": cursor}
}

// Deletes asks for an entry to be erased.
func Deletes(id journal.EntryID) map[string]any {
	return map[string]any{"entry_id": string(id), "reason_code": "owner_request"}
}

// Bio is a profile with nothing but a bio.
func Bio(text string) map[string]any {
	return map[string]any{"bio": text, "purpose": nil, "owner_url": nil, "pinned_entry_id": nil}
}

// Both applies several changes in order.
func Both(changes ...Ask) Ask {
	return func(q *question) {
		for _, change := range changes {
			change(q)
		}
	}
}
