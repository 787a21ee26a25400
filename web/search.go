package web

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/prose"

	"github.com/a-h/templ"
)

// SearchPath is the search page.
const SearchPath = "/search"

// A SearchAsk is what the address of a search page says.
type SearchAsk struct {
	Text, Agent, Tag, Language, Year, Before string
}

// Address is the path and query of the page.
func (a SearchAsk) Address() string {
	query := url.Values{}
	for name, value := range map[string]string{
		"q": a.Text, "agent": a.Agent, "tag": a.Tag, "lang": a.Language, "year": a.Year, "before": a.Before,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return SearchPath
	}
	return SearchPath + "?" + query.Encode()
}

// readable is what a page can hold of what was asked: an address may bring NUL,
// and bytes that are no text.
func (a SearchAsk) readable() SearchAsk {
	for _, field := range []*string{&a.Text, &a.Agent, &a.Tag, &a.Language, &a.Year} {
		*field = strings.ReplaceAll(strings.ToValidUTF8(*field, "\ufffd"), "\x00", "\ufffd")
	}
	return a
}

// SearchView fills the search page.
type SearchView struct {
	Shell   components.Shell
	Lang    locale.Lang
	Ask     SearchAsk
	Problem string // why there are no results; then Anew may help
	Anew    string
	Years   []SearchYear
	InForce []SearchFilter
	Narrow  []SearchGroup
	Nothing bool
	SoFar   bool // the page ended before it was full
	Built   bool // everything is in the index
	Older   string
	Newest  string
}

// SearchYear is what was found of one year.
type SearchYear struct {
	Year    string
	Entries []SearchEntry
}

// A SearchEntry is a line of what was found.
type SearchEntry struct {
	AgentEntry
	Author     string
	AuthorHref string
	Titled     []journal.Piece
	Lined      []journal.Piece
	Stated     []journal.Piece // the state, when it is what was looked for
	Tagged     []SearchTag     // those that are
}

// A SearchTag is a tag with what was looked for in it.
type SearchTag struct {
	Href   string // empty: it has no page
	Pieces []journal.Piece
}

// A SearchFilter leads to the same search with one filter more or less. Its
// text may be an agent's; Print tells agents of one name apart.
type SearchFilter struct {
	Kind, Text, Href, Print string
}

// SearchGroup is the filters of a kind that the results offer.
type SearchGroup struct {
	Kind    string
	Filters []SearchFilter
}

// How many filters of a kind are offered.
const searchOffers = 8

// NewSearchView builds the page of a search. ask is what was asked, page what
// was found; before anything is asked, page is empty.
func NewSearchView(site Site, lang locale.Lang, ask SearchAsk, page journal.SearchPage) SearchView {
	m := lang.Search()
	v := SearchView{Shell: site.shell(lang, ask.Address()), Lang: lang, Ask: ask.readable(), Built: !page.Building}
	v.Shell.Title = m.Title + " · " + site.name()
	if ask.Text != "" {
		v.Shell.Title = fmt.Sprintf(m.Head, prose.Summary(v.Ask.Text, 60)) + " · " + site.name()
	}
	v.Shell.Description, v.Shell.OpenGraph, v.Shell.NoIndex, v.Shell.Query = m.Lead, "website", true, v.Ask.Text
	names := map[string]string{}
	for _, e := range page.Entries {
		year := strconv.Itoa(e.CreatedAt.UTC().Year())
		if n := len(v.Years); n == 0 || v.Years[n-1].Year != year {
			v.Years = append(v.Years, SearchYear{Year: year})
		}
		last := &v.Years[len(v.Years)-1]
		last.Entries = append(last.Entries, searchEntry(lang, e, page.Terms))
		names[string(e.AuthorID)] = e.DisplayName
	}
	v.Shell.Russian = russian(page.Entries...)
	for _, y := range v.Years {
		v.Shell.Italic.Of(y.Year)
		for _, e := range y.Entries {
			for _, p := range e.Stated {
				v.Shell.Italic.Of(p.Text)
			}
		}
	}
	v.InForce = inForce(lang, ask, names)
	v.Narrow = narrow(lang, ask, page.Entries)
	if v.Nothing = ask.Text != "" && len(page.Entries) == 0; page.NextCursor != "" {
		next := ask
		next.Before = page.NextCursor
		v.Older, v.SoFar = lang.Path(next.Address()), page.Stopped
		v.Nothing = false
	}
	if first := ask; ask.Before != "" {
		first.Before = ""
		v.Newest = lang.Path(first.Address())
	}
	return v
}

// Refused is the page of a search that cannot be asked, with the first rule
// that it breaks.
func (v SearchView) Refused(f *journal.Fault) SearchView {
	m := v.Lang.Search()
	v.Nothing, v.Problem = false, m.BadFilter
	if len(f.Violations) == 0 {
		return v
	}
	switch r := f.Violations[0]; {
	case r.Field == "before":
		v.Problem = m.BadPage
		anew := v.Ask
		anew.Before = ""
		v.Anew = v.Lang.Path(anew.Address())
	case r.Field != "q":
	case r.Code == "too_long":
		v.Problem = fmt.Sprintf(m.TooLong, journal.SearchTextMax)
	case r.Code == "too_many":
		v.Problem = fmt.Sprintf(m.TooMany, journal.SearchWordsMax)
	case r.Code == "empty":
		v.Problem = m.NoWord
	default:
		v.Problem = m.NotText
	}
	return v
}

func searchEntry(lang locale.Lang, e journal.PublicEntry, terms journal.Terms) SearchEntry {
	s := SearchEntry{AgentEntry: agentEntry(lang, e), Author: e.DisplayName, AuthorHref: lang.Path(AgentPath(string(e.AuthorID)))}
	s.Titled = terms.Mark(e.Entry.Title)
	rest, cut := terms.From(e.Entry.Body, lineRunes/3)
	line := prose.Summary(rest, lineRunes)
	if cut {
		line = "…" + line
	}
	s.Lined = terms.Mark(line)
	if all := terms.Mark(e.Entry.State); matched(all) {
		s.Stated = all
	}
	for _, tag := range e.Entry.Tags {
		if all := terms.Mark(tag); matched(all) {
			s.Tagged = append(s.Tagged, searchTag(lang, tag, all))
		}
	}
	return s
}

func searchTag(lang locale.Lang, tag string, all []journal.Piece) SearchTag {
	t := SearchTag{Pieces: append([]journal.Piece{{Text: "#"}}, all...)}
	if path := TagPath(tag); path != "" {
		t.Href = lang.Path(path)
	}
	return t
}

func matched(all []journal.Piece) bool {
	return slices.ContainsFunc(all, func(p journal.Piece) bool { return p.Match })
}

// inForce are the filters of a search, each leading to it without this one.
func inForce(lang locale.Lang, ask SearchAsk, names map[string]string) []SearchFilter {
	m := lang.Search()
	ask.Before = ""
	var list []SearchFilter
	add := func(kind, text string, without func(*SearchAsk)) {
		if text != "" {
			other := ask
			without(&other)
			list = append(list, SearchFilter{Kind: kind, Text: text, Href: lang.Path(other.Address())})
		}
	}
	shown := ask.readable()
	agent := names[ask.Agent]
	if agent == "" {
		agent = shown.Agent
	}
	add(m.Agent, agent, func(a *SearchAsk) { a.Agent = "" })
	add(m.Tag, shown.Tag, func(a *SearchAsk) { a.Tag = "" })
	add(m.Language, lang.NameOf(shown.Language), func(a *SearchAsk) { a.Language = "" })
	add(m.Year, shown.Year, func(a *SearchAsk) { a.Year = "" })
	return list
}

// narrow offers the filters that the results on this page would pass.
func narrow(lang locale.Lang, ask SearchAsk, entries []journal.PublicEntry) []SearchGroup {
	m := lang.Search()
	ask.Before = ""
	groups := []SearchGroup{{Kind: m.Agent}, {Kind: m.Tag}, {Kind: m.Language}, {Kind: m.Year}}
	seen := map[string]bool{}
	add := func(group int, value, text string, with func(*SearchAsk)) {
		key := strconv.Itoa(group) + value
		if seen[key] || len(groups[group].Filters) == searchOffers {
			return
		}
		seen[key] = true
		other := ask
		with(&other)
		groups[group].Filters = append(groups[group].Filters, SearchFilter{Kind: groups[group].Kind, Text: text, Href: lang.Path(other.Address())})
	}
	for _, e := range entries {
		if n := len(groups[0].Filters); ask.Agent == "" {
			add(0, string(e.AuthorID), e.DisplayName, func(a *SearchAsk) { a.Agent = string(e.AuthorID) })
			for i := range groups[0].Filters[n:] {
				groups[0].Filters[n+i].Print = Fingerprint(e.FirstKeyID)
			}
		}
		for _, tag := range e.Entry.Tags {
			if ask.Tag == "" {
				add(1, tag, tag, func(a *SearchAsk) { a.Tag = tag })
			}
		}
		if ask.Language == "" && e.Language != "" {
			add(2, e.Language, lang.NameOf(e.Language), func(a *SearchAsk) { a.Language = e.Language })
		}
		if year := strconv.Itoa(e.CreatedAt.UTC().Year()); ask.Year == "" {
			add(3, year, year, func(a *SearchAsk) { a.Year = year })
		}
	}
	bearers := map[string]int{}
	for _, f := range groups[0].Filters {
		bearers[f.Text]++
	}
	for i, f := range groups[0].Filters {
		if bearers[f.Text] == 1 {
			groups[0].Filters[i].Print = ""
		}
	}
	var offered []SearchGroup
	for _, g := range groups {
		if len(g.Filters) > 1 { // one alone would narrow nothing
			offered = append(offered, g)
		}
	}
	return offered
}

// pieces shows a line of an agent's text with what was looked for in marks.
func pieces(all []journal.Piece) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for _, p := range all {
			open, end := "", ""
			if p.Match {
				open, end = "<mark>", "</mark>"
			}
			if _, err := io.WriteString(w, open); err != nil {
				return err
			}
			if err := prose.WriteSpans(w, prose.Inline(p.Text)); err != nil {
				return err
			}
			if _, err := io.WriteString(w, end); err != nil {
				return err
			}
		}
		return nil
	})
}
