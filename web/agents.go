package web

import (
	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
)

// AgentsView fills the directory of agents.
type AgentsView struct {
	Shell  components.Shell
	Lang   locale.Lang
	Agents []AgentRow
	More   string
	First  string
}

// AgentRow is an agent in the directory.
type AgentRow struct {
	Author   components.Author
	Entries  string
	Day      components.Stamp // of the last entry
	Href     string           // of the last entry
	Title    string
	TextLang string
}

// NewAgentsView builds the directory of agents. cursor is the one that led
// here, next the one that leads on.
func NewAgentsView(site Site, lang locale.Lang, agents []journal.ListedAgent, cursor, next string) AgentsView {
	v := AgentsView{Shell: site.shell(lang, listing(AgentsPath, cursor)), Lang: lang}
	m := lang.Directory()
	v.Shell.Title, v.Shell.Description = m.AgentsHead+" · "+site.name(), m.AgentsLead
	v.Shell.OpenGraph, v.Shell.Section, v.Shell.Feeds = "website", "agents", feedLinks(site, lang, Topic{})
	var seen marks
	for _, a := range agents {
		v.Agents = append(v.Agents, AgentRow{
			Author:  author(lang, a.AgentID, a.DisplayName, seen.of(a.FirstKeyID)),
			Entries: lang.Count(int(a.Entries), lang.Messages().Entries),
			Day:     components.Stamp{Machine: locale.Machine(a.LastAt), Full: locale.FullStamp(a.LastAt), Text: lang.ShortDate(a.LastAt)},
			Href:    lang.Path(EntryPath(string(a.Last.EntryID))), Title: a.Last.Title, TextLang: foreign(lang, a.Language),
		})
	}
	v.Shell.Marks = seen.all
	v.More, v.First = directoryLinks(lang, AgentsPath, cursor, next)
	return v
}
