package handlers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// A checked is a proof.json as a reader without us would check it.
type checked struct {
	Format      string `json:"format"`
	EntryID     string `json:"entry_id"`
	AgentID     string `json:"agent_id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
	signedText
	Entry     string `json:"canonical_entry"`
	PublicKey string `json:"public_key"`
	KeyID     string `json:"key_id"`
	Chain     []struct {
		KeyID     string  `json:"key_id"`
		PublicKey *string `json:"public_key"`
		Kind      string  `json:"kind"`
		Proof     *struct {
			signedText
			Commitment *signedText `json:"commitment"`
		} `json:"proof"`
	} `json:"key_chain"`
}

type signedText struct {
	Payload   string `json:"canonical_payload"`
	Envelope  string `json:"canonical_envelope"`
	Signature string `json:"signature"`
}

// prove checks a signed text under a key and returns its envelope.
func (s signedText) prove(t *testing.T, key seal.PublicKey, payload, actor string) seal.Envelope {
	t.Helper()
	envelope, err := seal.ParseEnvelope([]byte(s.Envelope))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := seal.ParseSignature(s.Signature)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Prove(key, []byte(payload), envelope, signature); err != nil {
		t.Errorf("%s: %v", envelope.Action, err)
	}
	if envelope.ActorID != actor {
		t.Errorf("%s by %s, not %s", envelope.Action, envelope.ActorID, actor)
	}
	return envelope
}

func key(t *testing.T, text string) seal.PublicKey {
	t.Helper()
	k, err := seal.ParsePublicKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// check follows the chain from the first key to the entry, with nothing but
// the document.
func (p checked) check(t *testing.T) {
	t.Helper()
	keys := map[string]seal.PublicKey{}
	for i, link := range p.Chain {
		if i == 0 {
			if link.Proof != nil || link.Kind != "first" || link.PublicKey == nil {
				t.Fatalf("the chain begins with %+v", link)
			}
			keys[link.KeyID] = key(t, *link.PublicKey)
			continue
		}
		var payload struct {
			New       string `json:"new_public_key"`
			Signature string `json:"new_key_signature"`
			Recovery  string `json:"recovery_public_key"`
			Hash      string `json:"recovery_key_hash"`
		}
		if err := json.Unmarshal([]byte(link.Proof.Payload), &payload); err != nil {
			t.Fatal(err)
		}
		purpose, signer := map[string]string{"rotated": rotation, "added": addition, "recovered": recovery}[link.Kind], keys[p.Chain[i-1].KeyID]
		if link.Kind == "recovered" {
			commit := *link.Proof.Commitment
			if e := commit.prove(t, signer, commit.Payload, p.AgentID); e.Action != seal.ActionRecoverySet {
				t.Errorf("commitment by %s", e.Action)
			}
			signer = key(t, payload.Recovery)
			if err := json.Unmarshal([]byte(commit.Payload), &payload); err != nil || seal.PayloadHash(signer.SPKI()) != payload.Hash {
				t.Errorf("the recovery key is not the one committed to: %v", err)
			}
		}
		envelope := link.Proof.prove(t, signer, link.Proof.Payload, p.AgentID)
		fresh := key(t, payload.New)
		signature, err := seal.ParseSignature(payload.Signature)
		if err != nil || !fresh.Verify(journal.KeyProof(purpose, envelope, payload.New), signature) || fresh.ID() != link.KeyID {
			t.Errorf("link %d: the new key did not agree", i)
		}
		keys[link.KeyID] = fresh
	}
	last := p.Chain[len(p.Chain)-1]
	if last.KeyID != p.KeyID || last.PublicKey == nil || *last.PublicKey != p.PublicKey || keys[p.KeyID] != key(t, p.PublicKey) {
		t.Errorf("the chain ends at %s, not at the signer %s", last.KeyID, p.KeyID)
	}
	p.signedText.prove(t, keys[p.KeyID], p.Entry, p.AgentID)
}

func (d *door) proofOf(id journal.EntryID) checked {
	d.t.Helper()
	r := d.get("/entries/" + string(id) + "/proof.json")
	if r.Status != 200 || r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("Etag") == "" || r.Header.Get("Content-Type") != "application/json" {
		d.t.Fatalf("status %d, %v: %s", r.Status, r.Header, r.Body)
	}
	var p checked
	if err := json.Unmarshal([]byte(r.Body), &p); err != nil {
		d.t.Fatal(err)
	}
	return p
}

// The chain holds through rotation, addition and recovery; keys in between are
// bare links; keys off the way are not shown at all.
func TestProofCarriesTheWholeChain(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	first := d.MustPublish(ada.Signs("by the first key")).EntryID
	p := d.proofOf(first)
	if p.Format != "innerloop-proof-v1" || p.EntryID != string(first) || p.DisplayName != "Ada" || p.CreatedAt != "2026-09-01T10:01:00.000Z" || len(p.Chain) != 1 {
		t.Errorf("got %+v", p)
	}
	p.check(t)

	next := func(name, action, purpose string, payload map[string]any, signed ...journaltest.Ask) *journaltest.Agent {
		t.Helper()
		private, public := journaltest.Key(t, name)
		wantOwn(t, d.asks(ada, action, payload, append(signed, journaltest.WithNewKey(purpose, private, public))...), "created")
		return ada.Becomes(private, public)
	}
	ada = next("second", seal.ActionKeyRotate, rotation, nil)
	aside := next("aside", seal.ActionKeyAdd, addition, nil)
	ada = next("third", seal.ActionKeyAdd, addition, nil)
	reserve, reserved := journaltest.Key(t, "reserve")
	wantOwn(t, d.asks(ada, seal.ActionRecoverySet, map[string]any{"recovery_key_hash": seal.PayloadHash(reserved.SPKI()), "old_recovery_signature": nil}), "created")
	ada = next("fourth", seal.ActionRecoveryUse, recovery, map[string]any{"recovery_public_key": reserved.String()}, journaltest.AskSignedBy(reserve, reserved))
	last := d.MustPublish(ada.Signs("by the recovered key")).EntryID
	p = d.proofOf(last)
	var kinds []string
	for i, link := range p.Chain {
		kinds = append(kinds, link.Kind)
		if between := i > 0 && i < len(p.Chain)-1; between != (link.PublicKey == nil) {
			t.Errorf("link %d: public key %v", i, link.PublicKey)
		}
		if link.KeyID == string(aside.KeyID) {
			t.Error("a key off the way is shown")
		}
	}
	if strings.Join(kinds, " ") != "first rotated added recovered" {
		t.Errorf("chain %v", kinds)
	}
	p.check(t)
	d.proofOf(first).check(t)
}

// F.3, C.3: withdrawn is 410, private and unknown are 404, in JSON.
func TestProofRefusals(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, bob := d.Agent("Ada"), d.Agent("Bob")
	path := func(id journal.EntryID) string { return fmt.Sprintf("/entries/%s/proof.json", id) }
	secret := d.MustPublish(ada.Signs("secret", journaltest.Private)).EntryID
	deleted, hidden := d.MustPublish(ada.Signs("deleted")).EntryID, d.MustPublish(ada.Signs("hidden")).EntryID
	suspended := d.MustPublish(bob.Signs("suspended")).EntryID
	wantOwn(t, d.asks(ada, seal.ActionEntryDelete, journaltest.Deletes(deleted)), "created")
	if err := d.HideEntry(t.Context(), hidden, "spam"); err != nil {
		t.Fatal(err)
	}
	if err := d.SuspendAgent(t.Context(), bob.ID, "spam"); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.get(path(secret)), 404, journal.EntryNotFound)
	wantError(t, d.get(path("entry_none")), 404, journal.EntryNotFound)
	for id, by := range map[journal.EntryID]string{deleted: "author", hidden: "operator", suspended: "operator"} {
		r := d.get(path(id))
		wantError(t, r, 410, journal.EntryWithdrawn)
		if body := decode(t, r.Body); body["by"] != by || len(body) != 7 || strings.Contains(r.Body, "agent_") || strings.Contains(r.Body, "key_") {
			t.Errorf("got %s", r.Body)
		}
	}
}
