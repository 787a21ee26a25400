package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Mark is what a caller's organisation has of a service.
type Mark int

// Connected: a credential is stored. Reconnect: it is no longer accepted.
const (
	NotConnected Mark = iota
	Connected
	Reconnect
)

// A Query narrows List. Zero fields do not narrow.
type Query struct {
	Text      string   // every word must be in the id, a title, a summary or the category
	Category  string   // exact
	Connected *bool    // Reconnect counts as connected
	Only      []string // ids the caller may use; nil means all
	Marks     map[string]Mark
}

// List is one text of at most ListLimit bytes: how to go on, then a line a
// service with its id, its short summary and its marks. When words for the
// marks do not fit, signs stand for them and the head explains the signs;
// services that still do not fit are counted in the last line.
func (c *Catalog) List(q Query) string {
	var found []*Service
	for _, id := range c.ids {
		if service := c.services[id]; q.admits(service) {
			found = append(found, service)
		}
	}
	if len(found) == 0 {
		return "No service fits. Categories: " + strings.Join(c.Categories(), ", ") + "\n"
	}
	for _, marks := range []marking{words, signs} {
		text := marks.head(len(found))
		for _, service := range found {
			text += marks.line(service, q.Marks[service.ID])
		}
		if len(text) <= ListLimit {
			return text
		}
	}
	return cut(found, q.Marks)
}

// cut keeps as many lines as fit and counts the rest.
func cut(found []*Service, marks map[string]Mark) string {
	text := signs.head(len(found))
	for i, service := range found {
		line := signs.line(service, marks[service.ID])
		rest := fmt.Sprintf("%d more: narrow with query or category\n", len(found)-i)
		if len(text)+len(line)+len(rest) > ListLimit {
			return text + rest
		}
		text += line
	}
	return text
}

// Categories are all categories, sorted.
func (c *Catalog) Categories() []string {
	var all []string
	for _, service := range c.services {
		all = append(all, service.Category)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (q Query) admits(s *Service) bool {
	if q.Category != "" && q.Category != s.Category || q.Only != nil && !slices.Contains(q.Only, s.ID) {
		return false
	}
	if q.Connected != nil && *q.Connected != (q.Marks[s.ID] != NotConnected) {
		return false
	}
	text := strings.ToLower(strings.Join([]string{s.ID, s.Title, s.TitleRU, s.Short, s.Summary, s.SummaryRU, s.Category}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// A marking is how the marks are spelled.
type marking struct{ draft, connected, reconnect, legend string }

var (
	words = marking{
		" [draft]", " [connected]", " [reconnect]",
		"[draft] = facts not checked. [connected] = ready to call. [reconnect] = the credential must be renewed.",
	}
	signs = marking{
		" ~", " +", " !",
		"~ draft: facts not checked. + connected: ready to call. ! reconnect: the credential must be renewed.",
	}
)

func (m marking) head(count int) string {
	noun := "services"
	if count == 1 {
		noun = "service"
	}
	return fmt.Sprintf("%d %s. Next: describe_service(service) for modules, recipes and limits, then "+
		"connector_execute(service, module, method, path, query, body); for RPC services path is empty and method "+
		"is the remote method. Filters: query, category, connected.\n%s\n", count, noun, m.legend)
}

func (m marking) line(s *Service, mark Mark) string {
	text := s.ID + ": " + s.Short
	if s.Status == Draft {
		text += m.draft
	}
	switch mark {
	case Connected:
		text += m.connected
	case Reconnect:
		text += m.reconnect
	}
	return text + "\n"
}
