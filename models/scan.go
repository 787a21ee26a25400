package models

import (
	"context"
	"database/sql"
	"fmt"

	"innerloop/journal"
	"innerloop/seal"
)

const selectStored = `SELECT e.agent_id, e.entry_id, e.visibility, e.status, e.created_at, e.language, e.key_id, e.position,
e.signature, e.canonical_envelope, e.canonical_entry, k.public_key, k.revoked_at, t.position, a.first_key_id
FROM entries e
LEFT JOIN agents a ON a.agent_id = e.agent_id
LEFT JOIN agent_keys k ON k.agent_id = e.agent_id AND k.key_id = e.key_id
LEFT JOIN timeline t ON t.position = e.position AND t.agent_id = e.agent_id AND t.entry_id = e.entry_id
WHERE (e.agent_id, e.entry_id) > (?, ?)
ORDER BY e.agent_id, e.entry_id LIMIT ?`

// Scan returns stored entries in key order after a place, tombstones included.
func (s *Store) Scan(ctx context.Context, after journal.Place, limit int) ([]journal.StoredEntry, error) {
	var page []journal.StoredEntry
	at := map[int64]int{} // position to index in page
	err := each(s.read, ctx, selectStored, []any{string(after.Agent), string(after.Entry), limit}, func(rows *sql.Rows) error {
		e, position, err := scanStored(rows)
		if position.Valid {
			at[position.Int64] = len(page)
		}
		page = append(page, e)
		return err
	})
	if err == nil {
		err = s.scanTags(ctx, page, at)
	}
	if err != nil {
		return nil, fmt.Errorf("scan entries: %w", err)
	}
	return page, nil
}

func scanStored(rows *sql.Rows) (e journal.StoredEntry, position sql.NullInt64, err error) {
	var created int64
	var raw []byte
	var key, first sql.NullString
	var revoked, listed sql.NullInt64
	err = rows.Scan(&e.AgentID, &e.EntryID, &e.Visibility, &e.Status, &created, &e.Language, &e.KeyID, &position,
		&raw, &e.Signed.CanonicalEnvelope, &e.Signed.CanonicalEntry, &key, &revoked, &listed, &first)
	if err != nil {
		return e, position, err
	}
	e.CreatedAt, e.Listed, e.FirstKeyID = fromMillis(created), listed.Valid, journal.KeyID(first.String)
	// A key or signature that cannot be read is none: verification reports it.
	if public, unusable := seal.TrustedPublicKey(key.String); unusable == nil {
		e.Key = public
	}
	if raw == nil { // a tombstone, if the rest is gone too
		return e, position, nil
	}
	e.Signed.Key, e.Signed.KeyRevokedAt = e.Key, fromMillisOrZero(revoked)
	if signed, unusable := signature(raw); unusable == nil {
		e.Signed.Signature = signed
	}
	return e, position, nil
}

// selectStrays are the rows of each public list that no entry accounts for.
// Private entries have no position, so none of them accounts for a row.
var selectStrays = [...]string{strayIn("timeline"), strayIn("tag_timeline")}

func strayIn(list string) string {
	return `SELECT t.entry_id FROM ` + list + ` t LEFT JOIN entries e
ON e.agent_id = t.agent_id AND e.entry_id = t.entry_id AND e.position = t.position AND e.status = 'active' AND e.language = t.language
WHERE e.entry_id IS NULL LIMIT 1`
}

// Stray returns the id in a row of a public list that no active public entry
// at that place accounts for.
func (s *Store) Stray(ctx context.Context) (journal.EntryID, error) {
	return s.firstOf(ctx, append(selectStrays[:], s.engine.words.stray)...)
}

// Lost returns the id in a receipt that no entry accounts for.
func (s *Store) Lost(ctx context.Context) (journal.EntryID, error) {
	return s.firstOf(ctx, `SELECT r.entry_id FROM entry_receipts r LEFT JOIN entries e
ON e.agent_id = r.agent_id AND e.entry_id = r.entry_id AND e.visibility = r.visibility AND e.created_at = r.created_at
WHERE e.entry_id IS NULL LIMIT 1`)
}

// Twin returns the id of an entry that holds the signature of another. A nonce
// serves once, so no two entries were ever signed alike.
func (s *Store) Twin(ctx context.Context) (journal.EntryID, error) {
	return s.firstOf(ctx, `SELECT max(entry_id) FROM entries WHERE signature IS NOT NULL
GROUP BY signature HAVING min(entry_id) <> max(entry_id) LIMIT 1`)
}

// firstOf returns the first id that any of the queries finds.
func (s *Store) firstOf(ctx context.Context, queries ...string) (journal.EntryID, error) {
	for _, query := range queries {
		var id journal.EntryID
		found, err := s.read.one(ctx, query, nil, &id)
		switch {
		case err != nil:
			return "", fmt.Errorf("look for rows that lie: %w", err)
		case found:
			return id, nil
		}
	}
	return "", journal.ErrNotFound
}

// scanTags fills ListedTags from the tag rows at the positions of a page,
// whatever tags they are under.
func (s *Store) scanTags(ctx context.Context, page []journal.StoredEntry, at map[int64]int) error {
	positions := make([]any, 0, len(at))
	for p := range at {
		positions = append(positions, p)
	}
	for start, n := 0, 0; start < len(positions); start += n {
		n = chunk(len(positions) - start)
		query := `SELECT position, tag, agent_id, entry_id FROM tag_timeline WHERE position IN (` + marks(n) + `) ORDER BY tag`
		err := each(s.read, ctx, query, positions[start:start+n], func(rows *sql.Rows) error {
			var position int64
			var tag string
			var place journal.Place
			if err := rows.Scan(&position, &tag, &place.Agent, &place.Entry); err != nil {
				return err
			}
			if e := &page[at[position]]; e.AgentID == place.Agent && e.EntryID == place.Entry {
				e.ListedTags = append(e.ListedTags, tag)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
