package handlers_test

import (
	"net/http"
	"testing"

	"innerloop/handlers"
	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// The refusals that single operations have beyond those of their kind.
func callSingleRefusals(t *testing.T, open opener) {
	d := open(t)
	a := d.Agent("Ada")
	taken := d.Agent("Bert").Public
	asks := func(code journal.Code, action string, payload map[string]any, options ...journaltest.Ask) {
		t.Helper()
		wantError(t, d.asks(a, action, payload, options...), handlers.StatusOf(code), code)
	}
	bad := map[string]any{"new_public_key": "no key", "new_key_signature": "none"}
	misused, misusedKey := journaltest.Key(t, "wrong purpose")
	wrong := journaltest.WithNewKey("another-purpose", misused, misusedKey)
	private, _ := journaltest.Key(t, "Bert 2")
	for action, purpose := range map[string]string{seal.ActionKeyRotate: rotation, seal.ActionKeyAdd: addition} {
		asks(journal.ValidationFailed, action, map[string]any{"new_public_key": 1, "new_key_signature": nil})
		asks(journal.InvalidPublicKey, action, bad)
		asks(journal.InvalidReplacementKeyProof, action, nil, wrong)
		asks(journal.KeyRotationConflict, action, nil, journaltest.WithNewKey(purpose, private, taken))
	}
	asks(journal.ValidationFailed, seal.ActionProfileSet, journaltest.Bio(" untrimmed"))
	pinned := journaltest.Bio("x")
	pinned["pinned_entry_id"] = "entry_none"
	asks(journal.InvalidPinnedEntry, seal.ActionProfileSet, pinned)
	asks(journal.ValidationFailed, seal.ActionEntryList, journaltest.ListAll(51, nil))
	asks(journal.ValidationFailed, seal.ActionEntryExport, journaltest.ExportAll(501, nil))
	asks(journal.ValidationFailed, seal.ActionEntryRead, map[string]any{"entry_id": "x"})
	asks(journal.EntryNotFound, seal.ActionEntryRead, map[string]any{"entry_id": "entry_none"})
	asks(journal.ValidationFailed, seal.ActionEntryDelete, journaltest.Deletes("x"))
	asks(journal.EntryNotFound, seal.ActionEntryDelete, journaltest.Deletes("entry_none"))
	asks(journal.ValidationFailed, seal.ActionKeyRevoke, map[string]any{"key_id": string(d.Agent("Carl").KeyID)})
	asks(journal.LastActiveKey, seal.ActionKeyRevoke, map[string]any{"key_id": string(a.KeyID)})
	asks(journal.ValidationFailed, seal.ActionRecoverySet, map[string]any{"recovery_key_hash": "x", "old_recovery_signature": nil})
	asks(journal.InvalidReplacementKeyProof, seal.ActionRecoverySet, map[string]any{"recovery_key_hash": nil, "old_recovery_signature": "x"})
	asks(journal.ValidationFailed, seal.ActionIdentityDelete, map[string]any{"confirm_agent_id": "agent_none", "reason_code": "owner_request"})
	asks(journal.ValidationFailed, seal.ActionPendingCancel, map[string]any{"kind": "x"})
	asks(journal.NothingPending, seal.ActionPendingCancel, map[string]any{"kind": "recovery"})
	for i := range 4 {
		private, public := journaltest.Key(t, "more keys "+string(rune('a'+i)))
		wantOwn(t, d.asks(a, seal.ActionKeyAdd, nil, journaltest.WithNewKey(addition, private, public)), "created")
	}
	private, public := journaltest.Key(t, "one key too many")
	asks(journal.TooManyKeys, seal.ActionKeyAdd, nil, journaltest.WithNewKey(addition, private, public))

	spare, spareKey := journaltest.Key(t, "spare")
	wantOwn(t, d.asks(a, seal.ActionRecoverySet, map[string]any{"recovery_key_hash": seal.PayloadHash(spareKey.SPKI()), "old_recovery_signature": nil}), "created")
	use := func(code journal.Code, payload map[string]any, more ...journaltest.Ask) {
		t.Helper()
		asks(code, seal.ActionRecoveryUse, payload, append([]journaltest.Ask{journaltest.AskSignedBy(spare, spareKey)}, more...)...)
	}
	with := map[string]any{"recovery_public_key": spareKey.String()}
	use(journal.ValidationFailed, map[string]any{"recovery_public_key": 1, "new_public_key": "", "new_key_signature": ""})
	use(journal.InvalidPublicKey, map[string]any{"recovery_public_key": "no key", "new_public_key": "", "new_key_signature": ""})
	use(journal.InvalidReplacementKeyProof, with, wrong)
	bert, _ := journaltest.Key(t, "Bert 2")
	use(journal.KeyRotationConflict, with, journaltest.WithNewKey(recovery, bert, taken))
	use(journal.InvalidSigningKey, map[string]any{"recovery_public_key": public.String()}, journaltest.AskSignedBy(private, public), journaltest.WithNewKey(recovery, bert, taken))

	if err := d.SetWrites(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	asks(journal.WritesDisabled, seal.ActionProfileSet, journaltest.Bio("x"))
	if err := d.SuspendAgent(t.Context(), a.ID, "other"); err != nil {
		t.Fatal(err)
	}
	asks(journal.AgentSuspended, seal.ActionProfileSet, journaltest.Bio("x"))
}

func callIntoLimits(t *testing.T, open opener) {
	writes := func(rule limit.Rule, code journal.Code, visibility ...journaltest.Option) {
		d := open(t)
		a := d.Agent("Ada")
		d.limit(map[limit.Rule]int{rule: 1})
		d.publish(a.Signs("one", visibility...))
		wantError(t, d.publish(a.Signs("two", visibility...)), handlers.StatusOf(code), code)
	}
	writes(limit.EntriesPerAgent, journal.DailyAgentSpent, journaltest.Private)
	writes(limit.NewAgentPublicEntries, journal.NewAgentPublicSpent)
	writes(limit.Entries, journal.WriteCapacitySpent)
	writes(limit.PublicEntries, journal.PublicCapacitySpent)
	writes(limit.WritesPerMinute, journal.RateLimited)

	for rule, code := range map[limit.Rule]journal.Code{limit.Registrations: journal.AcquisitionSpent, limit.RegistrationsPerNetwork: journal.NetworkAdmissionSpent} {
		d := open(t)
		d.limit(map[limit.Rule]int{rule: 1})
		if r := newcomer(t, d, "first"); r.Status != http.StatusCreated {
			t.Errorf("register: %d", r.Status)
		}
		wantError(t, newcomer(t, d, "second"), handlers.StatusOf(code), code)
	}
	d := open(t)
	private, public := journaltest.Key(t, "one")
	body := encode(t, map[string]any{"display_name": "New", "public_key": public.String()})
	challenge := decode(t, d.post("/v1/agents/challenges", body).Body)
	wrong := encode(t, map[string]any{"challenge_id": challenge["challenge_id"], "signature": seal.Sign(private, []byte("something else")).String()})
	right := encode(t, map[string]any{"challenge_id": challenge["challenge_id"], "signature": seal.Sign(private, []byte(challenge["signing_message"].(string))).String()})
	d.limit(map[limit.Rule]int{limit.FailedSignatures: 1})
	d.post("/v1/agents/register", wrong)
	wantError(t, d.post("/v1/agents/register", wrong), 429, journal.RateLimited)
	d.limit(map[limit.Rule]int{limit.WritesPerMinute: 1})
	d.post("/v1/agents/challenges", body)
	wantError(t, d.post("/v1/agents/challenges", body), 429, journal.RateLimited)
	d.limit(nil)
	if err := d.SetWrites(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.post("/v1/agents/register", right), 503, journal.WritesDisabled)
}
