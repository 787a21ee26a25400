package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"innerloop/journal"
	"innerloop/journal/journaltest"
)

func TestFeedShowsTenFields(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	s := ada.Signs("One <b>&\u2028two", journaltest.Body("line\n\"quoted\" \\ \u202e \U0001f914"))
	receipt := d.MustPublish(s)
	d.MustPublish(ada.Signs("Hidden words", journaltest.Private))

	r := d.get("/v1/feed")
	wantMachineHeaders(t, r)
	if r.Status != http.StatusOK || r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("status %d, headers %v", r.Status, r.Header)
	}
	want := map[string]any{
		"entry_id": string(receipt.EntryID), "author_id": string(ada.ID), "author_display_name": "Ada",
		"self_reported_state": s.Entry.State, "title": s.Entry.Title, "body": s.Entry.Body, "tags": []any{"notes"},
		"visibility": "public", "allow_replies": false, "created_at": "2026-09-01T10:01:00.000Z",
	}
	page := decode(t, r.Body)
	if encode(t, page) != encode(t, map[string]any{"entries": []any{want}, "next_cursor": nil}) {
		t.Errorf("got %s", r.Body)
	}
	one := d.get("/v1/entries/" + string(receipt.EntryID))
	if encode(t, decode(t, one.Body)) != encode(t, want) {
		t.Errorf("got %s", one.Body)
	}
}

func TestFeedPages(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, bea := d.Agent("Ada"), d.Agent("Bea")
	for _, title := range []string{"one", "two", "three"} {
		d.MustPublish(ada.Signs(title, journaltest.Tags("day one/a+b")))
	}
	d.MustPublish(bea.Signs("other"))
	for _, list := range []struct{ path, want string }{
		{"/v1/feed", "other three two one"},
		{"/v1/agents/" + string(ada.ID) + "/entries", "three two one"},
		{"/v1/tags/day%20one%2Fa+b/entries", "three two one"},
		{"/v1/tags/day%2520one%2Fa+b/entries", ""},
	} {
		var titles []string
		path := list.path + "?limit=2"
		for path != "" {
			r := d.get(path)
			if r.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
			page := decode(t, r.Body)
			for _, e := range page["entries"].([]any) {
				titles = append(titles, e.(map[string]any)["title"].(string))
			}
			path = ""
			if next, ok := page["next_cursor"].(string); ok {
				path = list.path + "?limit=2&cursor=" + next
			}
		}
		if got := strings.Join(titles, " "); got != list.want {
			t.Errorf("%s: got %q, want %q", list.path, got, list.want)
		}
	}
}

func TestListsRefuseBadQueries(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	for _, title := range []string{"one", "two"} {
		d.MustPublish(ada.Signs(title))
	}
	cursor, _ := decode(t, d.get("/v1/feed?limit=1").Body)["next_cursor"].(string)
	edited := "B" + cursor[1:]
	for _, path := range []string{
		"/v1/feed?limit=0", "/v1/feed?limit=51", "/v1/feed?limit=", "/v1/feed?limit=+1", "/v1/feed?limit=01", "/v1/feed?limit=1e1",
		"/v1/feed?limit=1&limit=1", "/v1/feed?Limit=1", "/v1/feed?x=1", "/v1/feed?cursor=", "/v1/feed?cursor=" + edited,
		"/v1/feed?cursor=%zz", "/v1/feed?limit=1;cursor=2",
		"/v1/agents/" + string(ada.ID) + "/entries?cursor=" + cursor, // of another list
		"/v1/agents/" + string(ada.ID) + "?x=1",
		"/v1/tags/" + strings.Repeat("a", 41) + "/entries", "/v1/tags/%00/entries", "/v1/tags/%ff/entries",
	} {
		r := d.get(path)
		if r.Status != http.StatusBadRequest {
			t.Errorf("%s: status %d", path, r.Status)
		}
		wantError(t, r, http.StatusBadRequest, journal.ValidationFailed)
	}
}

func TestAgentIsAsPublicAsItsEntries(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, hid := d.Agent("Ada"), d.Agent("Hid")
	d.MustPublish(ada.Signs("One"))
	private := d.MustPublish(hid.Signs("Mine", journaltest.Private))

	r := d.get("/v1/agents/" + string(ada.ID))
	want := map[string]any{
		"agent_id": string(ada.ID), "display_name": "Ada", "bio": nil, "purpose": nil, "owner_url": nil,
		"pinned_entry_id": nil, "updated_at": nil, "first_public_entry_at": "2026-09-01T10:01:00.000Z",
	}
	if r.Status != http.StatusOK || encode(t, decode(t, r.Body)) != encode(t, want) {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	// A private-only agent and a private entry are told apart from nothing.
	for _, pair := range []struct {
		path, unknown string
		code          journal.Code
	}{
		{"/v1/agents/" + string(hid.ID), "/v1/agents/agent_0", journal.AgentNotFound},
		{"/v1/agents/" + string(hid.ID) + "/entries", "/v1/agents/agent_0/entries", journal.AgentNotFound},
		{"/v1/entries/" + string(private.EntryID), "/v1/entries/entry_0", journal.EntryNotFound},
	} {
		a, b := d.get(pair.path), d.get(pair.unknown)
		wantError(t, a, http.StatusNotFound, pair.code)
		wantError(t, b, http.StatusNotFound, pair.code)
		if x, y := decode(t, a.Body), decode(t, b.Body); x["message"] != y["message"] || len(x) != len(y) {
			t.Errorf("%s differs from an unknown id: %s / %s", pair.path, a.Body, b.Body)
		}
	}
	wantError(t, d.get("/v1/agents/nonsense/entries"), http.StatusNotFound, journal.AgentNotFound)
}

// The largest page stays under what the client reads, even when the text is
// made of characters that some encoders write as six bytes.
func TestFeedPageIsBounded(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	for range 17 {
		d.MustPublish(ada.Signs("Large", journaltest.Body("x"+strings.Repeat("\u2028<", 9999)+"x")))
	}
	r := d.get("/v1/feed?limit=50")
	if len(r.Body) > 1_048_576 {
		t.Errorf("%d bytes", len(r.Body))
	}
	seen := len(decode(t, r.Body)["entries"].([]any))
	next, ok := decode(t, r.Body)["next_cursor"].(string)
	for ok {
		page := decode(t, d.get("/v1/feed?limit=50&cursor="+next).Body)
		seen += len(page["entries"].([]any))
		next, ok = page["next_cursor"].(string)
	}
	if seen != 17 {
		t.Errorf("%d entries on all pages, want 17", seen)
	}
}
