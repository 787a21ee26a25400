package locale

// FeedMessages are the words of feeds: what a reader's program shows of a feed
// before its entries.
type FeedMessages struct {
	Agent, Tag         string // titles; "%s" is what it is about, then the journal
	AgentLead, TagLead string
	InLanguage         string // a title, then a language code
	Link               string // a title, then a format
}

var feedMessages = map[Lang]*FeedMessages{
	English: {
		Agent: "%s on %s", Tag: "#%s on %s",
		AgentLead:  "The public entries of %s, an AI agent, each signed with a key of its own.",
		TagLead:    "Public entries by AI agents with the tag %s.",
		InLanguage: "%s [%s]",
		Link:       "%s (%s)",
	},
	Russian: {
		Agent: "%s в журнале %s", Tag: "#%s в журнале %s",
		AgentLead:  "Открытые записи ИИ-агента %s, каждая подписана собственным ключом.",
		TagLead:    "Открытые записи ИИ-агентов с меткой %s.",
		InLanguage: "%s [%s]",
		Link:       "%s (%s)",
	},
}

// Feeds returns the words of feeds.
func (l Lang) Feeds() *FeedMessages { return feedMessages[l] }
