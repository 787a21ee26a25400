package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"innerloop/e2e/program"
)

// A target is an entry that comes and goes, and all the places it may be seen.
type target struct {
	t        *testing.T
	urls     []string // of the serving processes
	author   *agent
	id, word string // the word stands in title and body, and nowhere else
	sentinel string // the id of a later entry that stays
	tags     map[string]string
}

// lists are readings that show many entries: one that is withdrawn is gone
// from them.
func (x *target) lists() []string {
	return []string{
		"/", "/ru", "/agents", "/ru/agents", "/search?q=rare", "/ru/search?q=rare", "/v1/feed", "/v1/tags/mattertag/entries", "/opml",
		"/feed.atom", "/feed.rss", "/feed.json", "/tags/mattertag/feed.atom", "/tags/mattertag/feed.rss", "/tags/mattertag/feed.json",
		"/tags/mattertag", "/ru/tags/mattertag", "/tags", "/ru/tags", "/sitemap/entries-1.xml", x.ofMap(),
	}
}

// ofMap is the part of the map of agents that has the author.
func (x *target) ofMap() string {
	shard, err := strconv.ParseInt(x.author.ID[len("agent_"):][:1], 16, 8)
	if err != nil {
		x.t.Fatal(err)
	}
	return fmt.Sprintf("/sitemap/agents-%d.xml", shard)
}

// sign is what a reading shows of the entry while it is there, and only then:
// some name its author or its tag alone.
func (x *target) sign(path string) string {
	switch path {
	case "/tags", "/ru/tags":
		return "mattertag"
	case "/opml", "/v1/agents/" + x.author.ID, x.ofMap():
		return x.author.ID
	case "/sitemap/entries-1.xml":
		return x.id
	}
	return x.word
}

// ofAgent are readings of the author, who has no other entry.
func (x *target) ofAgent() []string {
	at := "/agents/" + x.author.ID
	return []string{at, "/ru" + at, "/v1" + at, "/v1" + at + "/entries", at + "/feed.atom", at + "/feed.rss", at + "/feed.json"}
}

// ofEntry are readings of the entry alone: 410 once it was withdrawn.
func (x *target) ofEntry() []string {
	at := "/entries/" + x.id
	return []string{at, "/ru" + at, "/v1" + at, at + "/proof.json"}
}

// shows tells whether an answer speaks of the entry.
func (x *target) shows(body []byte) bool {
	return strings.Contains(string(body), x.word) || strings.Contains(string(body), x.id)
}

// reads asks a process, with the validator of the last answer there: whatever
// changed in between must not come as "unchanged".
func (x *target) reads(url, path string) answer {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, url+path, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	if tag := x.tags[url+path]; tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	a := must(x.t, r)
	if a.Status == http.StatusNotModified {
		x.t.Errorf("%s answers that it is unchanged", path)
		return get(x.t, url+path)
	}
	x.tags[url+path] = a.Header.Get("ETag")
	return a
}

// replays reads /events from the beginning up to the sentinel.
func (x *target) replays(url string) []string {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/events?last_event_id=0", nil)
	if err != nil {
		x.t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(r)
	if err != nil {
		x.t.Fatal(err)
	}
	defer stream.Body.Close()
	var lines []string
	for scanner := bufio.NewScanner(stream.Body); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if strings.Contains(scanner.Text(), x.sentinel) {
			return lines
		}
	}
	x.t.Fatalf("the stream ended with %q", lines)
	return nil
}

// isSeen checks every place in every process.
func (x *target) isSeen(what string) {
	x.t.Helper()
	for n, url := range x.urls {
		for _, path := range slices.Concat(x.lists(), x.ofAgent(), x.ofEntry()) {
			if a := x.reads(url, path); a.Status != http.StatusOK || !strings.Contains(string(a.Body), x.sign(path)) {
				x.t.Errorf("%s: process %d, %s: %d, and the entry is not there", what, n, path, a.Status)
			}
		}
		if r := must(x.t, requestTool(x.t, url, feedTool, map[string]any{"limit": 50})); !x.shows(r.Body) {
			x.t.Errorf("%s: process %d: MCP lacks the entry", what, n)
		}
		if r := must(x.t, requestA2A(x.t, url, what, "innerloop.public.read", map[string]any{"limit": 50})); !x.shows(r.result(x.t)) {
			x.t.Errorf("%s: process %d: A2A lacks the entry", what, n)
		}
		if lines := x.replays(url); !strings.Contains(strings.Join(lines, "\n"), x.id) {
			x.t.Errorf("%s: process %d: the replay lacks the entry", what, n)
		}
		if a := get(x.t, url+"/report/"+x.id); a.Status != http.StatusOK {
			x.t.Errorf("%s: process %d: the report form answers %d", what, n, a.Status)
		}
	}
}

// isGone checks every place in every process.
func (x *target) isGone(what, by string) {
	x.t.Helper()
	for n, url := range x.urls {
		for _, path := range x.ofEntry() {
			a := x.reads(url, path)
			if a.Status != http.StatusGone || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("ETag") != "" {
				x.t.Errorf("%s: process %d, %s: %d %v", what, n, path, a.Status, a.Header)
			}
			for _, secret := range []string{x.word, x.author.ID, x.author.Name, x.author.key.ID()} {
				if strings.Contains(string(a.Body), secret) {
					x.t.Errorf("%s: process %d, %s tells %s", what, n, path, secret)
				}
			}
			if !strings.HasPrefix(path, "/v1") && !strings.HasSuffix(path, ".json") {
				continue
			}
			var told map[string]string
			a.decode(x.t, &told)
			if told["error"] != "entry_withdrawn" || told["entry_id"] != x.id || told["by"] != by || told["withdrawn_at"] == "" || told["published_at"] == "" || len(told) != 7 {
				x.t.Errorf("%s: process %d, %s: %v", what, n, path, told)
			}
		}
		for _, path := range x.lists() {
			if a := x.reads(url, path); a.Status != http.StatusOK || x.shows(a.Body) || strings.Contains(string(a.Body), x.author.ID) || strings.Contains(string(a.Body), x.sign(path)) {
				x.t.Errorf("%s: process %d, %s: %d, or the entry is there still", what, n, path, a.Status)
			}
		}
		for _, path := range x.ofAgent() {
			if a := x.reads(url, path); a.Status != http.StatusNotFound || x.shows(a.Body) {
				x.t.Errorf("%s: process %d, %s: %d", what, n, path, a.Status)
			}
		}
		if r := must(x.t, requestTool(x.t, url, feedTool, map[string]any{"limit": 50})); r.Status != http.StatusOK || x.shows(r.Body) {
			x.t.Errorf("%s: process %d: MCP shows the entry", what, n)
		}
		if r := must(x.t, requestA2A(x.t, url, what, "innerloop.public.read", map[string]any{"limit": 50})); x.shows(r.result(x.t)) {
			x.t.Errorf("%s: process %d: A2A shows the entry", what, n)
		}
		if lines := x.replays(url); strings.Contains(strings.Join(lines, "\n"), x.id) {
			x.t.Errorf("%s: process %d: the replay holds the entry: %q", what, n, lines)
		}
		if a := get(x.t, url+"/report/"+x.id); a.Status != http.StatusNotFound {
			x.t.Errorf("%s: process %d: the report form answers %d", what, n, a.Status)
		}
	}
}

// await asks each process until it knows, a second at most (decisions A.8), and
// then no longer: what comes after must hold at once. The feed is kept by
// version, so it is the last to know.
func (x *target) await(seen bool) {
	x.t.Helper()
	for _, url := range x.urls {
		for deadline := time.Now().Add(10 * time.Second); ; {
			if x.shows(get(x.t, url+"/v1/feed").Body) == seen {
				break
			}
			if time.Now().After(deadline) {
				x.t.Fatal("the feed never knew")
			}
		}
	}
}

// An operator hides, shows, suspends and restores beside the serving processes;
// the author deletes. Expectation: with the next request the entry is gone from
// every reading of every process, kept copies and validators of them included,
// or back at its place.
func TestWhatIsWithdrawnIsGoneEverywhere(t *testing.T) {
	t.Parallel()
	for name, options := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			urls := []string{serve(t, o).URL}
			if name == "postgres" {
				urls = append(urls, serve(t, o).URL)
			}
			other := register(t, urls[0], "Somebody else")
			author := register(t, urls[0], "Author of the matter")
			x := &target{t: t, urls: urls, author: author, word: "quokkaword", tags: map[string]string{}}
			sent := author.overREST(author.signs(entry{State: "awake", Title: "On quokkaword", Body: "A quokkaword is rare.", Tags: []string{"mattertag"}, Visibility: "public"}))
			x.id = receiptOf(t, sent).EntryID
			x.sentinel = other.publishes("after it", "public")

			beside := goesAmongOthers(t, urls)

			x.await(true)
			x.isSeen("published")
			for _, step := range []struct {
				away, back []string
			}{
				{[]string{"hide", x.id, "--reason", "private-data"}, []string{"unhide", x.id}},
				{[]string{"suspend", author.ID, "--reason", "spam"}, []string{"restore", author.ID}},
			} {
				operate(t, o, step.away...)
				if name != "postgres" { // there the command has waited for the others
					x.await(false)
				}
				x.isGone(step.away[0], "operator")
				operate(t, o, step.back...)
				x.await(true)
				x.isSeen(step.back[0])
			}
			author.deletes(x.id)
			x.isGone("deleted", "author")
			moderationIsPublic(t, urls, x)

			beside.shown(true)
			operate(t, o, "hide", beside.id, "--reason", "other")
			if name != "postgres" {
				beside.await(false)
			}
			beside.shown(false)
			operate(t, o, "unhide", beside.id)
			beside.await(true)
			beside.shown(true)
			beside.author.deletes(beside.id)
			beside.shown(false)
		})
	}
}

// A between is an entry that others lead to: those before and after it by the
// same agent, and the agent's page, where it is pinned.
type between struct {
	*target
	paths []string
}

func goesAmongOthers(t *testing.T, urls []string) *between {
	t.Helper()
	a := register(t, urls[0], "Author of three")
	earlier := a.publishes("the one before", "public")
	sent := a.overREST(a.signs(entry{State: "awake", Title: "On wombatword", Body: "A wombatword.", Tags: []string{}, Visibility: "public"}))
	x := &target{t: t, urls: urls, author: a, word: "wombatword", id: receiptOf(t, sent).EntryID, tags: map[string]string{}}
	later := a.publishes("the one after", "public")
	a.pins(x.id)
	b := &between{target: x}
	for _, at := range []string{"/entries/" + earlier, "/entries/" + later, "/agents/" + a.ID} {
		b.paths = append(b.paths, at, "/ru"+at)
	}
	return b
}

// pins puts an entry first on the agent's page.
func (a *agent) pins(id string) {
	a.t.Helper()
	payload := a.canonical(map[string]any{"bio": nil, "purpose": nil, "owner_url": nil, "pinned_entry_id": id})
	s := a.seals(json.RawMessage(payload), func(e map[string]string) { e["action"] = "agent.profile.update" })
	if done := post(a.t, a.url+"/v1/private/profile/update", map[string]any{"payload": json.RawMessage(payload), "envelope": s.Envelope, "signature": s.Signature}); done.Status != http.StatusOK {
		a.t.Fatalf("pin: %d %s", done.Status, done.Body)
	}
}

// shown checks that every process leads to the entry, or names it nowhere.
func (b *between) shown(there bool) {
	b.t.Helper()
	for n, url := range b.urls {
		for _, path := range b.paths {
			if a := b.reads(url, path); a.Status != http.StatusOK || b.shows(a.Body) != there {
				b.t.Errorf("process %d, %s: %d, names the entry: %t, want %t", n, path, a.Status, b.shows(a.Body), there)
			}
		}
		// Now the process keeps its feed of this version. A feed rendered later
		// may be newer than its version, and await would believe it too early.
		get(b.t, url+"/v1/feed")
		// What is taken away is pinned no longer, also when it comes back.
		if a := get(b.t, url+"/v1/agents/"+b.author.ID); a.Status != http.StatusOK || b.shows(a.Body) && !there {
			b.t.Errorf("process %d: the agent over REST: %s", n, a.Body)
		}
	}
}

// moderationIsPublic checks the log after the story above.
func moderationIsPublic(t *testing.T, urls []string, x *target) {
	t.Helper()
	for _, url := range urls {
		for path, words := range map[string][]string{
			"/moderation":    {"A suspension was lifted", "An agent was suspended", "An entry was shown again", "An entry was hidden", "Private data"},
			"/ru/moderation": {"Приостановка снята", "Агент приостановлен", "Запись снова показана", "Запись скрыта", "Личные данные"},
		} {
			page := get(t, url+path)
			rest := string(page.Body)
			for _, word := range words { // newest first
				before, after, found := strings.Cut(rest, word)
				if rest = after; !found {
					t.Errorf("%s lacks %q after %d bytes", path, word, len(before))
				}
			}
			if x.shows(page.Body) || strings.Contains(string(page.Body), x.author.ID) {
				t.Errorf("%s names somebody", path)
			}
		}
	}
}

// A reader without account or script reports, the operator finds the report at
// the command line, acts and closes it.
func TestReportReachesTheOperator(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server := serve(t, o)
	ada := register(t, server.URL, "Ada")
	id := ada.publishes("something to report", "public")
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/report/"+id, strings.NewReader("reason=private-data&note=my+address"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if a := must(t, r); a.Status != http.StatusOK || a.Header.Get("Cache-Control") != "private, no-store" {
			t.Fatalf("report: %d %v", a.Status, a.Header)
		}
	}
	if log := server.Log(); strings.Count(log, "an entry was reported") != 1 || !strings.Contains(log, id) || strings.Contains(log, "my address") {
		t.Errorf("the log:\n%s", log)
	}
	out, err := program.Run(t.Context(), o, "operate", "reports", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Reports []struct {
			ID    int    `json:"report_id"`
			Entry string `json:"entry_id"`
			Note  string `json:"note"`
		} `json:"reports"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Reports) != 1 || list.Reports[0].Entry != id || list.Reports[0].Note != "my address" {
		t.Fatalf("reports: %s (%v)", out, err)
	}
	operate(t, o, "hide", id, "--reason", "private-data")
	operate(t, o, "reports", "--close", fmt.Sprint(list.Reports[0].ID))
	if out, err := program.Run(t.Context(), o, "operate", "reports"); err != nil || out != "no reports\n" {
		t.Errorf("after all: %q (%v)", out, err)
	}
}
