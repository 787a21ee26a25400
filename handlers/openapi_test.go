package handlers_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"innerloop/handlers"
	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// protocol 7.5: an OpenAPI 3.1 document, by a validator of its own; every
// example validates against the schema that it stands in.
func TestOpenAPIDocumentIsValid(t *testing.T) {
	t.Parallel()
	text, err := handlers.OpenAPIDocument(origin)
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal("load:", err)
	}
	if err := document.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Error("validate:", err)
	}
	if !document.IsOpenAPI31OrLater() || document.Servers[0].URL != origin {
		t.Errorf("version %s, servers %v", document.OpenAPI, document.Servers)
	}
	examples := 0
	for name, schema := range spec(t).document["components"].(map[string]any)["schemas"].(map[string]any) {
		list, _ := schema.(map[string]any)["examples"].([]any)
		for _, example := range list {
			examples++
			if err := spec(t).holds(encode(t, example), "components", "schemas", name); err != nil {
				t.Errorf("an example of %s: %v", name, err)
			}
		}
	}
	if examples < 40 {
		t.Errorf("%d examples", examples)
	}
	var codes []journal.Code
	at, _ := spec(t).document["components"].(map[string]any)["schemas"].(map[string]any)["Error"].(map[string]any)["properties"].(map[string]any)["error"].(map[string]any)["enum"].([]any)
	for _, code := range at {
		codes = append(codes, journal.Code(code.(string)))
	}
	if !slices.Equal(codes, journal.Codes()) {
		t.Errorf("codes %v", codes)
	}
	if told := spec(t).document["x-innerloop-error-codes"].(map[string]any); len(told) != len(codes) {
		t.Errorf("%d codes with a status", len(told))
	}
}

// protocol 7.5, 12.5: the vector's key reproduces its signature; the door that
// serves the document takes GET and HEAD, revalidates, and errs in JSON.
func TestOpenAPIIsServed(t *testing.T) {
	t.Parallel()
	d := open(t)
	r := d.get("/openapi.json")
	var document struct {
		Version string `json:"openapi"`
		Vector  struct {
			Private   []int  `json:"private_key_pkcs8_bytes"`
			Public    string `json:"public_key_spki"`
			Message   string `json:"message"`
			Signature string `json:"signature"`
		} `json:"x-innerloop-registration-vector"`
		Limits map[string]int `json:"x-innerloop-entry-limits"`
	}
	if err := json.Unmarshal([]byte(r.Body), &document); err != nil || r.Status != http.StatusOK || document.Version != "3.1.0" {
		t.Fatalf("status %d, %v", r.Status, err)
	}
	if document.Limits["body_code_points"] != journal.BodyMax || document.Limits["tags"] != journal.TagsMax {
		t.Errorf("limits %v", document.Limits)
	}
	der := make([]byte, len(document.Vector.Private))
	for i, b := range document.Vector.Private {
		der[i] = byte(b)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		t.Fatal(err)
	}
	private := parsed.(ed25519.PrivateKey)
	public, err := seal.PublicKeyOf(private)
	if err != nil || public.String() != document.Vector.Public || seal.Sign(private, []byte(document.Vector.Message)).String() != document.Vector.Signature {
		t.Errorf("the vector does not reproduce: %v", err)
	}
	if r.Header.Get("Access-Control-Allow-Origin") != "*" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", r.Header)
	}
	tag := r.Header.Get("ETag")
	if again := d.get("/openapi.json", "If-None-Match", tag); again.Status != http.StatusNotModified || again.Body != "" || again.Header.Get("ETag") != tag {
		t.Errorf("with its etag: %d", again.Status)
	}
	if head := d.do(http.MethodHead, "/openapi.json", ""); head.Status != http.StatusOK || head.Body != "" || head.Header.Get("ETag") != tag {
		t.Errorf("HEAD: %d", head.Status)
	}
	if html := d.get("/openapi.json", "Accept", "text/html"); html.Body != r.Body {
		t.Error("negotiated")
	}
	wantError(t, d.do(http.MethodPost, "/openapi.json", "{}"), http.StatusMethodNotAllowed, journal.InvalidRequest)
	wantError(t, d.get("/openapi.json/x"), http.StatusNotFound, journal.InvalidRequest)
}

// ownerCases gives each signed operation a payload that succeeds.
var ownerCases = map[string]func(t *testing.T, d *door, a *journaltest.Agent) (map[string]any, []journaltest.Ask){
	seal.ActionProfileRead: always(nil),
	seal.ActionProfileSet:  always(journaltest.Bio("about me")),
	seal.ActionEntryList:   always(journaltest.ListAll(50, nil)),
	seal.ActionEntryExport: always(journaltest.ExportAll(500, nil)),
	seal.ActionKeyList:     always(nil),
	seal.ActionEntryRead: func(_ *testing.T, d *door, a *journaltest.Agent) (map[string]any, []journaltest.Ask) {
		return map[string]any{"entry_id": string(d.MustPublish(a.Signs("mine", journaltest.Private)).EntryID)}, nil
	},
	seal.ActionEntryDelete: func(_ *testing.T, d *door, a *journaltest.Agent) (map[string]any, []journaltest.Ask) {
		return journaltest.Deletes(d.MustPublish(a.Signs("mine")).EntryID), nil
	},
	seal.ActionKeyRotate: withKey(rotation), seal.ActionKeyAdd: withKey(addition),
	seal.ActionKeyRevoke: func(t *testing.T, d *door, a *journaltest.Agent) (map[string]any, []journaltest.Ask) {
		private, public := journaltest.Key(t, t.Name()+"spare")
		wantOwn(t, d.asks(a, seal.ActionKeyAdd, nil, journaltest.WithNewKey(addition, private, public)), "created")
		return map[string]any{"key_id": public.ID()}, nil
	},
	seal.ActionRecoverySet: always(map[string]any{"recovery_key_hash": "sha256:" + strings.Repeat("0", 64), "old_recovery_signature": nil}),
	seal.ActionRecoveryUse: func(t *testing.T, d *door, a *journaltest.Agent) (map[string]any, []journaltest.Ask) {
		private, public := journaltest.Key(t, t.Name()+"recovery")
		wantOwn(t, d.asks(a, seal.ActionRecoverySet, map[string]any{"recovery_key_hash": seal.PayloadHash(public.SPKI()), "old_recovery_signature": nil}), "created")
		_, more := withKey(recovery)(t, d, a)
		return map[string]any{"recovery_public_key": public.String()}, append([]journaltest.Ask{journaltest.AskSignedBy(private, public)}, more...)
	},
	seal.ActionIdentityDelete: func(_ *testing.T, _ *door, a *journaltest.Agent) (map[string]any, []journaltest.Ask) {
		return map[string]any{"confirm_agent_id": string(a.ID), "reason_code": "owner_request"}, nil
	},
	seal.ActionPendingCancel: func(t *testing.T, d *door, a *journaltest.Agent) (map[string]any, []journaltest.Ask) {
		wantOwn(t, d.asks(a, seal.ActionIdentityDelete, map[string]any{"confirm_agent_id": string(a.ID), "reason_code": "owner_request"}), "created")
		return map[string]any{"kind": "deletion"}, nil
	},
}

type ownerCase = func(*testing.T, *door, *journaltest.Agent) (map[string]any, []journaltest.Ask)

func always(payload map[string]any) ownerCase {
	return func(*testing.T, *door, *journaltest.Agent) (map[string]any, []journaltest.Ask) { return payload, nil }
}

func withKey(purpose string) ownerCase {
	return func(t *testing.T, _ *door, _ *journaltest.Agent) (map[string]any, []journaltest.Ask) {
		private, public := journaltest.Key(t, t.Name()+purpose)
		return map[string]any{}, []journaltest.Ask{journaltest.WithNewKey(purpose, private, public)}
	}
}

// opener opens a door that notes which refusals it gave.
type opener func(t *testing.T, change ...func(*handlers.Options)) *door

// Every operation is called, succeeds, and gives each refusal that the
// document names; the door's kit holds all of it against the document.
func TestOpenAPIOperations(t *testing.T) {
	t.Parallel()
	var reached sync.Map
	noting := func(t *testing.T, change ...func(*handlers.Options)) *door {
		d := open(t, change...)
		d.reached = &reached
		return d
	}
	t.Run("calls", func(t *testing.T) {
		for name, call := range map[string]func(*testing.T, opener){
			"owner": callOwnerOperations, "readings": callReadings, "single": callSingleRefusals,
			"registration": callRegistrationAndPublication, "limits": callIntoLimits,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				call(t, noting)
			})
		}
	})
	// Elsewhere: what only a broken program would say, the loser of a race, and
	// readings that are asked for in a way that is no HTTP.
	elsewhere := []string{"limits service_unavailable", "openapi service_unavailable", "setRecovery key_rotation_conflict"}
	for _, refusal := range handlers.OpenAPIRefusals() {
		id, code, _ := strings.Cut(refusal, " ")
		reading := spec(t).reads(id)
		if _, ok := reached.Load(refusal); !ok && !slices.Contains(elsewhere, refusal) && !(reading && code == string(journal.InvalidRequest)) {
			t.Errorf("no call was refused with %s", refusal)
		}
	}
}

// Every signed operation succeeds and meets every refusal of its kind; the
// door's kit holds each request and answer against the document.
func callOwnerOperations(t *testing.T, open opener) {
	for action, build := range ownerCases {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			a, eve := d.Agent("Ada"), d.Agent("Eve")
			payload, asks := build(t, d, a)
			send := func(more ...journaltest.Ask) reply {
				return d.own(action, a.AsksBody(action, payload, append(slices.Clone(more), asks...)...))
			}
			late := func(more ...journaltest.Ask) reply {
				return d.own(action, a.AsksBody(action, payload, append(slices.Clone(asks), more...)...))
			}
			path := "/v1/private/" + paths[action]
			wantError(t, d.post(path, "{}"), 400, journal.InvalidRequest)
			wantError(t, d.do(http.MethodPost, path, "{}", "Content-Type", "text/plain"), 415, journal.InvalidRequest)
			wantError(t, d.post(path, "{}", "Origin", "https://elsewhere.example"), 403, journal.InvalidRequest)
			wantError(t, d.post(path, `{"x":"`+strings.Repeat("x", 256<<10)+`"}`), 413, journal.RequestTooLarge)
			wantError(t, send(journaltest.AskWith(func(e *seal.Envelope) { e.PayloadHash = "sha256:" + strings.Repeat("0", 64) })), 400, journal.PayloadHashMismatch)
			wantError(t, late(journaltest.AskSigned(eve.Private)), 401, journal.InvalidSignature)
			wantError(t, send(journaltest.AskWith(func(e *seal.Envelope) {
				e.IssuedAt, e.ExpiresAt = "2026-09-01T09:00:00.000Z", "2026-09-01T09:05:00.000Z"
			})), 401, journal.InvalidSignatureWindow)
			if action != seal.ActionRecoveryUse { // it is signed by no key of the agent's
				wantError(t, late(journaltest.AskSignedBy(eve.Private, eve.Public)), 401, journal.InvalidSigningKey)
			}
			used := ""
			wantOwn(t, d.asks(a, seal.ActionProfileRead, nil, journaltest.AskWith(func(e *seal.Envelope) { used = e.Nonce })), "")
			wantError(t, send(journaltest.AskWith(func(e *seal.Envelope) { e.Nonce = used })), 409, journal.NonceReplayed)
			if r := send(); r.Status != http.StatusOK {
				t.Errorf("status %d: %s", r.Status, r.Body)
			}
			d.limit(map[limit.Rule]int{limit.FailedSignatures: 1})
			late(journaltest.AskSignedBy(eve.Private, eve.Public))
			wantError(t, late(journaltest.AskSignedBy(eve.Private, eve.Public)), 429, journal.RateLimited)
			d.limit(nil)
			if err := d.Store.Close(); err != nil {
				t.Fatal(err)
			}
			wantError(t, send(), 503, journal.ServiceUnavailable)
		})
	}
}

// Every public reading succeeds and meets every refusal of its kind.
func callReadings(t *testing.T, open opener) {
	d := open(t, func(o *handlers.Options) {
		o.Ready = func(context.Context) error { return errors.New("not ready") }
	})
	a := d.Agent("Ada")
	id := string(d.MustPublish(a.Signs("one", journaltest.Tags("a b"))).EntryID)
	gone := string(d.MustPublish(a.Signs("two")).EntryID)
	wantOwn(t, d.asks(a, seal.ActionEntryDelete, journaltest.Deletes(journal.EntryID(gone))), "created")
	reads := []string{
		"/v1/feed", "/v1/entries/" + id, "/entries/" + id + "/proof.json", "/v1/agents/" + string(a.ID),
		"/v1/agents/" + string(a.ID) + "/entries", "/v1/tags/a%20b/entries", "/v1/limits",
	}
	for _, path := range reads {
		r := d.get(path)
		if r.Status != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
		if again := d.get(path, "If-None-Match", r.Header.Get("ETag")); again.Status != http.StatusNotModified {
			t.Errorf("%s with its etag: %d", path, again.Status)
		}
		wantError(t, d.get(path+"?x=1"), 400, journal.ValidationFailed)
		d.limit(map[limit.Rule]int{limit.ReadsPerMinute: 1})
		d.get(path)
		wantError(t, d.get(path), 429, journal.RateLimited)
		d.limit(nil)
	}
	for path, code := range map[string]journal.Code{
		"/v1/entries/entry_none": journal.EntryNotFound, "/entries/entry_none/proof.json": journal.EntryNotFound,
		"/v1/agents/agent_none": journal.AgentNotFound, "/v1/agents/agent_none/entries": journal.AgentNotFound,
	} {
		wantError(t, d.get(path), 404, code)
	}
	wantError(t, d.get("/openapi.json?x=1"), 400, journal.ValidationFailed)
	wantError(t, d.get("/v1/entries/"+gone), 410, journal.EntryWithdrawn)
	wantError(t, d.get("/entries/"+gone+"/proof.json"), 410, journal.EntryWithdrawn)
	if r := d.get("/healthz"); r.Status != http.StatusOK {
		t.Errorf("healthz: %d", r.Status)
	}
	wantError(t, d.get("/readyz"), 503, journal.ServiceUnavailable)
	if r := open(t).get("/readyz"); r.Status != http.StatusOK {
		t.Errorf("readyz: %d", r.Status)
	}
	d.MustPublish(a.Signs("so that nothing is remembered"))
	if err := d.Store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range reads[:len(reads)-1] {
		wantError(t, d.get(path+"?"), 503, journal.ServiceUnavailable)
	}
}

// Registration and publication with all that they refuse beside limits.
func callRegistrationAndPublication(t *testing.T, open opener) {
	d := open(t)
	for _, path := range []string{"/v1/agents/challenges", "/v1/agents/register", "/v1/entries"} {
		wantError(t, d.post(path, "{}"), 400, journal.InvalidRequest)
		wantError(t, d.do(http.MethodPost, path, "{}", "Content-Type", "text/plain"), 415, journal.InvalidRequest)
		wantError(t, d.post(path, "{}", "Origin", "https://elsewhere.example"), 403, journal.InvalidRequest)
		wantError(t, d.post(path, strings.Repeat(" ", 257<<10)), 413, journal.RequestTooLarge)
	}
	begin := func(name, key string) reply {
		return d.post("/v1/agents/challenges", encode(t, map[string]any{"display_name": name, "public_key": key}))
	}
	private, public := journaltest.Key(t, "newcomer")
	wantError(t, begin(" x", public.String()), 400, journal.ValidationFailed)
	wantError(t, begin("x", "no key"), 400, journal.InvalidPublicKey)
	complete := func(id any, signature string) reply {
		return d.post("/v1/agents/register", encode(t, map[string]any{"challenge_id": id, "signature": signature}))
	}
	challenge := decode(t, begin("New", public.String()).Body)
	other := decode(t, begin("New", public.String()).Body)
	signed := func(c map[string]any) string {
		return seal.Sign(private, []byte(c["signing_message"].(string))).String()
	}
	wantError(t, complete("7d3b5b1e-2f4a-4c6d-8e9f-0a1b2c3d4e5f", signed(challenge)), 400, journal.InvalidOrExpiredChallenge)
	wantError(t, complete(challenge["challenge_id"], signed(other)), 401, journal.InvalidSignature)
	for _, status := range []int{201, 200} {
		if r := complete(challenge["challenge_id"], signed(challenge)); r.Status != status {
			t.Errorf("register: %d, want %d", r.Status, status)
		}
	}
	wantError(t, complete(challenge["challenge_id"], signed(other)), 409, journal.RegistrationReplayConflict)
	wantError(t, complete(other["challenge_id"], signed(other)), 409, journal.PublicKeyRegistered)
	_, third := journaltest.Key(t, "third")
	worn := decode(t, begin("New", third.String()).Body)
	for range 5 {
		complete(worn["challenge_id"], signed(other))
	}
	wantError(t, complete(worn["challenge_id"], signed(other)), 409, journal.ChallengeUnavailable)

	a, eve := d.Agent("Ada"), d.Agent("Eve")
	first := a.Signs("one")
	for _, status := range []int{201, 200} {
		if r := d.publish(first); r.Status != status {
			t.Errorf("publish: %d, want %d", r.Status, status)
		}
	}
	if r := d.publish(a.Signs("two", journaltest.Private)); r.Status != 201 {
		t.Errorf("publish: %d", r.Status)
	}
	wantError(t, d.post("/v1/entries", bodyOf(t, a.Signs("x"))), 400, journal.InvalidIdempotencyKey)
	refused := func(code journal.Code, s journal.Submission) {
		t.Helper()
		wantError(t, d.publish(s), handlers.StatusOf(code), code)
	}
	refused(journal.ValidationFailed, a.Signs(" untrimmed"))
	refused(journal.PayloadHashMismatch, a.Signs("x", journaltest.Envelope(func(e *seal.Envelope) { e.PayloadHash = "sha256:" + strings.Repeat("0", 64) })))
	refused(journal.InvalidSigningKey, a.Signs("x", journaltest.Envelope(func(e *seal.Envelope) { e.KeyID = string(eve.KeyID) })))
	refused(journal.InvalidSignature, a.Signs("x", journaltest.SignedBy(eve.Private)))
	refused(journal.InvalidSignatureWindow, a.Signs("x", journaltest.Window(-time.Hour, -time.Hour)))
	refused(journal.NonceReplayed, a.Signs("x", journaltest.SameNonce(first)))
	refused(journal.IdempotencyConflict, a.Signs("x", journaltest.SameIdempotencyKey(first)))
	again := a.Signs("one", journaltest.SameIdempotencyKey(first), journaltest.Body(first.Entry.Body))
	refused(journal.IdempotencyEnvelopeMismatch, again)
	if err := d.SetWrites(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	refused(journal.WritesDisabled, a.Signs("x"))
	wantError(t, begin("x", third.String()), 503, journal.WritesDisabled)
	if err := d.SuspendAgent(t.Context(), a.ID, "other"); err != nil {
		t.Fatal(err)
	}
	refused(journal.AgentSuspended, a.Signs("x"))
	if err := d.SetWrites(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := d.Store.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, begin("x", third.String()), 503, journal.ServiceUnavailable)
	wantError(t, complete(worn["challenge_id"], signed(other)), 503, journal.ServiceUnavailable)
	refused(journal.ServiceUnavailable, a.Signs("x"))
}

func newcomer(t *testing.T, d *door, label string) reply {
	t.Helper()
	private, key := journaltest.Key(t, label)
	c := decode(t, d.post("/v1/agents/challenges", encode(t, map[string]any{"display_name": "New", "public_key": key.String()})).Body)
	signature := seal.Sign(private, []byte(c["signing_message"].(string))).String()
	return d.post("/v1/agents/register", encode(t, map[string]any{"challenge_id": c["challenge_id"], "signature": signature}))
}
