package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"innerloop/journal"
	"innerloop/seal"
)

// What a page and a permalink read of an entry, in the order scanEntry expects.
const entryColumns = `e.entry_id, e.agent_id, a.display_name, a.first_key_id, e.language, e.created_at, e.position,
e.signature, e.canonical_envelope, e.canonical_entry, k.public_key, k.revoked_at`

// How a page walks: the narrow table gives order and ids, everything else is
// fetched by primary key, row by row, until the page is full. A row shows an
// entry only at the entry's own position, and private entries have none: a
// wrong row in a list publishes nothing. Both planners
// must be held to it, or they collect and sort all entries of an agent:
// SQLite keeps the order of a CROSS JOIN, PostgreSQL cannot flatten a lateral
// query with a limit.
const (
	sqliteRecord = `
CROSS JOIN entries e ON e.agent_id = t.agent_id AND e.entry_id = t.entry_id AND e.position = t.position AND e.status = 'active'`
	sqliteJoin = sqliteRecord + `
CROSS JOIN agents a ON a.agent_id = t.agent_id AND a.suspended_at IS NULL
CROSS JOIN agent_keys k ON k.agent_id = e.agent_id AND k.key_id = e.key_id`
	postgresRecord = `
CROSS JOIN LATERAL (SELECT * FROM entries WHERE agent_id = t.agent_id AND entry_id = t.entry_id AND position = t.position AND status = 'active' LIMIT 1) e`
	postgresJoin = postgresRecord + `
CROSS JOIN LATERAL (SELECT * FROM agents WHERE agent_id = t.agent_id AND suspended_at IS NULL LIMIT 1) a
CROSS JOIN LATERAL (SELECT * FROM agent_keys WHERE agent_id = t.agent_id AND key_id = e.key_id LIMIT 1) k`
	newestFirst = `
ORDER BY t.position DESC LIMIT ?`

	fromTimeline = `SELECT ` + entryColumns + ` FROM timeline t`
	fromTag      = `SELECT ` + entryColumns + ` FROM tag_timeline t`
	ofAll        = ` WHERE t.position < ?` + newestFirst
	ofAgent      = ` WHERE t.agent_id = ? AND t.position < ?` + newestFirst
	ofTag        = ` WHERE t.tag = ? AND t.position < ?` + newestFirst

	// One language of a list is a stretch of the index that has the language
	// in front of the position. Both planners are held to it, or they may walk
	// the list and throw other languages away: SQLite is told its name,
	// PostgreSQL is asked for an order that nothing else gives.
	sqliteLanguage = `t.language = ? AND t.position < ? AND t.language = ?
ORDER BY t.position DESC LIMIT ?`
	postgresLanguage = `(t.language, t.position) < (?, ?) AND (t.language, t.position) > (?, 0)
ORDER BY t.language DESC, t.position DESC LIMIT ?`
)

// pages are the statements of the three lists in an engine's dialect, for all
// languages and for one.
type pages struct{ all, agent, tag, allIn, agentIn, tagIn string }

func sqlitePages() pages {
	return pagesBy(sqliteJoin, sqliteLanguage, func(index string) string { return " INDEXED BY " + index })
}

func postgresPages() pages {
	return pagesBy(postgresJoin, postgresLanguage, func(string) string { return "" })
}

func pagesBy(join, inLanguage string, by func(index string) string) pages {
	return pages{
		all: fromTimeline + join + ofAll, agent: fromTimeline + join + ofAgent, tag: fromTag + join + ofTag,
		allIn:   fromTimeline + by("timeline_by_language") + join + ` WHERE ` + inLanguage,
		agentIn: fromTimeline + by("timeline_by_agent_language") + join + ` WHERE t.agent_id = ? AND ` + inLanguage,
		tagIn:   fromTag + by("tag_timeline_by_language") + join + ` WHERE t.tag = ? AND ` + inLanguage,
	}
}

// of chooses the statement for a range and its values.
func (p pages) of(q journal.Range, before int64) (query string, args []any) {
	query, in := p.all, p.allIn
	switch {
	case q.Agent != "":
		query, in, args = p.agent, p.agentIn, []any{string(q.Agent)}
	case q.Tag != "":
		query, in, args = p.tag, p.tagIn, []any{q.Tag}
	}
	if q.Language != "" {
		return in, append(args, q.Language, before, q.Language, q.Limit)
	}
	return query, append(args, before, q.Limit)
}

// PublicEntries returns a page of public entries, newest arrival first, in one
// statement.
func (s *Store) PublicEntries(ctx context.Context, q journal.Range) ([]journal.PublicEntry, error) {
	before := q.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	if !storable(string(q.Agent)) || !storable(q.Tag) || !storable(q.Language) || q.Limit < 1 {
		return nil, nil
	}
	query, args := s.engine.pages.of(q, before)
	page := make([]journal.PublicEntry, 0, min(q.Limit, 256))
	err := each(s.read, ctx, query, args, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		page = append(page, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read public entries: %w", err)
	}
	return page, nil
}

// storable tells whether a text can stand in the database at all: PostgreSQL
// refuses a statement with any other value in it.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// scanEntry reads entryColumns and whatever columns follow them. What the
// entry says is parsed from the signed bytes and nothing else.
func scanEntry(rows *sql.Rows, more ...any) (journal.PublicEntry, error) {
	var e journal.PublicEntry
	var created int64
	var raw []byte
	var key string
	var revoked sql.NullInt64
	dest := []any{
		&e.EntryID, &e.AuthorID, &e.DisplayName, &e.FirstKeyID, &e.Language, &created, &e.Position,
		&raw, &e.Signed.CanonicalEnvelope, &e.Signed.CanonicalEntry, &key, &revoked,
	}
	if err := rows.Scan(append(dest, more...)...); err != nil {
		return e, err
	}
	e.CreatedAt, e.Signed.KeyRevokedAt = fromMillis(created), fromMillisOrZero(revoked)
	var err error
	if e.Signed.Signature, err = signature(raw); err != nil {
		return e, err
	}
	if e.Signed.Key, err = seal.TrustedPublicKey(key); err != nil {
		return e, err
	}
	e.Entry, err = seal.ParseEntry(e.Signed.CanonicalEntry)
	return e, err
}

// PublicEntry returns one active public entry with its neighbours.
func (s *Store) PublicEntry(ctx context.Context, id journal.EntryID) (journal.PublicEntry, error) {
	if !id.Valid() {
		return journal.PublicEntry{}, journal.ErrNotFound
	}
	e, err := s.publicEntry(ctx, id)
	if _, withdrawn := journal.AsFault(err); withdrawn || errors.Is(err, journal.ErrNotFound) {
		return journal.PublicEntry{}, err
	}
	if err == nil {
		e.Earlier, err = s.neighbour(ctx, e, earlierEntry)
	}
	if err == nil {
		e.Later, err = s.neighbour(ctx, e, laterEntry)
	}
	if err != nil {
		return journal.PublicEntry{}, fmt.Errorf("read public entry: %w", err)
	}
	return e, nil
}

// publicEntry reads the entry with its key's successor: a key and the one that
// it was rotated to bear one time.
func (s *Store) publicEntry(ctx context.Context, id journal.EntryID) (e journal.PublicEntry, err error) {
	found := false
	err = each(s.read, ctx, `SELECT `+entryColumns+`, n.key_id IS NOT NULL FROM entries e
JOIN agents a ON a.agent_id = e.agent_id
JOIN agent_keys k ON k.agent_id = e.agent_id AND k.key_id = e.key_id
LEFT JOIN agent_keys n ON n.agent_id = k.agent_id AND n.kind = 'rotated' AND n.created_at = k.revoked_at
WHERE e.entry_id = ? AND e.visibility = 'public' AND e.status = 'active' AND a.suspended_at IS NULL`,
		[]any{string(id)}, func(rows *sql.Rows) (err error) {
			found = true
			gone := false
			e, err = scanEntry(rows, &gone)
			e.Signed.KeyRetired = gone
			return err
		})
	if err != nil || found {
		return e, err
	}
	return e, s.withdrawal(ctx, id)
}

// withdrawal tells why a public entry cannot be read, and nothing of it.
func (s *Store) withdrawal(ctx context.Context, id journal.EntryID) error {
	var created int64
	var at, suspended sql.NullInt64
	var by sql.NullString
	found, err := s.read.one(ctx, `SELECT e.created_at, e.withdrawn_at, e.withdrawn_by, a.suspended_at
FROM entries e JOIN agents a ON a.agent_id = e.agent_id
WHERE e.entry_id = ? AND e.visibility = 'public'`, []any{string(id)}, &created, &at, &by, &suspended)
	switch {
	case err != nil:
		return err
	case !found:
		return journal.ErrNotFound
	}
	w := &journal.Withdrawal{EntryID: id, PublishedAt: fromMillis(created), By: by.String}
	if w.WithdrawnAt = fromMillisOrZero(at); !at.Valid {
		w.WithdrawnAt = fromMillisOrZero(suspended)
	}
	if !by.Valid {
		w.By = "operator"
	}
	fault := journal.Refuse(journal.EntryWithdrawn, "this entry was public and has been withdrawn")
	fault.Withdrawal = w
	return fault
}

const (
	earlierEntry = ` WHERE t.agent_id = ? AND t.position < ? ORDER BY t.position DESC LIMIT 1`
	laterEntry   = ` WHERE t.agent_id = ? AND t.position > ? ORDER BY t.position LIMIT 1`
)

func (s *Store) neighbour(ctx context.Context, of journal.PublicEntry, side string) (*journal.Neighbour, error) {
	var n journal.Neighbour
	var canonical []byte
	query := `SELECT e.entry_id, e.canonical_entry FROM timeline t` + s.engine.join + side
	found, err := s.read.one(ctx, query, []any{string(of.AuthorID), of.Position}, &n.EntryID, &canonical)
	if err != nil || !found {
		return nil, err
	}
	e, err := seal.ParseEntry(canonical)
	n.Title = e.Title
	return &n, err
}
