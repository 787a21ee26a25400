package journal

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What one request may cost, whatever it asks for.
const (
	// searchLooked bounds the entries that are read: those which have all the
	// words, though not the phrase, and those of suspended agents.
	searchLooked = 200
	// searchReach bounds the positions that the index is asked about.
	searchReach = 1 << 20
)

// SearchQuery asks for public entries in which every word of a text occurs, in
// title, body, state or tags, newest first.
type SearchQuery struct {
	Text     string // words, and phrases in quotation marks
	Agent    AgentID
	Tag      string
	Language string // code as entries bear it
	Year     int    // of arrival, UTC; 0 for all
	Limit    int    // 1 to FeedLimitMax
	Cursor   string // empty: the newest
}

// A SearchPage is a stretch of what was found.
type SearchPage struct {
	Entries []PublicEntry
	Terms   Terms // to mark what matched
	// NextCursor goes on where this page ended; empty when everything was
	// looked at.
	NextCursor string
	// Stopped tells that the page ended because it had looked at enough, not
	// because it was full. It may be empty, and the next one may not be.
	Stopped bool
	// Building tells that older entries are not in the index yet.
	Building bool
}

// Searching keeps the index of words. Its rows come and go in the transactions
// that list and unlist entries.
type Searching interface {
	// SearchPositions returns the positions of listed entries that have all
	// the words, newest first, between two positions, at most q.Limit.
	SearchPositions(ctx context.Context, q Sought) ([]int64, error)
	// EntriesAt returns the active public entries of agents in good standing
	// at positions, newest first; there may be fewer of them.
	EntriesAt(ctx context.Context, positions []int64) ([]PublicEntry, error)
	// SearchIsWhole tells whether every listed entry is in the index.
	SearchIsWhole(ctx context.Context) (bool, error)
	// IndexEntries puts at most limit more listed entries into the index, from
	// the newest to the oldest, in one transaction. more is false once all are
	// in it, by the rules of this SearchVersion.
	IndexEntries(ctx context.Context, limit int) (indexed int, more bool, err error)
	// TidySearch does a small step of what keeps questions cheap, in one
	// transaction. more is false once nothing is left to do.
	TidySearch(ctx context.Context) (more bool, err error)
}

// Sought is what the index is asked.
type Sought struct {
	Words         []string // as SearchWords prepares them; at least one
	Before, Above int64    // positions, both exclusive
	Limit         int
}

// Search returns a page of what is found. A text without a word is refused, as
// is one that is too long, and a cursor of another search.
func (j *Journal) Search(ctx context.Context, q SearchQuery) (SearchPage, error) {
	terms, l, before, err := j.searchFor(q)
	if err != nil {
		return SearchPage{}, err
	}
	newest, err := j.store.PublicVersion(ctx)
	if err != nil {
		return SearchPage{}, fmt.Errorf("search: %w", err)
	}
	if before == 0 || before > newest {
		before = newest + 1
	}
	s := searching{j: j, q: q, terms: terms, before: before, above: max(0, before-1-searchReach)}
	if err := s.run(ctx); err != nil {
		return SearchPage{}, fmt.Errorf("search: %w", err)
	}
	page := SearchPage{Entries: s.found, Terms: terms}
	switch {
	case len(s.found) > q.Limit:
		page.Entries = s.found[:q.Limit:q.Limit]
		page.NextCursor = j.cursorFor(l, page.Entries[q.Limit-1].Position)
	case s.before > 1:
		page.NextCursor, page.Stopped = j.cursorFor(l, s.before), true
	}
	whole, err := j.store.SearchIsWhole(ctx)
	if err != nil {
		return SearchPage{}, fmt.Errorf("search: %w", err)
	}
	page.Building = !whole
	return page, nil
}

// searchFor checks a query and reads its terms and its cursor.
func (j *Journal) searchFor(q SearchQuery) (terms Terms, l list, before int64, err error) {
	var c checks
	if q.Limit < 1 || q.Limit > FeedLimitMax {
		c.add("limit", "not_in_enum", fmt.Sprintf("must be an integer from 1 to %d", FeedLimitMax))
	}
	words := 0
	switch {
	case !utf8.ValidString(q.Text):
		c.add("q", "prohibited_character", "must be UTF-8")
	case utf8.RuneCountInString(q.Text) > SearchTextMax:
		c.add("q", "too_long", fmt.Sprintf("at most %d characters", SearchTextMax))
	default:
		terms, words = parseTerms(q.Text)
		terms.stems = j.stems
		switch {
		case words == 0:
			c.add("q", "empty", "must have a letter or a digit")
		case words > SearchWordsMax:
			c.add("q", "too_many", fmt.Sprintf("at most %d words", SearchWordsMax))
		}
	}
	if q.Agent != "" && !q.Agent.Valid() {
		c.add("agent", "not_in_enum", "must be the id of an agent")
	}
	if !utf8.ValidString(q.Tag) || utf8.RuneCountInString(q.Tag) > TagMax {
		c.add("tag", "too_long", fmt.Sprintf("must be UTF-8 of at most %d characters", TagMax))
	}
	if len(q.Language) > languageMax || filterText(q.Language) != q.Language {
		c.add("lang", "not_in_enum", "must be the code of a language")
	}
	if q.Year < 0 || q.Year > 9999 {
		c.add("year", "not_in_enum", "must be a year")
	}
	if len(c.list) > 0 {
		return terms, l, 0, invalid(c.list)
	}
	l = list{"search", fmt.Sprintf("%q %q %q %q %d", terms, q.Agent, q.Tag, q.Language, q.Year)}
	if q.Cursor != "" {
		var ok bool
		if before, ok = j.position(l, q.Cursor); !ok {
			c.add("before", "not_in_enum", "must come from a page of this same search, unchanged")
			return terms, l, 0, invalid(c.list)
		}
	}
	return terms, l, before, nil
}

// languageMax is the longest code of a language that may be asked for.
const languageMax = 16

// searching is one search on its way to older positions.
type searching struct {
	j             *Journal
	q             SearchQuery
	terms         Terms
	before, above int64
	found         []PublicEntry
}

// run looks from the newest to the oldest until there is one entry more than
// the page holds, or enough was looked at. before is then where it stopped, 1
// at the end of everything.
func (s *searching) run(ctx context.Context) error {
	words := s.words()
	for looked, step := 0, s.q.Limit+1; looked < searchLooked; step *= 2 {
		limit := min(step, searchLooked-looked)
		positions, err := s.j.store.SearchPositions(ctx, Sought{Words: words, Before: s.before, Above: s.above, Limit: limit})
		if err != nil {
			return err
		}
		entries, err := s.j.store.EntriesAt(ctx, positions)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if s.terms.in(searched(e.Entry)) {
				s.found = append(s.found, e)
			}
			if len(s.found) > s.q.Limit {
				return nil
			}
		}
		if len(positions) < limit {
			s.before = s.above + 1
			return nil
		}
		looked, s.before = looked+len(positions), positions[len(positions)-1]
	}
	return nil
}

// words are the stems with the filters.
func (s *searching) words() []string {
	words := append([]string(nil), s.terms.words...)
	if s.q.Agent != "" {
		words = append(words, agentFilter(s.q.Agent))
	}
	if s.q.Tag != "" {
		words = append(words, tagFilter(s.q.Tag))
	}
	if s.q.Language != "" {
		words = append(words, languageFilter(s.q.Language))
	}
	if s.q.Year != 0 {
		words = append(words, yearFilter(s.q.Year))
	}
	return words
}

// String is the terms in a form that no other terms have; it binds a cursor to
// its search, and the same words in another order are another search.
func (t Terms) String() string {
	var b strings.Builder
	for _, phrase := range append([][]string{t.words}, t.phrases...) {
		b.WriteString(strings.Join(phrase, " ") + "|")
	}
	return b.String()
}

// How many entries one transaction of the chore puts into the index.
const indexStep = 100

// IndexEntries puts what is listed and not in the index yet into it, in small
// transactions. It may be stopped anywhere, and may run in several processes.
// step, if not nil, hears how many there were so far.
func (j *Journal) IndexEntries(ctx context.Context, step func(indexed int)) error {
	total := 0
	for more := true; more; {
		var n int
		var err error
		if n, more, err = j.store.IndexEntries(ctx, indexStep); err != nil {
			return fmt.Errorf("build the index of words: %w", err)
		}
		if total += n; n > 0 && step != nil {
			step(total)
		}
	}
	return nil
}

// TidySearch keeps questions to the index of words cheap, in small
// transactions. It may be stopped anywhere.
func (j *Journal) TidySearch(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = j.store.TidySearch(ctx); err != nil {
			return fmt.Errorf("tidy the index of words: %w", err)
		}
	}
	return nil
}
