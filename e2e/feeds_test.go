package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mmcdole/gofeed"
)

// A readFeed is a feed as any reader's program should see it; self lacks its
// suffix.
type readFeed struct {
	Title string     `json:"title"`
	Self  string     `json:"self"`
	Home  string     `json:"home"`
	Items []readItem `json:"items"`
}

type readItem struct {
	ID     string   `json:"id"`
	URL    string   `json:"url"`
	Title  string   `json:"title"`
	Author string   `json:"author"`
	Time   string   `json:"time"`
	Tags   []string `json:"tags"`
	HTML   string   `json:"html"`
}

// looksLikeHTML tells the titles that feedparser guesses to be HTML.
func (i readItem) looksLikeHTML() bool { return strings.ContainsAny(i.Title, "<&") }

// sends publishes entries over REST and returns their ids.
func (a *agent) sends(entries ...entry) []string {
	a.t.Helper()
	var ids []string
	for _, e := range entries {
		var made struct {
			EntryID string `json:"entry_id"`
		}
		a.overREST(a.signs(e)).decode(a.t, &made)
		if made.EntryID == "" {
			a.t.Fatalf("%q was not published", e.Title)
		}
		ids = append(ids, made.EntryID)
	}
	return ids
}

func fetched(t *testing.T, address string) (string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := must(t, r)
	if a.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", address, a.Status, a.Body)
	}
	return string(a.Body), a.Header
}

// Four programs that people read feeds with are given the feeds of entries with
// markup, entities, two languages, emoji and addresses.
// Expectation: all see the same feed, which is the one that was published; the
// XML obeys the profiles in testdata.
func TestFourReadersSeeTheSameFeed(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	ada := register(t, server.URL, `Ada & "Co" <reads>`)
	written := []entry{
		{State: "calm", Title: "Ledger & Lamp: 2 < 3", Body: "First <b>line</b> & more\nsecond line\n\nSee https://example.org/?a=1&b=2 «и так далее».", Tags: []string{"a&b", "внимание"}, Visibility: "public"},
		{State: "сосредоточенность", Title: "О двух видах молчания 🧪", Body: "Собеседник не отвечал двадцать минут.\n\n> Он читал.\n    и думал", Tags: []string{}, Visibility: "public"},
		{State: "plain", Title: "Entities: &lt; &amp;amp; ]]>", Body: "]]> &lt;b&gt; <![CDATA[ x ]]> <!-- -->", Tags: []string{"]]>"}, Visibility: "public"},
		hostile(),
	}
	ids := ada.sends(written...)
	want := readFeed{Title: "Innerloop", Self: server.URL + "/feed.", Home: server.URL + "/"}
	feeds := map[string]string{}
	for _, format := range []string{"atom", "rss", "json"} {
		feeds[format], _ = fetched(t, server.URL+"/feed."+format)
	}
	var own struct {
		Items []struct {
			HTML string `json:"content_html"`
			At   string `json:"date_published"`
		}
	}
	if err := json.Unmarshal([]byte(feeds["json"]), &own); err != nil || len(own.Items) != len(ids) {
		t.Fatalf("%d items, %v", len(own.Items), err)
	}
	for i := range ids {
		n := len(ids) - 1 - i // newest first
		h := strings.TrimPrefix(ids[n], "entry_")
		want.Items = append(want.Items, readItem{
			ID:  "urn:uuid:" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:],
			URL: server.URL + "/entries/" + ids[n], Title: written[n].Title, Author: ada.Name, Time: strings.TrimSuffix(own.Items[i].At, "Z"),
			Tags: written[n].Tags, HTML: strings.TrimSpace(own.Items[i].HTML),
		})
	}

	for format, text := range feeds {
		f, err := gofeed.NewParser().ParseString(text)
		if err != nil {
			t.Fatalf("gofeed cannot read %s: %v", format, err)
		}
		got := readFeed{Title: f.Title, Self: strings.TrimSuffix(f.FeedLink, format), Home: f.Link}
		for n, i := range f.Items {
			title := i.Title
			if format == "rss" && title == html.UnescapeString(want.Items[n].Title) { // gofeed undoes entities twice
				title = want.Items[n].Title
			}
			got.Items = append(got.Items, readItem{
				i.GUID, i.Link, title, i.Authors[0].Name, i.PublishedParsed.UTC().Format("2006-01-02T15:04:05"), append([]string{}, i.Categories...), strings.TrimSpace(i.Content),
			})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("gofeed reads %s otherwise:\n%s", format, diff)
		}
	}
	node(t, "feeds.mjs", map[string]any{"feeds": feeds, "want": want})
	var guessed []bool
	for _, i := range want.Items {
		guessed = append(guessed, i.looksLikeHTML())
	}
	python(t, "feeds.py", map[string]any{"feeds": feeds, "want": want, "guessed": guessed})

	dir := t.TempDir()
	feeds["opml"], _ = fetched(t, server.URL+"/opml")
	for name, text := range feeds {
		if name == "json" {
			continue // its schema is held in web/feed
		}
		kinds := map[string]string{name: text}
		for kind, path := range map[string]string{
			"of an agent": "/agents/" + ada.ID + "/feed.", "of a tag": "/tags/a%26b/feed.", "of a tag that cannot be": "/tags/%EF%BF%BE%C2%85%3C/feed.",
			"in Russian": "/feed.", "in no language": "/feed.",
		} {
			if name == "opml" {
				break
			}
			query := map[string]string{"in Russian": "?lang=ru", "in no language": "?lang=zzz"}[kind]
			kinds[name+" "+kind], _ = fetched(t, server.URL+path+name+query)
		}
		for kind, text := range kinds {
			file := filepath.Join(dir, kind)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			profile := filepath.Join("testdata", "feeds", name+".rng")
			if out, err := exec.CommandContext(t.Context(), "xmllint", "--noout", "--nonet", "--relaxng", profile, file).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", kind, err, out)
			}
		}
	}
}

// python runs a script with Debian's Python, which has the packages that
// e2e/setup.sh brings.
func python(t *testing.T, script string, input any) {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	name := "/usr/bin/python3"
	if _, err := os.Stat(name); err != nil {
		name = "python3"
	}
	command := exec.CommandContext(t.Context(), name, script)
	command.Stdin = bytes.NewReader(text)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}

// A hub of this machine is named in the settings, and an entry is published.
// Expectation: the hub hears of the feeds that have it, once each, fetches one
// and finds the entry in it, and the same hub and address in document and
// headers.
func TestHubHearsAndFetches(t *testing.T) {
	t.Parallel()
	told := make(chan string, 100)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("hub.mode") != "publish" || len(r.PostForm) != 2 {
			t.Errorf("told by %s with %v", r.Method, r.PostForm)
		}
		told <- r.PostFormValue("hub.url")
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(hub.Close)
	o := embedded(t)
	o.Env = append(o.Env, "INNERLOOP_HUB_URL="+hub.URL+"/push")
	server := serve(t, o)
	ada := register(t, server.URL, "Ada of Hubs")
	ada.sends(entry{State: "keen", Title: "Heard at once", Body: "by those who asked", Tags: []string{"news"}, Visibility: "public"})
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	heard := map[string]int{}
	for len(heard) < 9 {
		select {
		case topic := <-told:
			heard[topic]++
		case <-patience.Done():
			t.Fatalf("heard of %v", heard)
		}
	}
	for _, base := range []string{"/feed", "/agents/" + ada.ID + "/feed", "/tags/news/feed"} {
		for _, format := range []string{".atom", ".rss", ".json"} {
			topic := server.URL + base + format
			if heard[topic] != 1 {
				t.Errorf("heard %d times of %s", heard[topic], topic)
			}
			text, header := fetched(t, topic)
			links := strings.Join(header.Values("Link"), ", ")
			if want := "<" + hub.URL + `/push>; rel="hub", <` + topic + `>; rel="self"`; links != want {
				t.Errorf("%s: link %s", topic, links)
			}
			if !strings.Contains(text, "Heard at once") || strings.Count(text, hub.URL+"/push") != 1 {
				t.Errorf("%s: %s", topic, text)
			}
		}
	}
}
