package journal

import (
	"strings"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// An OwnerRequest is a signed request about what is the signer's own, as a
// door received it: of the right shape, and not believed yet.
type OwnerRequest struct {
	Action    string // of the path it arrived on
	Payload   strictjson.Value
	Envelope  seal.Envelope
	Signature string
	Caller    Caller
}

// ownerPayloads lists the exact keys of each action's payload (protocol 6.2,
// and docs/protocol.md section 14 for the actions beyond it).
var ownerPayloads = map[string][]string{
	seal.ActionProfileRead:    {},
	seal.ActionProfileSet:     {"bio", "purpose", "owner_url", "pinned_entry_id"},
	seal.ActionEntryList:      {"visibility", "include_deleted", "limit", "cursor"},
	seal.ActionEntryRead:      {"entry_id"},
	seal.ActionEntryExport:    {"format", "include_deleted", "limit", "cursor"},
	seal.ActionEntryDelete:    {"entry_id", "reason_code"},
	seal.ActionKeyRotate:      {"new_public_key", "new_key_signature"},
	seal.ActionKeyRevoke:      {"key_id"},
	seal.ActionKeyAdd:         {"new_public_key", "new_key_signature"},
	seal.ActionKeyList:        {},
	seal.ActionRecoverySet:    {"recovery_key_hash", "old_recovery_signature"},
	seal.ActionRecoveryUse:    {"recovery_public_key", "new_public_key", "new_key_signature"},
	seal.ActionIdentityDelete: {"confirm_agent_id", "reason_code"},
	seal.ActionPendingCancel:  {"kind"},
}

// OwnerActions lists the actions that OwnerRequests carry.
func OwnerActions() []string {
	actions := make([]string, 0, len(ownerPayloads))
	for action := range ownerPayloads {
		actions = append(actions, action)
	}
	return actions
}

// ReadOwnerRequest reads the body of an owner request: exactly payload,
// envelope and signature, the payload with exactly the keys of its action, and
// an envelope that names that action.
func ReadOwnerRequest(action string, body strictjson.Value) (OwnerRequest, error) {
	r := OwnerRequest{Action: action}
	if err := ExactKeys("the body", body, []string{"payload", "envelope", "signature"}); err != nil {
		return r, err
	}
	r.Payload, _ = body.Get("payload")
	if err := ExactKeys("payload", r.Payload, ownerPayloads[action]); err != nil {
		return r, err
	}
	envelope, _ := body.Get("envelope")
	var err error
	if r.Envelope, err = ReadEnvelope(envelope); err != nil {
		return r, err
	}
	if r.Envelope.Action != action {
		return r, Refuse(InvalidRequest, "envelope.action must be "+action+" here")
	}
	signature, _ := body.Get("signature")
	var ok bool
	if r.Signature, ok = signature.Text(); !ok {
		return r, Refuse(InvalidRequest, "signature must be a string")
	}
	return r, nil
}

// canonical is the payload as it is hashed. Scalars are all there is in an
// owner payload; a number is signed as the integer it must be.
func (r OwnerRequest) canonical() ([]byte, error) {
	object := map[string]any{}
	for _, m := range r.Payload.Members() {
		switch m.Value.Kind() {
		case strictjson.Null:
			object[m.Name] = nil
		case strictjson.Bool:
			object[m.Name], _ = m.Value.Bool()
		case strictjson.String:
			object[m.Name], _ = m.Value.Text()
		case strictjson.Number:
			n, ok := m.Value.Int()
			if !ok {
				return nil, Refuse(InvalidRequest, "payload."+m.Name+" must be a plain decimal integer")
			}
			object[m.Name] = float64(n)
		default:
			return nil, Refuse(InvalidRequest, "payload."+m.Name+" must not be an array or an object")
		}
	}
	return seal.Canonical(object)
}

// text reads a string field of the payload; a wrong type is a violation.
func (r OwnerRequest) text(c *checks, name string) string {
	v, _ := r.Payload.Get(name)
	text, ok := v.Text()
	if !ok {
		c.add("payload."+name, "wrong_type", "must be a string")
	}
	return text
}

// textOrNull reads a string field that may be null.
func (r OwnerRequest) textOrNull(c *checks, name string) *string {
	v, _ := r.Payload.Get(name)
	if v.Kind() == strictjson.Null {
		return nil
	}
	text, ok := v.Text()
	if !ok {
		c.add("payload."+name, "wrong_type", "must be a string or null")
		return nil
	}
	return &text
}

// oneOf reads a string field that must be one of words.
func (r OwnerRequest) oneOf(c *checks, name string, words ...string) string {
	v, _ := r.Payload.Get(name)
	text, ok := v.Text()
	for _, word := range words {
		if ok && text == word {
			return text
		}
	}
	c.add("payload."+name, "not_in_enum", "must be "+strings.Join(words, " or "))
	return ""
}
