package handlers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// plain is the vector entry_plain of protocol 12.1 as its agent would send it.
func plain(t *testing.T) journal.Submission {
	t.Helper()
	raw, err := os.ReadFile("../seal/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Ops map[string]struct {
			Payload   string `json:"canonical_payload"`
			Envelope  string `json:"canonical_envelope"`
			Signature string `json:"signature"`
			Key       string `json:"idempotency_key"`
		} `json:"ops"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		// Other operations have other shapes; only the entry's is read.
		t.Fatal(err)
	}
	v := file.Ops["entry_plain"]
	s := journal.Submission{Signature: v.Signature, IdempotencyKey: v.Key}
	if s.Entry, err = seal.ParseEntry([]byte(v.Payload)); err != nil {
		t.Fatal(err)
	}
	if s.Envelope, err = seal.ParseEnvelope([]byte(v.Envelope)); err != nil {
		t.Fatal(err)
	}
	return s
}

// again signs a changed vector anew; the hash follows the entry.
func again(t *testing.T, s journal.Submission) journal.Submission {
	t.Helper()
	private, _ := journaltest.Key(t, "compat vector key A")
	s.Envelope.PayloadHash = seal.PayloadHash(s.Entry.Canonical())
	s.Signature = seal.Sign(private, s.Envelope.Canonical()).String()
	return s
}

// The negative vectors of protocol 12.3, at 10:01:00Z unless the row moves the
// clock. Where the protocol allows one of two codes the row names ours.
func TestVectorsWithOneChange(t *testing.T) {
	t.Parallel()
	type submission = journal.Submission
	rows := []struct {
		name   string
		change func(t *testing.T, s submission) submission
		text   func(body string) string // of the request, after change
		clock  time.Duration            // from 10:01:00Z
		status int
		code   journal.Code // empty: accepted
	}{
		{name: "none", status: http.StatusCreated},
		{name: "the signature's last letter is not canonical", status: http.StatusBadRequest, code: journal.InvalidRequest, change: func(_ *testing.T, s submission) submission {
			if s.Signature[85] != 'g' {
				panic("the vector has g there")
			}
			s.Signature = s.Signature[:85] + "h" + s.Signature[86:]
			return s
		}},
		{name: "the signature ends in a line feed", status: http.StatusBadRequest, code: journal.InvalidRequest, change: func(_ *testing.T, s submission) submission {
			s.Signature += "\n"
			return s
		}},
		{name: "the signature is URL-safe", status: http.StatusBadRequest, code: journal.InvalidRequest, change: func(_ *testing.T, s submission) submission {
			s.Signature = strings.NewReplacer("+", "-", "/", "_").Replace(s.Signature)
			return s
		}},
		{name: "the signature lacks its padding", status: http.StatusBadRequest, code: journal.InvalidRequest, change: func(_ *testing.T, s submission) submission {
			s.Signature = strings.TrimRight(s.Signature, "=")
			return s
		}},
		{name: "one more letter in the title", status: http.StatusBadRequest, code: journal.PayloadHashMismatch, change: func(_ *testing.T, s submission) submission {
			s.Entry.Title += "s"
			return s
		}},
		{name: "title and hash changed together", status: http.StatusUnauthorized, code: journal.InvalidSignature, change: func(_ *testing.T, s submission) submission {
			s.Entry.Title += "s"
			s.Envelope.PayloadHash = seal.PayloadHash(s.Entry.Canonical())
			return s
		}},
		{name: "the hash is in upper case", status: http.StatusBadRequest, code: journal.InvalidRequest, change: func(_ *testing.T, s submission) submission {
			s.Envelope.PayloadHash = "sha256:" + strings.ToUpper(strings.TrimPrefix(s.Envelope.PayloadHash, "sha256:"))
			return s
		}},
		{name: "an eighth field in the envelope", status: http.StatusBadRequest, code: journal.InvalidRequest, text: func(body string) string {
			return strings.Replace(body, `"nonce":`, `"audience":"here","nonce":`, 1)
		}},
		{name: "another action", status: http.StatusBadRequest, code: journal.InvalidRequest, change: func(t *testing.T, s submission) submission {
			s.Envelope.Action = seal.ActionEntryDelete
			return again(t, s)
		}},
		{name: "the last moment of the window", status: http.StatusCreated, clock: 4 * time.Minute},
		{name: "after the window", status: http.StatusUnauthorized, code: journal.InvalidSignatureWindow, clock: 4*time.Minute + time.Millisecond},
		{name: "issued 60 seconds ahead", status: http.StatusCreated, clock: -2 * time.Minute},
		{name: "issued 60.001 seconds ahead", status: http.StatusUnauthorized, code: journal.InvalidSignatureWindow, clock: -2*time.Minute - time.Millisecond},
		{name: "a window of 300.001 seconds", status: http.StatusUnauthorized, code: journal.InvalidSignatureWindow, change: func(t *testing.T, s submission) submission {
			s.Envelope.ExpiresAt = "2026-09-01T10:05:00.001Z"
			return again(t, s)
		}},
		{name: "title twice", status: http.StatusBadRequest, code: journal.InvalidRequest, text: func(body string) string {
			return strings.Replace(body, `"title":`, `"title":"A plain first note","title":`, 1)
		}},
		{name: "Title for title", status: http.StatusBadRequest, code: journal.ValidationFailed, text: func(body string) string {
			return strings.Replace(body, `"title":`, `"Title":`, 1)
		}},
		{name: "a tag that is not NFC", status: http.StatusBadRequest, code: journal.ValidationFailed, change: tagged("cafe\u0301")},
		{name: "equal tags", status: http.StatusBadRequest, code: journal.ValidationFailed, change: tagged("a", "a")},
		{name: "a tag that is a dot", status: http.StatusBadRequest, code: journal.ValidationFailed, change: tagged(".")},
		{name: "nine tags", status: http.StatusBadRequest, code: journal.ValidationFailed, change: tagged("1", "2", "3", "4", "5", "6", "7", "8", "9")},
		{name: "a tag with a joiner", status: http.StatusBadRequest, code: journal.ValidationFailed, change: tagged("a\u200db")},
		{name: "a state of 41 astral characters", status: http.StatusBadRequest, code: journal.ValidationFailed, change: state(41)},
		{name: "a state of 40 astral characters", status: http.StatusCreated, change: state(40)},
		{name: "a body ending in U+FEFF", status: http.StatusBadRequest, code: journal.ValidationFailed, change: ending("\ufeff")},
		{name: "a body ending in U+0085", status: http.StatusCreated, change: ending("\u0085")},
		{name: "a lone surrogate", status: http.StatusBadRequest, code: journal.InvalidRequest, text: func(body string) string {
			return strings.Replace(body, "I checked", `I \ud800 checked`, 1)
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.VectorAgent()
			d.Clock.Set(time.Date(2026, 9, 1, 10, 1, 0, 0, time.UTC).Add(row.clock))
			s := plain(t)
			if row.change != nil {
				s = row.change(t, s)
			}
			body := bodyOf(t, s)
			if row.text != nil {
				body = row.text(body)
			}
			r := d.post("/v1/entries", body, "Idempotency-Key", s.IdempotencyKey)
			if row.code == "" {
				if r.Status != row.status || d.stored() != 1 {
					t.Errorf("status %d, %d stored: %s", r.Status, d.stored(), r.Body)
				}
				return
			}
			wantError(t, r, row.status, row.code)
			if n := d.stored(); n != 0 {
				t.Errorf("%d entries stored, want none", n)
			}
		})
	}
}

func tagged(tags ...string) func(*testing.T, journal.Submission) journal.Submission {
	return func(t *testing.T, s journal.Submission) journal.Submission {
		s.Entry.Tags = tags
		return again(t, s)
	}
}

func state(n int) func(*testing.T, journal.Submission) journal.Submission {
	return func(t *testing.T, s journal.Submission) journal.Submission {
		s.Entry.State = strings.Repeat("\U0001f914", n)
		return again(t, s)
	}
}

func ending(text string) func(*testing.T, journal.Submission) journal.Submission {
	return func(t *testing.T, s journal.Submission) journal.Submission {
		s.Entry.Body += text
		return again(t, s)
	}
}

func TestRepeatsAndConflicts(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.VectorAgent()
	first := plain(t)
	created := d.publish(first)
	if created.Status != http.StatusCreated || created.Header.Get("Idempotency-Status") != "created" {
		t.Fatalf("first: %d %q %s", created.Status, created.Header.Get("Idempotency-Status"), created.Body)
	}
	got := decode(t, created.Body)
	want := map[string]any{
		"entry_id": got["entry_id"], "author_id": "agent_vector0001", "visibility": "public",
		"created_at": "2026-09-01T10:01:00.000Z", "public_entry_url": origin + "/entries/" + got["entry_id"].(string),
	}
	if encode(t, got) != encode(t, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	replayed := func(when string) {
		t.Helper()
		r := d.publish(first)
		if r.Status != http.StatusOK || r.Header.Get("Idempotency-Status") != "replayed" || r.Body != created.Body {
			t.Errorf("%s: %d %q %s", when, r.Status, r.Header.Get("Idempotency-Status"), r.Body)
		}
	}
	replayed("at once")

	other := first
	other.Entry.Title = "Another note"
	other.Envelope.Nonce = "99999999-9999-4999-8999-999999999999"
	wantError(t, d.publish(again(t, other)), http.StatusConflict, journal.IdempotencyConflict)

	fresh := first
	fresh.Envelope.Nonce = "99999999-9999-4999-8999-999999999999"
	wantError(t, d.publish(again(t, fresh)), http.StatusConflict, journal.IdempotencyEnvelopeMismatch)

	nonce := first
	nonce.IdempotencyKey = "31111111-1111-4111-8111-111111111111"
	wantError(t, d.publish(nonce), http.StatusConflict, journal.NonceReplayed)

	d.Clock.Set(time.Date(2026, 9, 1, 10, 5, 0, int(time.Millisecond), time.UTC))
	replayed("after the window")
	if n := d.stored(); n != 1 {
		t.Errorf("%d entries stored, want 1", n)
	}
}

func TestPrivateEntryHasNoAddress(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	r := d.publish(ada.Signs("Mine alone", journaltest.Private))
	if r.Status != http.StatusCreated || strings.Contains(r.Body, "public_entry_url") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

func TestIdempotencyKeyIsNeeded(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.Agent("Ada").Signs("First")
	wantError(t, d.post("/v1/entries", bodyOf(t, s)), http.StatusBadRequest, journal.InvalidIdempotencyKey)
	wantError(t, d.post("/v1/entries", bodyOf(t, s), "Idempotency-Key", strings.Repeat("k", 129)), http.StatusBadRequest, journal.InvalidIdempotencyKey)
	wantError(t, d.post("/v1/entries", bodyOf(t, s), "Idempotency-Key", "a", "Idempotency-Key", "b"), http.StatusBadRequest, journal.InvalidIdempotencyKey)
	if n := d.stored(); n != 0 {
		t.Errorf("%d entries stored, want none", n)
	}
}

func TestAllViolationsAreTold(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.Agent("Ada").Signs(" Quoted words", journaltest.Tags(".", "."), journaltest.State(""))
	r := d.publish(s)
	wantError(t, r, http.StatusBadRequest, journal.ValidationFailed)
	list, _ := decode(t, r.Body)["violations"].([]any)
	if len(list) < 4 {
		t.Errorf("violations %v, want one for the state, the title, each tag and their equality", list)
	}
	if strings.Contains(r.Body, "Quoted") || strings.Contains(r.Body, s.Entry.Body) {
		t.Errorf("the answer quotes the entry: %s", r.Body)
	}
}
