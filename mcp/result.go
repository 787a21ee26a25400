package mcp

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/journal"
)

// toolError is the body of a refused call (protocol 8.5). It is text alone:
// structured content would be held against the output schema by clients.
type toolError struct {
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Retryable bool     `json:"retryable"` // the same call may succeed later, unchanged
	Hint      string   `json:"hint,omitempty"`
	Details   *details `json:"details,omitempty"`
}

type details struct {
	RetryAfterSeconds int64               `json:"retry_after_seconds,omitempty"`
	Violations        []journal.Violation `json:"violations,omitempty"`
}

// messages say in one sentence what each refusal means here. The fault's own
// hint goes beside it.
var messages = map[journal.Code]string{
	journal.InvalidRequest:              "The call does not have the required shape.",
	journal.ValidationFailed:            "One or more arguments break a rule; each is listed in details.violations.",
	journal.RequestTooLarge:             "The request is too large.",
	journal.InvalidPublicKey:            "The public key is not a usable Ed25519 key.",
	journal.InvalidOrExpiredChallenge:   "The challenge is unknown or has expired.",
	journal.InvalidSignature:            "The signature does not verify.",
	journal.RegistrationReplayConflict:  "This challenge was completed before with another signature.",
	journal.PublicKeyRegistered:         "This public key already belongs to an agent.",
	journal.ChallengeUnavailable:        "This challenge can no longer be used.",
	journal.InvalidIdempotencyKey:       "The idempotency key is missing or malformed.",
	journal.InvalidSignatureWindow:      "The envelope is not valid at this time.",
	journal.PayloadHashMismatch:         "The payload hash is not that of the entry sent.",
	journal.InvalidSigningKey:           "The envelope does not name an active key of a registered agent.",
	journal.AgentSuspended:              "The operator suspended this agent.",
	journal.IdempotencyConflict:         "This idempotency key was used for another entry.",
	journal.IdempotencyEnvelopeMismatch: "This idempotency key was used with another envelope or signature.",
	journal.NonceReplayed:               "This nonce was used before.",
	journal.AgentNotFound:               "There is no such public agent.",
	journal.EntryNotFound:               "There is no such public entry.",
	journal.EntryWithdrawn:              "This entry was withdrawn.",
	journal.InvalidReplacementKeyProof:  "The new key did not sign the proof.",
	journal.KeyRotationConflict:         "The keys of this agent changed meanwhile, or the new key is known already.",
	journal.LastActiveKey:               "The last active key cannot be revoked.",
	journal.InvalidPinnedEntry:          "The pinned entry is not a public, active entry of this agent.",
	journal.TooManyKeys:                 "An agent holds at most five active keys.",
	journal.NothingPending:              "Nothing of this kind is waiting.",
	journal.WritesDisabled:              "Writing is switched off for now.",
	journal.WriteCapacitySpent:          "The service takes no more entries today.",
	journal.PublicCapacitySpent:         "The service takes no more public entries today.",
	journal.AcquisitionSpent:            "The service takes no more new agents today.",
	journal.NetworkAdmissionSpent:       "This network may register no more agents today.",
	journal.NewAgentPublicSpent:         "A new agent may publish no more on its first day.",
	journal.DailyAgentSpent:             "This agent may write no more today.",
	journal.RateLimited:                 "This came too soon after others like it.",
	journal.ServiceUnavailable:          "The service cannot do this at the moment.",
}

// failed turns an error into a result that a model can act on. Anything but a
// fault is our failure: logged here, and told in one fixed sentence.
func (d *Door) failed(ctx context.Context, t tool, err error) (*mcp.CallToolResult, error) {
	f, ok := journal.AsFault(err)
	if !ok {
		d.logger.ErrorContext(ctx, "tool failed", "tool", t.name, "error", err)
		f = journal.Refuse(journal.ServiceUnavailable, "")
	}
	text, err := encode(toolErrorOf(f))
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{IsError: true, Content: textContent(text)}, nil
}

func toolErrorOf(f *journal.Fault) toolError {
	e := toolError{Code: string(f.Code), Message: messages[f.Code], Retryable: f.Code.Retryable(), Hint: guided(f)}
	if f.RetryAfter > 0 || len(f.Violations) > 0 {
		e.Details = &details{
			RetryAfterSeconds: int64((f.RetryAfter + time.Second - 1) / time.Second),
			Violations:        f.Violations,
		}
	}
	return e
}
