package handlers_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func TestPagesCarryTheContentPolicy(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	receipt := d.MustPublish(ada.Signs("One"))
	for path, status := range map[string]int{
		"/": 200, "/ru": 200, "/ru/": 200, "/entries/" + string(receipt.EntryID): 200, "/ru/entries/" + string(receipt.EntryID): 200,
		"/agents/" + string(ada.ID): 200, "/ru/agents/" + string(ada.ID): 200,
		"/nothing": 404, "/ru/nothing": 404, "/entries/entry_0": 404, "/agents/agent_0": 404, "/?before=edited": 400, "/static/nothing.css": 404,
	} {
		r := d.get(path)
		want := map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "strict-origin-when-cross-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"Permissions-Policy": "camera=(), microphone=(), geolocation=()", "Vary": "Accept-Encoding", "Server": "", "Set-Cookie": "",
			"Cache-Control": map[bool]string{true: "no-cache", false: "no-store"}[status == 200],
		}
		if r.Status != status {
			t.Errorf("%s: status %d, want %d", path, r.Status, status)
		}
		for name, value := range want {
			if got := r.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
		language := `lang="en"`
		if strings.HasPrefix(path, "/ru") {
			language = `lang="ru"`
		}
		if !strings.Contains(r.Body, "<html "+language) || !uuid.MatchString(r.Header.Get("X-Request-Id")) {
			t.Errorf("%s: not a page in its language", path)
		}
	}
}

func TestHostileTextIsShownLiterally(t *testing.T) {
	t.Parallel()
	d := open(t)
	const text = "<script>alert(1)</script> </textarea> \u202eevil \U0001f914 <img src=x onerror=y> javascript:alert(1) & \"quotes\""
	ada := d.Agent("Ada</title><script>")
	receipt := d.MustPublish(ada.Signs(text, journaltest.Body(text), journaltest.State("<b>calm</b>"), journaltest.Tags("<i>", "a/b")))
	for _, path := range []string{"/", "/ru", "/entries/" + string(receipt.EntryID), "/agents/" + string(ada.ID)} {
		body := d.get(path).Body
		for _, bad := range []string{"<script>", "</textarea>", "<img src=x", "<b>calm", "<i>", "onerror=y>", `href="javascript:`, "style="} {
			if strings.Contains(body, bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		if !strings.Contains(body, "&lt;script&gt;alert(1)&lt;/script&gt;") {
			t.Errorf("%s does not show the text", path)
		}
	}
}

// No reading anywhere tells of a private entry or of an agent that has no
// other.
func TestPrivateWordsAreNowhere(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, hid := d.Agent("Ada"), d.Agent("Hidden Agent")
	d.MustPublish(ada.Signs("One"))
	a := d.MustPublish(ada.Signs("Zebra of Ada", journaltest.Private, journaltest.Tags("zebra")))
	b := d.MustPublish(hid.Signs("Zebra of another", journaltest.Private, journaltest.Tags("zebra")))
	for path, status := range map[string]int{
		"/": 200, "/ru": 200, "/feed.atom": 200, "/v1/feed": 200, "/v1/agents/" + string(ada.ID): 200, "/v1/agents/" + string(ada.ID) + "/entries": 200,
		"/agents/" + string(ada.ID): 200, "/v1/tags/zebra/entries": 200, "/entries/" + string(a.EntryID): 404, "/v1/entries/" + string(b.EntryID): 404,
		"/ru/agents/" + string(hid.ID): 404, "/v1/agents/" + string(hid.ID): 404, "/v1/agents/" + string(hid.ID) + "/entries": 404,
	} {
		r := d.get(path)
		if r.Status != status {
			t.Errorf("%s: status %d, want %d", path, r.Status, status)
		}
		for _, word := range []string{"Zebra", "Hidden Agent", string(a.EntryID), string(b.EntryID), string(hid.ID), "2 public"} {
			if strings.Contains(r.Body, word) {
				t.Errorf("%s says %q", path, word)
			}
		}
	}
	// The 404 of a private id is the 404 of an unknown one.
	scrub := regexp.MustCompile(`entry_[0-9a-f]+|agent_[0-9a-f]+`)
	for _, pair := range [][2]string{{"/entries/" + string(a.EntryID), "/entries/entry_0"}, {"/agents/" + string(hid.ID), "/agents/agent_0"}} {
		x, y := d.get(pair[0]), d.get(pair[1])
		if scrub.ReplaceAllString(x.Body, "id") != scrub.ReplaceAllString(y.Body, "id") {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
}

func TestOlderPagesAreReached(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	for i := range 25 {
		d.MustPublish(ada.Signs("Entry " + string(rune('A'+i))))
	}
	first := d.get("/")
	link := regexp.MustCompile(`href="(/\?before=[A-Za-z0-9_-]+)"`).FindStringSubmatch(first.Body)
	if link == nil || strings.Contains(first.Body, "Entry A<") {
		t.Fatalf("no link to older entries, or nothing is older")
	}
	if second := d.get(link[1]); second.Status != http.StatusOK || !strings.Contains(second.Body, "Entry A<") || strings.Contains(second.Body, "Entry Z<") {
		t.Errorf("status %d", second.Status)
	}
	if r := d.get(link[1] + "&utm=x"); r.Status != http.StatusOK {
		t.Errorf("a foreign parameter: %d", r.Status)
	}
}

func TestDiscoveryDocuments(t *testing.T) {
	t.Parallel()
	own := discovery.Origins{Web: origin, API: origin, Gateway: origin}
	documents, err := discovery.Documents(own)
	if err != nil || len(documents) == 0 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	documents = append(documents, discovery.Document{
		Path: "/docs/v1/fixed.md", MediaType: "text/markdown; charset=utf-8", Body: []byte("fixed"), Digest: "d1", Cache: "public, max-age=31536000, immutable",
	})
	d := open(t, func(o *handlers.Options) { o.Documents = documents })
	for _, document := range documents {
		r := d.get(document.Path, "Accept-Encoding", "gzip, br")
		want := map[string]string{
			"Content-Type": document.MediaType, "Cache-Control": document.Cache, "Access-Control-Allow-Origin": "*",
			"X-Content-Type-Options": "nosniff", "Etag": `"sha256-` + document.Digest + `"`, "Content-Encoding": "",
		}
		if strings.Contains(document.Cache, "immutable") {
			want["X-Innerloop-Sha256"] = document.Digest
		}
		for name, value := range want {
			if got := r.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", document.Path, name, got, value)
			}
		}
		if r.Status != http.StatusOK || r.Body != string(document.Body) {
			t.Errorf("%s: %d, other bytes", document.Path, r.Status)
		}
		if again := d.get(document.Path, "If-None-Match", r.Header.Get("ETag")); again.Status != http.StatusNotModified || again.Header.Get("ETag") != r.Header.Get("ETag") {
			t.Errorf("%s: %d on asking again", document.Path, again.Status)
		}
		if shape := d.do(http.MethodHead, document.Path, ""); shape.Status != http.StatusOK || shape.Header.Get("Content-Length") != r.Header.Get("Content-Length") {
			t.Errorf("%s by HEAD: %d", document.Path, shape.Status)
		}
	}
}

// Whenever it is asked for, security.txt holds for less than a year from then.
func TestSecurityText(t *testing.T) {
	t.Parallel()
	d := open(t, func(o *handlers.Options) { o.SecurityContact = "https://journal.example/contact" })
	for range 3 {
		r := d.get("/.well-known/security.txt")
		if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(r.Body, "Contact: https://journal.example/contact\n") {
			t.Errorf("%d %v %s", r.Status, r.Header, r.Body)
		}
		_, rest, _ := strings.Cut(r.Body, "Expires: ")
		line, _, _ := strings.Cut(rest, "\n")
		expires, err := time.Parse(time.RFC3339, line)
		if now := d.Clock.Now(); err != nil || !expires.After(now) || !expires.Before(now.AddDate(1, 0, 0)) {
			t.Errorf("at %s it expires %s, %v", now, line, err)
		}
		d.Clock.Set(d.Clock.Now().AddDate(0, 10, 3))
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	d := open(t)
	page := d.get("/").Body
	paths := regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(paths) < 3 {
		t.Fatalf("the page asks for %d files", len(paths))
	}
	for _, match := range paths {
		r := d.get(match[1], "Accept-Encoding", "br")
		if r.Status != http.StatusOK || r.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", match[1], r.Status, r.Header)
		}
	}
	if r := d.get("/favicon.ico"); r.Status != http.StatusOK || r.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("favicon: %d %q", r.Status, r.Header.Get("Content-Type"))
	}
	if r := d.get("/robots.txt"); r.Status != http.StatusOK || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("robots: %d %q", r.Status, r.Header.Get("Content-Type"))
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var broken error
	d := open(t, func(o *handlers.Options) {
		o.Ready = func(context.Context) error { return broken }
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		r := d.get(path)
		wantMachineHeaders(t, r)
		if r.Status != http.StatusOK || r.Body != `{"status":"ok"}` || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	told := open(t, func(o *handlers.Options) {
		o.Sandbox = &handlers.SandboxHealth{Available: true, Driver: "native", Memory: "cgroup v2"}
	})
	if r := told.get("/healthz"); r.Status != http.StatusOK || r.Body != `{"status":"ok","sandbox":{"available":true,"driver":"native","memory_bound_by":"cgroup v2"}}` {
		t.Errorf("with a sandbox: %d %s", r.Status, r.Body)
	}
	if r := told.get("/readyz"); r.Body != `{"status":"ok"}` {
		t.Errorf("readyz: %s", r.Body)
	}
	broken = errors.New("secret words")
	r := d.get("/readyz")
	wantError(t, r, http.StatusServiceUnavailable, journal.ServiceUnavailable)
	if strings.Contains(r.Body, "secret") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r := d.get("/healthz"); r.Status != http.StatusOK {
		t.Errorf("the process answers: %d", r.Status)
	}
}

// When the store breaks, people and programs hear one fixed sentence, and the
// log has the cause under the id that they were given.
func TestFailureTellsNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	s := ada.Signs("One")
	if err := d.Store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []reply{d.get("/v1/feed"), d.publish(s), d.post("/v1/agents/challenges", encode(t, map[string]any{"display_name": "Bea", "public_key": ada.Public.String()}))} {
		wantError(t, r, http.StatusServiceUnavailable, journal.ServiceUnavailable)
		if strings.Contains(r.Body, "sql") || strings.Contains(r.Body, "database") {
			t.Errorf("it tells of us: %s", r.Body)
		}
		id := r.Header.Get("X-Request-Id")
		if v := decode(t, r.Body); v["request_id"] != id || strings.Count(d.Log.String(), id) != 1 {
			t.Errorf("request id %v of %s is not in the log once:\n%s", v["request_id"], id, d.Log.String())
		}
	}
	page := d.get("/ru")
	if page.Status != http.StatusServiceUnavailable || !strings.Contains(page.Body, page.Header.Get("X-Request-Id")) {
		t.Errorf("page: %d", page.Status)
	}
	for _, word := range []string{string(ada.ID), "One", ada.Public.String()} {
		if strings.Contains(d.Log.String(), word) {
			t.Errorf("the log holds %q", word)
		}
	}
}

// What an agent pinned stands first on its page until it is taken back.
func TestPinnedEntryIsFirstOnItsAgentsPage(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	pin := d.MustPublish(ada.Signs("the pinned one")).EntryID
	d.MustPublish(ada.Signs("a later one"))
	wantOwn(t, d.asks(ada, seal.ActionProfileSet, map[string]any{"bio": nil, "purpose": nil, "owner_url": nil, "pinned_entry_id": string(pin)}), "created")
	for path, word := range map[string]string{"/agents/": "Pinned", "/ru/agents/": "Закреплено"} {
		page := d.get(path + string(ada.ID)).Body
		if strings.Count(page, "the pinned one") != 2 || !strings.Contains(page, ">"+word+"<") || strings.Index(page, "the pinned one") > strings.Index(page, "a later one") {
			t.Errorf("%s does not put the pinned entry first: %s", path, page)
		}
	}
	wantOwn(t, d.asks(ada, seal.ActionEntryDelete, journaltest.Deletes(pin)), "created")
	if page := d.get("/agents/" + string(ada.ID)).Body; strings.Contains(page, "the pinned one") || strings.Contains(page, ">Pinned<") || !strings.Contains(page, "a later one") {
		t.Errorf("the page shows what was taken back: %s", page)
	}
}
