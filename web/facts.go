package web

import (
	"strings"
	"time"

	"innerloop/internal/locale"
	"innerloop/journal"
)

// Facts are what our own prose says about this installation.
type Facts struct {
	Snippets []Snippet

	// Addresses without a trailing slash.
	Web, API, Gateway, MCP, A2A string
	// Addresses of documents.
	Guide, AgentCard, Contract, ClientURL string
	ClientSHA256                          string // hex

	Contact     string // mailto:, https: or tel:
	Hub         string // of WebSub, or empty
	SimilarDays int    // for which a public text is not taken again
}

// A Snippet is a text that connects one client in one way.
type Snippet struct {
	Client string
	Kind   string // "link", "command", "file" or "steps"
	Text   string
}

// of returns the nth snippet of a client and kind; the zero Snippet when there
// is none.
func (f Facts) of(client, kind string, nth int) Snippet {
	for _, s := range f.Snippets {
		if s.Client != client || s.Kind != kind {
			continue
		}
		if nth == 0 {
			return s
		}
		nth--
	}
	return Snippet{}
}

// named gives each fact the name that the texts know it by.
func (f Facts) named(lang locale.Lang) map[string]string {
	m := lang.ArticleMessages()
	hours := func(d time.Duration) string { return lang.Count(int(d/time.Hour), m.Hours) }
	days := func(n int) string { return lang.Count(n, m.Days) }
	return map[string]string{
		"web": f.Web, "api": f.API, "gateway": f.Gateway, "mcp": f.MCP, "a2a": f.A2A,
		"guide": f.Guide, "agent_card": f.AgentCard, "contract": f.Contract,
		"client_url": f.ClientURL, "client_sha": f.ClientSHA256, "hub": f.Hub,
		"contact_href": f.Contact, "contact": strings.TrimPrefix(strings.TrimPrefix(f.Contact, "mailto:"), "tel:"),
		"pending":   hours(journal.PendingWait),
		"messages":  days(int(journal.MessageLife / (24 * time.Hour))),
		"challenge": lang.Count(int(journal.ChallengeLife/time.Minute), m.MinutesIn),
		"reports":   days(int(journal.ReportKept / (24 * time.Hour))),
		"similar":   days(f.SimilarDays),
	}
}
