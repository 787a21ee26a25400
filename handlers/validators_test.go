package handlers_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"innerloop/handlers"
	"innerloop/journal/journaltest"
)

func TestReadersAskWithWhatTheyHold(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	receipt := d.MustPublish(ada.Signs("One"))
	for _, path := range []string{
		"/", "/ru", "/entries/" + string(receipt.EntryID), "/ru/agents/" + string(ada.ID), "/feed.atom",
		"/v1/feed", "/v1/feed?limit=1", "/v1/entries/" + string(receipt.EntryID), "/v1/agents/" + string(ada.ID),
		"/v1/agents/" + string(ada.ID) + "/entries", "/v1/tags/notes/entries",
	} {
		full := d.get(path)
		tag := full.Header.Get("ETag")
		if full.Status != http.StatusOK || !strings.HasPrefix(tag, `W/"`) || full.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%s: %d %v", path, full.Status, full.Header)
		}
		for _, asked := range []string{tag, strings.TrimPrefix(tag, "W/"), `"other", ` + tag, "*"} {
			r := d.get(path, "If-None-Match", asked)
			if r.Status != http.StatusNotModified || r.Body != "" || r.Header.Get("ETag") != tag ||
				r.Header.Get("Cache-Control") != full.Header.Get("Cache-Control") || r.Header.Get("Vary") != "Accept-Encoding" ||
				!uuid.MatchString(r.Header.Get("X-Request-Id")) {
				t.Errorf("%s with %s: %d %v", path, asked, r.Status, r.Header)
			}
		}
		if r := d.get(path, "If-None-Match", `"other"`); r.Status != http.StatusOK || r.Body != full.Body {
			t.Errorf("%s with another tag: %d", path, r.Status)
		}
		shape := d.do(http.MethodHead, path, "")
		if shape.Status != http.StatusOK || shape.Body != "" || shape.Header.Get("ETag") != tag ||
			shape.Header.Get("Content-Type") != full.Header.Get("Content-Type") || shape.Header.Get("Content-Length") != full.Header.Get("Content-Length") {
			t.Errorf("%s by HEAD: %d %v", path, shape.Status, shape.Header)
		}
	}
	// A tag of one reading is none of another, so that * and tags on what is
	// not there stay a 404.
	tag := d.get("/").Header.Get("ETag")
	for _, path := range []string{"/entries/entry_0", "/v1/entries/entry_0"} {
		for _, asked := range []string{tag, "*"} {
			if r := d.get(path, "If-None-Match", asked); r.Status != http.StatusNotFound {
				t.Errorf("%s with %s: %d", path, asked, r.Status)
			}
		}
	}
}

func TestEveryPublicEventMovesTheValidators(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	d.MustPublish(ada.Signs("One"))
	paths := []string{"/", "/v1/feed", "/feed.atom", "/agents/" + string(ada.ID)}
	tags := map[string]string{}
	for _, path := range paths {
		tags[path] = d.get(path).Header.Get("ETag")
	}
	d.MustPublish(ada.Signs("Mine", journaltest.Private))
	for _, path := range paths {
		if r := d.get(path, "If-None-Match", tags[path]); r.Status != http.StatusNotModified {
			t.Errorf("%s: a private entry moved the validator: %d", path, r.Status)
		}
	}
	d.MustPublish(ada.Signs("Two"))
	for _, path := range paths {
		if r := d.get(path, "If-None-Match", tags[path]); r.Status != http.StatusOK || !strings.Contains(r.Body, "Two") {
			t.Errorf("%s: %d after a publication", path, r.Status)
		}
	}
}

func TestPagesAgeWithTheClock(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.MustPublish(d.Agent("Ada").Signs("One"))
	page, list := d.get("/"), d.get("/v1/feed")
	d.Clock.Advance(3 * time.Hour)
	if r := d.get("/", "If-None-Match", page.Header.Get("ETag")); r.Status != http.StatusOK || r.Body == page.Body {
		t.Errorf("the page still says what it said three hours ago: %d", r.Status)
	}
	if r := d.get("/v1/feed", "If-None-Match", list.Header.Get("ETag")); r.Status != http.StatusNotModified {
		t.Errorf("the list changed without an event: %d", r.Status)
	}
}

func TestBuildMovesTheValidators(t *testing.T) {
	t.Parallel()
	build := func(name string) func(*handlers.Options) {
		return func(o *handlers.Options) { o.Build = name }
	}
	a, b := open(t, build("1")), open(t, build("2"))
	if x, y := a.get("/").Header.Get("ETag"), b.get("/").Header.Get("ETag"); x == y {
		t.Errorf("two builds give one tag %s", x)
	}
}

// dateSettles is after how long a version is dated.
const dateSettles = 2 * time.Second

func TestReadersAskByDate(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	d.MustPublish(ada.Signs("One"))
	if r := d.get("/feed.atom"); r.Header.Get("Last-Modified") != "" {
		t.Errorf("dated before the date can tell it from the one before: %v", r.Header)
	}
	d.Clock.Advance(dateSettles)
	r := d.get("/feed.atom")
	modified := r.Header.Get("Last-Modified")
	if modified != "Tue, 01 Sep 2026 10:01:02 GMT" || r.Header.Get("Cache-Control") != "public, max-age=60" {
		t.Fatalf("%v", r.Header)
	}
	later := "Tue, 01 Sep 2026 11:00:00 GMT"
	for asked, want := range map[string]int{modified: 304, later: 304, "Tue, 01 Sep 2026 10:01:01 GMT": 200, "yesterday": 200} {
		if got := d.get("/feed.atom", "If-Modified-Since", asked); got.Status != want {
			t.Errorf("since %s: %d, want %d", asked, got.Status, want)
		}
	}
	if got := d.get("/feed.atom", "If-Modified-Since", later, "If-None-Match", `"other"`); got.Status != 200 {
		t.Errorf("the date won over the tag: %d", got.Status)
	}
	d.Clock.Advance(time.Minute)
	d.MustPublish(ada.Signs("Two"))
	if got := d.get("/feed.atom", "If-Modified-Since", modified); got.Status != 200 || !strings.Contains(got.Body, "Two") {
		t.Errorf("a publication was missed: %d", got.Status)
	}
}

func TestBodiesArePacked(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.MustPublish(d.Agent("Ada").Signs("One", journaltest.Body(strings.Repeat("words and words ", 200)+"end")))
	for _, path := range []string{"/", "/v1/feed", "/feed.atom", "/nothing"} {
		whole := d.get(path)
		if whole.Header.Get("Content-Encoding") != "" || whole.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", path, whole.Header)
		}
		br := d.get(path, "Accept-Encoding", "gzip, br")
		if got, err := io.ReadAll(brotli.NewReader(strings.NewReader(br.Body))); err != nil || br.Header.Get("Content-Encoding") != "br" || len(got) != len(whole.Body) {
			t.Errorf("%s: brotli %v, %d of %d bytes", path, err, len(got), len(whole.Body))
		}
		gz := d.get(path, "Accept-Encoding", "gzip")
		reader, err := gzip.NewReader(strings.NewReader(gz.Body))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got, err := io.ReadAll(reader); err != nil || gz.Header.Get("Content-Encoding") != "gzip" || len(got) != len(whole.Body) {
			t.Errorf("%s: gzip %v, %d of %d bytes", path, err, len(got), len(whole.Body))
		}
		if path != "/nothing" && br.Header.Get("ETag") != whole.Header.Get("ETag") {
			t.Errorf("%s: two tags", path)
		}
	}
}
