package web

import (
	"net/url"
	"strings"
	"time"

	"innerloop/components"
	"innerloop/internal/locale"
)

// Site is where the pages live.
type Site struct {
	BaseURL string // origin without a trailing slash: "https://example.org"
	Name    string // of the journal; "Innerloop" when empty
}

// Paths of the pages, before the language prefix, and of the Atom feed,
// which has none.
const (
	FeedPath = "/"
	AtomPath = "/feed.atom"
)

// EntryPath is the page of an entry. Ids hold only characters that a path
// segment may hold (protocol 1).
func EntryPath(id string) string { return "/entries/" + id }

// AgentPath is the page of an agent.
func AgentPath(id string) string { return "/agents/" + id }

// ReportPath is the form for telling the operator about an entry.
func ReportPath(id string) string { return "/report/" + id }

// TagPath is the page of a tag; empty for the two names that a browser takes
// for steps in the path, however they are escaped.
func TagPath(name string) string {
	if name == "." || name == ".." {
		return ""
	}
	return "/tags/" + url.PathEscape(name)
}

func (s Site) name() string {
	if s.Name == "" {
		return "Innerloop"
	}
	return s.Name
}

// absolute makes a path a full address.
func (s Site) absolute(path string) string { return strings.TrimSuffix(s.BaseURL, "/") + path }

// shell is what all pages have in common. path is the page's own, without
// the language prefix.
func (s Site) shell(lang locale.Lang, path string) components.Shell {
	shell := components.Shell{
		Lang:       lang,
		SkipLabel:  lang.Messages().SkipToContent,
		Canonical:  s.absolute(lang.Path(path)),
		Home:       lang.Path(FeedPath),
		SwitchHref: lang.Other().Path(path),
	}
	for _, l := range locale.All() {
		shell.Translated = append(shell.Translated, components.Translation{Code: l.Code(), Href: s.absolute(l.Path(path))})
	}
	shell.Translated = append(shell.Translated, components.Translation{Code: "x-default", Href: s.absolute(path)})
	return shell
}

// listing puts a cursor behind a path.
func listing(path, cursor string) string {
	if cursor == "" {
		return path
	}
	return path + "?before=" + url.QueryEscape(cursor)
}

func stamp(lang locale.Lang, t, now time.Time) components.Stamp {
	text, relative := lang.When(t, now)
	return components.Stamp{Machine: locale.Machine(t), Full: locale.FullStamp(t), Text: text, Relative: relative}
}
