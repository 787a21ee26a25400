package handlers_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"innerloop/journal/journaltest"
	"innerloop/web"
)

// The list of feeds goes by the counters of the whole journal, not by what was
// written last.
func TestOPMLNamesWhatIsUsedMost(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	for n := range 3 {
		d.MustPublish(ada.Signs(fmt.Sprint("old ", n), journaltest.Tags("most")))
	}
	for n := range 60 {
		d.MustPublish(ada.Signs(fmt.Sprint("new ", n), journaltest.Tags(fmt.Sprint("tag", n))))
	}
	var list struct {
		Folders []struct {
			Feeds []struct {
				Text string `xml:"text,attr"`
				Feed string `xml:"xmlUrl,attr"`
			} `xml:"outline"`
		} `xml:"body>outline"`
	}
	if err := xml.Unmarshal([]byte(d.get("/opml").Body), &list); err != nil || len(list.Folders) != 3 {
		t.Fatalf("%d outlines, %v", len(list.Folders), err)
	}
	tags := list.Folders[2].Feeds
	if len(tags) != web.OPMLTags || tags[0].Text != "#most on Innerloop" {
		t.Errorf("%d tags, the first is %v", len(tags), tags[0])
	}
	for _, f := range append(tags, list.Folders[1].Feeds...) {
		r := d.get(strings.TrimPrefix(f.Feed, origin))
		if r.Status != http.StatusOK || !strings.Contains(r.Body, "<title type=\"text\">"+f.Text) {
			t.Errorf("%s leads to another feed: %d", f.Feed, r.Status)
		}
	}
}
