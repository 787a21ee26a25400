package e2e

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mmcdole/gofeed"

	"innerloop/e2e/program"
	"innerloop/journal"
	"innerloop/models"
)

// A reading is an entry as a door shows it: the ten fields of protocol 7.4.
type reading map[string]any

// The same signed bytes go in through REST, MCP and A2A, in any order.
// Expectation: one entry each, the later doors answer from the receipt of the
// first, what is stored is what was signed, every reading shows the same, and
// the program proves it all again.
func TestSameSignedBytesThroughEveryDoor(t *testing.T) {
	t.Parallel()
	for name, options := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			server := serve(t, o)
			ada := register(t, server.URL, "Ada of Doors")

			first := ada.signs(entry{State: "curious", Title: "REST first <&>", Body: "one\n\ttwo \u2028 👩‍🚀 \u202Ex\u202C fin", Tags: []string{"doors", "été"}, Visibility: "public"})
			second := ada.signs(entry{State: "calm", Title: "MCP first", Body: "e\u0301 stays decomposed", Tags: []string{}, Visibility: "public"})
			third := ada.signs(entry{State: "keen", Title: "A2A first", Body: "tab\tand \u2029 end", Tags: []string{"doors"}, Visibility: "public"})
			secret2 := ada.signs(entry{State: "shy", Title: "Mine alone", Body: "unseen-marker", Tags: []string{"hidden-tag"}, Visibility: "private"})
			secret := ada.signs(entry{State: "shy", Title: "For its owner alone", Body: "unseen-marker", Tags: []string{"hidden-tag"}, Visibility: "private"})
			ids := map[string]submission{
				oneEntry(t, ada, first, viaREST, viaMCP, viaA2A):  first,
				oneEntry(t, ada, second, viaMCP, viaA2A, viaREST): second,
				oneEntry(t, ada, third, viaA2A, viaREST, viaMCP):  third,
				oneEntry(t, ada, secret, viaREST, viaA2A, viaMCP): secret,
				oneEntry(t, ada, secret2, viaA2A, viaMCP):         secret2,
			}
			if len(ids) != 5 {
				t.Fatalf("five submissions made %d entries", len(ids))
			}
			sameReadings(t, server.URL, ada, ids)
			nothingPrivate(t, server.URL, ada, ids)
			provesAgain(t, o, len(ids))
			storedAsSigned(t, o, ada, ids)
		})
	}
}

type receipt struct {
	EntryID    string `json:"entry_id"`
	AuthorID   string `json:"author_id"`
	Visibility string `json:"visibility"`
	Replay     bool   `json:"idempotent_replay"`
}

// receiptOf reads a receipt from any door's answer.
func receiptOf(t *testing.T, a answer) receipt {
	t.Helper()
	var r receipt
	if told := a.Header.Get("Idempotency-Status"); told != "" {
		a.decode(t, &r)
		r.Replay = told == "replayed"
		return r
	}
	if a.Header.Get("A2a-Version") != "" {
		if err := json.Unmarshal(a.result(t), &r); err != nil {
			t.Fatalf("no receipt: %d %s", a.Status, a.Body)
		}
		return r
	}
	result := a.tool(t)
	if result.IsError || json.Unmarshal(result.StructuredContent, &r) != nil {
		t.Fatalf("no receipt: %d %s", a.Status, a.Body)
	}
	return r
}

// A via publishes through one door; replay tells whether it should find the
// receipt of another.
type via func(t *testing.T, a *agent, s submission, replay bool) string

func viaREST(t *testing.T, a *agent, s submission, replay bool) string {
	t.Helper()
	sent := a.overREST(s)
	r := receiptOf(t, sent)
	if (sent.Status == http.StatusOK) != replay || r.Replay != replay || r.AuthorID != a.ID {
		t.Fatalf("REST: %d %s", sent.Status, sent.Body)
	}
	return r.EntryID
}

func viaMCP(t *testing.T, a *agent, s submission, replay bool) string {
	t.Helper()
	sent := must(t, requestTool(t, a.url, submitTool, s))
	r := receiptOf(t, sent)
	if r.Replay != replay || r.AuthorID != a.ID {
		t.Fatalf("MCP: %s", sent.Body)
	}
	return r.EntryID
}

func viaA2A(t *testing.T, a *agent, s submission, replay bool) string {
	t.Helper()
	sent := must(t, a.requestA2A(s))
	r := receiptOf(t, sent)
	if r.Replay != replay || r.AuthorID != a.ID {
		t.Fatalf("A2A: %s", sent.Body)
	}
	return r.EntryID
}

// oneEntry sends the same bytes through one door after another.
func oneEntry(t *testing.T, a *agent, s submission, doors ...via) string {
	t.Helper()
	id := doors[0](t, a, s, false)
	for _, door := range doors[1:] {
		if again := door(t, a, s, true); again != id {
			t.Fatalf("a later door made %s of what an earlier made %s", again, id)
		}
	}
	return id
}

// sameReadings reads each public entry everywhere it can be read.
func sameReadings(t *testing.T, url string, a *agent, ids map[string]submission) {
	t.Helper()
	overREST := feed(t, get(t, url+"/v1/feed?limit=50").Body)
	overMCP := feed(t, must(t, requestTool(t, url, feedTool, map[string]any{"limit": 50})).tool(t).StructuredContent)
	overA2A := feed(t, must(t, requestA2A(t, url, "feed", "innerloop.public.read", map[string]any{"limit": 50})).result(t))
	atom, err := gofeed.NewParser().ParseString(string(get(t, url+"/feed.atom").Body))
	if err != nil {
		t.Fatalf("Atom: %v", err)
	}
	items := map[string]*gofeed.Item{}
	for _, item := range atom.Items {
		items[item.Link[strings.LastIndex(item.Link, "/")+1:]] = item
	}
	front := get(t, url+"/")
	for id, s := range ids {
		var signed struct {
			entry
			Title, Body string
			Visibility  string
		}
		if err := json.Unmarshal(s.Entry, &signed); err != nil {
			t.Fatal(err)
		}
		if signed.Visibility != "public" {
			continue
		}
		var one reading
		get(t, url+"/v1/entries/"+id).decode(t, &one)
		want := reading{}
		if err := json.Unmarshal(s.Entry, &want); err != nil {
			t.Fatal(err)
		}
		want["entry_id"], want["author_id"], want["author_display_name"] = id, a.ID, a.Name
		want["created_at"] = one["created_at"]
		for door, got := range map[string]reading{"REST entry": one, "REST feed": overREST[id], "MCP feed": overMCP[id], "A2A feed": overA2A[id]} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s differs from what was signed (-signed +shown):\n%s", door, diff)
			}
		}
		page := get(t, url+"/entries/"+id)
		for place, text := range map[string][]byte{"entry page": page.Body, "feed page": front.Body} {
			if !strings.Contains(html.UnescapeString(string(text)), signed.Title) || bytes.Contains(text, []byte("<&>")) {
				t.Errorf("%s does not show the title as text", place)
			}
		}
		item := items[id]
		if item == nil {
			t.Errorf("Atom lacks %s", id)
			continue
		}
		if item.Title != signed.Title {
			t.Errorf("Atom title %q, want %q", item.Title, signed.Title)
		}
		if shown := html.UnescapeString(item.Content + item.Description); !strings.Contains(shown, lastWord(signed.Body)) {
			t.Errorf("Atom content %q lacks the end of %q", shown, signed.Body)
		}
	}
	if len(overREST) != 3 || len(overMCP) != 3 || len(overA2A) != 3 || len(items) != 3 {
		t.Errorf("REST shows %d, MCP %d, A2A %d, Atom %d entries; want 3", len(overREST), len(overMCP), len(overA2A), len(items))
	}
}

// nothingPrivate looks for the private entry in every public place.
func nothingPrivate(t *testing.T, url string, a *agent, ids map[string]submission) {
	t.Helper()
	for id, s := range ids {
		if !bytes.Contains(s.Entry, []byte(`"private"`)) {
			continue
		}
		for _, path := range []string{"/v1/feed", "/", "/agents/" + a.ID, "/feed.atom", "/v1/agents/" + a.ID} {
			text := get(t, url+path).Body
			for _, secret := range []string{id, "unseen-marker", "hidden-tag", "For its owner alone"} {
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("%s shows %q of a private entry", path, secret)
				}
			}
		}
		// The same refusal, but for the request's own id, as for one that never was.
		private, unknown := get(t, url+"/v1/entries/"+id), get(t, url+"/v1/entries/entry_never")
		if private.Status != http.StatusNotFound || unknown.Status != http.StatusNotFound || refusal(t, private) != refusal(t, unknown) {
			t.Errorf("private %d %s, unknown %d %s", private.Status, private.Body, unknown.Status, unknown.Body)
		}
	}
}

// refusal is an error body without its request id.
func refusal(t *testing.T, a answer) string {
	t.Helper()
	var body map[string]any
	a.decode(t, &body)
	delete(body, "request_id")
	return string(encode(t, body))
}

func feed(t *testing.T, text []byte) map[string]reading {
	t.Helper()
	var page struct{ Entries []reading }
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	byID := map[string]reading{}
	for _, one := range page.Entries {
		byID[one["entry_id"].(string)] = one
	}
	return byID
}

func lastWord(text string) string {
	words := strings.Fields(text)
	return words[len(words)-1]
}

// provesAgain runs `innerloop verify` beside the serving program.
func provesAgain(t *testing.T, o program.Options, entries int) {
	t.Helper()
	out, err := program.Run(t.Context(), o, "verify", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		OK     bool
		Proved int
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil || !told.OK || told.Proved != entries {
		t.Errorf("verify says %s, want %d proved: %v", out, entries, err)
	}
}

// storedAsSigned opens the store beside the serving program and compares each
// entry's bytes with those that the agent signed.
func storedAsSigned(t *testing.T, o program.Options, a *agent, ids map[string]submission) {
	t.Helper()
	address := o.DatabaseURL
	if address == "" {
		address = "sqlite:" + filepath.Join(o.DataDir, "innerloop.db")
	}
	store, err := models.Open(t.Context(), models.Options{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rows, err := store.Scan(t.Context(), journal.Place{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(ids) {
		t.Errorf("%d entries stored, want %d", len(rows), len(ids))
	}
	for _, row := range rows {
		s := ids[string(row.EntryID)]
		if string(row.Signed.CanonicalEntry) != string(s.Entry) || string(row.Signed.CanonicalEnvelope) != string(s.Envelope) ||
			row.Signed.Signature.String() != s.Signature || string(row.AgentID) != a.ID {
			t.Errorf("%s is not stored as it was signed", row.EntryID)
		}
	}
}

// Attack: the same submission arrives twice at the same instant, two hundred
// times over, through one door or both.
// Expectation: each time one creates, the other replays, with one entry id.
func TestTwinSubmissions(t *testing.T) {
	t.Parallel()
	for name, options := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			server := serve(t, o)
			ada := register(t, server.URL, "Ada Twin")
			for round := range 200 {
				s := ada.signs(entry{State: "double", Title: "Twin", Body: strings.Repeat("x", round+1), Tags: []string{}, Visibility: "public"})
				requests := [2]*http.Request{ada.requestREST(s), ada.requestREST(s)}
				switch round % 4 {
				case 1:
					requests[1] = requestTool(t, server.URL, submitTool, s)
				case 3:
					requests[1] = ada.requestA2A(s)
				}
				var answers [2]answer
				var errs [2]error
				var wait sync.WaitGroup
				for i := range requests {
					wait.Go(func() { answers[i], errs[i] = do(requests[i]) })
				}
				wait.Wait()
				var made [2]receipt
				for i := range made {
					if errs[i] != nil {
						t.Fatal(errs[i])
					}
					made[i] = receiptOf(t, answers[i])
				}
				if made[0].EntryID == "" || made[0].EntryID != made[1].EntryID || made[0].Replay == made[1].Replay {
					t.Fatalf("round %d: %+v", round, made)
				}
			}
			provesAgain(t, o, 200)
		})
	}
}
