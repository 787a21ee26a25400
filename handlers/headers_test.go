package handlers_test

import (
	"regexp"
	"strings"
	"testing"

	"innerloop/journal"
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

func TestRequestIDIsOurs(t *testing.T) {
	t.Parallel()
	d := open(t)
	const theirs = "11111111-1111-4111-8111-111111111111"
	first, second := d.get("/v1/feed", "X-Request-Id", theirs), d.get("/v1/feed", "X-Request-Id", theirs)
	a, b := first.Header.Get("X-Request-Id"), second.Header.Get("X-Request-Id")
	if a == theirs || a == b || !uuid.MatchString(a) || !uuid.MatchString(b) {
		t.Errorf("got %q and %q", a, b)
	}
	r := d.get("/v1/entries/entry_0")
	if decode(t, r.Body)["request_id"] != r.Header.Get("X-Request-Id") {
		t.Errorf("the body names another id: %s", r.Body)
	}
}

func TestNothingRedirects(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, path := range []string{"/v1", "/v1/", "/v1/feed/", "//", "/entries", "/entries/", "/index.html", "/V1/feed", "/feed.atom/", "/mcp"} {
		if r := d.get(path); r.Status != 404 {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
}

// What any page's script may read, it may read refused too: else it could not
// tell an entry that was withdrawn from a line that broke.
func TestRefusalsOfPublicReadingsMayBeRead(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	id := string(d.MustPublish(ada.Signs("One")).EntryID)
	if err := d.HideEntry(t.Context(), journal.EntryID(id), "spam"); err != nil {
		t.Fatal(err)
	}
	for path, status := range map[string]int{
		"/v1/entries/" + id: 410, "/entries/" + id + "/proof.json": 410, "/entries/entry_0/proof.json": 404,
		"/events?last_event_id=x": 400, "/openapi.json?x=1": 400,
	} {
		if r := d.get(path); r.Status != status || r.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v", path, r.Status, r.Header)
		}
	}
	if r := d.get("/entries/" + id); r.Status != 410 || r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page: %d %v", r.Status, r.Header)
	}
}
