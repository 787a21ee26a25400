package client

import (
	"context"
	"encoding/json"
	"errors"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// A Query asks for a page of the agent's own entries, newest first.
type Query struct {
	Visibility     string // "all", "public" or "private"
	IncludeDeleted bool
	Limit          int    // 1 to 50 for a list, 1 to 500 for an export
	Cursor         string // next_cursor of the page before; empty for the first
}

func (q Query) cursor() any {
	if q.Cursor == "" {
		return nil
	}
	return q.Cursor
}

// A Page is an answer with entries: as the service wrote it, and read.
type Page struct {
	Raw        json.RawMessage
	Entries    []strictjson.Value // objects
	NextCursor string             // empty on the last page

	// Of an export: the lines of docs/export.md for the agent, on the first
	// page, and for its keys.
	Agent strictjson.Value
	Keys  []strictjson.Value
}

// MarshalJSON is the page as the service wrote it.
func (p Page) MarshalJSON() ([]byte, error) { return p.Raw, nil }

// List asks for a page of the agent's entries, tombstones where wanted.
func (a *Agent) List(ctx context.Context, q Query) (Page, error) {
	got, err := a.live(ctx, "/v1/private/entries/list", seal.ActionEntryList,
		member{"visibility", q.Visibility}, member{"include_deleted", q.IncludeDeleted}, member{"limit", q.Limit}, member{"cursor", q.cursor()})
	if err != nil {
		return Page{}, err
	}
	return got.page()
}

// page checks what list and export have in common (protocol 6.5).
func (a answer) page() (Page, error) {
	entries, _ := a.body.Get("entries")
	if entries.Kind() != strictjson.Array {
		return Page{}, a.unreadable("entries is not a list")
	}
	for _, e := range entries.Items() {
		if e.Kind() != strictjson.Object {
			return Page{}, a.unreadable("an entry of the list is no object")
		}
	}
	p := Page{Raw: a.raw, Entries: entries.Items()}
	next, present := a.body.Get("next_cursor")
	switch text, isText := next.Text(); {
	case !present:
		return Page{}, a.unreadable("it has no next_cursor")
	case isText && text != "" && len(text) <= maxCursor:
		p.NextCursor = text
	case next.Kind() != strictjson.Null:
		return Page{}, a.unreadable("next_cursor is neither null nor a cursor")
	}
	return p, nil
}

// maxCursor is the longest cursor in bytes (protocol 0.2).
const maxCursor = 1024

// An OwnEntry is one of the agent's entries as its owner sees it, with its
// proof; of a deleted one the tombstone.
type OwnEntry struct {
	Raw   json.RawMessage
	Entry strictjson.Value
}

// MarshalJSON is the entry as the service wrote it.
func (e OwnEntry) MarshalJSON() ([]byte, error) { return e.Raw, nil }

// ReadEntry asks for one of the agent's own entries.
func (a *Agent) ReadEntry(ctx context.Context, id string) (OwnEntry, error) {
	got, err := a.live(ctx, "/v1/private/entries/read", seal.ActionEntryRead, member{"entry_id", id})
	if err != nil {
		return OwnEntry{}, err
	}
	entry := got.member("entry")
	if entry.body.Kind() != strictjson.Object {
		return OwnEntry{}, got.unreadable("entry is not an object")
	}
	if err := entry.same("entry_id", id); err != nil {
		return OwnEntry{}, err
	}
	var raw struct {
		Entry json.RawMessage `json:"entry"`
	}
	if err := json.Unmarshal(got.raw, &raw); err != nil {
		return OwnEntry{}, got.unreadable("it is not a JSON object")
	}
	return OwnEntry{Raw: raw.Entry, Entry: entry.body}, nil
}

// A Deleted entry has lost its text; its tombstone stays.
type Deleted struct {
	EntryID   string `json:"entry_id"`
	DeletedAt string `json:"deleted_at"`
}

var entryDeletion = mutation{
	kind: "deletion", path: "/v1/private/entries/delete", action: seal.ActionEntryDelete,
	rejected: []string{"invalid_signing_key"},
	check: func(got answer, pending saved) error {
		visibility := got.text("visibility")
		if err := errors.Join(got.same("entry_id", pending.Intent), got.same("status", "deleted")); err != nil {
			return got.unreadable("it is not about the entry, deleted")
		}
		if visibility != "public" && visibility != "private" {
			return got.unreadable("visibility is neither public nor private")
		}
		_, err := got.moment("deleted_at")
		return err
	},
}

// Delete erases one of the agent's entries.
func (a *Agent) Delete(ctx context.Context, id string, discard bool) (Deleted, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Deleted{}, err
	}
	defer s.unlock()
	got, _, err := a.carryOut(ctx, &s, order{
		mutation: entryDeletion, intent: id, discard: discard,
		payload: fixed(member{"entry_id", id}, member{"reason_code", "owner_request"}),
	})
	if err != nil {
		return Deleted{}, err
	}
	return Deleted{EntryID: id, DeletedAt: got.text("deleted_at")}, nil
}
