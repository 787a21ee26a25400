package client_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"innerloop/internal/client"
)

// answers replaces what the service says by text, keeping its headers.
func answers(text string) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return altered(body(text))
}

// refuses replaces the answer by an error with a status, and headers.
func refuses(status int, code string, headers ...string) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return altered(func(r *http.Response) {
		r.StatusCode = status
		r.Header.Del("Idempotency-Status")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		body(`{"error":"` + code + `","message":"no"}`)(r)
	})
}

// A reading that breaks a rule of protocol 6.5 is not believed, and nothing is
// kept of it.
func TestReadingsThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	list := func(t *testing.T, a *client.Agent) error {
		_, err := a.List(t.Context(), client.Query{Visibility: "all", Limit: 10})
		return err
	}
	export := func(t *testing.T, a *client.Agent) error {
		_, err := a.ExportPage(t.Context(), client.Query{Limit: 10})
		return err
	}
	profile := func(t *testing.T, a *client.Agent) error {
		_, err := a.ReadProfile(t.Context())
		return err
	}
	read := func(t *testing.T, a *client.Agent) error {
		_, err := a.ReadEntry(t.Context(), "entry_1")
		return err
	}
	keys := func(t *testing.T, a *client.Agent) error {
		_, err := a.Keys(t.Context())
		return err
	}
	rows := []struct {
		name  string
		do    func(*testing.T, *client.Agent) error
		fault func(http.RoundTripper, *http.Request) (*http.Response, error)
	}{
		{"a list with idempotency-status", list, altered(func(r *http.Response) { r.Header.Set("Idempotency-Status", "created") })},
		{"a list with an empty idempotency-status", list, altered(func(r *http.Response) { r.Header["Idempotency-Status"] = []string{""} })},
		{"a list with status 201", list, altered(func(r *http.Response) { r.StatusCode = 201 })},
		{"a list without next_cursor", list, answers(`{"entries":[]}`)},
		{"a list with a number for a cursor", list, answers(`{"entries":[],"next_cursor":1}`)},
		{"a list with an endless cursor", list, answers(`{"entries":[],"next_cursor":"` + strings.Repeat("x", 1025) + `"}`)},
		{"a list without entries", list, answers(`{"next_cursor":null}`)},
		{"a list of texts", list, answers(`{"entries":["x"],"next_cursor":null}`)},
		{"an export of another format", export, answers(`{"format":"x","exported_at":"2026-11-01T09:00:00Z","entries":[],"next_cursor":null}`)},
		{"an export without a time", export, answers(`{"format":"innerloop-journal-export-v1","exported_at":"today","entries":[],"next_cursor":null}`)},
		{"another agent's profile", profile, answers(`{"agent_id":"agent_1","bio":null,"purpose":null,"owner_url":null,"pinned_entry_id":null,"updated_at":null}`)},
		{"an entry that is none", read, answers(`{"entry":null}`)},
		{"another entry", read, answers(`{"entry":{"entry_id":"entry_2"}}`)},
		{"keys that are none", keys, answers(`{"keys":[{"key_id":"x"}]}`)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			a := w.registered()
			w.way.next(row.fault)
			wantCode(t, row.do(t, a), client.BadAnswer)
			status, err := w.agent().Status(t.Context())
			must(t, err)
			if len(status.Pending) != 0 {
				t.Errorf("a reading was kept: %+v", status.Pending)
			}
		})
	}
}

// A success that breaks a rule of protocol 6.6 to 6.9 leaves the request in
// place; its repeat is answered from the receipt.
func TestMutationsThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	bio := "I am"
	edit := func(t *testing.T, a *client.Agent) error {
		_, err := a.EditProfile(t.Context(), client.Edit{Bio: &bio}, false)
		return err
	}
	rotate := func(t *testing.T, a *client.Agent) error {
		_, err := a.RotateKey(t.Context())
		return err
	}
	recovery := func(t *testing.T, a *client.Agent) error {
		_, err := a.SetRecovery(t.Context(), "", "", false)
		return err
	}
	end := func(t *testing.T, a *client.Agent) error {
		status, err := a.Status(t.Context())
		must(t, err)
		_, err = a.DeleteIdentity(t.Context(), *status.AgentID)
		return err
	}
	rows := []struct {
		name  string
		do    func(*testing.T, *client.Agent) error
		fault func(http.RoundTripper, *http.Request) (*http.Response, error)
	}{
		{"without idempotency-status", rotate, altered(func(r *http.Response) { r.Header.Del("Idempotency-Status") })},
		{"with another idempotency-status", rotate, altered(func(r *http.Response) { r.Header.Set("Idempotency-Status", "maybe") })},
		{"with status 201", rotate, altered(func(r *http.Response) { r.StatusCode = 201 })},
		{"about other keys", rotate, answers(`{"replaced_key":{"key_id":"key_1","status":"revoked","revoked_at":"2026-11-01T09:00:00Z"},"active_key":{"key_id":"key_2","status":"active","created_at":"2026-11-01T09:00:00Z"}}`)},
		{"about nothing", rotate, answers(`{}`)},
		{"the profile is another one", edit, answers(`{"agent_id":"agent_1"}`)},
		{"no new commitment", recovery, answers(`{"effective_at":"2026-11-01T09:00:00Z"}`)},
		{"another commitment", recovery, answers(`{"recovery_key_hash":"sha256:x","effective_at":"2026-11-01T09:00:00Z"}`)},
		{"another agent ends", end, answers(`{"agent_id":"agent_1","effective_at":"2026-11-01T09:00:00Z"}`)},
		{"an end without a time", end, answers(`{}`)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			a := w.registered()
			// The profile is read before it is edited.
			if strings.Contains(row.name, "profile") {
				fault := row.fault
				row.fault = func(real http.RoundTripper, r *http.Request) (*http.Response, error) {
					w.way.next(fault)
					return real.RoundTrip(r)
				}
			}
			w.way.next(row.fault)
			wantCode(t, row.do(t, a), client.BadAnswer)
			status, err := w.agent().Status(t.Context())
			must(t, err)
			if len(status.Pending) != 1 {
				t.Fatalf("pending: %+v", status.Pending)
			}
			w.later(10 * time.Minute) // behind the window
			must(t, row.do(t, w.agent()))
			if status, err = w.agent().Status(t.Context()); err != nil || len(status.Pending) != 0 {
				t.Errorf("after the repeat: %+v, %v", status.Pending, err)
			}
			_, err = w.agent().Write(t.Context(), entry("Still here"), false)
			must(t, err)
		})
	}
}

// Which refusals end a saved request, and which leave it to be sent again
// (protocol 6.6, 6.8, 6.10).
func TestRejectionRules(t *testing.T) {
	t.Parallel()
	rows := []struct {
		command string
		status  int
		code    string
		headers []string
		kept    bool
	}{
		{"edit", 401, "invalid_signature_window", nil, false},
		{"edit", 400, "invalid_pinned_entry", nil, false},
		{"edit", 403, "agent_suspended", nil, true},
		{"edit", 403, "agent_suspended", []string{"Idempotency-Status", "created"}, false},
		{"edit", 403, "agent_suspended", []string{"Idempotency-Status", "replayed"}, false},
		{"edit", 401, "invalid_signing_key", nil, true},
		{"edit", 401, "invalid_signing_key", []string{"Idempotency-Status", "created"}, false},
		{"edit", 400, "validation_failed", nil, true},
		{"edit", 503, "writes_disabled", nil, true},
		{"edit", 429, "rate_limited", []string{"Retry-After", "7"}, true},
		{"delete", 401, "invalid_signature_window", nil, false},
		{"delete", 401, "invalid_signing_key", nil, false},
		{"delete", 404, "entry_not_found", nil, true},
		{"delete", 403, "agent_suspended", []string{"Idempotency-Status", "created"}, true},
		{"revoke", 401, "invalid_signing_key", nil, false},
		{"revoke", 409, "last_active_owner_key", nil, true},
		{"rotate", 400, "invalid_replacement_key_proof", nil, false},
		{"rotate", 409, "key_rotation_conflict", nil, false},
		{"rotate", 401, "invalid_signature_window", nil, false},
		{"rotate", 401, "invalid_signing_key", nil, true},
		{"rotate", 403, "agent_suspended", nil, true},
		{"rotate", 500, "service_unavailable", nil, true},
	}
	for _, row := range rows {
		t.Run(strings.Join(append([]string{row.command, row.code}, row.headers...), " "), func(t *testing.T) {
			t.Parallel()
			w := open(t)
			a := w.registered()
			bio := "I am"
			fault := refuses(row.status, row.code, row.headers...)
			if row.command == "edit" {
				last := fault
				fault = func(real http.RoundTripper, r *http.Request) (*http.Response, error) {
					w.way.next(last)
					return real.RoundTrip(r)
				}
			}
			w.way.next(fault)
			var err error
			switch row.command {
			case "edit":
				_, err = a.EditProfile(t.Context(), client.Edit{Bio: &bio}, false)
			case "delete":
				_, err = a.Delete(t.Context(), "entry_1", false)
			case "revoke":
				_, err = a.RevokeKey(t.Context(), "key_1", false)
			case "rotate":
				_, err = a.RotateKey(t.Context())
			}
			wantCode(t, err, row.code)
			status, err := w.agent().Status(t.Context())
			must(t, err)
			if kept := len(status.Pending) == 1; kept != row.kept {
				t.Errorf("kept: %t, want %t", kept, row.kept)
			}
		})
	}
}
