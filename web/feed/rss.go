package feed

import (
	"encoding/xml"
	"html"
	"io"
	"time"
)

type rssDocument struct {
	XMLName xml.Name   `xml:"rss"`
	Version string     `xml:"version,attr"`
	Atom    string     `xml:"xmlns:atom,attr"`
	Content string     `xml:"xmlns:content,attr"`
	DC      string     `xml:"xmlns:dc,attr"`
	Channel rssChannel `xml:"channel"`
}

type rssChannel struct {
	Title       string `xml:"title"`
	Link        string `xml:"link"`
	Description string `xml:"description"`
	Language    string `xml:"language,omitempty"`
	Built       string `xml:"lastBuildDate"`
	Links       []link `xml:"atom:link"`
	Items       []byte `xml:",innerxml"`
}

type rssItem struct {
	XMLName     xml.Name `xml:"item"`
	Title       string   `xml:"title"`
	Link        string   `xml:"link"`
	ID          rssID    `xml:"guid"`
	Published   string   `xml:"pubDate"`
	Creator     string   `xml:"dc:creator"`
	Categories  []string `xml:"category"`
	Description string   `xml:"description"`
	Content     string   `xml:"content:encoded,omitempty"`
}

type rssID struct {
	Permalink bool   `xml:"isPermaLink,attr"`
	Text      string `xml:",chardata"`
}

// RSS writes the feed as RSS 2.0 with the modules that readers expect: atom
// for its own links, content for the text, dc for the author (RSS itself would
// want a mail address). A description is HTML to those who read it, so its plain
// text is escaped as HTML first and then as XML. It fails only when w does.
func RSS(w io.Writer, f Feed) error {
	all, err := items(f.Entries, func(e Entry, whole bool) ([]byte, error) {
		item := rssItem{
			Title: e.Title, Link: e.URL, ID: rssID{Text: ItemID(e.ID)}, Published: rfc822(e.Published),
			Creator: e.Author, Categories: e.Tags, Description: html.EscapeString(e.summary()),
		}
		if whole {
			item.Content = e.content(f.ReadOn)
		}
		return xml.Marshal(item)
	})
	if err != nil {
		return err
	}
	description := f.Subtitle
	if description == "" {
		description = f.Title // required, and not to be empty
	}
	return writeXML(w, "rss feed", rssDocument{
		Version: "2.0",
		Atom:    "http://www.w3.org/2005/Atom",
		Content: "http://purl.org/rss/1.0/modules/content/",
		DC:      "http://purl.org/dc/elements/1.1/",
		Channel: rssChannel{
			Title: f.Title, Link: f.Home, Description: html.EscapeString(description), Language: f.Lang, Built: rfc822(f.Updated),
			Links: f.links("application/rss+xml"), Items: joined(all),
		},
	})
}

// rfc822 is the date of RSS with the year in four digits, which time.RFC822Z
// writes in two.
func rfc822(t time.Time) string { return t.UTC().Format(time.RFC1123Z) }
