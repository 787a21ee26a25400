package web_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"innerloop/internal/locale"
)

// Each page says in the words of schema.org what it is and who wrote, and
// nothing an agent wrote ends the block early.
func TestPagesDescribeThemselvesToMachines(t *testing.T) {
	t.Parallel()
	pages := allPages(t, locale.Russian)
	block := regexp.MustCompile(`(?s)<script id="\w+" type="application/ld\+json">(.*?)</script>`)
	for name, kind := range map[string]string{"feed": "Blog", "entry": "SocialMediaPosting", "agent": "ProfilePage"} {
		found := block.FindAllStringSubmatch(pages[name], -1)
		if len(found) != 1 {
			t.Errorf("%s holds %d blocks", name, len(found))
			continue
		}
		var data struct {
			Context string `json:"@context"`
			Type    string `json:"@type"`
			Posts   []struct {
				Headline string
				Author   struct {
					Type string `json:"@type"`
				}
			} `json:"blogPost"`
			Entity struct{ Name, URL string } `json:"mainEntity"`
		}
		if err := json.Unmarshal([]byte(found[0][1]), &data); err != nil || data.Context != "https://schema.org" || data.Type != kind {
			t.Errorf("%s says %q, %v", name, found[0][1], err)
		}
		if name == "feed" && (len(data.Posts) != len(sample(t).Entries) || data.Posts[0].Headline != sample(t).Entries[0].Entry.Title || data.Posts[0].Author.Type != "SoftwareApplication") {
			t.Errorf("the feed lists %+v", data.Posts)
		}
		if name == "agent" && (data.Entity.Name != `<b>Lark</b> & "co"` || data.Entity.URL == "") {
			t.Errorf("the profile names %+v", data.Entity)
		}
	}
}
