package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// Decisions G: the shapes of the six actions beyond the nine.
func TestShapesOfTheSixActions(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	want := func(action string, payload map[string]any, shape string, options ...journaltest.Ask) string {
		t.Helper()
		body := ada.AsksBody(action, payload, options...)
		first := d.own(action, body)
		if got := encode(t, wantOwn(t, first, "created")); got != shape {
			t.Errorf("%s\ngot  %s\nwant %s", action, got, shape)
		}
		again := d.own(action, body)
		wantOwn(t, again, "replayed")
		if again.Body != first.Body {
			t.Errorf("%s: repeat %s", action, again.Body)
		}
		return first.Body
	}
	const now, later = "2026-09-01T10:01:00.000Z", "2026-09-04T10:01:00.000Z"
	private, public := journaltest.Key(t, "second")
	want(seal.ActionKeyAdd, nil, fmt.Sprintf(`{"active_key":{"created_at":"%s","key_id":"%s","status":"active"},"active_keys":%s}`, now, public.ID(),
		encode(t, ordered(string(ada.KeyID), public.ID()))), journaltest.WithNewKey(addition, private, public))
	reserve, reserved := journaltest.Key(t, "reserve")
	hash := seal.PayloadHash(reserved.SPKI())
	want(seal.ActionRecoverySet, map[string]any{"recovery_key_hash": hash, "old_recovery_signature": nil}, fmt.Sprintf(`{"effective_at":"%s","recovery_key_hash":"%s"}`, now, hash))
	want(seal.ActionRecoverySet, map[string]any{"recovery_key_hash": nil, "old_recovery_signature": nil}, fmt.Sprintf(`{"effective_at":"%s","recovery_key_hash":null}`, later))
	want(seal.ActionPendingCancel, map[string]any{"kind": "recovery"}, fmt.Sprintf(`{"cancelled_at":"%s","kind":"recovery"}`, now))
	want(seal.ActionIdentityDelete, map[string]any{"confirm_agent_id": string(ada.ID), "reason_code": "owner_request"}, fmt.Sprintf(`{"agent_id":"%s","effective_at":"%s"}`, ada.ID, later))
	third, fresh := journaltest.Key(t, "third")
	want(seal.ActionRecoveryUse, map[string]any{"recovery_public_key": reserved.String()}, fmt.Sprintf(`{"active_key":{"created_at":"%s","key_id":"%s","status":"active"},"revoked_keys":%s}`, now, fresh.ID(),
		encode(t, ordered(string(ada.KeyID), public.ID()))), journaltest.AskSignedBy(reserve, reserved), journaltest.WithNewKey(recovery, third, fresh))
	ada = ada.Becomes(third, fresh)
	listed := wantOwn(t, d.asks(ada, seal.ActionKeyList, nil), "")
	keys := listed["keys"].([]any)
	if len(keys) != 3 || len(listed) != 1 {
		t.Fatalf("got %v", listed)
	}
	for _, k := range keys {
		k := k.(map[string]any)
		kind := map[string]string{public.ID(): "added", fresh.ID(): "recovered"}[k["key_id"].(string)]
		if kind == "" {
			kind = "first"
		}
		active := kind == "recovered"
		if len(k) != 5 || k["kind"] != kind || (k["status"] == "active") != active || (k["revoked_at"] == nil) != active || k["created_at"] != now {
			t.Errorf("got %v", k)
		}
	}
	wantError(t, d.asks(ada, seal.ActionPendingCancel, map[string]any{"kind": "recovery"}), http.StatusConflict, journal.NothingPending)
}

// ordered sorts two ids as keys of one moment are listed.
func ordered(a, b string) []string {
	if b < a {
		a, b = b, a
	}
	return []string{a, b}
}

// 6.6: an invalid pin is a plain refusal, and the pin of what was withdrawn is
// not shown.
func TestPinOverREST(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	stays, goes := d.MustPublish(ada.Signs("stays")).EntryID, d.MustPublish(ada.Signs("goes")).EntryID
	payload := func(id journal.EntryID) map[string]any {
		p := journaltest.Bio("b")
		p["pinned_entry_id"] = string(id)
		return p
	}
	r := d.asks(ada, seal.ActionProfileSet, payload("entry_none"))
	wantError(t, r, 400, journal.InvalidPinnedEntry)
	if got := r.Header.Values("Idempotency-Status"); len(got) > 0 {
		t.Errorf("idempotency-status %q", got)
	}
	public := func() any {
		return decode(t, d.get("/v1/agents/"+string(ada.ID)).Body)["pinned_entry_id"]
	}
	wantOwn(t, d.asks(ada, seal.ActionProfileSet, payload(goes)), "created")
	if public() != string(goes) {
		t.Error("the pin is not shown")
	}
	wantOwn(t, d.asks(ada, seal.ActionEntryDelete, journaltest.Deletes(goes)), "created")
	if got := public(); got != nil {
		t.Errorf("pinned %v after deletion", got)
	}
	wantOwn(t, d.asks(ada, seal.ActionProfileSet, payload(stays)), "created")
	if err := d.HideEntry(t.Context(), stays, ""); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.get("/v1/agents/"+string(ada.ID)), 404, journal.AgentNotFound)
	own := wantOwn(t, d.asks(ada, seal.ActionProfileRead, nil), "")
	if own["pinned_entry_id"] != nil {
		t.Errorf("pinned %v after hiding", own["pinned_entry_id"])
	}
}

// 6.5, 7.2: a withdrawal shows on the very next public read, validators too.
func TestDeletionShowsAtOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	d.MustPublish(ada.Signs("stays"))
	id := d.MustPublish(ada.Signs("a title to forget")).EntryID
	places := []string{"/v1/feed", "/v1/agents/" + string(ada.ID) + "/entries", "/v1/tags/notes/entries", "/", "/agents/" + string(ada.ID)}
	tags := map[string]string{}
	for _, place := range places {
		r := d.get(place)
		if tags[place] = r.Header.Get("Etag"); !strings.Contains(r.Body, "a title to forget") {
			t.Fatalf("%s: %d, the entry is not there", place, r.Status)
		}
	}
	wantOwn(t, d.asks(ada, seal.ActionEntryDelete, journaltest.Deletes(id)), "created")
	for _, place := range places {
		if r := d.get(place, "If-None-Match", tags[place]); r.Status != 200 || strings.Contains(r.Body, "a title to forget") {
			t.Errorf("%s: %d after deletion", place, r.Status)
		}
	}
	wantError(t, d.get("/v1/entries/"+string(id)), 410, journal.EntryWithdrawn)
	wantError(t, d.asks(d.Agent("Eve"), seal.ActionEntryDelete, journaltest.Deletes(id)), 404, journal.EntryNotFound)
}

// 6.3: the order of checks before anything is believed.
func TestOwnerRefusalOrder(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, eve := d.Agent("Ada"), d.Agent("Eve")
	stale := journaltest.AskWith(func(e *seal.Envelope) {
		e.IssuedAt, e.ExpiresAt = "2026-09-01T09:00:00.000Z", "2026-09-01T09:05:00.000Z"
	})
	wrongHash := journaltest.AskWith(func(e *seal.Envelope) { e.PayloadHash = seal.PayloadHash([]byte("{}")) })
	bad := map[string]any{"entry_id": "bad", "reason_code": "other"}
	wantError(t, d.asks(ada, seal.ActionEntryDelete, bad, wrongHash, stale, journaltest.AskSigned(eve.Private)), 400, journal.PayloadHashMismatch)
	wantError(t, d.asks(ada, seal.ActionEntryDelete, bad, stale, journaltest.AskSignedBy(eve.Private, eve.Public)), 401, journal.InvalidSigningKey)
	wantError(t, d.asks(ada, seal.ActionEntryDelete, bad, stale, journaltest.AskSigned(eve.Private)), 401, journal.InvalidSignature)
	wantError(t, d.asks(ada, seal.ActionEntryDelete, bad, stale), 401, journal.InvalidSignatureWindow)
	wantError(t, d.asks(ada, seal.ActionEntryDelete, bad), 400, journal.ValidationFailed)
	used := ada.Asks(seal.ActionProfileRead, nil)
	wantOwn(t, d.asks(ada, seal.ActionProfileRead, nil, journaltest.AskWith(func(e *seal.Envelope) { e.Nonce = used.Envelope.Nonce })), "")
	wantError(t, d.asks(ada, seal.ActionProfileRead, nil, journaltest.AskWith(func(e *seal.Envelope) { e.Nonce = used.Envelope.Nonce })), 409, journal.NonceReplayed)
}
