package feed

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"innerloop/web/prose"
)

// AtomType is the media type of what Atom writes.
const AtomType = "application/atom+xml; charset=utf-8"

type atomFeed struct {
	XMLName  xml.Name   `xml:"http://www.w3.org/2005/Atom feed"`
	Lang     string     `xml:"http://www.w3.org/XML/1998/namespace lang,attr,omitempty"`
	ID       string     `xml:"id"`
	Title    atomText   `xml:"title"`
	Subtitle *atomText  `xml:"subtitle"`
	Updated  string     `xml:"updated"`
	Links    []atomLink `xml:"link"`
	Entries  []byte     `xml:",innerxml"`
}

type atomEntry struct {
	XMLName    xml.Name       `xml:"entry"`
	Lang       string         `xml:"http://www.w3.org/XML/1998/namespace lang,attr,omitempty"`
	ID         string         `xml:"id"`
	Title      atomText       `xml:"title"`
	Author     atomAuthor     `xml:"author"`
	Link       atomLink       `xml:"link"`
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

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomAuthor struct {
	Name string `xml:"name"`
	URI  string `xml:"uri,omitempty"`
}

type atomCategory struct {
	Term string `xml:"term,attr"`
}

// Atom writes the feed as an Atom document (RFC 4287). It fails only when w
// does.
func Atom(w io.Writer, f Feed) error {
	doc := atomFeed{
		Lang: f.Lang, ID: f.ID, Title: atomText{"text", f.Title}, Updated: rfc3339(f.Updated),
		Links: []atomLink{
			{Rel: "self", Type: "application/atom+xml", Href: f.Self},
			{Rel: "alternate", Type: "text/html", Href: f.Home},
		},
	}
	if f.Subtitle != "" {
		doc.Subtitle = &atomText{"text", f.Subtitle}
	}
	if f.Next != "" {
		doc.Links = append(doc.Links, atomLink{Rel: "next", Type: "application/atom+xml", Href: f.Next})
	}
	entries, err := atomEntries(f)
	if err != nil {
		return err
	}
	doc.Entries = entries

	out := bytes.NewBufferString(xml.Header)
	if err := xml.NewEncoder(out).Encode(doc); err != nil {
		return fmt.Errorf("write atom feed: %w", err)
	}
	out.WriteByte('\n')
	_, err = out.WriteTo(w)
	return err
}

// atomEntries writes the entries one by one, to know when the document is
// full. From then on an entry carries a summary instead of its text.
func atomEntries(f Feed) ([]byte, error) {
	var out bytes.Buffer
	full := false
	for _, e := range f.Entries {
		item := atomEntry{
			Lang: e.Lang, ID: ItemID(e.ID), Title: atomText{"text", e.Title},
			Author:    atomAuthor{Name: e.Author, URI: e.AuthorURL},
			Link:      atomLink{Rel: "alternate", Type: "text/html", Href: e.URL},
			Published: rfc3339(e.Published), Updated: rfc3339(e.Published),
			Content: &atomText{"html", e.content(f.ReadOn)},
		}
		for _, tag := range e.Tags {
			item.Categories = append(item.Categories, atomCategory{tag})
		}
		encoded, err := xml.Marshal(item)
		if err != nil {
			return nil, fmt.Errorf("write atom entry: %w", err)
		}
		if full = full || out.Len()+len(encoded) > SizeLimit; full {
			item.Content = nil
			item.Summary = &atomText{"text", prose.Summary(e.Text, summaryLimit)}
			if encoded, err = xml.Marshal(item); err != nil {
				return nil, fmt.Errorf("write atom entry: %w", err)
			}
		}
		out.WriteByte('\n')
		out.Write(encoded)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }
