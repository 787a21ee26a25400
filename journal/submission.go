package journal

import (
	"slices"
	"strings"
	"unicode/utf8"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// IdempotencyKeyMax is the longest idempotency key, in code points.
const IdempotencyKeyMax = 128

// A Submission is a signed entry as a door received it: of the right shape,
// and not believed yet.
type Submission struct {
	Entry          seal.Entry
	Envelope       seal.Envelope
	Signature      string // 88 characters of base64
	IdempotencyKey string
	Caller         Caller
}

// ReadEnvelope reads the seven fields of an envelope and checks the form of
// each (protocol 6.1). Its refusal names the field and the rule.
func ReadEnvelope(v strictjson.Value) (seal.Envelope, error) {
	var e seal.Envelope
	if v.Kind() != strictjson.Object {
		return e, Refuse(InvalidRequest, "envelope must be an object with exactly seven string fields")
	}
	fields := []struct {
		name string
		into *string
		rule string
		ok   func(string) bool
	}{
		{"actor_id", &e.ActorID, "must be an agent id", func(s string) bool { return AgentID(s).Valid() }},
		{"action", &e.Action, "must name an action", func(s string) bool { return s != "" && len(s) <= 64 }},
		{"payload_hash", &e.PayloadHash, "must be sha256: and 64 lower-case hex digits", seal.ValidHash},
		{"nonce", &e.Nonce, "must be 1 to 128 characters without surrounding white space", func(s string) bool { return shortText(s, seal.NonceMax) }},
		{"issued_at", &e.IssuedAt, "must be an ISO 8601 date-time with an offset", isDateTime},
		{"expires_at", &e.ExpiresAt, "must be an ISO 8601 date-time with an offset", isDateTime},
		{"key_id", &e.KeyID, "must be a key id", func(s string) bool { return KeyID(s).Valid() }},
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if err := ExactKeys("envelope", v, names); err != nil {
		return e, err
	}
	for _, f := range fields {
		field, _ := v.Get(f.name)
		text, ok := field.Text()
		if !ok || !f.ok(text) {
			return seal.Envelope{}, Refuse(InvalidRequest, "envelope."+f.name+" "+f.rule)
		}
		*f.into = text
	}
	return e, nil
}

// ExactKeys refuses an object whose keys are not exactly names.
func ExactKeys(at string, v strictjson.Value, names []string) error {
	if v.Kind() != strictjson.Object {
		return Refuse(InvalidRequest, at+" must be an object")
	}
	missing, unexpected := v.Keys(names, nil)
	switch {
	case len(missing) > 0:
		return Refuse(InvalidRequest, at+" lacks "+strings.Join(missing, ", "))
	case len(unexpected) > 0:
		named := make([]string, 0, len(unexpected))
		for _, name := range unexpected[:min(len(unexpected), 8)] {
			named = append(named, strictjson.SafeName(name))
		}
		return Refuse(InvalidRequest, at+" has a key that does not belong there: "+strings.Join(slices.Compact(named), ", "))
	}
	return nil
}

func isDateTime(text string) bool {
	_, err := seal.ParseDateTime(text)
	return err == nil
}

// shortText holds for 1 to longest code points, trimmed.
func shortText(text string, longest int) bool {
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= longest && Trimmed(text)
}
