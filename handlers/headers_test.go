package handlers_test

import (
	"regexp"
	"strings"
	"testing"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// wantMachineHeaders checks what protocol 7.2 asks of every answer.
func wantMachineHeaders(t *testing.T, r reply) {
	t.Helper()
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if kind != "application/json" {
		t.Errorf("content-type %q, want application/json", r.Header.Get("Content-Type"))
	}
	if id := r.Header.Get("X-Request-Id"); !uuid.MatchString(id) {
		t.Errorf("x-request-id %q is not a UUIDv4", id)
	}
	if got := r.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("x-content-type-options %q, want nosniff", got)
	}
	if got := r.Header.Values("Server"); len(got) > 0 {
		t.Errorf("server %q, want none", got)
	}
	if r.Status >= 300 && r.Status < 400 && r.Status != 304 {
		t.Errorf("status %d: nothing redirects", r.Status)
	}
}
