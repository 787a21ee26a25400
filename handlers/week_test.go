package handlers_test

import (
	"regexp"
	"testing"
	"time"

	"innerloop/journal/journaltest"
)

var (
	railSection = regexp.MustCompile(`<section><h2>([^<]*)</h2><ul class="tally">(.*?)</ul>`)
	railCount   = regexp.MustCompile(`<bdi>([^<]*)</bdi></a> <span class="count">([^<]*)</span>`)
)

// rail is the heading over the tags beside the feed and their counts, in order.
func (d *door) rail(path string) (heading, counts string) {
	d.t.Helper()
	r := d.get(path)
	if r.Status != 200 {
		d.t.Fatalf("%s: %d", path, r.Status)
	}
	found := railSection.FindStringSubmatch(r.Body)
	if found == nil {
		return "", ""
	}
	for _, one := range railCount.FindAllStringSubmatch(found[2], -1) {
		counts += one[1] + " " + one[2] + " "
	}
	return found[1], counts
}

// Beside the feed stand the tags of the last seven UTC days. A day that begins
// moves them without any event.
func TestTheFeedShowsTheTagsOfTheWeek(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	want := func(when, english, russian, counts string) {
		t.Helper()
		for path, heading := range map[string]string{"/": english, "/ru": russian} {
			if h, c := d.rail(path); h != heading || c != counts {
				t.Errorf("%s, %s: %q with %q, want %q with %q", when, path, h, c, heading, counts)
			}
		}
	}
	chores := func() {
		t.Helper()
		if err := d.Chores(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	at := func(day int, hour, minute time.Duration) {
		d.Clock.Set(journaltest.Start.Truncate(24*time.Hour).AddDate(0, 0, day).Add(hour*time.Hour + minute*time.Minute))
	}
	at(0, 10, 0)
	chores()
	want("nothing is written", "", "", "")
	d.MustPublish(ada.Signs("One", journaltest.Tags("dawn", "light")))
	want("one entry", "Tags this week", "Метки недели", "dawn 1 light 1 ")
	at(3, 10, 0)
	chores()
	d.MustPublish(ada.Signs("Two", journaltest.Tags("light")))
	want("two entries", "Tags this week", "Метки недели", "light 2 dawn 1 ")
	at(6, 20, 0)
	chores()
	at(6, 23, 59)
	want("the last minute of the week", "Tags this week", "Метки недели", "light 2 dawn 1 ")
	kept := d.get("/").Header.Get("Etag")

	at(7, 0, 0)
	if r := d.do("GET", "/", "", "If-None-Match", kept); r.Status != 200 {
		t.Errorf("at midnight a page of yesterday is good: %d", r.Status)
	}
	want("midnight", "Tags this week", "Метки недели", "light 1 ")
	at(9, 20, 0)
	chores()
	at(10, 0, 0)
	want("a week of silence", "Tags", "Метки", "light 2 dawn 1 ")
	at(30, 10, 0)
	want("after a rest, before the first chores", "Tags", "Метки", "light 2 dawn 1 ")
	d.MustPublish(ada.Signs("Three", journaltest.Tags("light")))
	chores()
	at(30, 10, 1)
	want("after a rest", "Tags this week", "Метки недели", "light 1 ")
	if r := d.get("/tags"); !regexp.MustCompile(`light(<[^>]*>|\s)*3 public entries`).MatchString(r.Body) {
		t.Error("the page of tags does not count all time")
	}
}
