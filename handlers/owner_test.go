package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// paths gives each owner action its path (protocol 6.2).
var paths = map[string]string{
	seal.ActionProfileRead: "profile/read", seal.ActionProfileSet: "profile/update",
	seal.ActionEntryList: "entries/list", seal.ActionEntryRead: "entries/read",
	seal.ActionEntryExport: "entries/export", seal.ActionEntryDelete: "entries/delete",
	seal.ActionKeyRotate: "keys/rotate", seal.ActionKeyRevoke: "keys/revoke",
	seal.ActionKeyAdd: "keys/add", seal.ActionKeyList: "keys/list",
	seal.ActionRecoverySet: "recovery/set", seal.ActionRecoveryUse: "recovery/use",
	seal.ActionIdentityDelete: "identity/delete", seal.ActionPendingCancel: "pending/cancel",
}

const (
	rotation = "innerloop-key-rotation-v1"
	addition = "innerloop-key-add-v1"
	recovery = "innerloop-recovery-v1"
)

// own sends an owner request.
func (d *door) own(action, body string) reply {
	d.t.Helper()
	return d.post("/v1/private/"+paths[action], body)
}

func (d *door) asks(a *journaltest.Agent, action string, payload map[string]any, options ...journaltest.Ask) reply {
	d.t.Helper()
	return d.own(action, a.AsksBody(action, payload, options...))
}

// wantOwn checks what holds for every successful answer of protocol 6 and
// returns the body.
func wantOwn(t *testing.T, r reply, standing string) map[string]any {
	t.Helper()
	if r.Status != http.StatusOK {
		t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	if got := r.Header.Values("Idempotency-Status"); strings.Join(got, ",") != standing {
		t.Errorf("idempotency-status %q, want %q", got, standing)
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("cache-control %q", r.Header.Get("Cache-Control"))
	}
	if len(r.Body) > 1_048_576 {
		t.Errorf("%d bytes", len(r.Body))
	}
	wantMachineHeaders(t, r)
	return decode(t, r.Body)
}

// 12.1: every owner vector is accepted at its time, through REST.
func TestOwnerVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../seal/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Ops map[string]struct {
			Action    string          `json:"action"`
			Payload   json.RawMessage `json:"payload"`
			Envelope  json.RawMessage `json:"envelope"`
			Signature string          `json:"signature"`
		} `json:"ops"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		status int
		code   string
	}{
		"owner_list": {200, ""}, "profile_read": {200, ""}, "profile_update": {200, ""}, "key_rotate": {200, ""},
		// This one is believed and then found to bring a cursor that is not ours.
		"owner_export": {400, "validation_failed"},
		// The vector's entry is not stored, and its only key is the last one.
		"owner_read": {404, "entry_not_found"}, "owner_delete": {404, "entry_not_found"}, "key_revoke": {409, "last_active_owner_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, ok := file.Ops[name]
			if !ok {
				t.Fatal("no such vector")
			}
			d := open(t)
			d.VectorAgent()
			d.Clock.Set(time.Date(2026, 9, 1, 10, 1, 0, 0, time.UTC))
			body := encode(t, map[string]any{"payload": v.Payload, "envelope": v.Envelope, "signature": v.Signature})
			r := d.own(v.Action, body)
			if r.Status != want.status || want.code != "" && decode(t, r.Body)["error"] != want.code {
				t.Errorf("status %d: %s", r.Status, r.Body)
			}
		})
	}
}

// 6.1, 6.2: an action has one path, its envelope names it, and payloads have
// exact keys.
func TestOwnerRequestShape(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	for action, path := range paths {
		other := seal.ActionEntryCreate
		body := ada.AsksBody(action, nil, journaltest.AskWith(func(e *seal.Envelope) { e.Action = other }))
		wantError(t, d.post("/v1/private/"+path, body), 400, journal.InvalidRequest)
		wantError(t, d.own(action, ada.AsksBody(action, map[string]any{"surplus": 1})), 400, journal.InvalidRequest)
		wantError(t, d.get("/v1/private/"+path), 405, journal.InvalidRequest)
		wantError(t, d.post("/v1/private/"+path, `{"payload":{}}`), 400, journal.InvalidRequest)
	}
	wantError(t, d.own(seal.ActionEntryRead, ada.AsksBody(seal.ActionEntryRead, map[string]any{"entry_id": []any{"x"}})), 400, journal.InvalidRequest)
	wantError(t, d.own(seal.ActionEntryList, strings.Replace(ada.AsksBody(seal.ActionEntryList, journaltest.ListAll(5, nil)), `"limit":5`, `"limit":5.0`, 1)), 400, journal.InvalidRequest)
}

// 6.5: shapes of owner reads; no idempotency-status; the proof beside the text.
func TestOwnerReadShapes(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	s := ada.Signs("A \"quoted\" title", journaltest.Private, journaltest.Tags("one", "two"))
	id := d.MustPublish(s).EntryID
	gone := d.MustPublish(ada.Signs("gone")).EntryID
	wantOwn(t, d.asks(ada, seal.ActionEntryDelete, journaltest.Deletes(gone)), "created")

	list := wantOwn(t, d.asks(ada, seal.ActionEntryList, journaltest.ListAll(50, nil)), "")
	if _, there := list["next_cursor"]; !there || list["next_cursor"] != nil {
		t.Errorf("next_cursor %v", list["next_cursor"])
	}
	entries := list["entries"].([]any)
	if len(entries) != 2 {
		t.Fatalf("%d entries", len(entries))
	}
	tomb := encode(t, entries[0])
	want := fmt.Sprintf(`{"allow_replies":false,"author_id":"%s","body":null,"created_at":"2026-09-01T10:01:00.000Z","deleted_at":"2026-09-01T10:01:00.000Z","entry_id":"%s","key_id":"%s","self_reported_state":null,"status":"deleted","tags":[],"title":null,"visibility":"public"}`, ada.ID, gone, ada.KeyID)
	if tomb != want && entries[1].(map[string]any)["status"] != "deleted" {
		t.Errorf("tombstone %s\nwant %s", tomb, want)
	}
	read := wantOwn(t, d.asks(ada, seal.ActionEntryRead, map[string]any{"entry_id": string(id)}), "")
	e := read["entry"].(map[string]any)
	proof := e["proof"].(map[string]any)
	delete(e, "proof")
	if got, want := encode(t, e), fmt.Sprintf(`{"allow_replies":false,"author_id":"%s","body":%q,"created_at":"2026-09-01T10:01:00.000Z","deleted_at":null,"entry_id":"%s","self_reported_state":"steady","status":"active","tags":["one","two"],"title":"A \"quoted\" title","visibility":"private"}`, ada.ID, s.Entry.Body, id); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(proof) != 5 || proof["canonical_entry"] != string(s.Entry.Canonical()) || proof["canonical_envelope"] != string(s.Envelope.Canonical()) ||
		proof["signature"] != s.Signature || proof["public_key"] != ada.Public.String() || proof["key_id"] != string(ada.KeyID) {
		t.Errorf("proof %v", proof)
	}
	export := wantOwn(t, d.asks(ada, seal.ActionEntryExport, journaltest.ExportAll(500, nil)), "")
	if export["format"] != "innerloop-journal-export-v1" || export["exported_at"] != "2026-09-01T10:01:00.000Z" || len(export["entries"].([]any)) != 2 || export["next_cursor"] != nil {
		t.Errorf("export %v", export)
	}
	profile := encode(t, wantOwn(t, d.asks(ada, seal.ActionProfileRead, nil), ""))
	if want := fmt.Sprintf(`{"agent_id":"%s","bio":null,"owner_url":null,"pinned_entry_id":null,"purpose":null,"updated_at":null}`, ada.ID); profile != want {
		t.Errorf("profile %s", profile)
	}
}

// 6.5 size trap: pages end by bytes, every entry arrives once, and the bound
// that pages are cut by holds for what is sent.
func TestExportPagesStayUnderTheClientsBound(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	const astral, quoted = 500, 40
	const many = astral + quoted
	for i := range many {
		text := strings.Repeat("\U0001f642", 20_000)
		if i >= astral {
			text = strings.Repeat("\"\n", 9_999) + "x"
		}
		d.MustPublish(ada.Signs(fmt.Sprint("long ", i), journaltest.Private, journaltest.Body(text)))
	}
	seen, pages := map[string]bool{}, 0
	for cursor := any(nil); ; pages++ {
		r := d.asks(ada, seal.ActionEntryExport, journaltest.ExportAll(500, cursor))
		page := wantOwn(t, r, "")
		for _, e := range page["entries"].([]any) {
			seen[e.(map[string]any)["entry_id"].(string)] = true
		}
		if cursor = page["next_cursor"]; cursor == nil {
			break
		}
		if len(r.Body) < 700_000 {
			t.Errorf("a page of %d bytes that is not the last", len(r.Body))
		}
	}
	if len(seen) != many || pages < 8 {
		t.Errorf("%d entries on %d pages", len(seen), pages)
	}
}

// 6.6: shape, replay and the original times of a profile update.
func TestProfileUpdateAnswer(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	pin := d.MustPublish(ada.Signs("pinned")).EntryID
	body := ada.AsksBody(seal.ActionProfileSet, map[string]any{"bio": "<b>\u2028&", "purpose": "p", "owner_url": "https://example.org/", "pinned_entry_id": string(pin)})
	first := d.own(seal.ActionProfileSet, body)
	got := wantOwn(t, first, "created")
	if got["bio"] != "<b>\u2028&" || got["purpose"] != "p" || got["owner_url"] != "https://example.org/" || got["pinned_entry_id"] != string(pin) || got["updated_at"] == nil {
		t.Errorf("got %v", got)
	}
	d.Clock.Advance(24 * time.Hour)
	if second := d.own(seal.ActionProfileSet, body); second.Body != first.Body {
		t.Errorf("repeat %s, first %s", second.Body, first.Body)
	} else {
		wantOwn(t, second, "replayed")
	}
	if page := decode(t, d.get("/v1/agents/"+string(ada.ID)).Body); page["pinned_entry_id"] != string(pin) || page["purpose"] != "p" {
		t.Errorf("public agent %v", page)
	}
}

// 6.6: a refusal that will last is told as such, once created, then replayed;
// strangers leave nothing.
func TestProfileRejectionIsDurable(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, eve := d.Agent("Ada"), d.Agent("Eve")
	if err := d.SuspendAgent(t.Context(), ada.ID, "noise"); err != nil {
		t.Fatal(err)
	}
	body := ada.AsksBody(seal.ActionProfileSet, journaltest.Bio("new"))
	for _, standing := range []string{"created", "replayed", "replayed"} {
		r := d.own(seal.ActionProfileSet, body)
		wantError(t, r, 403, journal.AgentSuspended)
		if got := r.Header.Get("Idempotency-Status"); got != standing {
			t.Errorf("idempotency-status %q, want %q", got, standing)
		}
		d.Clock.Advance(time.Hour)
	}
	// Another text under the same nonce is no repeat.
	late := d.asks(ada, seal.ActionProfileSet, journaltest.Bio("late"), journaltest.AskWith(func(e *seal.Envelope) {
		e.IssuedAt, e.ExpiresAt = "2026-09-01T10:00:00.000Z", "2026-09-01T10:05:00.000Z"
	}))
	wantError(t, late, 401, journal.InvalidSignatureWindow)

	private, public := journaltest.Key(t, "eve's next")
	wantOwn(t, d.asks(eve, seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, private, public)), "created")
	body = eve.AsksBody(seal.ActionProfileSet, journaltest.Bio("by the old key"))
	for _, standing := range []string{"created", "replayed"} {
		r := d.own(seal.ActionProfileSet, body)
		wantError(t, r, 401, journal.InvalidSigningKey)
		if got := r.Header.Get("Idempotency-Status"); got != standing {
			t.Errorf("revoked key: idempotency-status %q, want %q", got, standing)
		}
	}
	stranger, _ := journaltest.Key(t, "stranger")
	for name, r := range map[string]reply{
		"forged under the revoked key": d.asks(eve, seal.ActionProfileSet, journaltest.Bio("x"), journaltest.AskSigned(stranger)),
		"an unknown agent": d.asks(eve, seal.ActionProfileSet, journaltest.Bio("x"), journaltest.AskWith(func(e *seal.Envelope) {
			e.ActorID = "agent_unknown"
		})),
	} {
		wantError(t, r, 401, journal.InvalidSigningKey)
		if got := r.Header.Values("Idempotency-Status"); len(got) > 0 {
			t.Errorf("%s: idempotency-status %q", name, got)
		}
	}
}

// 6.7, 6.8, 6.9: shapes and the exact repeat after the window, after rotation
// and after deletion.
func TestMutationShapesAndLateRepeats(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	d.MustPublish(ada.Signs("stays"))
	id := d.MustPublish(ada.Signs("goes")).EntryID
	type sent struct{ action, body, answer string }
	var all []sent
	do := func(action, body string) map[string]any {
		t.Helper()
		r := d.own(action, body)
		all = append(all, sent{action, body, r.Body})
		return wantOwn(t, r, "created")
	}
	deleted := do(seal.ActionEntryDelete, ada.AsksBody(seal.ActionEntryDelete, journaltest.Deletes(id)))
	if got, want := encode(t, deleted), fmt.Sprintf(`{"deleted_at":"2026-09-01T10:01:00.000Z","entry_id":"%s","status":"deleted","visibility":"public"}`, id); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	do(seal.ActionProfileSet, ada.AsksBody(seal.ActionProfileSet, journaltest.Bio("b")))
	private, public := journaltest.Key(t, "next")
	rotated := do(seal.ActionKeyRotate, ada.AsksBody(seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, private, public)))
	if got, want := encode(t, rotated), fmt.Sprintf(`{"active_key":{"created_at":"2026-09-01T10:01:00.000Z","key_id":"%s","status":"active"},"replaced_key":{"key_id":"%s","revoked_at":"2026-09-01T10:01:00.000Z","status":"revoked"}}`, public.ID(), ada.KeyID); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	old := ada
	ada = ada.Becomes(private, public)
	wantError(t, d.asks(old, seal.ActionEntryDelete, journaltest.Deletes(id)), 401, journal.InvalidSigningKey)
	wantError(t, d.asks(ada, seal.ActionKeyRevoke, map[string]any{"key_id": public.ID()}), 409, journal.LastActiveKey)
	wantError(t, d.asks(ada, seal.ActionKeyRevoke, map[string]any{"key_id": "key_unknown"}), 400, journal.ValidationFailed)
	d.Clock.Advance(time.Minute)
	again := do(seal.ActionKeyRevoke, ada.AsksBody(seal.ActionKeyRevoke, map[string]any{"key_id": string(old.KeyID)}))
	if again["revoked_at"] != "2026-09-01T10:01:00.000Z" || again["status"] != "revoked" || again["key_id"] != string(old.KeyID) {
		t.Errorf("revoking a revoked key: %v", again)
	}
	d.Clock.Advance(400 * 24 * time.Hour)
	for _, s := range all {
		r := d.own(s.action, s.body)
		wantOwn(t, r, "replayed")
		if r.Body != s.answer {
			t.Errorf("%s: repeat %s, first %s", s.action, r.Body, s.answer)
		}
	}
}

// 6.8: what a rotation refuses.
func TestRotationRefusals(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, eve := d.Agent("Ada"), d.Agent("Eve")
	private, public := journaltest.Key(t, "next")
	_, vector := journaltest.Key(t, "compat vector key B")
	swap := func(change func(payload map[string]any)) reply {
		payload := map[string]any{}
		body := decode(t, ada.AsksBody(seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, private, public)))["payload"].(map[string]any)
		for k, v := range body {
			payload[k] = v
		}
		change(payload)
		return d.asks(ada, seal.ActionKeyRotate, payload)
	}
	wantError(t, swap(func(map[string]any) {}), 400, journal.InvalidReplacementKeyProof) // of another nonce
	wantError(t, swap(func(p map[string]any) { p["new_public_key"] = "short" }), 400, journal.InvalidPublicKey)
	wantError(t, swap(func(p map[string]any) { p["new_public_key"] = vector.String() }), 400, journal.InvalidPublicKey)
	wantError(t, swap(func(p map[string]any) { p["new_public_key"] = 5 }), 400, journal.ValidationFailed)
	wantError(t, d.asks(ada, seal.ActionKeyRotate, nil, journaltest.WithNewKey(addition, private, public)), 400, journal.InvalidReplacementKeyProof)
	wantError(t, d.asks(ada, seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, ada.Private, ada.Public)), 400, journal.InvalidReplacementKeyProof)
	wantError(t, d.asks(ada, seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, eve.Private, eve.Public)), 409, journal.KeyRotationConflict)
	wantOwn(t, d.asks(ada, seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, private, public)), "created")
	// A revoked key never comes back.
	ada = ada.Becomes(private, public)
	back, first := journaltest.Key(t, "Ada 1")
	wantError(t, d.asks(ada, seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, back, first)), 409, journal.KeyRotationConflict)
}
