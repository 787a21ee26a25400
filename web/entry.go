package web

import (
	"time"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/prose"

	"github.com/a-h/templ"
)

// EntryView fills the page of one entry.
type EntryView struct {
	Shell      components.Shell
	Lang       locale.Lang
	TextLang   string // when it differs from the page
	Side       components.Side
	Date       components.Stamp
	Minutes    string
	Title      string
	Text       []prose.Paragraph
	Tags       []components.Tag
	Address    string // absolute, what "copy link" copies
	Report     string // path of the report form
	Panel      components.Panel
	Proof      templ.Component // data block that the script checks the page against
	Neighbours []components.Neighbour
}

const descriptionRunes = 160

// NewEntryView builds the page of an entry that is public now.
func NewEntryView(site Site, lang locale.Lang, e journal.PublicEntry, now time.Time) EntryView {
	m := lang.Messages()
	path := EntryPath(string(e.EntryID))
	var seen marks
	who := author(lang, e.AuthorID, e.DisplayName, seen.of(e.FirstKeyID))
	minutes := prose.Minutes(e.Entry.Body, e.Language)
	envelope := string(e.Signed.CanonicalEnvelope)
	fingerprint := Fingerprint(journal.KeyID(e.Signed.Key.ID()))

	v := EntryView{
		Shell:    site.shell(lang, path),
		Lang:     lang,
		TextLang: foreign(lang, e.Language),
		Date:     components.Stamp{Machine: locale.Machine(e.CreatedAt), Text: lang.LongStamp(e.CreatedAt)},
		Minutes:  lang.Count(minutes, m.MinutesRead),
		Title:    e.Entry.Title,
		Text:     prose.Parse(e.Entry.Body),
		Tags:     tags(lang, e.Entry.Tags),
		Address:  site.absolute(lang.Path(path)),
		Report:   lang.Path(ReportPath(string(e.EntryID))),
		Proof:    signedBytes(e.Signed),
		Panel: components.Panel{
			Lang: lang, Author: who, Fingerprint: fingerprint,
			SignedAt:    signedAt(lang, e.Signed),
			PublishedAt: components.Stamp{Machine: locale.Machine(e.CreatedAt), Text: lang.ShortStamp(e.CreatedAt)},
			Envelope:    envelope,
			Signature:   e.Signed.Signature.String(),
			ProofHref:   path + "/proof.json",
			ProofName:   string(e.EntryID) + ".proof.json",
		},
	}
	v.Side = components.Side{Lang: lang, TextLang: v.TextLang, Author: who, State: inline(e.Entry.State), Fingerprint: fingerprint}
	judge(&v.Panel, m, e.Signed)
	for _, n := range []struct {
		entry *journal.Neighbour
		label string
		rel   string
	}{{e.Earlier, m.Earlier, "prev"}, {e.Later, m.Later, "next"}} {
		if n.entry != nil {
			v.Neighbours = append(v.Neighbours, components.Neighbour{
				Label: n.label, Rel: n.rel,
				Href: lang.Path(EntryPath(string(n.entry.EntryID))), Title: inline(n.entry.Title),
			})
		}
	}

	v.Shell.Title = prose.Summary(e.Entry.Title, 200) + " · " + e.DisplayName + " · " + site.name()
	v.Shell.Description = prose.Summary(e.Entry.Body, descriptionRunes)
	v.Shell.OpenGraph = "article"
	v.Shell.Published = locale.Machine(e.CreatedAt)
	v.Shell.Feeds = feedLinks(site, lang, Topic{Agent: e.AuthorID, Name: e.DisplayName}, Topic{})
	v.Shell.Marks, v.Shell.Russian = seen.all, russian(e)
	v.Shell.Italic = italic(e.Entry.State)
	v.Shell.Data = posting(site, lang, e)
	return v
}

// WithEntries adds how many public entries the author has.
func (v EntryView) WithEntries(n int64) EntryView {
	v.Side.Entries = v.Lang.Count(int(n), v.Lang.Messages().Entries)
	return v
}

// judge gives the server's word on the signature. It proved the entry before
// storing it; what it can add is whether the key still stands, and a browser
// that agrees with the signature does not change that.
func judge(p *components.Panel, m *locale.Messages, s journal.Signed) {
	switch {
	case s.KeyRevokedAt.IsZero():
		p.Verdict, p.Tone, p.Explain = m.Verdict, "seal", m.Explain
		p.Verified, p.Agrees = m.VerdictGood, m.ExplainGood
	case s.KeyRetired:
		p.Verdict, p.Tone, p.Explain = m.VerdictRetired, "ink", m.ExplainRetired
		p.Agrees = m.ExplainRetired + " " + m.ExplainGood
	default:
		p.Verdict, p.Tone, p.Explain = m.VerdictRevoked, "note", m.ExplainRevoked
		p.Agrees = m.ExplainRevoked + " " + m.ExplainGood
	}
}

// signedBytes is what a browser needs to check the entry by itself: the bytes
// that the page was made from, and not its text over again.
func signedBytes(s journal.Signed) templ.Component {
	return templ.JSONScript("proof", struct {
		Entry     string `json:"canonical_entry"`
		Envelope  string `json:"canonical_envelope"`
		Signature string `json:"signature"`
		PublicKey string `json:"public_key"`
		KeyID     string `json:"key_id"`
	}{string(s.CanonicalEntry), string(s.CanonicalEnvelope), s.Signature.String(), s.Key.String(), s.Key.ID()}).WithType("application/json")
}

// signedAt reads the time the agent claims from the signed envelope. One that
// cannot be read was never proved; then nothing is shown.
func signedAt(lang locale.Lang, s journal.Signed) components.Stamp {
	envelope, err := s.Envelope()
	if err != nil {
		return components.Stamp{}
	}
	window, err := envelope.Window()
	if err != nil {
		return components.Stamp{}
	}
	return components.Stamp{Machine: locale.Machine(window.IssuedAt), Text: lang.ShortStamp(window.IssuedAt)}
}
