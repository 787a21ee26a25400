package handlers_test

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/journal/journaltest"
)

type sitemap struct {
	XMLName xml.Name
	Parts   []string `xml:"sitemap>loc"`
	Places  []struct {
		Loc     string `xml:"loc"`
		LastMod string `xml:"lastmod"`
	} `xml:"url"`
}

func (d *door) sitemap(path string) sitemap {
	d.t.Helper()
	r := d.get(path)
	var m sitemap
	if r.Status != 200 || r.Header.Get("Content-Type") != "application/xml; charset=utf-8" || r.Header.Get("Cache-Control") != "no-cache" {
		d.t.Fatalf("%s: %d %v", path, r.Status, r.Header)
	}
	if err := xml.Unmarshal([]byte(r.Body), &m); err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
	if m.XMLName.Space != "http://www.sitemaps.org/schemas/sitemap/0.9" {
		d.t.Errorf("%s is of %s", path, m.XMLName.Space)
	}
	return m
}

// walk follows the index to every part and returns all addresses with their
// dates.
func (d *door) walk() map[string]string {
	d.t.Helper()
	all := map[string]string{}
	for _, part := range d.sitemap("/sitemap.xml").Parts {
		path, ours := strings.CutPrefix(part, origin)
		if !ours {
			d.t.Errorf("the index names %s", part)
		}
		for _, p := range d.sitemap(path).Places {
			if _, twice := all[p.Loc]; twice {
				d.t.Errorf("%s is there twice", p.Loc)
			}
			all[p.Loc] = p.LastMod
		}
	}
	return all
}

// The map is what anyone can read, no more: private entries, agents that have
// only those, and what was withdrawn are not on it.
func TestSitemapIsWhatIsPublic(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, hid := d.Agent("Ada"), d.Agent("Hidden")
	one := d.MustPublish(ada.Signs("One"))
	two := d.MustPublish(ada.Signs("Two"))
	own := d.MustPublish(ada.Signs("Own", journaltest.Private))
	d.MustPublish(hid.Signs("Hidden", journaltest.Private))

	all := d.walk()
	for _, want := range []string{"/", "/ru", "/agents", "/connect", "/ru/privacy", "/agents/" + string(ada.ID), "/entries/" + string(one.EntryID), "/entries/" + string(two.EntryID)} {
		if _, there := all[origin+want]; !there {
			t.Errorf("%s is not on the map", want)
		}
	}
	if date, err := time.Parse(time.RFC3339, all[origin+"/entries/"+string(one.EntryID)]); err != nil || !date.Equal(one.CreatedAt.Truncate(time.Second)) && !date.Equal(one.CreatedAt) {
		t.Errorf("the date of an entry is %v, %v, want %v", date, err, one.CreatedAt)
	}
	for address := range all {
		if strings.Contains(address, string(own.EntryID)) || strings.Contains(address, string(hid.ID)) {
			t.Errorf("%s is on the map", address)
		}
	}

	if err := d.HideEntry(t.Context(), one.EntryID, "spam"); err != nil {
		t.Fatal(err)
	}
	if _, there := d.walk()[origin+"/entries/"+string(one.EntryID)]; there {
		t.Error("a withdrawn entry is still on the map")
	}
	for _, path := range []string{"/sitemap/entries-0.xml", "/sitemap/entries-2.xml", "/sitemap/entries-01.xml", "/sitemap/agents-16.xml", "/sitemap/agents-.xml", "/sitemap/x.xml", "/sitemap/"} {
		if r := d.get(path); r.Status != 404 {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
}

func TestRobots(t *testing.T) {
	t.Parallel()
	closed, open := open(t), open(t, func(o *handlers.Options) { o.Training = true })
	for d, trainers := range map[*door]bool{closed: false, open: true} {
		r := d.get("/robots.txt")
		lines := strings.Split(r.Body, "\n")
		for _, line := range []string{
			"User-agent: *", "Disallow: /search", "Disallow: /ru/search", "Disallow: /settings", "Disallow: /api/", "Allow: /",
			"Sitemap: " + origin + "/sitemap.xml",
		} {
			if !slices.Contains(lines, line) {
				t.Errorf("no line %q", line)
			}
		}
		for _, line := range []string{"User-agent: GPTBot", "User-agent: ClaudeBot", "User-agent: CCBot", "User-agent: Google-Extended", "Disallow: /"} {
			if slices.Contains(lines, line) == trainers {
				t.Errorf("with training %v: %q", trainers, line)
			}
		}
		if strings.Contains(r.Body, "ChatGPT-User") || strings.Contains(r.Body, "Claude-User") || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s", r.Body)
		}
	}
}

func TestOpenSearchDescribesTheSearch(t *testing.T) {
	t.Parallel()
	d := open(t)
	for prefix, language := range map[string]string{"": "en", "/ru": "ru"} {
		r := d.get(prefix + "/opensearch.xml")
		var doc struct {
			Name     string `xml:"http://a9.com/-/spec/opensearch/1.1/ ShortName"`
			Language string
			Image    string
			Targets  []struct {
				Type     string `xml:"type,attr"`
				Template string `xml:"template,attr"`
			} `xml:"Url"`
		}
		if err := xml.Unmarshal([]byte(r.Body), &doc); err != nil || r.Header.Get("Content-Type") != "application/opensearchdescription+xml; charset=utf-8" {
			t.Fatalf("%v: %v", err, r.Header)
		}
		if doc.Name != "Innerloop" || doc.Language != language || len(doc.Targets) != 2 || doc.Targets[0].Template != origin+prefix+"/search?q={searchTerms}" {
			t.Errorf("%+v", doc)
		}
		if image := d.get(strings.TrimPrefix(doc.Image, origin)); image.Status != 200 {
			t.Errorf("%s: %d", doc.Image, image.Status)
		}
		if page := d.get(prefix + "/about").Body; !strings.Contains(page, `href="`+prefix+`/opensearch.xml"`) {
			t.Errorf("the pages under %q do not lead to it", prefix)
		}
	}
}
