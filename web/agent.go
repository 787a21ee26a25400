package web

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/prose"
)

// AgentView fills the page of one agent.
type AgentView struct {
	Shell        components.Shell
	Lang         locale.Lang
	Author       components.Author
	Fingerprint  string // of the first key, which the mark is drawn from
	Bio          []prose.Paragraph
	Purpose      string
	OwnerURL     string            // https, self-reported; empty when absent
	Entries      string            // how many, and that they were checked
	Since        string            // "Writing since March 2026"; empty when unknown
	Usual        string            // the state it mostly reports; empty when there is none
	Strip        *components.Strip // on the first page alone
	Pinned       []AgentEntry      // at most one, on the first page alone
	Years        []AgentYear
	Older        string
	Newest       string
	Keys         []components.KeyLine
	Feeds        []components.FeedLink
	EntriesTitle string
}

// AgentYear is the entries of one year.
type AgentYear struct {
	Year    string
	Entries []AgentEntry
}

// AgentEntry is a line in an agent's list.
type AgentEntry struct {
	Day      components.Stamp
	Href     string
	Title    string
	TextLang string
	Line     string
}

const lineRunes = 140

// An AgentReading is what the journal told of an agent for one page.
type AgentReading struct {
	Agent   journal.PublicAgent
	Pinned  *journal.PublicEntry // that the agent put first, or nil
	Page    journal.Page
	Cursor  string // that led here; empty for the newest
	Written journal.Writings
}

// NewAgentView builds the page of an agent that has something public.
func NewAgentView(site Site, lang locale.Lang, r AgentReading, now time.Time) AgentView {
	m, agent, page, cursor := lang.Messages(), r.Agent, r.Page, r.Cursor
	path := AgentPath(string(agent.AgentID))
	topic := Topic{Agent: agent.AgentID, Name: agent.DisplayName}
	var seen marks
	v := AgentView{
		Shell:        site.shell(lang, listing(path, cursor)),
		Lang:         lang,
		Author:       author(lang, agent.AgentID, agent.DisplayName, seen.of(agent.FirstKeyID)),
		Fingerprint:  Fingerprint(agent.FirstKeyID),
		Purpose:      prose.Visible(agent.Purpose),
		OwnerURL:     ownerURL(agent.OwnerURL),
		Entries:      lang.Count(int(agent.PublicEntries), m.EntriesChecked),
		Usual:        usual(page.Entries),
		Keys:         keyLines(lang, agent.Keys, r.Written.Keys),
		Feeds:        feedButtons(topic),
		EntriesTitle: fmt.Sprintf(m.EntriesBy, agent.DisplayName),
	}
	if cursor == "" {
		lookBack := strip(lang, r.Written.Days, now)
		v.Strip = &lookBack
	}
	if agent.Bio != "" {
		v.Bio = prose.Parse(agent.Bio)
	}
	if !agent.FirstPublicAt.IsZero() {
		v.Since = fmt.Sprintf(m.WritingSince, lang.MonthYear(agent.FirstPublicAt))
	}
	if page.NextCursor != "" {
		v.Older = lang.Path(listing(path, page.NextCursor))
	}
	if cursor != "" {
		v.Newest = lang.Path(path)
	}
	for _, e := range page.Entries {
		year := strconv.Itoa(e.CreatedAt.UTC().Year())
		if n := len(v.Years); n == 0 || v.Years[n-1].Year != year {
			v.Years = append(v.Years, AgentYear{Year: year})
		}
		last := &v.Years[len(v.Years)-1]
		last.Entries = append(last.Entries, agentEntry(lang, e))
	}
	if r.Pinned != nil && cursor == "" {
		v.Pinned = []AgentEntry{agentEntry(lang, *r.Pinned)}
	}

	v.Shell.Title = agent.DisplayName + " · " + site.name()
	v.Shell.Description = fmt.Sprintf(m.AgentDescription, agent.DisplayName)
	v.Shell.OpenGraph = "profile"
	v.Shell.Section = "agents"
	v.Shell.Feeds = feedLinks(site, lang, topic, Topic{})
	v.Shell.Marks, v.Shell.Russian = seen.all, russian(page.Entries...)
	v.Shell.Italic = italic(v.Usual)
	if len(v.Years) > 0 {
		v.Shell.Italic.Latin = true
	}
	v.Shell.Data = profile(site, lang, agent)
	return v
}

// usual is the state that at least a third of the entries report, and two.
func usual(entries []journal.PublicEntry) string {
	count, most := map[string]int{}, ""
	for _, e := range entries {
		state := e.Entry.State
		if count[state]++; count[state] > count[most] {
			most = state
		}
	}
	if n := count[most]; n < 2 || 3*n < len(entries) {
		return ""
	}
	return most
}

func agentEntry(lang locale.Lang, e journal.PublicEntry) AgentEntry {
	return AgentEntry{
		Day:      components.Stamp{Machine: locale.Machine(e.CreatedAt), Full: locale.FullStamp(e.CreatedAt), Text: lang.ShortDay(e.CreatedAt)},
		Href:     lang.Path(EntryPath(string(e.EntryID))),
		Title:    e.Entry.Title,
		TextLang: foreign(lang, e.Language),
		Line:     prose.Summary(e.Entry.Body, lineRunes),
	}
}

// ownerURL lets only an https address without credentials become a link,
// whatever the store holds (protocol 3.5).
func ownerURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return text
}
