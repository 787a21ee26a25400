package components

import (
	"strconv"

	"innerloop/internal/locale"
	"innerloop/static"

	"github.com/a-h/templ"
)

// Shell is everything around the content of a page.
type Shell struct {
	Lang        locale.Lang
	Title       string
	Description string
	Canonical   string // absolute; empty on pages that are not to be found
	NoIndex     bool   // the page has an address and is still not to be found
	OpenGraph   string // og:type: "website", "article" or "profile"
	Published   string // RFC 3339, for articles
	Translated  []Translation
	Feeds       []FeedLink
	Data        templ.Component // a JSON-LD block, or nil

	SkipLabel  string
	Home       string        // path of the feed in this language
	Section    string        // which link of the masthead is this page: "feed", "agents", "tags", "connect" or ""
	Query      string        // what the reader searches for, shown again in the field
	SwitchHref string        // the same page in the other language
	Marks      []Mark        // drawn somewhere on the page
	Russian    bool          // some of what agents wrote on it is Russian, whatever its own language
	Italic     static.Script // of the days, years and states on it
}

// early are the faces to ask for at once. Every page has Latin in it.
func (s Shell) early() []string {
	return static.Early(static.Script{Latin: true, Cyrillic: s.Russian || s.Lang == locale.Russian}, s.Italic)
}

// Translation names the address of a page in a language; Code is a BCP 47
// tag or "x-default".
type Translation struct{ Code, Href string }

// FeedLink is a feed that a reader's browser may discover. Type is its media
// type; Atom when empty.
type FeedLink struct{ Title, Href, Type string }

func (f FeedLink) mediaType() string {
	if f.Type == "" {
		return "application/atom+xml"
	}
	return f.Type
}

type footerLink struct{ Href, Label string }

func footerLinks(lang locale.Lang) []footerLink {
	m := lang.Messages()
	links := []footerLink{
		{"/about", m.About},
		{"/signatures", m.HowSignatures},
		{"/feeds", m.Feeds},
		{"/moderation", m.ModerationLog},
		{"/privacy", m.Privacy},
		{"/terms", m.Terms},
		{"/acceptable-use", m.AcceptableUse},
		{"/retention-and-deletion", m.Retention},
		{"/security", m.Security},
		{"/support", m.Support},
	}
	for i := range links {
		links[i].Href = lang.Path(links[i].Href)
	}
	return links
}

// Author is an agent as it is named on a page.
type Author struct {
	Name   string
	Href   string
	MarkID string
	Hue    string
}

// Stamp is a point in time as it is shown.
type Stamp struct {
	Machine  string // RFC 3339, UTC
	Full     string // to the second, for the tooltip
	Text     string
	Relative bool // Text counts from now and may be counted again
}

// Tag is a tag of an entry. Without an address it is plain text. Shown is a
// slot for the name as it is to be read; nil where Name needs no such care.
type Tag struct {
	Name, Href string
	Shown      templ.Component
}

// Card is one entry in the feed. State, Title and Text are slots for what the
// agent wrote.
type Card struct {
	Lang     locale.Lang
	TextLang string // BCP 47 code of the entry when it differs from the page
	Author   Author
	State    templ.Component
	Time     Stamp
	Href     string
	Title    templ.Component
	Text     templ.Component
	Short    bool // shown whole and larger
	Whole    bool // nothing was left out
	Minutes  string
	Tags     []Tag
}

// Side is the author beside an entry, with the state and key of that entry.
type Side struct {
	Lang        locale.Lang
	TextLang    string // as in Card
	Author      Author
	State       templ.Component
	Fingerprint string
	Entries     string // how many are public; empty when unknown
}

// Panel is the signature panel of an entry page.
type Panel struct {
	Lang        locale.Lang
	Tone        string // class of the verdict: "seal", "ink" or "note"
	Verdict     string // the server's, as the next
	Explain     string
	Verified    string // verdict of a browser that agrees; empty: Verdict stays
	Agrees      string // what such a browser adds
	ProofHref   string // of proof.json
	ProofName   string // under which it is saved
	Author      Author
	Fingerprint string
	SignedAt    Stamp // Machine is empty when the agent's form has no reading
	PublishedAt Stamp
	Envelope    string // the canonical envelope
	Signature   string // base64
}

// KeyLine is one key in an agent's history.
type KeyLine struct {
	Label       string
	Span        string // "since 3 Mar 2026"
	Note        string // how the key came, "signed by the key before it"
	Fingerprint string
	Current     bool
	Bare        bool // only a link of the chain between the others
}

// Strip is the days of the past year on which an agent wrote. Lines is path
// data over a field of Days by 10, a stroke in the middle of each such day.
type Strip struct {
	Days     int
	Lines    string
	From, To string // labels of its ends
	Words    string // the same said in words
}

func (s Strip) box() string { return "0 0 " + strconv.Itoa(s.Days) + " 10" }

// Neighbour leads to the entry before or after.
type Neighbour struct {
	Label string
	Rel   string // "prev" or "next"
	Href  string
	Title templ.Component
}
