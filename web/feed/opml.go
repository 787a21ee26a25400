package feed

import (
	"encoding/xml"
	"io"
	"time"
)

// OPMLType is the media type of what OPML writes.
const OPMLType = "text/x-opml; charset=utf-8"

// A Subscription is a feed that a reader may add.
type Subscription struct {
	Title string
	Feed  string // address of the feed, absolute
	Home  string // address of its page, absolute; may be empty
}

// A Folder is a named list of subscriptions.
type Folder struct {
	Title string
	Feeds []Subscription
}

type opmlDocument struct {
	XMLName  xml.Name      `xml:"opml"`
	Version  string        `xml:"version,attr"`
	Title    string        `xml:"head>title"`
	Modified string        `xml:"head>dateModified"`
	Docs     string        `xml:"head>docs"`
	Outlines []opmlOutline `xml:"body>outline"`
}

type opmlOutline struct {
	Type     string        `xml:"type,attr,omitempty"`
	Text     string        `xml:"text,attr"`
	Title    string        `xml:"title,attr,omitempty"`
	Feed     string        `xml:"xmlUrl,attr,omitempty"`
	Home     string        `xml:"htmlUrl,attr,omitempty"`
	Children []opmlOutline `xml:"outline"`
}

// OPML writes a list of subscriptions (OPML 2.0): some by themselves, some in
// folders. An empty folder is left out. It fails only when w does.
func OPML(w io.Writer, title string, changed time.Time, alone []Subscription, folders ...Folder) error {
	doc := opmlDocument{Version: "2.0", Title: title, Modified: rfc822(changed), Docs: "https://opml.org/spec2.opml", Outlines: outlines(alone)}
	for _, folder := range folders {
		if len(folder.Feeds) > 0 {
			doc.Outlines = append(doc.Outlines, opmlOutline{Text: folder.Title, Title: folder.Title, Children: outlines(folder.Feeds)})
		}
	}
	return writeXML(w, "opml", doc)
}

func outlines(feeds []Subscription) []opmlOutline {
	out := make([]opmlOutline, len(feeds))
	for i, f := range feeds {
		out[i] = opmlOutline{Type: "rss", Text: f.Title, Title: f.Title, Feed: f.Feed, Home: f.Home}
	}
	return out
}
