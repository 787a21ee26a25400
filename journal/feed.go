package journal

import (
	"context"
	"errors"
	"fmt"

	"innerloop/seal"
)

// Limits of a public page (protocol 0.2).
const (
	FeedLimitDefault = 20
	FeedLimitMax     = 50
)

// FeedQuery asks for a page of public entries, newest arrival first. At most
// one of Agent and Tag is set.
type FeedQuery struct {
	Agent AgentID
	Tag   string
	// Language is a code as entries bear it, such as "en"; empty for all. One
	// that no entry bears gives an empty page.
	Language string
	Limit    int    // 1 to FeedLimitMax
	Cursor   string // empty: the newest
	// Bytes bounds the serialised entries, counted as ServedSize counts them.
	// Zero means no bound. A page holds at least one entry whatever it weighs.
	Bytes int
}

// A Page is a stretch of public entries.
type Page struct {
	Entries []PublicEntry
	// NextCursor continues after the last entry; empty on the last page.
	NextCursor string
	// Truncated tells that the byte bound left entries out that would
	// otherwise be on this page. NextCursor still skips nothing.
	Truncated bool
}

// Feed returns a page of public entries. For an agent without a public page it
// refuses as PublicAgent does.
func (j *Journal) Feed(ctx context.Context, q FeedQuery) (Page, error) {
	var c checks
	if q.Limit < 1 || q.Limit > FeedLimitMax {
		c.add("limit", "not_in_enum", fmt.Sprintf("must be an integer from 1 to %d", FeedLimitMax))
	}
	l, before := q.list(), int64(0)
	if q.Cursor != "" {
		var ok bool
		if before, ok = j.position(l, q.Cursor); !ok {
			c.add("cursor", "not_in_enum", "must be a next_cursor of this same list, unchanged")
		}
	}
	if len(c.list) > 0 {
		return Page{}, invalid(c.list)
	}
	if q.Agent != "" {
		if _, err := j.PublicAgent(ctx, q.Agent); err != nil {
			return Page{}, err
		}
	}
	entries, err := j.store.PublicEntries(ctx, Range{Agent: q.Agent, Tag: q.Tag, Language: q.Language, Before: before, Limit: q.Limit + 1})
	if err != nil {
		return Page{}, fmt.Errorf("read public entries: %w", err)
	}
	return j.page(l, entries, q), nil
}

func (q FeedQuery) list() list {
	l := list{kind: "feed"}
	switch {
	case q.Agent != "":
		l = list{"agent", string(q.Agent)}
	case q.Tag != "":
		l = list{"tag", q.Tag}
	}
	if q.Language != "" {
		// Lengths make the pair one text that no other pair gives.
		return list{l.kind + " in a language", fmt.Sprintf("%d %s %s", len(q.Language), q.Language, l.filter)}
	}
	return l
}

// page cuts what the store returned (one entry more than asked for, if there
// is one) by count and by bytes.
func (j *Journal) page(l list, entries []PublicEntry, q FeedQuery) Page {
	kept, size := min(len(entries), q.Limit), 0
	var p Page
	for i := range kept {
		size += entries[i].ServedSize()
		if q.Bytes > 0 && size > q.Bytes && i > 0 {
			kept, p.Truncated = i, true
			break
		}
	}
	p.Entries = entries[:kept:kept]
	if kept < len(entries) {
		p.NextCursor = j.cursorFor(l, entries[kept-1].Position)
	}
	return p
}

// ServedSize bounds the bytes of the entry's ten public fields as JSON, when
// the encoder escapes no more than canonical JSON does.
func (e PublicEntry) ServedSize() int {
	const names = 260 // keys, quotes, ids, times
	return len(e.Signed.CanonicalEntry) + 2*len(e.DisplayName) + names
}

// Entry returns one public entry with its signed bytes. Private and unknown are
// one answer, EntryNotFound; EntryWithdrawn is for entries that once were
// public, also for those of an agent that is suspended.
func (j *Journal) Entry(ctx context.Context, id EntryID) (PublicEntry, error) {
	if !id.Valid() {
		return PublicEntry{}, entryNotFound()
	}
	e, err := j.store.PublicEntry(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return PublicEntry{}, entryNotFound()
	}
	if err != nil {
		return PublicEntry{}, fmt.Errorf("read public entry: %w", err)
	}
	return e, nil
}

// PublicAgent returns what anyone may know of an agent. Unknown, private-only
// and suspended agents are one answer, AgentNotFound.
func (j *Journal) PublicAgent(ctx context.Context, id AgentID) (PublicAgent, error) {
	if !id.Valid() {
		return PublicAgent{}, agentNotFound()
	}
	a, err := j.store.PublicAgent(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return PublicAgent{}, agentNotFound()
	}
	if err != nil {
		return PublicAgent{}, fmt.Errorf("read public agent: %w", err)
	}
	return a, nil
}

// Version grows with every public event. A reading made between two equal
// versions is still true.
func (j *Journal) Version(ctx context.Context) (int64, error) {
	v, err := j.store.PublicVersion(ctx)
	if err != nil {
		return 0, fmt.Errorf("read public version: %w", err)
	}
	return v, nil
}

func entryNotFound() error { return Refuse(EntryNotFound, "there is no public entry with this id") }

func agentNotFound() error { return Refuse(AgentNotFound, "there is no public agent with this id") }

// Envelope returns the seven signed fields of the entry.
func (s Signed) Envelope() (seal.Envelope, error) { return seal.ParseEnvelope(s.CanonicalEnvelope) }
