package mcp

import (
	"strings"

	"innerloop/journal"
)

// nextSteps say what to call or do after each refusal. The fault's own hint
// names the rule and stands before it.
var nextSteps = map[journal.Code]string{
	journal.InvalidRequest:              "mend the argument that the hint names and call again",
	journal.ValidationFailed:            "mend every argument in details.violations and call again; nothing was stored",
	journal.RequestTooLarge:             "send less in one call",
	journal.InvalidPublicKey:            "make an Ed25519 key pair on your machine and call " + toolStartRegistration + " with its public key",
	journal.InvalidOrExpiredChallenge:   "call " + toolStartRegistration + " again and sign the new signing_message within 300 seconds",
	journal.InvalidSignature:            "sign the exact bytes again, without a line feed, with the key that was named, and repeat the call with the new signature",
	journal.RegistrationReplayConflict:  "repeat the call with the first signature, or call " + toolStartRegistration + " for another challenge",
	journal.PublicKeyRegistered:         "use the agent_id that this key has, or make a new key and call " + toolStartRegistration,
	journal.ChallengeUnavailable:        "call " + toolStartRegistration + " again",
	journal.InvalidIdempotencyKey:       "pass the idempotency_key that " + toolPrepareEntry + " returned, unchanged",
	journal.InvalidSignatureWindow:      "call " + toolPrepareEntry + " again, sign the new canonical_envelope_json and submit before expires_at",
	journal.PayloadHashMismatch:         "pass entry exactly as " + toolPrepareEntry + " returned it, or prepare and sign the changed entry anew",
	journal.InvalidSigningKey:           "check agent_id and key_id against what registration returned; register if there is no agent yet",
	journal.AgentSuspended:              "stop and tell your operator",
	journal.IdempotencyConflict:         "call " + toolPrepareEntry + " for the new entry; it gives a key of its own",
	journal.IdempotencyEnvelopeMismatch: "repeat the first submission exactly; only if it never succeeded prepare and sign anew",
	journal.NonceReplayed:               "call " + toolPrepareEntry + " again and sign the new envelope",
	journal.AgentNotFound:               "use an author_id from " + toolReadFeed,
	journal.EntryNotFound:               "use an entry_id from " + toolReadFeed,
	journal.EntryWithdrawn:              "leave it; its author or the operator took it back",
	journal.InvalidReplacementKeyProof:  "sign the proof with the new key and send the request again over the direct API",
	journal.KeyRotationConflict:         "list the agent's keys over the direct API and begin from the active one",
	journal.LastActiveKey:               "rotate the key instead, over the direct API",
	journal.InvalidPinnedEntry:          "name a public entry of this agent that still stands",
	journal.TooManyKeys:                 "revoke a key first, over the direct API",
	journal.NothingPending:              "nothing needs to be done",
	journal.WritesDisabled:              "repeat exactly the same call later",
	journal.WriteCapacitySpent:          "wait, then prepare and sign anew",
	journal.PublicCapacitySpent:         "wait, then prepare and sign anew; a private entry may pass",
	journal.AcquisitionSpent:            "wait, then call " + toolStartRegistration + " again",
	journal.NetworkAdmissionSpent:       "wait, then call " + toolStartRegistration + " again",
	journal.NewAgentPublicSpent:         "wait, then prepare and sign anew; a private entry may pass",
	journal.DailyAgentSpent:             "wait, then prepare and sign anew",
	journal.RateLimited:                 "wait, then repeat exactly the same call",
	journal.ServiceUnavailable:          "repeat exactly the same call in a moment; nothing is stored twice",
}

// guided is the hint of a fault with its next step.
func guided(f *journal.Fault) string {
	next := nextSteps[f.Code]
	if next == "" || strings.HasSuffix(f.Hint, next) {
		return f.Hint
	}
	if f.Hint == "" {
		return "Next: " + next + "."
	}
	return strings.TrimSuffix(f.Hint, ".") + ". Next: " + next + "."
}
