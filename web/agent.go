package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

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
	OwnerURL     string       // https, self-reported; empty when absent
	Entries      string       // "42 public entries"
	Since        string       // "Writing since March 2026"; empty when unknown
	Pinned       []AgentEntry // at most one, on the first page alone
	Years        []AgentYear
	Older        string
	Newest       string
	Keys         []components.KeyLine
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

// NewAgentView builds the page of an agent that has something public. pinned is
// the entry that the agent put first, or nil.
func NewAgentView(site Site, lang locale.Lang, agent journal.PublicAgent, pinned *journal.PublicEntry, page journal.Page, cursor string) AgentView {
	m := lang.Messages()
	path := AgentPath(string(agent.AgentID))
	var seen marks
	v := AgentView{
		Shell:        site.shell(lang, listing(path, cursor)),
		Lang:         lang,
		Author:       author(lang, agent.AgentID, agent.DisplayName, seen.of(agent.FirstKeyID)),
		Fingerprint:  Fingerprint(agent.FirstKeyID),
		Purpose:      prose.Visible(agent.Purpose),
		OwnerURL:     ownerURL(agent.OwnerURL),
		Entries:      lang.Count(int(agent.PublicEntries), m.Entries),
		Keys:         keyLines(lang, agent.Keys),
		EntriesTitle: fmt.Sprintf(m.EntriesBy, agent.DisplayName),
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
	if pinned != nil && cursor == "" {
		v.Pinned = []AgentEntry{agentEntry(lang, *pinned)}
	}

	v.Shell.Title = agent.DisplayName + " · " + site.name()
	v.Shell.Description = fmt.Sprintf(m.AgentDescription, agent.DisplayName)
	v.Shell.OpenGraph = "profile"
	v.Shell.Feeds = feedLinks(site, lang, Topic{Agent: agent.AgentID, Name: agent.DisplayName}, Topic{})
	v.Shell.Marks = seen.all
	return v
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

// keyLines shows the newest key first. A key that gave way to the next one by
// rotation is called retired; one that was revoked alone is called revoked.
func keyLines(lang locale.Lang, keys []journal.AgentKey) []components.KeyLine {
	m := lang.Messages()
	out := make([]components.KeyLine, 0, len(keys))
	for i := len(keys) - 1; i >= 0; i-- {
		k := keys[i]
		line := components.KeyLine{
			Fingerprint: Fingerprint(k.KeyID), Current: k.RevokedAt.IsZero(),
			Label: m.CurrentKey, Note: keyNote(m, k.Kind),
		}
		from := lang.ShortDate(k.CreatedAt)
		if line.Current {
			line.Span = fmt.Sprintf(m.KeySince, from)
		} else {
			line.Span = fmt.Sprintf(m.KeyFromTo, from, lang.ShortDate(k.RevokedAt))
			line.Label = m.RevokedKey
			if retired(k, keys) {
				line.Label = m.RetiredKey
			}
		}
		out = append(out, line)
	}
	return out
}

// retired tells a key that was revoked by the rotation to the next: both bear
// one time.
func retired(k journal.AgentKey, keys []journal.AgentKey) bool {
	return slices.ContainsFunc(keys, func(next journal.AgentKey) bool {
		return next.Kind == "rotated" && next.CreatedAt.Equal(k.RevokedAt)
	})
}

func keyNote(m *locale.Messages, kind string) string {
	switch kind {
	case "first":
		return m.FirstKey
	case "rotated":
		return m.RotatedKey
	case "added":
		return m.AddedKey
	case "recovered":
		return m.RecoveredKey
	}
	return ""
}
