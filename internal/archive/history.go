package archive

import (
	"time"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// ActiveKeysMax is how many keys of an agent may be active, PendingWait how
// long a change waits (docs/protocol.md 14.2, 14.3).
const (
	ActiveKeysMax = 5
	PendingWait   = 72 * time.Hour
)

// purposes of the proof that a new key signs, by its kind.
var purposes = map[string]string{
	Rotated:   "innerloop-key-rotation-v1",
	Added:     "innerloop-key-add-v1",
	Recovered: "innerloop-recovery-v1",
}

// actions that bring a key of a kind in.
var actions = map[string]string{
	Rotated:   seal.ActionKeyRotate,
	Added:     seal.ActionKeyAdd,
	Recovered: seal.ActionRecoveryUse,
}

// history is an agent with all of its keys.
type history struct {
	agent Agent
	keys  map[string]Key
	// linked holds the keys that are known to lead to the first one.
	linked map[string]bool
}

// check is the rule that a key breaks, empty when it holds.
func (h *history) check(k Key) Rule {
	if rule := h.link(k); rule != "" {
		return rule
	}
	switch {
	case !h.reaches(k):
		return MissingLink
	case !k.RevokedAt.IsZero() && k.RevokedAt.Before(k.CreatedAt):
		return KeyDates
	case h.active() > ActiveKeysMax:
		return TooManyKeys
	}
	return ""
}

func (h *history) active() int {
	n := 0
	for _, k := range h.keys {
		if k.RevokedAt.IsZero() {
			n++
		}
	}
	return n
}

// reaches tells whether the parents of k end at the agent's first key.
func (h *history) reaches(k Key) bool {
	if h.linked == nil {
		h.linked = map[string]bool{}
	}
	var path []string
	for range h.keys {
		if k.Kind == First || h.linked[k.Key.ID()] {
			for _, id := range path {
				h.linked[id] = true
			}
			return true
		}
		path = append(path, k.Key.ID())
		parent, known := h.keys[parentOf(k)]
		if !known {
			return false
		}
		k = parent
	}
	return false
}

// parentOf is the id of the key that vouches for k.
func parentOf(k Key) string {
	vouching := k.Proof
	if k.Kind == Recovered {
		vouching = k.Commitment
	}
	if vouching == nil {
		return ""
	}
	envelope, err := seal.ParseEnvelope([]byte(vouching.Envelope))
	if err != nil {
		return ""
	}
	return envelope.KeyID
}

// link checks the request that brought a key in.
func (h *history) link(k Key) Rule {
	if k.Kind == First {
		if k.Proof != nil {
			return BrokenLink
		}
		for id, other := range h.keys {
			if other.Kind == First && id != k.Key.ID() {
				return MissingLink
			}
		}
		if !k.CreatedAt.Equal(h.agent.CreatedAt) {
			return KeyDates
		}
		return ""
	}
	if k.Proof == nil {
		return MissingLink
	}
	if actions[k.Kind] == "" || (k.Kind == Recovered) != (k.Commitment != nil) {
		return BrokenLink
	}
	if k.Kind != Recovered {
		if parent, known := h.keys[parentOf(k)]; known && !parent.lives(k.CreatedAt) {
			return KeyDates
		}
	}
	signer, rule := h.signer(k)
	if rule != "" {
		return rule
	}
	envelope, payload, rule := h.proven(*k.Proof, signer, actions[k.Kind])
	if rule != "" {
		return rule
	}
	text, signature := payload.word("new_public_key"), payload.word("new_key_signature")
	signed, err := seal.ParseSignature(signature)
	if err != nil || text != k.Key.String() || !k.Key.Verify(keyProof(purposes[k.Kind], envelope, text), signed) {
		return BrokenLink
	}
	return h.dates(k, envelope)
}

// signer is the key that signed the request which brought k in: another key of
// the agent's, or the recovery key that one had committed to.
func (h *history) signer(k Key) (seal.PublicKey, Rule) {
	parent, known := h.keys[parentOf(k)]
	if !known {
		return seal.PublicKey{}, MissingLink
	}
	if k.Kind != Recovered {
		return parent.Key, ""
	}
	_, commitment, rule := h.proven(*k.Commitment, parent.Key, seal.ActionRecoverySet)
	if rule != "" {
		return seal.PublicKey{}, rule
	}
	key, err := seal.ParsePublicKey(payloadOf(*k.Proof).word("recovery_public_key"))
	if err != nil || seal.PayloadHash(key.SPKI()) != commitment.word("recovery_key_hash") {
		return seal.PublicKey{}, Commitment
	}
	return key, ""
}

// dates compares a key's times with its request's, and with those of the keys
// that it replaced: they were revoked at the moment it came.
func (h *history) dates(k Key, envelope seal.Envelope) Rule {
	window, err := envelope.Window()
	if err != nil || !window.Contains(k.CreatedAt) {
		return KeyDates
	}
	switch k.Kind {
	case Rotated:
		if !h.keys[envelope.KeyID].RevokedAt.Equal(k.CreatedAt) {
			return KeyDates
		}
	case Recovered:
		for _, other := range h.keys {
			if other.CreatedAt.Before(k.CreatedAt) && (other.RevokedAt.IsZero() || other.RevokedAt.After(k.CreatedAt)) {
				return KeyDates
			}
		}
	}
	return ""
}

// proven checks a request of the agent's under a key.
func (h *history) proven(r Request, key seal.PublicKey, action string) (seal.Envelope, payload, Rule) {
	envelope, err := seal.ParseEnvelope([]byte(r.Envelope))
	switch {
	case err != nil:
		return envelope, payload{}, Form
	case envelope.ActorID != h.agent.AgentID:
		return envelope, payload{}, ForeignAgent
	case envelope.Action != action:
		return envelope, payload{}, WrongAction
	}
	return envelope, payloadOf(r), proven(key, []byte(r.Payload), envelope, r.Signature)
}

// agentRule checks the requests that stand in the agent's own line.
func (h *history) agentRule() Rule {
	if h.agent.Recovery != nil {
		_, p, rule := h.signedByAny(*h.agent.Recovery, seal.ActionRecoverySet)
		if rule != "" || !seal.ValidHash(p.word("recovery_key_hash")) {
			return Commitment
		}
	}
	last := ""
	for _, p := range h.agent.Pending {
		action := map[string]string{PendingRecovery: seal.ActionRecoverySet, PendingDeletion: seal.ActionIdentityDelete}[p.Kind]
		envelope, payload, rule := h.signedByAny(p.Request, action)
		window, err := envelope.Window()
		if rule != "" || err != nil || p.Kind <= last || !window.Contains(p.EffectiveAt.Add(-PendingWait)) ||
			p.Kind == PendingDeletion && payload.word("confirm_agent_id") != h.agent.AgentID {
			return Pending72h
		}
		last = p.Kind
	}
	return ""
}

func (h *history) signedByAny(r Request, action string) (seal.Envelope, payload, Rule) {
	envelope, err := seal.ParseEnvelope([]byte(r.Envelope))
	if err != nil {
		return envelope, payload{}, Form
	}
	key, known := h.keys[envelope.KeyID]
	if !known {
		return envelope, payload{}, ForeignKey
	}
	return h.proven(r, key.Key, action)
}

// Word is a text member of what was signed, empty when there is none.
func (r Request) Word(name string) string { return payloadOf(r).word(name) }

// payload is what was signed, read for single words.
type payload struct{ v strictjson.Value }

func payloadOf(r Request) payload {
	v, _ := strictjson.Parse([]byte(r.Payload)) // what is no object has no words
	return payload{v}
}

func (p payload) word(name string) string {
	v, _ := p.v.Get(name)
	text, _ := v.Text()
	return text
}

// keyProof is the text that a new key signs (protocol 6.8).
func keyProof(purpose string, e seal.Envelope, newKey string) []byte {
	text, err := seal.Canonical(map[string]any{
		"purpose": purpose, "actor_id": e.ActorID, "current_key_id": e.KeyID, "new_public_key": newKey,
		"nonce": e.Nonce, "issued_at": e.IssuedAt, "expires_at": e.ExpiresAt,
	})
	if err != nil {
		return nil // a text that is not UTF-8 was never signed
	}
	return text
}
