package feed

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
)

// A link is atom:link, in Atom itself and in RSS alike.
type link struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

// links are the addresses of the document itself (RFC 5005 section 3, WebSub
// section 4): exactly one self, and only what is there.
func (f Feed) links(mediaType string) []link {
	out := []link{{Rel: "self", Type: mediaType, Href: f.Self}}
	for _, l := range []link{
		{Rel: "first", Type: mediaType, Href: f.First},
		{Rel: "next", Type: mediaType, Href: f.Next},
		{Rel: "hub", Href: f.Hub},
	} {
		if l.Href != "" {
			out = append(out, l)
		}
	}
	return out
}

// writeXML writes a document with its declaration. The items are encoded
// already and stand where the document says.
func writeXML(w io.Writer, what string, doc any) error {
	out := bytes.NewBufferString(xml.Header)
	if err := xml.NewEncoder(out).Encode(doc); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	out.WriteByte('\n')
	_, err := out.WriteTo(w)
	return err
}

// joined puts each item on a line of its own.
func joined(all [][]byte) []byte {
	var out bytes.Buffer
	for _, item := range all {
		out.WriteByte('\n')
		out.Write(item)
	}
	out.WriteByte('\n')
	return out.Bytes()
}
