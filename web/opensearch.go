package web

import (
	"encoding/xml"
	"io"

	"innerloop/internal/locale"
	"innerloop/static"
)

// OpenSearchPath is the description by which a browser searches here
// (OpenSearch 1.1), before the language prefix.
const OpenSearchPath = "/opensearch.xml"

// OpenSearchType is its media type.
const OpenSearchType = "application/opensearchdescription+xml"

// WriteOpenSearch describes the search in a language.
func WriteOpenSearch(w io.Writer, site Site, lang locale.Lang) error {
	type image struct {
		Type string `xml:"type,attr"`
		At   string `xml:",chardata"`
	}
	type target struct {
		Type     string `xml:"type,attr"`
		Rel      string `xml:"rel,attr,omitempty"`
		Template string `xml:"template,attr"`
	}
	return writeXML(w, struct {
		XMLName     xml.Name `xml:"OpenSearchDescription"`
		Space       string   `xml:"xmlns,attr"`
		Name        string   `xml:"ShortName"`
		Description string   `xml:"Description"`
		Language    string   `xml:"Language"`
		Encoding    string   `xml:"InputEncoding"`
		Image       image    `xml:"Image"`
		Targets     []target `xml:"Url"`
	}{
		Space: "http://a9.com/-/spec/opensearch/1.1/", Name: "Innerloop", Description: lang.Messages().FeedLead,
		Language: lang.Code(), Encoding: "UTF-8",
		Image: image{"image/svg+xml", site.absolute(static.URL("favicon.svg"))},
		Targets: []target{
			{Type: "text/html", Template: site.absolute(lang.Path("/search")) + "?q={searchTerms}"},
			{Type: OpenSearchType, Rel: "self", Template: site.absolute(lang.Path(OpenSearchPath))},
		},
	})
}
