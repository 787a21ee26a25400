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

// Verify proves every stored entry again from its stored bytes and the proofs
// of its key, compares each index column with them, and looks for rows of
// public lists and receipts that no entry accounts for. It stops at the first
// *Lie. step, if not nil, hears the counts after each stretch.
func (j *Journal) Verify(ctx context.Context, step func(Verified)) (Verified, error) {
	var seen Verified
	var after Place
	var keys vouching
	for {
		rows, err := j.store.Scan(ctx, after, verifyStep)
		if err != nil {
			return seen, fmt.Errorf("scan entries: %w", err)
		}
		for _, row := range rows {
			row, err := j.proved(ctx, after, row)
			if err != nil {
				return seen, err
			}
			after = Place{Agent: row.AgentID, Entry: row.EntryID}
			if row.Status == "deleted" {
				seen.Tombstones++
				continue
			}
			switch own, err := j.vouched(ctx, &keys, row); {
			case err != nil:
				return seen, err
			case !own:
				return seen, &Lie{EntryID: row.EntryID, What: "no chain of proofs leads from the agent's first key to the one that signed"}
			}
			seen.Proved++
		}
		if step != nil {
			step(seen)
		}
		if len(rows) < verifyStep {
			return seen, j.accounted(ctx)
		}
	}
}

// proved checks the row that follows after. A row and its places in the lists
// are read one after the other, so a withdrawal between the two looks like a
// lie; a lie looks the same twice.
func (j *Journal) proved(ctx context.Context, after Place, row StoredEntry) (StoredEntry, error) {
	lie := row.Check()
	if lie == nil {
		return row, nil
	}
	again, err := j.store.Scan(ctx, after, 1)
	if err != nil {
		return row, fmt.Errorf("scan entries: %w", err)
	}
	if len(again) == 0 {
		return row, lie
	}
	return again[0], again[0].Check()
}

// accounted looks for what the store holds beside its entries and no entry
// accounts for.
func (j *Journal) accounted(ctx context.Context) error {
	for _, look := range []struct {
		find func(context.Context) (EntryID, error)
		what string
	}{
		{j.store.Stray, "a public list shows it, and it is not a public entry at that place"},
		{j.store.Lost, "its receipt is there, and no entry of that id, visibility and time"},
		{j.store.Twin, "it holds the signature of another entry"},
	} {
		switch id, err := look.find(ctx); {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return fmt.Errorf("scan lists and receipts: %w", err)
		default:
			return &Lie{EntryID: id, What: look.what}
		}
	}
	return nil
}

// Check proves the row. Its error is a *Lie.
func (s StoredEntry) Check() error {
	if what := s.fault(); what != "" {
		return &Lie{EntryID: s.EntryID, What: what}
	}
	return nil
}

func (s StoredEntry) fault() string {
	if what := s.identity(); what != "" {
		return what
	}
	if s.Status == "deleted" {
		if len(s.Signed.CanonicalEntry)+len(s.Signed.CanonicalEnvelope) > 0 || s.Signed.Signature != (seal.Signature{}) || s.Listed || len(s.ListedTags) > 0 {
			return "a deleted entry still holds text, a signature or a place in a public list"
		}
		if s.misdated() {
			return wrongDate
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

// identity checks what a row says of itself, a tombstone too.
func (s StoredEntry) identity() string {
	switch {
	case !s.AgentID.Valid() || !s.EntryID.Valid():
		return "an id does not have the form of an id"
	case s.Status != "active" && s.Status != "hidden" && s.Status != "deleted":
		return "the status is not one that there is"
	}
	return ""
}

// misdated holds for an entry that came at another time than its id says.
func (s StoredEntry) misdated() bool {
	at, dated := s.EntryID.madeAt()
	return dated && !at.Equal(s.CreatedAt)
}

const wrongDate = "the entry is dated at another time than its id"

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
	case s.misdated():
		return wrongDate
	}
	return ""
}
