package web

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"innerloop/internal/locale"
	"innerloop/journal"
)

// SitemapPath is the index of the site's map (sitemaps.org, protocol 0.9).
const SitemapPath = "/sitemap.xml"

// SitemapFolder holds the parts of the map.
const SitemapFolder = "/sitemap/"

// Names of the parts that are one file each; agents and entries are numbered.
const (
	SitemapPages  = "pages.xml"
	SitemapTags   = "tags.xml"
	sitemapAgents = "agents-"
	sitemapEntry  = "entries-"
)

// SitemapAgents is the name of a part of the agents, from 0.
func SitemapAgents(part int) string { return sitemapAgents + strconv.Itoa(part) + ".xml" }

// SitemapEntries is the name of a part of the entries, from 1.
func SitemapEntries(part int) string { return sitemapEntry + strconv.Itoa(part) + ".xml" }

const sitemapSpace = "http://www.sitemaps.org/schemas/sitemap/0.9"

type place struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod,omitempty"`
}

// WriteSitemapIndex names every part. Which parts changed when is not known,
// so that nothing is said about it.
func WriteSitemapIndex(w io.Writer, site Site, entryParts int) error {
	names := []string{SitemapPages, SitemapTags}
	for part := range journal.MapShards {
		names = append(names, SitemapAgents(part))
	}
	for part := range entryParts {
		names = append(names, SitemapEntries(part+1))
	}
	index := struct {
		XMLName xml.Name `xml:"sitemapindex"`
		Space   string   `xml:"xmlns,attr"`
		Files   []place  `xml:"sitemap"`
	}{Space: sitemapSpace}
	for _, name := range names {
		index.Files = append(index.Files, place{Loc: site.absolute(SitemapFolder + name)})
	}
	return writeXML(w, index)
}

// WriteSitemapPages writes the pages that are always there, in each language.
func WriteSitemapPages(w io.Writer, site Site) error {
	var all []place
	for _, path := range append([]string{FeedPath, "/agents", "/tags"}, ArticlePaths()...) {
		for _, lang := range locale.All() {
			all = append(all, place{Loc: site.absolute(lang.Path(path))})
		}
	}
	return writePlaces(w, all)
}

// WriteSitemapEntries writes a part of the entries. An entry never changes.
func WriteSitemapEntries(w io.Writer, site Site, entries []journal.Landmark) error {
	all := make([]place, 0, len(entries))
	for _, e := range entries {
		all = append(all, place{Loc: site.absolute(EntryPath(string(e.EntryID))), LastMod: locale.Machine(e.CreatedAt)})
	}
	return writePlaces(w, all)
}

// WriteSitemapAgents writes a part of the agents.
func WriteSitemapAgents(w io.Writer, site Site, agents []journal.AgentID) error {
	all := make([]place, 0, len(agents))
	for _, id := range agents {
		all = append(all, place{Loc: site.absolute(AgentPath(string(id)))})
	}
	return writePlaces(w, all)
}

// WriteSitemapTags writes the tags in common use.
func WriteSitemapTags(w io.Writer, site Site, tags []string) error {
	all := make([]place, 0, len(tags))
	for _, tag := range tags {
		all = append(all, place{Loc: site.absolute("/tags/" + url.PathEscape(tag))})
	}
	return writePlaces(w, all)
}

func writePlaces(w io.Writer, all []place) error {
	return writeXML(w, struct {
		XMLName xml.Name `xml:"urlset"`
		Space   string   `xml:"xmlns,attr"`
		Places  []place  `xml:"url"`
	}{Space: sitemapSpace, Places: all})
}

// writeXML writes a document with its declaration.
func writeXML(w io.Writer, document any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	if err := xml.NewEncoder(w).Encode(document); err != nil {
		return fmt.Errorf("write XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
