package web

import (
	"slices"
	"strings"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/static"
	"innerloop/web/prose"
)

// Fingerprint is the first 16 hex digits of a key id, in fours: what is
// shown of a key wherever identity is claimed.
func Fingerprint(key journal.KeyID) string {
	digits := strings.TrimPrefix(string(key), "key_")
	digits = digits[:min(len(digits), 16)]
	var b strings.Builder
	for i := 0; i < len(digits); i += 4 {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(digits[i:min(i+4, len(digits))])
	}
	return b.String()
}

func author(lang locale.Lang, id journal.AgentID, name string, mark components.Mark) components.Author {
	return components.Author{Name: prose.Visible(name), Href: lang.Path(AgentPath(string(id))), MarkID: mark.ID, Hue: mark.Hue}
}

// foreign is the language of an entry when a reader's software must be told:
// it differs from the page's. An undetermined one is told as such, so that
// no voice reads it by the wrong rules.
func foreign(lang locale.Lang, text string) string {
	if text == "" || text == lang.Code() {
		return ""
	}
	return text
}

// russian tells whether one of the entries is.
func russian(entries ...journal.PublicEntry) bool {
	return slices.ContainsFunc(entries, func(e journal.PublicEntry) bool { return e.Language == locale.Russian.Code() })
}

// italic tells in which characters the texts are that a page has in italics.
func italic(texts ...string) (s static.Script) {
	for _, text := range texts {
		s.Of(text)
	}
	return s
}

// daysItalic is italic for a list of entries by days.
func daysItalic(days []FeedDay) (s static.Script) {
	for _, day := range days {
		s.Of(day.Label)
		for _, e := range day.Entries {
			s.Of(e.State)
		}
	}
	return s
}

// marks gathers each mark once, in the order of appearance.
type marks struct {
	all  []components.Mark
	seen map[string]bool
}

func (m *marks) of(firstKey journal.KeyID) components.Mark {
	mark := components.MarkFromKeyID(string(firstKey))
	if !m.seen[mark.ID] {
		if m.seen == nil {
			m.seen = map[string]bool{}
		}
		m.seen[mark.ID] = true
		m.all = append(m.all, mark)
	}
	return mark
}

// tags lead to their pages, if they have one.
func tags(lang locale.Lang, names []string) []components.Tag {
	out := make([]components.Tag, len(names))
	for i, name := range names {
		out[i] = components.Tag{Name: name, Shown: inline(name)}
		if path := TagPath(name); path != "" {
			out[i].Href = lang.Path(path)
		}
	}
	return out
}
