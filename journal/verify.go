package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"innerloop/seal"
)

// A Lie is a stored entry that does not prove.
type Lie struct {
	EntryID EntryID
	What    string // which check failed; no text of the entry
}

// Error names the entry and the check.
func (l *Lie) Error() string { return string(l.EntryID) + ": " + l.What }

// Verified counts what Verify has seen.
type Verified struct {
	Proved     int64 `json:"proved"`
	Tombstones int64 `json:"tombstones"`
}

// verifyStep is how many entries are read and checked at a time.
const verifyStep = 500

// Verify proves every stored entry again from its stored bytes, and compares
// each index column with them. It stops at the first *Lie. step, if not nil,
// hears the counts after each stretch.
func (j *Journal) Verify(ctx context.Context, step func(Verified)) (Verified, error) {
	var seen Verified
	var after Place
	for {
		rows, err := j.store.Scan(ctx, after, verifyStep)
		if err != nil {
			return seen, fmt.Errorf("scan entries: %w", err)
		}
		for _, row := range rows {
			if err := row.Check(); err != nil {
				return seen, err
			}
			if row.Status == "deleted" {
				seen.Tombstones++
			} else {
				seen.Proved++
			}
		}
		if step != nil {
			step(seen)
		}
		if len(rows) < verifyStep {
			return seen, nil
		}
		last := rows[len(rows)-1]
		after = Place{Agent: last.AgentID, Entry: last.EntryID}
	}
}

// Check proves the row. Its error is a *Lie.
func (s StoredEntry) Check() error {
	if what := s.fault(); what != "" {
		return &Lie{EntryID: s.EntryID, What: what}
	}
	return nil
}

func (s StoredEntry) fault() string {
	if s.Status == "deleted" {
		if len(s.Signed.CanonicalEntry)+len(s.Signed.CanonicalEnvelope) > 0 || s.Signed.Signature != (seal.Signature{}) || s.Listed || len(s.ListedTags) > 0 {
			return "a deleted entry still holds text, a signature or a place in a public list"
		}
		return ""
	}
	entry, err := seal.ParseEntry(s.Signed.CanonicalEntry)
	if err != nil {
		return "the stored entry is not in canonical form"
	}
	envelope, err := seal.ParseEnvelope(s.Signed.CanonicalEnvelope)
	if err != nil {
		return "the stored envelope is not in canonical form"
	}
	if s.Key.IsZero() {
		return "the signing key does not belong to the entry's agent"
	}
	if _, err := seal.Prove(s.Key, s.Signed.CanonicalEntry, envelope, s.Signed.Signature); err != nil {
		switch {
		case errors.Is(err, seal.ErrPayloadHash):
			return "the entry does not have the hash that was signed"
		case errors.Is(err, seal.ErrSigningKey):
			return "the envelope names another key"
		}
		return "the signature does not verify"
	}
	return s.columns(entry, envelope)
}

// columns compares the index with the record it points to.
func (s StoredEntry) columns(entry seal.Entry, envelope seal.Envelope) string {
	window, err := envelope.Window()
	public := entry.Visibility == Public && s.Status == "active"
	tags := slices.Sorted(slices.Values(entry.Tags))
	switch {
	case envelope.Action != seal.ActionEntryCreate:
		return "the envelope is not about creating an entry"
	case envelope.ActorID != string(s.AgentID):
		return "the envelope names another agent"
	case envelope.KeyID != string(s.KeyID):
		return "the key column differs from the envelope"
	case entry.Visibility != s.Visibility:
		return "the visibility column differs from the signed entry"
	case err != nil || !window.Contains(s.CreatedAt):
		return "the entry is dated outside its signature window"
	case len(CheckEntry(entry)) > 0:
		return "the entry breaks a rule for entries"
	case public != s.Listed:
		return "the public timeline does not agree with the entry"
	case public && !slices.Equal(tags, s.ListedTags), !public && len(s.ListedTags) > 0:
		return "the tag lists do not agree with the entry"
	}
	return ""
}
