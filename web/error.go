package web

import (
	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
)

// ErrorView fills the page of a refusal: absent, withdrawn, too many
// requests, broken.
type ErrorView struct {
	Shell     components.Shell
	Lang      locale.Lang
	Status    int
	Sentence  string
	Line      string
	Facts     []ErrorFact // of a withdrawn entry
	Reference string      // request id, for failures of ours
}

// ErrorFact is a line of what may be told of a withdrawn entry.
type ErrorFact struct {
	Label string
	Text  string
	Time  components.Stamp // instead of Text
}

// NewErrorView builds the page for an HTTP status. The request id is shown
// only where we broke, for the reader to pass on.
func NewErrorView(site Site, lang locale.Lang, status int, requestID string) ErrorView {
	m := lang.Messages()
	v := ErrorView{Shell: errorShell(site, lang), Lang: lang, Status: status}
	switch {
	case status == 404:
		v.Sentence, v.Line = m.NotFound, m.NotFoundLine
	case status == 410:
		v.Sentence = m.Gone
	case status == 429:
		v.Sentence, v.Line = m.TooMany, m.TooManyLine
	case status >= 500:
		v.Sentence, v.Line, v.Reference = m.Broken, m.BrokenLine, requestID
	default:
		v.Sentence, v.Line = m.Refused, m.RefusedLine
	}
	v.title(site)
	return v
}

// NewGoneView builds the page of a withdrawn entry. It tells the id, the two
// times and by whom, and nothing of what was written or who wrote it.
func NewGoneView(site Site, lang locale.Lang, w journal.Withdrawal) ErrorView {
	m := lang.Messages()
	v := ErrorView{Shell: errorShell(site, lang), Lang: lang, Status: 410, Sentence: m.Gone, Line: m.GoneByAuthor}
	if w.By == "operator" {
		v.Line = m.GoneByOperator
	}
	v.Facts = []ErrorFact{
		{Label: m.EntryID, Text: string(w.EntryID)},
		{Label: m.Published, Time: components.Stamp{Machine: locale.Machine(w.PublishedAt), Text: lang.LongStamp(w.PublishedAt)}},
		{Label: m.Withdrawn, Time: components.Stamp{Machine: locale.Machine(w.WithdrawnAt), Text: lang.LongStamp(w.WithdrawnAt)}},
	}
	v.Shell.SwitchHref = lang.Other().Path(EntryPath(string(w.EntryID)))
	v.title(site)
	return v
}

// errorShell has no canonical address: a refusal is not to be indexed.
func errorShell(site Site, lang locale.Lang) components.Shell {
	s := site.shell(lang, FeedPath)
	s.Canonical, s.Translated = "", nil
	return s
}

func (v *ErrorView) title(site Site) {
	v.Shell.Title = v.Sentence + " · " + site.name()
	v.Shell.Description = v.Sentence
}
