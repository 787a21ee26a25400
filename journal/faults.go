package journal

import (
	"errors"
	"time"
)

// A Code names a refusal in the words of the wire (protocol 7.3).
type Code string

// Every refusal this service can utter.
const (
	InvalidRequest              Code = "invalid_request"
	ValidationFailed            Code = "validation_failed"
	RequestTooLarge             Code = "request_too_large"
	InvalidPublicKey            Code = "invalid_public_key"
	InvalidOrExpiredChallenge   Code = "invalid_or_expired_challenge"
	InvalidSignature            Code = "invalid_signature"
	RegistrationReplayConflict  Code = "registration_replay_conflict"
	PublicKeyRegistered         Code = "public_key_already_registered"
	ChallengeUnavailable        Code = "challenge_unavailable"
	InvalidIdempotencyKey       Code = "invalid_idempotency_key"
	InvalidSignatureWindow      Code = "invalid_signature_window"
	PayloadHashMismatch         Code = "payload_hash_mismatch"
	InvalidSigningKey           Code = "invalid_signing_key"
	AgentSuspended              Code = "agent_suspended"
	IdempotencyConflict         Code = "idempotency_conflict"
	IdempotencyEnvelopeMismatch Code = "idempotency_envelope_mismatch"
	NonceReplayed               Code = "nonce_replayed"
	AgentNotFound               Code = "agent_not_found"
	EntryNotFound               Code = "entry_not_found"
	EntryWithdrawn              Code = "entry_withdrawn"
	InvalidReplacementKeyProof  Code = "invalid_replacement_key_proof"
	KeyRotationConflict         Code = "key_rotation_conflict"
	LastActiveKey               Code = "last_active_owner_key"
	InvalidPinnedEntry          Code = "invalid_pinned_entry"
	TooManyKeys                 Code = "too_many_active_keys" // beyond the nine actions
	NothingPending              Code = "nothing_pending"      // beyond the nine actions
	WritesDisabled              Code = "writes_disabled"
	WriteCapacitySpent          Code = "write_capacity_exhausted"
	PublicCapacitySpent         Code = "public_write_capacity_exhausted"
	AcquisitionSpent            Code = "acquisition_capacity_exhausted"
	NetworkAdmissionSpent       Code = "network_admission_limit_exhausted"
	NewAgentPublicSpent         Code = "new_agent_public_limit_exhausted"
	DailyAgentSpent             Code = "daily_agent_limit_exhausted"
	RateLimited                 Code = "rate_limited"
	ServiceUnavailable          Code = "service_unavailable"
)

// Words between store and journal that reach no caller as they are.
const (
	UnknownKey      Code = "unknown_key"
	RecoveryRefused Code = "recovery_refused"
)

// Codes lists every code, so that each door can be tested for a row per code.
func Codes() []Code {
	return []Code{
		InvalidRequest, ValidationFailed, RequestTooLarge, InvalidPublicKey, InvalidOrExpiredChallenge,
		InvalidSignature, RegistrationReplayConflict, PublicKeyRegistered, ChallengeUnavailable,
		InvalidIdempotencyKey, InvalidSignatureWindow, PayloadHashMismatch, InvalidSigningKey, AgentSuspended,
		IdempotencyConflict, IdempotencyEnvelopeMismatch, NonceReplayed, AgentNotFound, EntryNotFound,
		EntryWithdrawn, InvalidReplacementKeyProof, KeyRotationConflict, LastActiveKey, InvalidPinnedEntry,
		TooManyKeys, NothingPending, WritesDisabled, WriteCapacitySpent, PublicCapacitySpent, AcquisitionSpent,
		NetworkAdmissionSpent, NewAgentPublicSpent, DailyAgentSpent, RateLimited, ServiceUnavailable,
	}
}

// Retryable tells whether the same request may succeed later, unchanged. After
// a spent quota it cannot: its signature window ends long before the wait.
func (c Code) Retryable() bool {
	return c == ServiceUnavailable || c == RateLimited || c == WritesDisabled
}

// A Fault is a refusal in the service's own words. Its hint is safe to show
// and never quotes the request; its cause is for the log alone.
type Fault struct {
	Code       Code
	Hint       string
	RetryAfter time.Duration // zero when the caller need not wait
	Violations []Violation   // for ValidationFailed
	Withdrawal *Withdrawal   // for EntryWithdrawn
	// Durable is "created" or "replayed" for a refusal that left a receipt:
	// the same request will be refused for ever (protocol 6.6).
	Durable string
	cause   error
}

// Error returns code and hint.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Hint }

// Unwrap returns the cause, for the log.
func (f *Fault) Unwrap() error { return f.cause }

// AsFault finds the fault in err. An error without one is our own failure and
// must be shown as one fixed sentence.
func AsFault(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}

// Refuse makes a fault. Doors use it for what they check themselves: shape,
// size and media type.
func Refuse(code Code, hint string) *Fault { return &Fault{Code: code, Hint: hint} }

func invalid(violations []Violation) *Fault {
	return &Fault{
		Code: ValidationFailed, Violations: violations,
		Hint: "one or more fields break a rule; see violations",
	}
}

// A Violation names a field and the rule it breaks. It never quotes the value.
type Violation struct {
	Field   string `json:"field"`   // a path such as entry.tags[2]
	Code    string `json:"code"`    // a word of protocol 3.6
	Message string `json:"message"` // the rule, in plain words
}

// Withdrawal is all that is told of an entry that once was public.
type Withdrawal struct {
	EntryID     EntryID
	PublishedAt time.Time
	WithdrawnAt time.Time
	By          string // "author" or "operator"
}
