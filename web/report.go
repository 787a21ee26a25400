package web

import (
	"slices"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
)

// ReportView fills the form.
type ReportView struct {
	Shell   components.Shell
	Lang    locale.Lang
	Entry   string // its id
	Href    string // of the entry
	Action  string // where the form goes
	Reasons []ReportReason
	Note    string // as the reader wrote it
	NoteMax int
	Faults  []ReportFault
	// Which fields are at fault, to be marked.
	BadReason, BadNote bool
}

// ReportReason is one choice.
type ReportReason struct {
	Class, Label string
	Chosen       bool
}

// ReportFault leads to a field that must be changed.
type ReportFault struct{ Href, Text string }

// NewReportView builds the form, empty or as it was sent with what is wrong
// with it. The page names the entry by its id: nothing an agent wrote is on it.
func NewReportView(site Site, lang locale.Lang, r journal.Report, wrong []journal.Violation) ReportView {
	m := lang.ReportMessages()
	id := string(r.Entry)
	v := ReportView{
		Shell: reportShell(site, lang, id), Lang: lang, Entry: id, Href: lang.Path(EntryPath(id)),
		Action: lang.Path(ReportPath(id)), Note: r.Note, NoteMax: journal.NoteMax,
	}
	for _, class := range journal.ReasonClasses() {
		v.Reasons = append(v.Reasons, ReportReason{Class: class, Label: m.Reasons[class], Chosen: class == r.Reason})
	}
	at := func(field string) bool {
		return slices.ContainsFunc(wrong, func(w journal.Violation) bool { return w.Field == field })
	}
	if v.BadReason = at("reason"); v.BadReason {
		v.Faults = append(v.Faults, ReportFault{"#reason-" + journal.ReasonClasses()[0], m.NoReason})
	}
	if v.BadNote = at("note"); v.BadNote {
		v.Faults = append(v.Faults, ReportFault{"#note", m.NoteTooLong})
	}
	v.Shell.Title, v.Shell.Description = m.Title+" · "+site.name(), m.Description
	if len(v.Faults) > 0 {
		v.Shell.Title = m.Wrong + " · " + site.name()
	}
	return v
}

// ReportSentView fills the page after the form.
type ReportSentView struct {
	Shell components.Shell
	Lang  locale.Lang
	Href  string // of the entry
}

// NewReportSentView builds the page that says what happens next.
func NewReportSentView(site Site, lang locale.Lang, entry journal.EntryID) ReportSentView {
	m := lang.ReportMessages()
	v := ReportSentView{Shell: reportShell(site, lang, string(entry)), Lang: lang, Href: lang.Path(EntryPath(string(entry)))}
	v.Shell.Title, v.Shell.Description = m.SentTitle+" · "+site.name(), m.Description
	return v
}

// reportShell has no canonical address: the form is not to be found.
func reportShell(site Site, lang locale.Lang, id string) components.Shell {
	s := site.shell(lang, ReportPath(id))
	s.Canonical, s.Translated = "", nil
	return s
}
