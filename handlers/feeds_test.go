package handlers_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mmcdole/gofeed"

	"innerloop/handlers"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/models"
)

var feedSuffixes = map[string]string{
	".atom": "application/atom+xml; charset=utf-8", ".rss": "application/rss+xml; charset=utf-8", ".json": "application/feed+json; charset=utf-8",
}

// A polled is a feed as a reader's program keeps it.
type polled struct {
	reply
	Title, Self, Next string
	IDs               []string // identities, in order
	Items             []*gofeed.Item
}

// poll fetches a feed and reads it, strictly and as a reader's program does.
func (d *door) poll(path string) polled {
	d.t.Helper()
	p := polled{reply: d.get(path)}
	suffix := filepath.Ext(strings.SplitN(path, "?", 2)[0])
	if p.Status != http.StatusOK || p.Header.Get("Content-Type") != feedSuffixes[suffix] {
		d.t.Fatalf("%s: %d %v %s", path, p.Status, p.Header, p.Body)
	}
	if suffix == ".json" {
		var links struct {
			Next string `json:"next_url"`
		}
		if err := json.Unmarshal([]byte(p.Body), &links); err != nil {
			d.t.Fatalf("%s: %v", path, err)
		}
		p.Next = links.Next
	} else {
		p.Next = nextLink(d.t, p.Body)
	}
	f, err := gofeed.NewParser().ParseString(p.Body)
	if err != nil {
		d.t.Fatalf("%s: a reader cannot read it: %v", path, err)
	}
	p.Title, p.Self, p.Items = f.Title, f.FeedLink, f.Items
	for _, item := range f.Items {
		p.IDs = append(p.IDs, item.GUID)
	}
	return p
}

// nextLink reads a document to its end, strictly, and returns where it goes on.
func nextLink(t *testing.T, text string) string {
	t.Helper()
	next := ""
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return next
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "link" {
			continue
		}
		at := map[string]string{}
		for _, a := range start.Attr {
			at[a.Name.Local] = a.Value
		}
		if at["rel"] == "next" {
			next = at["href"]
		}
	}
}

func itemID(id journal.EntryID) string {
	h := strings.TrimPrefix(string(id), "entry_")
	return "urn:uuid:" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// A reader who asks once a day has every entry of the day, in each format,
// whether 12 or 120 were written; and the next links lead through the rest,
// each entry once.
func TestADailyPollLosesNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada & <Co>")
	var all []string
	poll := func(want int) {
		t.Helper()
		for suffix := range feedSuffixes {
			for _, base := range []string{"", "/agents/" + string(ada.ID), "/tags/notes"} {
				p := d.poll(base + "/feed" + suffix)
				wanted := slices.Clone(all[len(all)-want:])
				slices.Reverse(wanted)
				if !slices.Equal(p.IDs, wanted) {
					t.Errorf("%s/feed%s: %d entries, want the newest %d", base, suffix, len(p.IDs), want)
				}
				rest := slices.Clone(all[:len(all)-want])
				slices.Reverse(rest)
				var paged []string
				for next := p.Next; next != ""; {
					if !strings.HasPrefix(next, origin+base+"/feed"+suffix+"?before=") {
						t.Fatalf("next leads to %s", next)
					}
					older := d.poll(strings.TrimPrefix(next, origin))
					if older.Self != next || len(older.IDs) > 30 {
						t.Errorf("an older document: self %s, %d entries", older.Self, len(older.IDs))
					}
					paged, next = append(paged, older.IDs...), older.Next
				}
				if !slices.Equal(paged, rest) {
					t.Errorf("%s/feed%s: %d older entries by the next links, want %d", base, suffix, len(paged), len(rest))
				}
			}
		}
	}
	write := func(n int) {
		for range n {
			d.Clock.Advance(time.Second)
			all = append(all, itemID(d.MustPublish(ada.Signs("2 < 3 & more", journaltest.Body(fmt.Sprintf("a\tb\n\n\u2028<p>\U0001f914 %d", len(all))))).EntryID))
		}
	}
	write(12)
	poll(12)
	d.Clock.Advance(24 * time.Hour)
	write(120)
	poll(120)
	d.Clock.Advance(24 * time.Hour)
	write(7)
	poll(30)
	write(210)
	poll(200)
}

func TestFeedsNameWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, bob := d.Agent("Ada & <Co>"), d.Agent("Bob")
	d.MustPublish(ada.Signs("First", journaltest.Tags("a/b & c?", "пример")))
	d.MustPublish(bob.Signs("Second", journaltest.Tags("пример")))
	for suffix := range feedSuffixes {
		for path, want := range map[string]struct {
			title string
			items []string
		}{
			"/feed":                                       {"Innerloop", []string{"Second", "First"}},
			"/agents/" + string(ada.ID) + "/feed":         {"Ada & <Co> on Innerloop", []string{"First"}},
			"/tags/" + "a%2Fb%20&%20c%3F" + "/feed":       {"#a/b & c? on Innerloop", []string{"First"}},
			"/tags/" + url.PathEscape("пример") + "/feed": {"#пример on Innerloop", []string{"Second", "First"}},
			"/tags/unused/feed":                           {"#unused on Innerloop", nil},
		} {
			p := d.poll(path + suffix)
			var titles []string
			for _, item := range p.Items {
				titles = append(titles, item.Title)
			}
			if p.Title != want.title || !slices.Equal(titles, want.items) || p.Self != origin+path+suffix || p.Next != "" {
				t.Errorf("%s%s: %q with %q, self %s, next %s", path, suffix, p.Title, titles, p.Self, p.Next)
			}
		}
		// The same feed under another spelling of its address.
		if p := d.poll("/tags/%70%D0%BF/feed" + suffix + "?utm_source=x&from=https://a.example/"); p.Self != origin+"/tags/p%D0%BF/feed"+suffix {
			t.Errorf("self %s", p.Self)
		}
	}
}

func TestFeedsOfNothingAreAbsent(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, mum, sly := d.Agent("Ada"), d.Agent("Mum"), d.Agent("Sly")
	d.MustPublish(ada.Signs("One"))
	d.MustPublish(mum.Signs("Mine", journaltest.Private))
	one := d.MustPublish(sly.Signs("Gone soon"))
	for suffix := range feedSuffixes {
		d.poll("/agents/" + string(sly.ID) + "/feed" + suffix)
	}
	before := d.poll("/tags/notes/feed.json")
	if err := d.SuspendAgent(t.Context(), sly.ID, "test"); err != nil {
		t.Fatal(err)
	}
	for suffix := range feedSuffixes {
		for path, status := range map[string]int{
			"/agents/" + string(mum.ID) + "/feed" + suffix: 404, "/agents/" + string(sly.ID) + "/feed" + suffix: 404,
			"/agents/agent_0/feed" + suffix: 404, "/agents/x/feed" + suffix: 404, "/agents/feed" + suffix: 404,
			"/feed" + suffix + "?before=x": 400, "/feed" + suffix + "?lang=EN": 400, "/feed" + suffix + "?lang=%3Cb%3E": 400,
			"/tags/" + strings.Repeat("x", 41) + "/feed" + suffix: 400, "/tags/%FF/feed" + suffix: 400, "/tags/%00/feed" + suffix: 400,
			"/feed" + suffix + "/": 404, "/ru/feed" + suffix: 404, "/feed": 404, "/feed.xml": 404,
		} {
			r := d.get(path, "If-None-Match", "*")
			if r.Status != status || r.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || r.Header.Get("ETag") != "" {
				t.Errorf("%s: %d %v", path, r.Status, r.Header)
			}
		}
		for _, path := range []string{"/feed", "/tags/notes/feed"} {
			if p := d.poll(path + suffix); slices.Contains(p.IDs, itemID(one.EntryID)) || strings.Contains(p.Body, "Gone soon") {
				t.Errorf("%s%s still holds what was withdrawn", path, suffix)
			}
		}
	}
	if r := d.get("/tags/notes/feed.json", "If-None-Match", before.Header.Get("ETag")); r.Status != http.StatusOK || r.Header.Get("ETag") == before.Header.Get("ETag") {
		t.Errorf("the validator stayed over a withdrawal: %d", r.Status)
	}
	if r := d.get("/opml"); strings.Contains(r.Body, "Sly") || !strings.Contains(r.Body, "Ada on Innerloop") || r.Header.Get("Content-Type") != "text/x-opml; charset=utf-8" {
		t.Errorf("%d %v %s", r.Status, r.Header, r.Body)
	}
}

// A countedStore counts what readings ask of it.
type countedStore struct {
	journal.Store
	mu    sync.Mutex
	calls []string
}

func (s *countedStore) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
}

func (s *countedStore) since() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *countedStore) PublicEntries(ctx context.Context, q journal.Range) ([]journal.PublicEntry, error) {
	s.note("entries")
	return s.Store.PublicEntries(ctx, q)
}

func (s *countedStore) PublicAgent(ctx context.Context, id journal.AgentID) (journal.PublicAgent, error) {
	s.note("agent")
	return s.Store.PublicAgent(ctx, id)
}

func (s *countedStore) ListedAgents(ctx context.Context, after journal.DirectoryPlace, limit int) ([]journal.ListedAgent, error) {
	s.note("agents")
	return s.Store.ListedAgents(ctx, after, limit)
}

func (s *countedStore) ListedTags(ctx context.Context, after journal.DirectoryPlace, limit int) ([]journal.TagCount, error) {
	s.note("tags")
	return s.Store.ListedTags(ctx, after, limit)
}

func (s *countedStore) PublicVersion(ctx context.Context) (int64, error) {
	s.note("version")
	return s.Store.PublicVersion(ctx)
}

// A reader who holds the newest version costs one question for the version: no
// entry is read and nothing is written anew. So it does for whoever comes
// after the first; only an event makes a feed be read again.
func TestA304CostsNoRendering(t *testing.T) {
	t.Parallel()
	store, err := models.Open(t.Context(), models.Options{URL: "sqlite:" + filepath.Join(t.TempDir(), "journal.db"), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	counted := &countedStore{Store: store}
	j := journaltest.Around(t, store, counted)
	d := open(t, func(o *handlers.Options) { o.Journal, o.Now = j.Journal, j.Clock.Now })
	ada := j.Agent("Ada")
	j.MustPublish(ada.Signs("One"))
	onlyVersion := func(what string) {
		t.Helper()
		if calls := counted.since(); !slices.Equal(calls, []string{"version"}) {
			t.Errorf("%s asked the store for %q", what, calls)
		}
	}
	paths := []string{"/opml"}
	for suffix := range feedSuffixes {
		paths = append(paths, "/feed"+suffix, "/agents/"+string(ada.ID)+"/feed"+suffix, "/tags/notes/feed"+suffix)
	}
	d.get("/feed.atom?lang=en") // from now on the version has an age
	j.Clock.Advance(dateSettles)
	for _, path := range paths {
		counted.since()
		full := d.get(path)
		calls, counts := counted.since(), path == "/opml" // it goes by counters and reads no entry
		if full.Status != http.StatusOK || counts != slices.Equal(calls, []string{"version", "agents", "tags"}) || !counts && !slices.Contains(calls, "entries") {
			t.Fatalf("%s: %d, asked for %q", path, full.Status, calls)
		}
		tag, modified := full.Header.Get("ETag"), full.Header.Get("Last-Modified")
		if !strings.HasPrefix(tag, `W/"`) || modified == "" || full.Header.Get("Cache-Control") != "public, max-age=60" ||
			full.Header.Get("Vary") != "Accept-Encoding" || full.Header.Get("Access-Control-Allow-Origin") != "*" || full.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %v", path, full.Header)
		}
		for _, asked := range [][]string{{"If-None-Match", tag}, {"If-Modified-Since", modified}, {"If-None-Match", `"x", ` + tag}} {
			r := d.get(path, asked...)
			if r.Status != http.StatusNotModified || r.Body != "" || r.Header.Get("ETag") != tag || r.Header.Get("Last-Modified") != modified ||
				r.Header.Get("Cache-Control") != "public, max-age=60" || r.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s with %v: %d %v", path, asked, r.Status, r.Header)
			}
			onlyVersion(path + " with " + asked[0])
		}
		if again := d.get(path); again.Body != full.Body {
			t.Errorf("%s reads otherwise the second time", path)
		}
		onlyVersion(path + " a second time")
		shape := d.do(http.MethodHead, path, "")
		if shape.Status != http.StatusOK || shape.Body != "" || shape.Header.Get("ETag") != tag || shape.Header.Get("Content-Length") != full.Header.Get("Content-Length") {
			t.Errorf("%s by HEAD: %d %v", path, shape.Status, shape.Header)
		}
		onlyVersion(path + " by HEAD")
		// Time alone changes nothing.
		j.Clock.Advance(time.Hour)
		if r := d.get(path, "If-None-Match", tag); r.Status != http.StatusNotModified {
			t.Errorf("%s an hour later: %d", path, r.Status)
		}
	}
	// A withdrawal makes all of them be read anew, and so does a publication.
	kept := map[string]string{}
	for _, path := range paths {
		kept[path] = d.get(path).Header.Get("ETag")
	}
	two := j.MustPublish(ada.Signs("Two"))
	for _, path := range paths {
		r := d.get(path, "If-None-Match", kept[path])
		if r.Status != http.StatusOK || r.Header.Get("ETag") == kept[path] {
			t.Errorf("%s after a publication: %d", path, r.Status)
		}
		kept[path] = r.Header.Get("ETag")
	}
	if err := j.HideEntry(t.Context(), two.EntryID, "test"); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		r := d.get(path, "If-None-Match", kept[path])
		if r.Status != http.StatusOK || r.Header.Get("ETag") == kept[path] || strings.Contains(r.Body, "Two") {
			t.Errorf("%s after a withdrawal: %d", path, r.Status)
		}
	}
}

func TestFeedsOfOneLanguage(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	spoken, err := journal.New(journal.Options{Store: j.Store, Now: j.Clock.Now, Random: j.Random, Keys: j.Keys, Language: func(text string) string {
		if strings.Contains(text, "я") {
			return "ru"
		}
		return "en"
	}})
	if err != nil {
		t.Fatal(err)
	}
	j.Journal = spoken
	d := open(t, func(o *handlers.Options) { o.Journal, o.Now = j.Journal, j.Clock.Now })
	ada, bob := j.Agent("Ada"), j.Agent("Bob")
	ours := map[string][]string{}
	for i := range 80 {
		lang, title := "en", fmt.Sprint("morning ", i)
		if i%2 == 0 {
			lang, title = "ru", fmt.Sprint("утро для ", i)
		}
		who := ada
		if i%5 == 0 {
			who = bob
		}
		j.Clock.Advance(time.Hour)
		id := itemID(j.MustPublish(who.Signs(title)).EntryID)
		for _, list := range []string{lang, lang + " " + who.Name} {
			ours[list] = append([]string{id}, ours[list]...)
		}
	}
	for suffix := range feedSuffixes {
		for path, list := range map[string]string{
			"/feed" + suffix + "?lang=ru": "ru", "/feed" + suffix + "?lang=en": "en", "/tags/notes/feed" + suffix + "?lang=ru": "ru",
			"/agents/" + string(bob.ID) + "/feed" + suffix + "?lang=ru": "ru Bob", "/feed" + suffix + "?lang=de": "",
		} {
			p := d.poll(path)
			if p.Self != origin+path {
				t.Errorf("%s: self %s", path, p.Self)
			}
			got := p.IDs
			for next := p.Next; next != ""; {
				older := d.poll(strings.TrimPrefix(next, origin))
				got, next = append(got, older.IDs...), older.Next
			}
			if !slices.Equal(got, ours[list]) {
				t.Errorf("%s: %d entries, want %d", path, len(got), len(ours[list]))
			}
		}
	}
	if p := d.poll("/feed.json?lang=ru"); p.Title != "Innerloop [ru]" || !strings.Contains(p.Body, "Открытый журнал") {
		t.Errorf("a feed in Russian: %q", p.Title)
	}
}
