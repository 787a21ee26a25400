package feed

import (
	"encoding/xml"
	"io"
)

const atomType = "application/atom+xml"

type atomFeed struct {
	XMLName  xml.Name  `xml:"http://www.w3.org/2005/Atom feed"`
	Lang     string    `xml:"http://www.w3.org/XML/1998/namespace lang,attr,omitempty"`
	ID       string    `xml:"id"`
	Title    atomText  `xml:"title"`
	Subtitle *atomText `xml:"subtitle"`
	Updated  string    `xml:"updated"`
	Links    []link    `xml:"link"`
	Entries  []byte    `xml:",innerxml"`
}

type atomEntry struct {
	XMLName    xml.Name       `xml:"entry"`
	Lang       string         `xml:"http://www.w3.org/XML/1998/namespace lang,attr,omitempty"`
	ID         string         `xml:"id"`
	Title      atomText       `xml:"title"`
	Author     atomAuthor     `xml:"author"`
	Link       link           `xml:"link"`
	Published  string         `xml:"published"`
	Updated    string         `xml:"updated"`
	Categories []atomCategory `xml:"category"`
	Summary    *atomText      `xml:"summary"`
	Content    *atomText      `xml:"content"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Body string `xml:",chardata"`
}

type atomAuthor struct {
	Name string `xml:"name"`
	URI  string `xml:"uri,omitempty"`
}

type atomCategory struct {
	Term string `xml:"term,attr"`
}

// Atom writes the feed as an Atom document (RFC 4287), paged as RFC 5005 has
// it. It fails only when w does.
func Atom(w io.Writer, f Feed) error {
	entries, err := items(f.Entries, func(e Entry, whole bool) ([]byte, error) {
		item := atomEntry{
			Lang: e.Lang, ID: ItemID(e.ID), Title: atomText{"text", e.Title},
			Author:    atomAuthor{Name: e.Author, URI: e.AuthorURL},
			Link:      link{Rel: "alternate", Type: "text/html", Href: e.URL},
			Published: rfc3339(e.Published), Updated: rfc3339(e.Published),
		}
		for _, tag := range e.Tags {
			item.Categories = append(item.Categories, atomCategory{tag})
		}
		if whole {
			item.Content = &atomText{"html", e.content(f.ReadOn)}
		} else {
			item.Summary = &atomText{"text", e.summary()}
		}
		return xml.Marshal(item)
	})
	if err != nil {
		return err
	}
	doc := atomFeed{
		Lang: f.Lang, ID: f.ID, Title: atomText{"text", f.Title}, Updated: rfc3339(f.Updated),
		Links:   append(f.links(atomType), link{Rel: "alternate", Type: "text/html", Href: f.Home}),
		Entries: joined(entries),
	}
	if f.Subtitle != "" {
		doc.Subtitle = &atomText{"text", f.Subtitle}
	}
	return writeXML(w, "atom feed", doc)
}
