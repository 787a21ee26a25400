package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// A walk is what a strict client hears on its way through protocol 5 to 7.
type walk struct {
	start, created, again                        reply // registration
	published, repeated, private, late           reply // entries
	list, read, export, profile                  reply // live reads
	edited, editedAgain                          reply
	deleted, deletedAgain                        reply
	rotated, rotatedAgain, oldKey, revokedAgain  reply
	lastKey                                      reply
	unknownPath, wrongVerb, wrongMedia, tooLarge reply

	agent   *journaltest.Agent
	newKey  seal.PublicKey
	entryID string
}

// walks plays the whole way once, each step after the one before.
func walks(t *testing.T) walk {
	t.Helper()
	d := open(t)
	var w walk
	private, public := journaltest.Key(t, "strict")
	w.start = d.post("/v1/agents/challenges", encode(t, map[string]any{"display_name": "Strict", "public_key": public.String()}))
	c := decode(t, w.start.Body)
	finish := encode(t, map[string]any{"challenge_id": c["challenge_id"], "signature": seal.Sign(private, []byte(c["signing_message"].(string))).String()})
	w.created = d.post("/v1/agents/register", finish)

	ada := d.Agent("Ada")
	w.agent = ada
	first := ada.Signs("first")
	w.published, w.repeated = d.publish(first), d.publish(first)
	w.entryID, _ = decode(t, w.published.Body)["entry_id"].(string)
	w.private = d.publish(ada.Signs("mine", journaltest.Private))

	w.list = d.asks(ada, seal.ActionEntryList, journaltest.ListAll(50, nil))
	w.read = d.asks(ada, seal.ActionEntryRead, map[string]any{"entry_id": w.entryID})
	w.export = d.asks(ada, seal.ActionEntryExport, journaltest.ExportAll(500, nil))
	w.profile = d.asks(ada, seal.ActionProfileRead, map[string]any{})
	edit := ada.AsksBody(seal.ActionProfileSet, map[string]any{"bio": "b", "purpose": nil, "owner_url": "https://example.org/", "pinned_entry_id": nil})
	w.edited, w.editedAgain = d.own(seal.ActionProfileSet, edit), d.own(seal.ActionProfileSet, edit)
	erase := ada.AsksBody(seal.ActionEntryDelete, journaltest.Deletes(journal.EntryID(w.entryID)))
	w.deleted, w.deletedAgain = d.own(seal.ActionEntryDelete, erase), d.own(seal.ActionEntryDelete, erase)

	fresh, next := journaltest.Key(t, "strict, next")
	w.newKey = next
	rotate := ada.AsksBody(seal.ActionKeyRotate, map[string]any{"new_public_key": next.String()}, journaltest.WithNewKey(rotation, fresh, next))
	w.rotated, w.rotatedAgain = d.own(seal.ActionKeyRotate, rotate), d.own(seal.ActionKeyRotate, rotate)
	w.oldKey = d.publish(ada.Signs("by the old key"))
	now := ada.Becomes(fresh, next)
	w.revokedAgain = d.asks(now, seal.ActionKeyRevoke, map[string]any{"key_id": string(ada.KeyID)})
	w.lastKey = d.asks(now, seal.ActionKeyRevoke, map[string]any{"key_id": next.ID()})

	w.unknownPath, w.wrongVerb = d.get("/v1/nowhere"), d.do(http.MethodPut, "/v1/entries", "{}", "Content-Type", "application/json")
	w.wrongMedia = d.do(http.MethodPost, "/v1/entries", "{}", "Content-Type", "text/plain")
	w.tooLarge = d.post("/v1/agents/challenges", `{"display_name":"`+strings.Repeat("x", 2048)+`"}`)

	d.Clock.Advance(24 * time.Hour)
	w.again, w.late = d.post("/v1/agents/register", finish), d.publish(first)
	return w
}

// every lists all answers with a name each.
func (w walk) every() map[string]reply {
	return map[string]reply{
		"start": w.start, "created": w.created, "again": w.again, "published": w.published, "repeated": w.repeated,
		"private": w.private, "late": w.late, "list": w.list, "read": w.read, "export": w.export, "profile": w.profile,
		"edited": w.edited, "edited again": w.editedAgain, "deleted": w.deleted, "deleted again": w.deletedAgain,
		"rotated": w.rotated, "rotated again": w.rotatedAgain, "old key": w.oldKey, "revoked again": w.revokedAgain, "last key": w.lastKey,
		"unknown path": w.unknownPath, "wrong verb": w.wrongVerb, "wrong media type": w.wrongMedia, "too large": w.tooLarge,
	}
}

// One subtest is one rule that a strict client enforces, named after it.
func TestRulesOfAStrictClient(t *testing.T) {
	t.Parallel()
	w := walks(t)
	body := func(t *testing.T, r reply) map[string]any { t.Helper(); return decode(t, r.Body) }
	standing := func(t *testing.T, r reply, status int, want string) {
		t.Helper()
		if r.Status != status || r.Header.Get("Idempotency-Status") != want {
			t.Errorf("%d %q, want %d %q: %s", r.Status, r.Header.Get("Idempotency-Status"), status, want, r.Body)
		}
	}
	same := func(t *testing.T, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	isTime := func(t *testing.T, v any) {
		t.Helper()
		if text, _ := v.(string); len(text) != len("2026-09-01T10:00:00.000Z") || !strings.HasSuffix(text, "Z") {
			t.Errorf("%v is not a date-time of milliseconds in UTC", v)
		}
	}
	for name, rule := range map[string]func(t *testing.T){
		"5.1 start answers 201":                                  func(t *testing.T) { same(t, w.start.Status, 201) },
		"5.1 challenge_id is a UUID":                             func(t *testing.T) { same(t, uuid.MatchString(body(t, w.start)["challenge_id"].(string)), true) },
		"5.1 challenge is not empty":                             func(t *testing.T) { same(t, body(t, w.start)["challenge"] != "", true) },
		"5.1 expires_at is 300 s ahead":                          func(t *testing.T) { same(t, body(t, w.start)["expires_at"], "2026-09-01T10:06:00.000Z") },
		"5.1 start carries no idempotency-status":                func(t *testing.T) { standing(t, w.start, 201, "") },
		"5.3 the first completion is 201 created":                func(t *testing.T) { standing(t, w.created, 201, "created") },
		"5.3 an exact repeat is 200 replayed":                    func(t *testing.T) { standing(t, w.again, 200, "replayed") },
		"5.3 agent_id has its pattern":                           func(t *testing.T) { same(t, journal.AgentID(body(t, w.created)["agent_id"].(string)).Valid(), true) },
		"5.3 key_id has its pattern":                             func(t *testing.T) { same(t, journal.KeyID(body(t, w.created)["key_id"].(string)).Valid(), true) },
		"5.3 display_name is the requested one":                  func(t *testing.T) { same(t, body(t, w.created)["display_name"], "Strict") },
		"5.4 a repeat long after expiry has the same body":       func(t *testing.T) { same(t, w.again.Body, w.created.Body) },
		"6.4 a new entry is 201 created":                         func(t *testing.T) { standing(t, w.published, 201, "created") },
		"6.4 an exact repeat is 200 replayed":                    func(t *testing.T) { standing(t, w.repeated, 200, "replayed") },
		"6.4 the repeat has the same body":                       func(t *testing.T) { same(t, w.repeated.Body, w.published.Body) },
		"6.4 entry_id has its pattern":                           func(t *testing.T) { same(t, journal.EntryID(w.entryID).Valid(), true) },
		"6.4 author_id is the actor":                             func(t *testing.T) { same(t, body(t, w.published)["author_id"], w.agent.ID) },
		"6.4 visibility is the entry's":                          func(t *testing.T) { same(t, body(t, w.private)["visibility"], "private") },
		"6.3 a repeat after window, rotation and deletion holds": func(t *testing.T) { standing(t, w.late, 200, "replayed"); same(t, w.late.Body, w.published.Body) },
		"6.5 list is 200 without idempotency-status":             func(t *testing.T) { standing(t, w.list, 200, "") },
		"6.5 list has entries and next_cursor": func(t *testing.T) {
			b := body(t, w.list)
			_, array := b["entries"].([]any)
			cursor, present := b["next_cursor"]
			same(t, []any{array, present, cursor}, []any{true, true, nil})
		},
		"6.5 read is 200 without idempotency-status":    func(t *testing.T) { standing(t, w.read, 200, "") },
		"6.5 read has entry":                            func(t *testing.T) { same(t, body(t, w.read)["entry"].(map[string]any)["entry_id"], w.entryID) },
		"6.5 export is 200 without idempotency-status":  func(t *testing.T) { standing(t, w.export, 200, "") },
		"6.5 export names its format":                   func(t *testing.T) { same(t, body(t, w.export)["format"], "innerloop-journal-export-v1") },
		"6.5 export says when":                          func(t *testing.T) { isTime(t, body(t, w.export)["exported_at"]) },
		"6.5 export has next_cursor":                    func(t *testing.T) { _, ok := body(t, w.export)["next_cursor"]; same(t, ok, true) },
		"6.5 profile is 200 without idempotency-status": func(t *testing.T) { standing(t, w.profile, 200, "") },
		"6.5 profile names the actor and has all four fields": func(t *testing.T) {
			b := body(t, w.profile)
			same(t, b["agent_id"], w.agent.ID)
			for _, field := range []string{"bio", "purpose", "owner_url", "pinned_entry_id", "updated_at"} {
				if _, ok := b[field]; !ok {
					t.Errorf("%s is missing", field)
				}
			}
		},
		"6.6 an edit is 200 created": func(t *testing.T) { standing(t, w.edited, 200, "created") },
		"6.6 its exact repeat is replayed": func(t *testing.T) {
			standing(t, w.editedAgain, 200, "replayed")
			same(t, w.editedAgain.Body, w.edited.Body)
		},
		"6.6 the four fields are as sent": func(t *testing.T) {
			b := body(t, w.edited)
			same(t, []any{b["bio"], b["purpose"], b["owner_url"], b["pinned_entry_id"]}, []any{"b", nil, "https://example.org/", nil})
		},
		"6.6 updated_at is not null":    func(t *testing.T) { isTime(t, body(t, w.edited)["updated_at"]) },
		"6.7 a deletion is 200 created": func(t *testing.T) { standing(t, w.deleted, 200, "created") },
		"6.7 its exact repeat is replayed": func(t *testing.T) {
			standing(t, w.deletedAgain, 200, "replayed")
			same(t, w.deletedAgain.Body, w.deleted.Body)
		},
		"6.7 entry_id, visibility, status": func(t *testing.T) {
			b := body(t, w.deleted)
			same(t, []any{b["entry_id"], b["visibility"], b["status"]}, []any{w.entryID, "public", "deleted"})
		},
		"6.7 deleted_at is a date-time": func(t *testing.T) { isTime(t, body(t, w.deleted)["deleted_at"]) },
		"6.8 a rotation is 200 created": func(t *testing.T) { standing(t, w.rotated, 200, "created") },
		"6.8 its repeat after the rotation": func(t *testing.T) {
			standing(t, w.rotatedAgain, 200, "replayed")
			same(t, w.rotatedAgain.Body, w.rotated.Body)
		},
		"6.8 the replaced key is the signing key, revoked": func(t *testing.T) {
			k := body(t, w.rotated)["replaced_key"].(map[string]any)
			same(t, []any{k["key_id"], k["status"]}, []any{w.agent.KeyID, "revoked"})
			isTime(t, k["revoked_at"])
		},
		"6.8 the active key has the derived id": func(t *testing.T) {
			k := body(t, w.rotated)["active_key"].(map[string]any)
			same(t, []any{k["key_id"], k["status"]}, []any{w.newKey.ID(), "active"})
			isTime(t, k["created_at"])
		},
		"6.3 the old key signs no more: 401 invalid_signing_key": func(t *testing.T) { wantError(t, w.oldKey, 401, journal.InvalidSigningKey) },
		"6.9 revoking a revoked key succeeds with its first time": func(t *testing.T) {
			b := body(t, w.revokedAgain)
			same(t, []any{b["key_id"], b["status"], b["revoked_at"]}, []any{w.agent.KeyID, "revoked", body(t, w.rotated)["replaced_key"].(map[string]any)["revoked_at"]})
		},
		"6.9 the last active key stays: 409": func(t *testing.T) { wantError(t, w.lastKey, 409, "last_active_owner_key") },
		"7.2 every answer is application/json with a request id": func(t *testing.T) {
			for _, r := range w.every() {
				wantMachineHeaders(t, r)
			}
		},
		"7.2 every POST and every error is no-store": func(t *testing.T) {
			for name, r := range w.every() {
				same(t, name+r.Header.Get("Cache-Control"), name+"no-store")
			}
		},
		"7.2 nothing redirects": func(t *testing.T) {
			for name, r := range w.every() {
				same(t, fmt.Sprint(name, r.Status/100 == 3), fmt.Sprint(name, false))
			}
		},
		"7.2 request ids differ from answer to answer": func(t *testing.T) {
			ids := map[string]bool{}
			for _, r := range w.every() {
				ids[r.Header.Get("X-Request-Id")] = true
			}
			same(t, len(ids), len(w.every()))
		},
		"7.2 no answer is larger than the client reads": func(t *testing.T) {
			for _, r := range w.every() {
				same(t, len(r.Body) <= 1_048_576, true)
			}
		},
		"7.3 an unknown path is 404 invalid_request":              func(t *testing.T) { wantError(t, w.unknownPath, 404, journal.InvalidRequest) },
		"7.3 a wrong verb is 405 invalid_request":                 func(t *testing.T) { wantError(t, w.wrongVerb, 405, journal.InvalidRequest) },
		"7.3 a wrong media type is 415 invalid_request":           func(t *testing.T) { wantError(t, w.wrongMedia, 415, journal.InvalidRequest) },
		"7.3 a registration over 2048 bytes is request_too_large": func(t *testing.T) { wantError(t, w.tooLarge, 413, journal.RequestTooLarge) },
		"7.3 an error carries its request id": func(t *testing.T) {
			same(t, body(t, w.unknownPath)["request_id"], w.unknownPath.Header.Get("X-Request-Id"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(t)
		})
	}
}
