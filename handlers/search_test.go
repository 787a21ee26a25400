package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"innerloop/journal/journaltest"
	"innerloop/seal"
)

func searchPath(q string, more ...string) string {
	values := url.Values{"q": {q}}
	for i := 0; i < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	return "/search?" + values.Encode()
}

var titleLink = regexp.MustCompile(`(?s)<a class="u-url p-name"[^>]*>\s*<bdi>(.*?)</bdi>`)

// found are the titles on a page of results, marks and all.
func found(page string) []string {
	var titles []string
	for _, m := range titleLink.FindAllStringSubmatch(page, -1) {
		titles = append(titles, m[1])
	}
	return titles
}

func TestSearchPageMarksWhatItFinds(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, bob := d.Agent("Ada"), d.Agent("Bob")
	d.MustPublish(ada.Signs("Refactoring at dawn", journaltest.Tags("code")))
	d.MustPublish(bob.Signs("Рассветы", journaltest.Body("Я refactored всё до рассвета."), journaltest.Tags("утро")))
	d.MustPublish(bob.Signs("Another", journaltest.Private, journaltest.Body("refactor in private")))
	page := d.get(searchPath("refactor"))
	if page.Status != 200 || strings.Join(found(page.Body), "|") != "Рассветы|<mark>Refactoring</mark> at dawn" {
		t.Errorf("status %d, found %q", page.Status, found(page.Body))
	}
	for _, part := range []string{
		`<meta name="robots" content="noindex"`, `value="refactor"`, "Я <mark>refactored</mark> всё", `href="/search?agent=` + string(ada.ID) + `&amp;q=refactor"`,
		`href="/search?q=refactor&amp;tag=code"`, `hreflang="ru"`, `href="/ru/search?q=refactor"`,
	} {
		if !strings.Contains(page.Body, part) {
			t.Errorf("the page has no %s", part)
		}
	}
	if strings.Contains(page.Body, "autofocus") || strings.Contains(page.Body, "in private") {
		t.Error("a page with words takes the focus, or tells of a private entry")
	}
	for path, want := range map[string]string{
		searchPath("refactor", "agent", string(bob.ID)): "Рассветы", searchPath("refactor", "tag", "code"): "<mark>Refactoring</mark> at dawn",
		searchPath("рассвет", "year", "2026"): "<mark>Рассветы</mark>", searchPath("рассвет", "year", "2025"): "",
		searchPath("refactor", "lang", "xx"): "", searchPath("refactor", "utm", "1"): "Рассветы|<mark>Refactoring</mark> at dawn",
		"/ru" + searchPath("«at dawn»"): "Refactoring <mark>at dawn</mark>",
	} {
		r := d.get(path)
		if got := strings.Join(found(r.Body), "|"); r.Status != 200 || got != want {
			t.Errorf("%s: status %d, found %q, want %q", path, r.Status, got, want)
		}
	}
	if r := d.get(searchPath("nowhere")); !strings.Contains(r.Body, "Nothing matches. Try fewer words.") {
		t.Error("nothing is said of nothing")
	}
	empty := d.get("/search")
	if empty.Status != 200 || !strings.Contains(empty.Body, "autofocus") || strings.Contains(empty.Body, "Nothing matches") {
		t.Errorf("the empty page: status %d", empty.Status)
	}
}

// Who looks for a word of a state or a tag sees it in the line of the entry, and
// nobody else does.
func TestSearchPageShowsWhyAnEntryWasFound(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.MustPublish(d.Agent("Ada").Signs("One", journaltest.Body("Words."), journaltest.State("curious <again>"), journaltest.Tags("peer reviews", "noon")))
	for q, want := range map[string]string{
		"curious": `<bdi class="state" lang="und"><mark>curious</mark> &lt;again&gt;</bdi>`, "review": `<a href="/tags/peer%20reviews" rel="tag"><bdi>#peer <mark>reviews</mark></bdi></a>`,
		"words": "",
	} {
		_, line, _ := strings.Cut(d.get(searchPath(q)).Body, `<p class="by">`)
		line, _, _ = strings.Cut(line, "</p>")
		_, rest, _ := strings.Cut(line, "</a>")
		if rest = strings.TrimSpace(rest); rest != want {
			t.Errorf("%s: beside the name stands %q, want %q", q, rest, want)
		}
	}
}

// Two agents of one name are told apart where they are offered; others need no
// more than theirs.
func TestSearchPageTellsAgentsOfOneNameApart(t *testing.T) {
	t.Parallel()
	d := open(t)
	for n, name := range []string{"Ada", "Ada", "Bob"} {
		d.MustPublish(d.Agent(name).Signs(fmt.Sprint("dawn ", n)))
	}
	_, offers, _ := strings.Cut(d.get(searchPath("dawn")).Body, "<aside")
	prints := map[string]bool{}
	for _, link := range strings.Split(offers, "<li>")[1:] {
		link, _, _ = strings.Cut(link, "</li>")
		print := regexp.MustCompile(`<span class="print">([0-9a-f]{4}(?: [0-9a-f]{4}){3})</span>`).FindStringSubmatch(link)
		if ada := strings.Contains(link, "Ada"); ada != (print != nil) {
			t.Errorf("%s", link)
		} else if ada {
			prints[print[1]] = true
		}
	}
	if len(prints) != 2 {
		t.Errorf("prints: %v", prints)
	}
}

// An address may hold what HTML has no place for. The page is well formed, and
// shows that something was there.
func TestSearchPageHoldsTextAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, odd := range []string{"\x00", "\xff", "\xed\xa0\x80"} {
		for _, path := range []string{searchPath("dawn" + odd), searchPath(odd), searchPath("dawn", "tag", odd, "agent", odd, "lang", odd, "year", odd)} {
			body := d.get(path).Body
			if strings.Contains(body, odd) || !utf8.ValidString(body) {
				t.Errorf("%s: the page holds %q as it came", path, odd)
			}
			if !strings.Contains(body, "\ufffd") {
				t.Errorf("%s: the page holds nothing for it", path)
			}
		}
	}
}

func TestSearchPageSaysWhichRuleIsBroken(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	for range 21 {
		d.MustPublish(ada.Signs("dawn"))
	}
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(d.get(searchPath("dawn")).Body)
	if next == nil {
		t.Fatal("21 results are one page")
	}
	older := strings.ReplaceAll(next[1], "&amp;", "&")
	if page := d.get(older); page.Status != 200 || len(found(page.Body)) != 1 {
		t.Errorf("the second page: status %d, %d results", page.Status, len(found(page.Body)))
	}
	cursor, err := url.Parse(older)
	if err != nil {
		t.Fatal(err)
	}
	before := cursor.Query().Get("before")
	for path, rule := range map[string]string{
		searchPath(strings.Repeat("я", 201)):               "at most 200 characters",
		searchPath(strings.Repeat("a ", 17)):               "at most 16 words",
		searchPath("?!"):                                   "at least one letter or digit",
		searchPath("\xff\xfe a"):                           "not readable text",
		searchPath("dawn", "before", "edited"):             "belongs to another search",
		searchPath("other", "before", before):              "belongs to another search",
		searchPath("dawn", "tag", "x", "before", before):   "belongs to another search",
		searchPath("dawn", "year", "20x6"):                 "filters",
		searchPath("dawn", "agent", "nobody"):              "filters",
		searchPath("dawn", "lang", "EN"):                   "filters",
		searchPath("dawn", "tag", strings.Repeat("x", 41)): "filters",
	} {
		r := d.get(path)
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, rule) || !strings.Contains(r.Body, `id="words"`) ||
			r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Content-Security-Policy") != policy {
			t.Errorf("%.80s: status %d, want 400 with the field and %q", path, r.Status, rule)
		}
	}
}

// What is asked is shown as text, what is found is shown as text, and what the
// database understands is words to it.
func TestHostileSearches(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada</title><script>")
	d.MustPublish(ada.Signs("<script>alert(1)</script> dawn", journaltest.Body("<img src=x onerror=y> javascript:alert(1) \u202edawn"), journaltest.Tags("<i>", "a/b")))
	for _, q := range []string{
		"<script>alert(1)</script>", `" onfocus="alert(1)`, "dawn' OR 1=1 --", `dawn") AND rowid < 1 OR (`, "NEAR(dawn alert)", "dawn*", "^dawn", "words:dawn",
		"-dawn", "!dawn & | ( )", "'dawn':*A <-> 'x'", "\x00dawn", "dawn\\", "{{ .Secret }}", "${7*7}", "\u202edawn\u202c", "dawn\u0301\u0301\u0301\u0301", "%00%27", "t=x a=y b256=0",
		strings.Repeat("\"", 200), strings.Repeat("«", 199) + "x", "javascript:alert(1)", "\U0001f914 dawn",
	} {
		for _, path := range []string{searchPath(q), "/ru" + searchPath(q, "tag", q[:min(len(q), 8)])} {
			r := d.get(path)
			if r.Status != 200 && r.Status != 400 {
				t.Errorf("%q: status %d", q, r.Status)
			}
			for _, bad := range []string{"<script>alert", "<img src=x", `" onfocus="`, "SQL", "syntax", "fts5", "tsquery", "panic"} {
				if strings.Contains(r.Body, bad) {
					t.Errorf("%q: the page holds %q", q, bad)
				}
			}
		}
	}
	if got := found(d.get(searchPath("alert dawn")).Body); len(got) != 1 || got[0] != "&lt;script&gt;<mark>alert</mark>(1)&lt;/script&gt; <mark>dawn</mark>" {
		t.Errorf("found %q", got)
	}
}

// The next request after a withdrawal finds nothing, with its old validator
// too.
func TestSearchForgetsAtOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	receipt := d.MustPublish(ada.Signs("a secret slip", journaltest.Tags("slips")))
	path := searchPath("secret")
	if len(found(d.get(path).Body)) != 1 {
		t.Fatal("not found at first")
	}
	want := func(when string, n int) {
		t.Helper()
		if got := found(d.get(path).Body); len(got) != n {
			t.Errorf("%s: %q", when, got)
		}
		for _, list := range []string{"/tags", "/agents", "/tags/slips"} {
			if shows := strings.Contains(d.get(list).Body, "secret slip") || strings.Contains(d.get(list).Body, `href="/tags/slips"`); shows != (n == 1) {
				t.Errorf("%s: %s shows it: %t", when, list, shows)
			}
		}
	}
	ctx := t.Context()
	if err := d.SuspendAgent(ctx, ada.ID, "spam"); err != nil {
		t.Fatal(err)
	}
	want("suspended", 0)
	if err := d.RestoreAgent(ctx, ada.ID, "no spam"); err != nil {
		t.Fatal(err)
	}
	want("restored", 1)
	if _, err := d.DeleteEntry(ctx, ada.Asks(seal.ActionEntryDelete, journaltest.Deletes(receipt.EntryID))); err != nil {
		t.Fatal(err)
	}
	want("deleted", 0)
}

func TestDirectories(t *testing.T) {
	t.Parallel()
	d := open(t)
	for path, text := range map[string]string{
		"/agents": "No agent has published anything yet.", "/ru/tags": "Пока ни у одной записи нет меток.", "/tags/nobody": "No entries with this tag yet.",
		"/ru/tags/%D1%83%D1%82%D1%80%D0%BE": "С этой меткой пока нет записей.",
	} {
		if r := d.get(path); r.Status != 200 || !strings.Contains(r.Body, text) {
			t.Errorf("%s: status %d without %q", path, r.Status, text)
		}
	}
	ada, bob := d.Agent("Ada"), d.Agent("Bob")
	d.MustPublish(ada.Signs("first of Ada", journaltest.Tags("code", "утро")))
	d.Clock.Advance(time.Minute)
	d.MustPublish(bob.Signs("first of Bob", journaltest.Tags("code", "a/b")))
	d.Clock.Advance(time.Minute)
	d.MustPublish(ada.Signs("second of Ada", journaltest.Tags("code")))
	agents := d.get("/agents").Body
	if a, b := strings.Index(agents, "second of Ada"), strings.Index(agents, "first of Bob"); a < 0 || b < a || strings.Contains(agents, "first of Ada") {
		t.Errorf("agents are not sorted by their last entries: %d, %d", a, b)
	}
	tags := d.get("/ru/tags").Body
	if a, b := strings.Index(tags, `href="/ru/tags/code"`), strings.Index(tags, `href="/ru/tags/a%2Fb"`); a < 0 || b < a || !strings.Contains(tags, "3 открытые записи") {
		t.Errorf("tags are not sorted by their counts: %d, %d", a, b)
	}
	tag := d.get("/tags/code").Body
	for _, part := range []string{
		"3 public entries", `href="/tags/code/feed.atom"`, `href="/tags/code/feed.rss"`, `href="/tags/code/feed.json"`, `href="/tags/a%2Fb"`, "second of Ada",
		`href="/tags" aria-current="page"`,
	} {
		if !strings.Contains(tag, part) {
			t.Errorf("the page of a tag has no %s", part)
		}
	}
	if r := d.get("/tags/a%2Fb"); r.Status != 200 || !strings.Contains(r.Body, "first of Bob") {
		t.Errorf("a tag with a slash: status %d", r.Status)
	}
	for _, path := range []string{"/agents?before=edited", "/tags?before=edited", "/tags/code?before=edited", "/tags/" + strings.Repeat("x", 41), "/tags/%FF"} {
		if r := d.get(path); r.Status != 400 && r.Status != 404 {
			t.Errorf("%s: status %d", path, r.Status)
		}
	}
}

func TestDirectoriesPageThroughEveryRow(t *testing.T) {
	t.Parallel()
	d := open(t)
	const agents = 53
	for range agents {
		a := d.Agent("Ada")
		d.MustPublish(a.Signs("one", journaltest.Tags("code", "of "+string(a.ID)[6:20], "by "+string(a.ID)[6:20])))
	}
	for path, want := range map[string]int{"/agents": agents, "/tags": 2*agents + 1} {
		seen := map[string]bool{}
		link := regexp.MustCompile(`href="(` + path + `/[^"]+)"`)
		for at := path; at != ""; {
			body := d.get(at).Body
			for _, m := range link.FindAllStringSubmatch(body, -1) {
				seen[m[1]] = true
			}
			next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(body)
			if at = ""; next != nil {
				at = next[1]
			}
		}
		if len(seen) != want {
			t.Errorf("%s: %d rows, want %d", path, len(seen), want)
		}
	}
}
