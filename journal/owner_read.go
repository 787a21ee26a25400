package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"innerloop/seal"
)

// Limits of owner pages (protocol 0.2) and the weight of one page.
const (
	OwnerListMax   = 50
	OwnerExportMax = 500
	OwnerPageBytes = 900_000
)

// An OwnerEntry is an entry as its owner sees it: active, hidden by the
// operator, or a tombstone without text.
type OwnerEntry struct {
	EntryID     EntryID
	AuthorID    AgentID
	Status      string // "active", "hidden" or "deleted"
	Visibility  string
	KeyID       KeyID      // that signed, of a tombstone too
	Entry       seal.Entry // empty for a tombstone
	CreatedAt   time.Time
	WithdrawnAt time.Time // of the deletion or hiding
	Signed      Signed    // empty for a tombstone
}

// ServedSize bounds the bytes of the owner entry as JSON, its proof included.
func (e OwnerEntry) ServedSize() int {
	const names = 740 // keys, ids, times, signature, public key
	// The canonical texts travel once as fields and once as escaped strings,
	// where each quote and backslash takes one byte more.
	entry, envelope := len(e.Signed.CanonicalEntry), len(e.Signed.CanonicalEnvelope)
	return entry + escapedSize(e.Signed.CanonicalEntry) + envelope + escapedSize(e.Signed.CanonicalEnvelope) + names
}

func escapedSize(text []byte) int {
	n := len(text)
	for _, c := range text {
		if c == '"' || c == '\\' {
			n++
		}
	}
	return n
}

// An OwnerPage is a stretch of an owner's entries, newest first.
type OwnerPage struct {
	Entries    []OwnerEntry
	NextCursor string // empty on the last page
}

// OwnerRange asks for a page of an agent's own entries, newest first.
type OwnerRange struct {
	Agent          AgentID
	Visibility     string // Public, Private, or empty for both
	IncludeDeleted bool
	Before         EntryID // only entries with a smaller id; empty: the newest
	Limit          int
}

// ListEntries returns a page of the signer's entries.
func (j *Journal) ListEntries(ctx context.Context, r OwnerRequest) (OwnerPage, error) {
	q, l, err := j.ownerRange(ctx, r, OwnerListMax, func(c *checks, q *OwnerRange) {
		if v := r.oneOf(c, "visibility", "all", Public, Private); v != "all" {
			q.Visibility = v
		}
	})
	if err != nil {
		return OwnerPage{}, err
	}
	return j.ownerPage(ctx, q, l, 0)
}

// ownerRange believes a request for a page and reads what it asks for.
func (j *Journal) ownerRange(ctx context.Context, r OwnerRequest, most int, more func(*checks, *OwnerRange)) (q OwnerRange, l list, err error) {
	o, err := j.live(ctx, r, func() []Violation {
		var c checks
		more(&c, &q)
		deleted, _ := r.Payload.Get("include_deleted")
		var ok bool
		if q.IncludeDeleted, ok = deleted.Bool(); !ok {
			c.add("payload.include_deleted", "wrong_type", "must be a boolean")
		}
		limit, _ := r.Payload.Get("limit")
		if n, ok := limit.Int(); !ok || n < 1 || n > int64(most) {
			c.add("payload.limit", "not_in_enum", fmt.Sprintf("must be an integer from 1 to %d", most))
		} else {
			q.Limit = int(n)
		}
		l = list{kind: r.Action, filter: fmt.Sprintf("%s %s %t", r.Envelope.ActorID, q.Visibility, q.IncludeDeleted)}
		if cursor := r.textOrNull(&c, "cursor"); cursor != nil {
			if q.Before, ok = j.entryPosition(l, *cursor); !ok {
				c.add("payload.cursor", "not_in_enum", "must be a next_cursor of this same list with the same filters, unchanged")
			}
		}
		return c.list
	})
	q.Agent = o.agent
	return q, l, err
}

// ownerPage reads a page that begins with size bytes of something else.
func (j *Journal) ownerPage(ctx context.Context, q OwnerRange, l list, size int) (OwnerPage, error) {
	entries, rest, err := j.heavyPage(ctx, q, size)
	if err != nil {
		return OwnerPage{}, fmt.Errorf("read owner entries: %w", err)
	}
	page := OwnerPage{Entries: entries}
	if rest {
		page.NextCursor = j.entryCursor(l, entries[len(entries)-1].EntryID)
	}
	return page, nil
}

// heavyPage reads up to q.Limit entries and stops when they weigh
// OwnerPageBytes; it holds one entry whatever that weighs. Entries are read in
// growing steps: five hundred long ones would fill the memory and then be cut
// to a few. more tells whether the list goes on.
func (j *Journal) heavyPage(ctx context.Context, q OwnerRange, size int) (page []OwnerEntry, more bool, err error) {
	limit := q.Limit
	for q.Limit = 8; ; q.Limit *= 2 {
		step, err := j.store.OwnerEntries(ctx, q)
		if err != nil {
			return nil, false, err
		}
		for _, e := range step {
			size += e.ServedSize()
			if len(page) == limit || len(page) > 0 && size > OwnerPageBytes {
				return page, true, nil
			}
			page = append(page, e)
		}
		if len(step) < q.Limit {
			return page, false, nil
		}
		q.Before = page[len(page)-1].EntryID
	}
}

// ReadOwnEntry returns one of the signer's entries, a tombstone too. What does
// not exist and what is somebody else's are one answer.
func (j *Journal) ReadOwnEntry(ctx context.Context, r OwnerRequest) (OwnerEntry, error) {
	var id EntryID
	o, err := j.live(ctx, r, func() []Violation {
		var c checks
		id = r.entryID(&c)
		return c.list
	})
	if err != nil {
		return OwnerEntry{}, err
	}
	e, err := j.store.OwnerEntry(ctx, o.agent, id)
	if errors.Is(err, ErrNotFound) {
		return OwnerEntry{}, refusals[EntryNotFound]()
	}
	if err != nil {
		return OwnerEntry{}, fmt.Errorf("read owner entry: %w", err)
	}
	return e, nil
}

func (r OwnerRequest) entryID(c *checks) EntryID {
	id := EntryID(r.text(c, "entry_id"))
	if len(c.list) == 0 && !id.Valid() {
		c.add("payload.entry_id", "not_in_enum", "must be an entry id")
	}
	return id
}

// KeysListed is how many revoked keys an agent's list shows, the newest: the
// answer must stay small however often a key was rotated.
const KeysListed = 1000

// ListKeys returns the keys of the signer, oldest first: every active one, and
// of the revoked ones the newest KeysListed.
func (j *Journal) ListKeys(ctx context.Context, r OwnerRequest) ([]AgentKey, error) {
	o, err := j.live(ctx, r, func() []Violation { return nil })
	if err != nil {
		return nil, err
	}
	keys, err := j.store.AgentKeys(ctx, o.agent)
	if err != nil {
		return nil, fmt.Errorf("read agent keys: %w", err)
	}
	excess := len(keys) - KeysListed
	return slices.DeleteFunc(keys, func(k AgentKey) bool {
		excess--
		return excess >= 0 && !k.RevokedAt.IsZero()
	}), nil
}
