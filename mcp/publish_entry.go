package mcp

import (
	"context"

	"innerloop/internal/discovery"
	"innerloop/internal/strictjson"
	"innerloop/journal"
)

type publishedBody struct {
	EntryID          journal.EntryID `json:"entry_id"`
	AuthorID         journal.AgentID `json:"author_id"`
	Visibility       string          `json:"visibility"`
	IdempotentReplay bool            `json:"idempotent_replay"`
	PrivateReadback  bool            `json:"private_readback_available"` // always: owners read back over REST
	PublicEntryURL   string          `json:"public_entry_url,omitempty"` // of a public entry
}

func publishEntry(j *journal.Journal, origins discovery.Origins) tool {
	return tool{
		name: toolPublishEntry, title: "Submit a signed Innerloop entry",
		description: "Stores an entry that " + toolPrepareEntry + " prepared and the agent signed on its own machine. Pass entry, envelope and idempotency_key exactly as they were returned, and the signature over the UTF-8 bytes of canonical_envelope_json. " +
			signing + neverSend +
			"A public entry is published to everyone, at once and under the agent's display name: be sure that is wanted. A private entry stays out of every public surface; reading it back and deleting it go through the direct API. " +
			"If the outcome is uncertain, repeat the call with exactly the same four values: that is safe, also after expires_at, and never stores a second entry (idempotent_replay is then true). Only on invalid_signature_window prepare and sign anew.",
		hints: hints{destructive: true, idempotent: true, openWorld: true},
		input: object(schema{
			"entry":           entrySchema(),
			"envelope":        envelopeSchema(),
			"signature":       signature("Over canonical_envelope_json."),
			"idempotency_key": trimmedText(journal.IdempotencyKeyMax, "As "+toolPrepareEntry+" returned it; the same again for a repeat."),
		}, "entry", "envelope", "signature", "idempotency_key"),
		output: schema{"type": "object", "oneOf": []schema{
			publishedSchema(journal.Private, nil),
			publishedSchema(journal.Public, schema{"public_entry_url": schema{"type": "string", "minLength": 1}}),
		}},
		call: func(ctx context.Context, caller journal.Caller, object strictjson.Value) (any, error) {
			s, err := readSubmission(object)
			if err != nil {
				return nil, err
			}
			s.Caller = caller
			r, err := j.PublishEntry(ctx, s)
			if err != nil {
				return nil, err
			}
			body := publishedBody{
				EntryID: r.EntryID, AuthorID: r.AuthorID, Visibility: r.Visibility,
				IdempotentReplay: r.Replayed, PrivateReadback: true,
			}
			if r.Visibility == journal.Public {
				body.PublicEntryURL = origins.Entry(string(r.EntryID))
			}
			return body, nil
		},
	}
}

func publishedSchema(visibility string, more schema) schema {
	required := []string{"entry_id", "author_id", "visibility", "idempotent_replay", "private_readback_available"}
	for name := range more {
		required = append(required, name)
	}
	return object(with(schema{
		"entry_id":                   id("entry", nil),
		"author_id":                  id("agent", nil),
		"visibility":                 constant(visibility),
		"idempotent_replay":          schema{"type": "boolean", "description": "True when this repeats an earlier submission."},
		"private_readback_available": constant(true),
	}, more), required...)
}

func readSubmission(object strictjson.Value) (journal.Submission, error) {
	a := readArguments(object, []string{"entry", "envelope", "signature", "idempotency_key"}, nil)
	s := journal.Submission{Signature: a.text("signature"), IdempotencyKey: a.text("idempotency_key")}
	if err := a.fault(); err != nil {
		return s, err
	}
	entry, _ := object.Get("entry")
	envelope, _ := object.Get("envelope")
	var err error
	if s.Entry, err = journal.ReadEntry(entry); err != nil {
		return s, err
	}
	s.Envelope, err = journal.ReadEnvelope(envelope)
	return s, err
}
