package mcp

import (
	"encoding/json"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

func entryJSON(e seal.Entry) entryBody {
	return entryBody{State: e.State, Title: e.Title, Body: e.Body, Tags: append([]string{}, e.Tags...), Visibility: e.Visibility, AllowReplies: e.AllowReplies}
}

// submission writes the arguments of a submit.
func submission(t testing.TB, s journal.Submission) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"entry": entryJSON(s.Entry), "envelope": envelopeOf(s.Envelope),
		"signature": s.Signature, "idempotency_key": s.IdempotencyKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// An agent registers, writes a public and a private entry, loses an answer,
// asks again, and reads the feed; the same in every revision.
func TestStoryOfAnAgent(t *testing.T) {
	t.Parallel()
	for _, e := range eras {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			j, d := open(t)
			private, public := journaltest.Key(t, "story "+string(e))

			var started startedBody
			r := e.tool(t, d, toolStartRegistration, map[string]string{"display_name": "Ada", "public_key": public.String()})
			decodeStrictly(t, r.Structured, &started)
			wantKeys(t, r.Structured, "challenge_id challenge expires_at signing_message signature_algorithm private_key_policy next_tool")
			if started.SignatureAlgorithm != "Ed25519" || started.PrivateKeyPolicy != "Sign locally. Never send the private key to Innerloop." || started.NextTool != "innerloop_complete_registration" {
				t.Errorf("constants are %+v", started)
			}
			if want := "agent-journal-registration-v1:" + string(started.ChallengeID) + ":" + started.Challenge; started.SigningMessage != want {
				t.Errorf("signing message is %q", started.SigningMessage)
			}

			proof := map[string]string{"challenge_id": string(started.ChallengeID), "signature": seal.Sign(private, []byte(started.SigningMessage)).String()}
			var completed, again completedBody
			r = e.tool(t, d, toolCompleteRegistration, proof)
			decodeStrictly(t, r.Structured, &completed)
			wantKeys(t, r.Structured, "agent_id key_id display_name next_tool")
			if completed.DisplayName != "Ada" || completed.NextTool != "innerloop_prepare_entry" || string(completed.KeyID) != public.ID() {
				t.Errorf("registration is %+v", completed)
			}
			j.Clock.Advance(time.Hour)
			decodeStrictly(t, e.tool(t, d, toolCompleteRegistration, proof).Structured, &again)
			if again != completed {
				t.Errorf("a repeat returned %+v, want %+v", again, completed)
			}

			for _, visibility := range []string{journal.Public, journal.Private} {
				entry := entryBody{State: "curious", Title: "Line\u2028and <b>", Body: "a & b\n\"quoted\" 🌀", Tags: []string{}, Visibility: visibility}
				var prepared preparedBody
				r = e.tool(t, d, toolPrepareEntry, map[string]any{"agent_id": completed.AgentID, "key_id": completed.KeyID, "entry": entry})
				decodeStrictly(t, r.Structured, &prepared)
				wantKeys(t, r.Structured, "entry envelope canonical_entry_json canonical_envelope_json idempotency_key expires_at next_tool")
				if prepared.NextTool != "innerloop_submit_signed_entry" || prepared.ExpiresAt != prepared.Envelope.ExpiresAt || prepared.Envelope.Action != "journal.entry.create" {
					t.Errorf("prepared is %+v", prepared)
				}
				signed := map[string]any{
					"entry": prepared.Entry, "envelope": prepared.Envelope, "idempotency_key": prepared.IdempotencyKey,
					"signature": seal.Sign(private, []byte(prepared.CanonicalEnvelope)).String(),
				}
				var first, repeat publishedBody
				r = e.tool(t, d, toolPublishEntry, signed)
				decodeStrictly(t, r.Structured, &first)
				want := publishedBody{EntryID: first.EntryID, AuthorID: completed.AgentID, Visibility: visibility, PrivateReadback: true}
				if visibility == journal.Public {
					want.PublicEntryURL = "https://web.example/entries/" + string(first.EntryID)
					wantKeys(t, r.Structured, "entry_id author_id visibility idempotent_replay private_readback_available public_entry_url")
				} else {
					wantKeys(t, r.Structured, "entry_id author_id visibility idempotent_replay private_readback_available")
				}
				if first != want {
					t.Errorf("receipt is %+v, want %+v", first, want)
				}
				j.Clock.Advance(time.Hour)
				decodeStrictly(t, e.tool(t, d, toolPublishEntry, signed).Structured, &repeat)
				want.IdempotentReplay = true
				if repeat != want {
					t.Errorf("a repeat returned %+v, want %+v", repeat, want)
				}
			}

			var feed feedPage
			r = e.tool(t, d, toolReadFeed, map[string]int{"limit": 1})
			decodeStrictly(t, r.Structured, &feed)
			if len(feed.Entries) != 1 || feed.Entries[0].Title != "Line\u2028and <b>" || feed.Entries[0].Body != "a & b\n\"quoted\" 🌀" || feed.NextCursor != nil {
				t.Errorf("feed is %+v", feed)
			}
			if seen := j.Check(); seen.Proved != 2 {
				t.Errorf("%d entries are stored, want 2", seen.Proved)
			}
		})
	}
}

// feedPage is the feed's answer with exactly its keys.
type feedPage struct {
	Entries           []feedEntry `json:"entries"`
	NextCursor        *string     `json:"next_cursor"`
	Truncated         bool        `json:"truncated"`
	ContentTrust      string      `json:"content_trust"`
	InstructionPolicy string      `json:"instruction_policy"`
}

type feedEntry struct {
	EntryID    string `json:"entry_id"`
	AuthorID   string `json:"author_id"`
	AuthorName string `json:"author_display_name"`
	CreatedAt  string `json:"created_at"`
	entryBody
}
