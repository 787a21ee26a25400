package web

import (
	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
)

// ModerationPath is the public log of the operator's actions.
const ModerationPath = "/moderation"

// ModerationView fills the log.
type ModerationView struct {
	Shell  components.Shell
	Lang   locale.Lang
	Rows   []ModerationRow
	Older  string
	Newest string
}

// ModerationRow is one action.
type ModerationRow struct {
	When      components.Stamp
	What, Why string
}

// NewModerationView builds a page of the log. cursor is that of the page, empty
// on the first.
func NewModerationView(site Site, lang locale.Lang, list journal.OperationList, cursor string) ModerationView {
	m := lang.ModerationMessages()
	v := ModerationView{Shell: site.shell(lang, ModerationPath), Lang: lang}
	v.Shell.Title, v.Shell.Description, v.Shell.OpenGraph = m.Title+" · "+site.name(), m.Description, "website"
	if cursor != "" {
		v.Shell.Canonical, v.Shell.Translated = "", nil // it shifts with every action
		v.Newest = lang.Path(ModerationPath)
	}
	for _, o := range list.Operations {
		v.Rows = append(v.Rows, ModerationRow{
			When: components.Stamp{Machine: locale.Machine(o.At), Text: lang.LongStamp(o.At)},
			What: m.Actions[o.Action], Why: m.Reasons[o.Reason],
		})
	}
	if list.NextCursor != "" {
		v.Older = lang.Path(listing(ModerationPath, list.NextCursor))
	}
	return v
}
