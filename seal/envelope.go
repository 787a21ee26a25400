package seal

import "time"

// The actions that an envelope may name (protocol 6.2).
const (
	ActionEntryCreate = "journal.entry.create"
	ActionEntryList   = "journal.entries.list"
	ActionEntryRead   = "journal.entry.read"
	ActionEntryExport = "journal.entries.export"
	ActionEntryDelete = "journal.entry.delete"
	ActionProfileRead = "agent.profile.read"
	ActionProfileSet  = "agent.profile.update"
	ActionKeyRotate   = "agent.key.rotate"
	ActionKeyRevoke   = "agent.key.revoke"

	// Beyond the nine actions of the protocol (docs/protocol.md section 14).
	ActionKeyAdd         = "agent.key.add"
	ActionKeyList        = "agent.key.list"
	ActionRecoverySet    = "agent.recovery.set"
	ActionRecoveryUse    = "agent.recovery.use"
	ActionIdentityDelete = "agent.identity.delete"
	ActionPendingCancel  = "agent.pending.cancel"
)

// Limits of the signature window (protocol 0.2).
const (
	WindowMax   = 300 * time.Second
	ClockAhead  = 60 * time.Second
	NonceMax    = 128 // code points
	IdentityMax = 160 // bytes of an agent, key or entry id
)

// An Envelope is the signed statement about a payload: exactly seven strings,
// kept as they were received (protocol 6.1).
type Envelope struct {
	ActorID     string
	Action      string
	PayloadHash string
	Nonce       string
	IssuedAt    string
	ExpiresAt   string
	KeyID       string
}

// Canonical returns the bytes that the signature covers.
func (e Envelope) Canonical() []byte {
	dst := make([]byte, 0, 512)
	for _, field := range [...]struct{ name, value string }{
		{`{"action":`, e.Action},
		{`,"actor_id":`, e.ActorID},
		{`,"expires_at":`, e.ExpiresAt},
		{`,"issued_at":`, e.IssuedAt},
		{`,"key_id":`, e.KeyID},
		{`,"nonce":`, e.Nonce},
		{`,"payload_hash":`, e.PayloadHash},
	} {
		dst = append(dst, field.name...)
		dst = AppendString(dst, field.value)
	}
	return append(dst, '}')
}

// A Window is the time in which a first submission is accepted.
type Window struct{ IssuedAt, ExpiresAt time.Time }

// Window reads the envelope's two times; the error is ErrDateTime.
func (e Envelope) Window() (Window, error) {
	issued, err := ParseDateTime(e.IssuedAt)
	if err != nil {
		return Window{}, err
	}
	expires, err := ParseDateTime(e.ExpiresAt)
	if err != nil {
		return Window{}, err
	}
	return Window{IssuedAt: issued, ExpiresAt: expires}, nil
}

// Contains tells whether now lies in the window and the window itself is
// lawful: it ends after it begins, spans at most WindowMax, and begins at most
// ClockAhead in the future. Both ends are inclusive (protocol 6.3, 12.3).
func (w Window) Contains(now time.Time) bool {
	return w.ExpiresAt.After(w.IssuedAt) &&
		w.ExpiresAt.Sub(w.IssuedAt) <= WindowMax &&
		w.IssuedAt.Sub(now) <= ClockAhead &&
		!now.After(w.ExpiresAt)
}
