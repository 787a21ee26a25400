package journal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// F.1, F.2: for every action a stranger gets the same answer, after the same
// calls of the store, for a private agent and for one that never was.
func TestStrangersLearnNothing(t *testing.T) {
	t.Parallel()
	real := journaltest.Open(t)
	store := &journaltest.Watched{Store: real.Store}
	j := journaltest.Around(t, real.Store, store)
	quiet := newPrivateScene(t, j)
	stranger, theirs := journaltest.Key(t, "stranger")
	for _, action := range journal.OwnerActions() {
		for kind, sign := range map[string]journaltest.Ask{
			"a key of nobody":            journaltest.AskSignedBy(stranger, theirs),
			"a signature that is not":    journaltest.AskSignedBy(stranger, theirs),
			"a used nonce of the agent":  nonceOf(quiet.used, stranger, theirs),
			"a window that ended before": windowOf("2026-09-01T09:00:00Z", "2026-09-01T09:01:00Z", stranger, theirs),
		} {
			var answers, works []string
			for _, actor := range []journal.AgentID{quiet.ada.ID, "agent_unknown"} {
				request := quiet.ada.Asks(action, quiet.payload(t, action), journaltest.AskWith(func(e *seal.Envelope) { e.ActorID = string(actor) }), sign)
				if kind == "a signature that is not" {
					request.Signature = seal.Sign(stranger, []byte("something else")).String()
				}
				store.Calls()
				_, err := answerOf(t.Context(), j.Journal, request)
				if _, ok := journal.AsFault(err); !ok {
					t.Fatalf("%s, %s: %v", action, kind, err)
				}
				answers, works = append(answers, err.Error()), append(works, strings.Join(store.Calls(), " "))
			}
			if answers[0] != answers[1] || works[0] != works[1] {
				t.Errorf("%s, %s: private %s after %s; unknown %s after %s", action, kind, answers[0], works[0], answers[1], works[1])
			}
		}
	}
}

type privateScene struct {
	scene
	used string
}

func newPrivateScene(t *testing.T, j *journaltest.J) privateScene {
	t.Helper()
	s := privateScene{scene: scene{ada: j.Agent("Quiet"), keys: reserve(t, "private")}}
	s.pinned = j.MustPublish(s.ada.Signs("secret", journaltest.Private)).EntryID
	request := s.ada.Asks(seal.ActionProfileSet, journaltest.Bio("quiet"))
	if _, err := answerOf(t.Context(), j.Journal, request); err != nil {
		t.Fatal(err)
	}
	if _, err := setRecovery(t, j, s.ada, s.keys.hash()); err != nil {
		t.Fatal(err)
	}
	s.used = request.Envelope.Nonce
	return s
}

// payload is of the right shape, with keys that are not the agent's.
func (s privateScene) payload(t *testing.T, action string) map[string]any {
	t.Helper()
	_, other := journaltest.Key(t, "other")
	key := map[string]any{"new_public_key": other.String(), "new_key_signature": seal.Signature{}.String()}
	switch action {
	case seal.ActionKeyRotate, seal.ActionKeyAdd:
		return key
	case seal.ActionRecoveryUse:
		_, stranger := journaltest.Key(t, "stranger")
		key["recovery_public_key"] = stranger.String()
		return key
	case seal.ActionProfileSet:
		return journaltest.Bio("taken")
	case seal.ActionEntryList:
		return journaltest.ListAll(5, nil)
	case seal.ActionEntryExport:
		return journaltest.ExportAll(5, nil)
	case seal.ActionEntryRead:
		return map[string]any{"entry_id": string(s.pinned)}
	case seal.ActionEntryDelete:
		return journaltest.Deletes(s.pinned)
	case seal.ActionKeyRevoke:
		return map[string]any{"key_id": string(s.ada.KeyID)}
	case seal.ActionRecoverySet:
		return map[string]any{"recovery_key_hash": nil, "old_recovery_signature": nil}
	case seal.ActionIdentityDelete:
		return map[string]any{"confirm_agent_id": "agent_x", "reason_code": "owner_request"}
	case seal.ActionPendingCancel:
		return map[string]any{"kind": "recovery"}
	}
	return nil
}

func nonceOf(nonce string, private []byte, public seal.PublicKey) journaltest.Ask {
	return journaltest.Both(journaltest.AskWith(func(e *seal.Envelope) { e.Nonce = nonce }), journaltest.AskSignedBy(private, public))
}

func windowOf(issued, expires string, private []byte, public seal.PublicKey) journaltest.Ask {
	return journaltest.Both(journaltest.AskWith(func(e *seal.Envelope) { e.IssuedAt, e.ExpiresAt = issued, expires }), journaltest.AskSignedBy(private, public))
}

// 6.6: receipts and everything else that outlives a text hold nothing of it.
func TestNoReceiptKeepsText(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	const word = "xylophonist"
	id := j.MustPublish(ada.Signs(word, journaltest.Private, journaltest.Body("A "+word+" at dawn."))).EntryID
	request := ada.Asks(seal.ActionProfileSet, journaltest.Bio(word))
	if _, err := answerOf(t.Context(), j.Journal, request); err != nil {
		t.Fatal(err)
	}
	if _, err := answerOf(t.Context(), j.Journal, ada.Asks(seal.ActionProfileSet, journaltest.Bio("else"))); err != nil {
		t.Fatal(err)
	}
	mustDelete(t, j, ada, id)
	receipt, err := j.Store.OwnerReceipt(t.Context(), ada.ID, request.Action, journal.Digest{})
	if err == nil {
		t.Errorf("a receipt under no nonce: %+v", receipt)
	}
	e, err := j.Store.OwnerEntry(t.Context(), ada.ID, id)
	if err != nil || strings.Contains(fmt.Sprint(e), word) {
		t.Errorf("%+v, %v", e, err)
	}
	rows, err := j.Store.Scan(t.Context(), journal.Place{}, 10)
	if err != nil || slices.ContainsFunc(rows, func(r journal.StoredEntry) bool {
		return r.Language != "und" || strings.Contains(string(r.Signed.CanonicalEntry), word)
	}) {
		t.Errorf("%+v, %v", rows, err)
	}
}
