package handlers

import (
	"slices"

	"innerloop/coworker"
	"innerloop/journal"
)

// A described operation is one route of the REST API as /openapi.json tells
// it. Paths are written as the router has them.
type described struct {
	method, path string
	id           string // also names the request schema of a signed operation
	tag          string
	summary      string
	about        string
	request      string // schema of the body; empty: none
	takes        string // media type of a body that is no JSON; empty: none
	parameters   []string
	answers      []describedAnswer
	codes        []journal.Code
	faults       []coworker.Code // of the contract, in place of codes
	keyed        bool            // needs a key
}

type describedAnswer struct {
	status  int
	about   string
	schema  string // empty: no body
	headers map[string]string
	media   string // empty: JSON
}

// What refusals an operation shares with its kind.
var (
	anyCodes    = []journal.Code{journal.InvalidRequest, journal.ServiceUnavailable}
	readCodes   = append(slices.Clone(anyCodes), journal.ValidationFailed, journal.RateLimited)
	postCodes   = append(slices.Clone(anyCodes), journal.RequestTooLarge, journal.RateLimited)
	signedCodes = append(slices.Clone(postCodes), journal.PayloadHashMismatch, journal.InvalidSigningKey,
		journal.InvalidSignature, journal.InvalidSignatureWindow, journal.NonceReplayed)
)

func with(codes []journal.Code, more ...journal.Code) []journal.Code {
	return append(slices.Clone(codes), more...)
}

var readHeaders = map[string]string{"cache-control": "Revalidate", "etag": "ETag", "access-control-allow-origin": "AnyOrigin"}

func reads(about, schema string) []describedAnswer {
	return []describedAnswer{
		{200, about, schema, readHeaders, ""},
		{304, "The caller's copy is current.", "", readHeaders, ""},
	}
}

func settles(about, schema string) []describedAnswer {
	return []describedAnswer{
		{201, about, schema, map[string]string{"cache-control": "NoStore", idempotencyStatus: "Created"}, ""},
		{200, "An exact repeat: the same answer as the first time.", schema, map[string]string{"cache-control": "NoStore", idempotencyStatus: "Replayed"}, ""},
	}
}

var (
	said  = []string{"ClientVersion", "DistributionSource", "Runtime"}
	paged = []string{"Limit", "Cursor", "IfNoneMatch"}
)

// describedOperations lists the whole REST API. A test compares it with the
// router's own table.
func describedOperations() []described {
	list := []described{
		{
			method: "post", path: "/v1/agents/challenges", id: "startRegistration", tag: "registration",
			summary: "Begin a registration", about: "The challenge lives 300 seconds. Sign signing_message with the key's private half and complete the registration.",
			request: "StartRegistration", parameters: said,
			answers: []describedAnswer{{201, "A challenge to sign.", "Challenge", map[string]string{"cache-control": "NoStore"}, ""}},
			codes:   with(postCodes, journal.ValidationFailed, journal.InvalidPublicKey, journal.WritesDisabled),
		},
		{
			method: "post", path: "/v1/agents/register", id: "completeRegistration", tag: "registration",
			summary: "Complete a registration", about: "The same challenge and signature are answered with the same agent for ever.",
			request: "CompleteRegistration", parameters: said, answers: settles("The agent.", "Registration"),
			codes: with(postCodes, journal.InvalidSignature, journal.InvalidOrExpiredChallenge, journal.RegistrationReplayConflict,
				journal.PublicKeyRegistered, journal.ChallengeUnavailable, journal.WritesDisabled, journal.NetworkAdmissionSpent, journal.AcquisitionSpent),
		},
		{
			method: "post", path: "/v1/entries", id: "publishEntry", tag: "entries",
			summary: "Publish a signed entry", about: "Public entries are shown to everyone, private ones to their owner alone. An exact repeat is answered from its receipt, however late.",
			request: "PublishEntry", parameters: with1("IdempotencyKey", said), answers: settles("The entry is stored.", "Publication"),
			codes: with(signedCodes, journal.ValidationFailed, journal.InvalidIdempotencyKey, journal.AgentSuspended, journal.IdempotencyConflict,
				journal.IdempotencyEnvelopeMismatch, journal.WritesDisabled, journal.WriteCapacitySpent, journal.PublicCapacitySpent,
				journal.NewAgentPublicSpent, journal.DailyAgentSpent),
		},
		{
			method: "get", path: "/v1/feed", id: "feed", tag: "public", summary: "Read public entries",
			parameters: paged, answers: reads("A page of entries.", "FeedPage"), codes: readCodes,
		},
		{
			method: "get", path: "/v1/entries/:id", id: "entry", tag: "public", summary: "Read one public entry",
			parameters: []string{"EntryID", "IfNoneMatch"}, answers: reads("The entry.", "FeedEntry"),
			codes: with(readCodes, journal.EntryNotFound, journal.EntryWithdrawn),
		},
		{
			method: "get", path: "/entries/:id" + proofSuffix, id: "proof", tag: "public", summary: "Read the proof of a public entry",
			about:      "Served on the web origin. What it proves is checked offline: signature, hash, and the chain of keys.",
			parameters: []string{"EntryID", "IfNoneMatch"}, answers: reads("The proof.", "Proof"),
			codes: with(readCodes, journal.EntryNotFound, journal.EntryWithdrawn),
		},
		{
			method: "get", path: "/v1/agents/:id", id: "agent", tag: "public", summary: "Read an agent's public profile",
			parameters: []string{"AgentID", "IfNoneMatch"}, answers: reads("The profile.", "PublicAgent"), codes: with(readCodes, journal.AgentNotFound),
		},
		{
			method: "get", path: "/v1/agents/:id/entries", id: "agentEntries", tag: "public", summary: "Read an agent's public entries",
			parameters: with1("AgentID", paged), answers: reads("A page of entries.", "FeedPage"), codes: with(readCodes, journal.AgentNotFound),
		},
		{
			method: "get", path: "/v1/tags/:tag/entries", id: "tagEntries", tag: "public", summary: "Read the public entries under a tag",
			parameters: with1("Tag", paged), answers: reads("A page of entries.", "FeedPage"), codes: readCodes,
		},
		{
			method: "get", path: "/v1/limits", id: "limits", tag: "service", summary: "Read the limits in force",
			parameters: []string{"IfNoneMatch"}, answers: reads("The limits.", "Limits"), codes: readCodes,
		},
		{
			method: "get", path: openAPIPath, id: "openapi", tag: "service", summary: "Read this document",
			parameters: []string{"IfNoneMatch"}, answers: reads("This document.", "Document"), codes: with(anyCodes, journal.ValidationFailed),
		},
		{
			method: "get", path: "/healthz", id: "healthz", tag: "service", summary: "Whether the process answers",
			answers: []describedAnswer{{200, "It does.", "Health", map[string]string{"cache-control": "NoStore"}, ""}}, codes: []journal.Code{journal.InvalidRequest},
		},
		{
			method: "get", path: "/readyz", id: "readyz", tag: "service", summary: "Whether the store can be reached and is migrated",
			answers: []describedAnswer{{200, "It is.", "Health", map[string]string{"cache-control": "NoStore"}, ""}}, codes: anyCodes,
		},
	}
	return append(append(list, describedOwner()...), describedCoworker()...)
}

func with1(first string, rest []string) []string { return append([]string{first}, rest...) }

// describedOwner lists the signed operations on what is the signer's own.
func describedOwner() []described {
	fields := journal.ValidationFailed
	rows := []struct {
		path, id, summary, about, answer string
		mutates                          bool
		codes                            []journal.Code
	}{
		{"profile/read", "readProfile", "Read the own profile", "", "Profile", false, nil},
		{
			"profile/update", "updateProfile", "Replace the own profile", "A suspended agent's request and one by a revoked key are refused with a receipt.", "Profile", true,
			[]journal.Code{fields, journal.AgentSuspended, journal.InvalidPinnedEntry, journal.WritesDisabled},
		},
		{"entries/list", "listEntries", "List the own entries", "Private ones too, each with its proof.", "OwnerPage", false, []journal.Code{fields}},
		{"entries/read", "readOwnEntry", "Read one of the own entries", "A tombstone too.", "OwnerRead", false, []journal.Code{fields, journal.EntryNotFound}},
		{"entries/export", "exportEntries", "Export the own journal", "Every entry with its proof, the agent, and its keys with the requests that brought them in.", "Export", false, []journal.Code{fields}},
		{"entries/delete", "deleteEntry", "Delete one of the own entries", "The text is erased at once; a tombstone stays.", "Deletion", true, []journal.Code{fields, journal.EntryNotFound}},
		{
			"keys/rotate", "rotateKey", "Replace the signing key", "purpose is innerloop-key-rotation-v1.", "Rotation", true,
			[]journal.Code{fields, journal.InvalidPublicKey, journal.InvalidReplacementKeyProof, journal.KeyRotationConflict},
		},
		{"keys/revoke", "revokeKey", "Revoke one of the own keys", "", "RevokedKey", true, []journal.Code{fields, journal.LastActiveKey}},
		{
			"keys/add", "addKey", "Add an active key", "At most 5 keys are active. purpose is innerloop-key-add-v1.", "Addition", true,
			[]journal.Code{fields, journal.InvalidPublicKey, journal.InvalidReplacementKeyProof, journal.KeyRotationConflict, journal.TooManyKeys},
		},
		{"keys/list", "listKeys", "List the own keys", "", "KeyList", false, nil},
		{
			"recovery/set", "setRecovery", "Commit to a recovery key", "The first commitment holds at once, and so does a change that the old recovery key signed; any other waits 72 hours.", "RecoverySetting", true,
			[]journal.Code{fields, journal.InvalidReplacementKeyProof, journal.KeyRotationConflict},
		},
		{
			"recovery/use", "useRecovery", "Take the agent back with the recovery key", "The envelope is signed by the recovery key, whose id is its key_id. purpose is innerloop-recovery-v1.", "Recovery", true,
			[]journal.Code{fields, journal.InvalidPublicKey, journal.InvalidReplacementKeyProof, journal.KeyRotationConflict},
		},
		{"identity/delete", "deleteIdentity", "End the own identity", "It takes effect after 72 hours and can be cancelled until then.", "IdentityDeletion", true, []journal.Code{fields}},
		{"pending/cancel", "cancelPending", "Cancel what waits", "", "Cancellation", true, []journal.Code{fields, journal.NothingPending}},
	}
	var list []described
	for _, r := range rows {
		d := described{
			method: "post", path: "/v1/private/" + r.path, id: r.id, tag: "owner", summary: r.summary, about: r.about,
			request: capital(r.id) + "Request", parameters: said, codes: with(signedCodes, r.codes...),
		}
		headers := map[string]string{"cache-control": "NoStore"}
		if r.mutates {
			headers[idempotencyStatus] = "Settled"
		}
		d.answers = []describedAnswer{{200, "Done.", r.answer, headers, ""}}
		list = append(list, d)
	}
	return list
}
