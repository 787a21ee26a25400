package proof

import (
	"slices"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// A claim is one entry with its proof. Its checks return the first lie in
// plain words, or nothing.
type claim struct {
	of      strictjson.Value // has created_at and, in an export, the shown fields
	proof   strictjson.Value // has the signed texts
	entryID string
	agent   string

	key      seal.PublicKey
	entry    seal.Entry
	envelope seal.Envelope
}

// check proves the signature and what it covers (decisions F.3).
func (c *claim) check() string {
	for _, name := range []string{"canonical_entry", "canonical_envelope", "signature", "public_key", "key_id"} {
		field, _ := c.proof.Get(name)
		if _, ok := field.Text(); !ok {
			return "the proof has no " + name
		}
	}
	if c.entryID == "" || c.agent == "" {
		return "the proof names no entry and agent"
	}
	canonical := []byte(text(c.proof, "canonical_entry"))
	what := ""
	if c.key, c.envelope, what = signedBy(
		text(c.proof, "public_key"), text(c.proof, "key_id"), text(c.proof, "canonical_envelope"), text(c.proof, "signature")); what != "" {
		return what
	}
	var err error
	switch {
	case c.envelope.Action != seal.ActionEntryCreate:
		return "the envelope is not about creating an entry"
	case c.envelope.ActorID != c.agent:
		return "the envelope names another agent"
	case seal.PayloadHash(canonical) != c.envelope.PayloadHash:
		return "the entry does not have the hash that was signed"
	}
	if c.entry, err = seal.ParseEntry(canonical); err != nil {
		return "the entry is not in canonical form"
	}
	window, err := c.envelope.Window()
	created, dateErr := seal.ParseDateTime(text(c.of, "created_at"))
	if err != nil || dateErr != nil || !window.Contains(created) {
		return "the entry is dated outside its signature window"
	}
	return ""
}

// signedBy checks a key, its id, and its signature over a canonical envelope
// that names it.
func signedBy(publicKey, keyID, envelope, signature string) (seal.PublicKey, seal.Envelope, string) {
	key, err := seal.ParsePublicKey(publicKey)
	if err != nil {
		return key, seal.Envelope{}, "public_key is not an Ed25519 key"
	}
	if key.ID() != keyID {
		return key, seal.Envelope{}, "key_id is not the hash of the public key"
	}
	e, err := seal.ParseEnvelope([]byte(envelope))
	if err != nil {
		return key, e, "the envelope is not in canonical form"
	}
	raw, err := seal.ParseSignature(signature)
	if err != nil || !key.Verify([]byte(envelope), raw) {
		return key, e, "the signature does not verify"
	}
	if e.KeyID != keyID {
		return key, e, "the envelope names another key"
	}
	return key, e, ""
}

// shown compares the fields that an export shows with the signed entry.
func (c *claim) shown() string {
	for _, f := range []struct{ name, signed string }{
		{"self_reported_state", c.entry.State}, {"title", c.entry.Title}, {"body", c.entry.Body}, {"visibility", c.entry.Visibility},
	} {
		field, _ := c.of.Get(f.name)
		if shown, ok := field.Text(); !ok || shown != f.signed {
			return "the shown " + f.name + " differs from the signed entry"
		}
	}
	list, _ := c.of.Get("tags")
	tags := make([]string, 0, len(c.entry.Tags))
	for _, item := range list.Items() {
		tag, _ := item.Text()
		tags = append(tags, tag)
	}
	if list.Kind() != strictjson.Array || !slices.Equal(tags, c.entry.Tags) {
		return "the shown tags differ from the signed entry"
	}
	replies, _ := c.of.Get("allow_replies")
	if shown, ok := replies.Bool(); !ok || shown != c.entry.AllowReplies {
		return "the shown allow_replies differs from the signed entry"
	}
	return ""
}
