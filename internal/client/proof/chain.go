package proof

import (
	"fmt"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// chainMax is the longest chain that a service shows. One as long as that may
// begin after the agent's first key.
const chainMax = 500

// ways are the kinds of a key that another brought in, with the action of the
// request and the purpose that the new key signs.
var ways = map[string]struct{ action, purpose string }{
	"rotated":   {seal.ActionKeyRotate, "innerloop-key-rotation-v1"},
	"added":     {seal.ActionKeyAdd, "innerloop-key-add-v1"},
	"recovered": {seal.ActionRecoveryUse, "innerloop-recovery-v1"},
}

// chain follows the keys from the agent's first to the one that signed.
func (c *claim) chain(list strictjson.Value) string {
	links := list.Items()
	if len(links) == 0 {
		return "the chain of keys is missing"
	}
	var before seal.PublicKey
	for i, link := range links {
		key, what := c.link(i, link, before, len(links))
		if what != "" {
			return fmt.Sprintf("key chain, link %d: %s", i+1, what)
		}
		before = key
	}
	if before.ID() != c.envelope.KeyID {
		return "the chain of keys does not end with the key that signed"
	}
	return ""
}

func (c *claim) link(i int, link strictjson.Value, before seal.PublicKey, length int) (key seal.PublicKey, what string) {
	kind := text(link, "kind")
	proof, _ := link.Get("proof")
	if i == 0 {
		if kind != "first" && length < chainMax {
			return key, "it is not the agent's first key, so links are missing"
		}
		key, err := seal.ParsePublicKey(text(link, "public_key"))
		if err != nil {
			return key, "public_key is not an Ed25519 key"
		}
		return key, hashOf(key, link)
	}
	way, known := ways[kind]
	if !known {
		return key, "no key is brought in this way"
	}
	request, what := readRequest(proof, c.agent, way.action)
	if what != "" {
		return key, what
	}
	if kind == "recovered" {
		before, what = c.recovery(proof, request, before)
		if what != "" {
			return key, what
		}
	}
	names := []string{"new_public_key", "new_key_signature"}
	if kind == "recovered" {
		names = append(names, "recovery_public_key")
	}
	if !request.has(names...) {
		return key, "the request does not bring in a key"
	}
	if what := request.signedWith(before); what != "" {
		return key, what
	}
	offered := text(request.payload, "new_public_key")
	key, err := seal.ParsePublicKey(offered)
	if err != nil {
		return key, "public_key is not an Ed25519 key"
	}
	if what := hashOf(key, link); what != "" {
		return key, what
	}
	if shown, _ := link.Get("public_key"); shown.Kind() != strictjson.Null && text(link, "public_key") != offered {
		return key, "the shown key is not the one brought in"
	}
	if !agrees(key, text(request.payload, "new_key_signature"), way.purpose, offered, request.envelope) {
		return key, "the new key did not sign"
	}
	return key, ""
}

func hashOf(key seal.PublicKey, link strictjson.Value) string {
	if key.ID() != text(link, "key_id") {
		return "key_id is not the hash of the public key"
	}
	return ""
}

// recovery checks that the key before committed to the recovery key, and
// returns that one: it signed the request.
func (c *claim) recovery(proof strictjson.Value, request request, before seal.PublicKey) (seal.PublicKey, string) {
	commitment, _ := proof.Get("commitment")
	promise, what := readRequest(commitment, c.agent, seal.ActionRecoverySet)
	if what == "" {
		what = promise.signedWith(before)
	}
	if what != "" {
		return before, "commitment: " + what
	}
	key, err := seal.ParsePublicKey(text(request.payload, "recovery_public_key"))
	if err != nil || !promise.has("recovery_key_hash", "old_recovery_signature") ||
		seal.PayloadHash(key.SPKI()) != text(promise.payload, "recovery_key_hash") {
		return before, "the recovery key is not the committed one"
	}
	return key, ""
}

// agrees checks the new key's own signature (protocol 6.8).
func agrees(key seal.PublicKey, signature, purpose, offered string, e seal.Envelope) bool {
	proof, err := seal.Canonical(map[string]any{
		"purpose": purpose, "actor_id": e.ActorID, "current_key_id": e.KeyID, "new_public_key": offered,
		"nonce": e.Nonce, "issued_at": e.IssuedAt, "expires_at": e.ExpiresAt,
	})
	raw, formErr := seal.ParseSignature(signature)
	return err == nil && formErr == nil && key.Verify(proof, raw)
}

// A request is a signed owner request as the chain shows it.
type request struct {
	payload   strictjson.Value
	envelope  seal.Envelope
	canonical string // envelope
	signature string
}

// readRequest checks all of a request but who signed it.
func readRequest(v strictjson.Value, agent, action string) (request, string) {
	r := request{canonical: text(v, "canonical_envelope"), signature: text(v, "signature")}
	payload := text(v, "canonical_payload")
	if payload == "" || r.canonical == "" || r.signature == "" {
		return r, "the request that brought the key in is missing"
	}
	var err error
	if r.envelope, err = seal.ParseEnvelope([]byte(r.canonical)); err != nil {
		return r, "the envelope is not in canonical form"
	}
	switch {
	case r.envelope.Action != action:
		return r, "the request is about something else"
	case r.envelope.ActorID != agent:
		return r, "the envelope names another agent"
	case seal.PayloadHash([]byte(payload)) != r.envelope.PayloadHash:
		return r, "the request does not have the hash that was signed"
	}
	if r.payload, err = strictjson.Parse([]byte(payload)); err != nil || r.payload.Kind() != strictjson.Object {
		return r, "the request is not in canonical form"
	}
	return r, ""
}

// has tells whether the payload has exactly these members.
func (r request) has(names ...string) bool {
	missing, unexpected := r.payload.Keys(names, nil)
	return len(missing) == 0 && len(unexpected) == 0
}

func (r request) signedWith(key seal.PublicKey) string {
	raw, err := seal.ParseSignature(r.signature)
	if r.envelope.KeyID != key.ID() || err != nil || !key.Verify([]byte(r.canonical), raw) {
		return "the request is not signed by the key before"
	}
	return ""
}
