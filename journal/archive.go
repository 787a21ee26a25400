package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"innerloop/internal/archive"
)

// What an archive holds of an agent, as the leaf writes it.
type (
	ArchivedAgent   = archive.Agent
	ArchivedKey     = archive.Key
	ArchivedRequest = archive.Request
	ArchivedPending = archive.Pending
)

// ErrStored is what an Intake answers for an agent, key or entry that the
// store has already.
var ErrStored = errors.New("journal: stored already")

// An AgentRecord is an agent with every key it ever had, oldest first.
type AgentRecord struct {
	Agent ArchivedAgent
	Keys  []ArchivedKey
}

// An ImportedEntry is an entry from an archive. Of a tombstone the Proven, the
// Nonce and the text are zero; Entry.Visibility is set always.
type ImportedEntry struct {
	NewEntry
	Status      string    // "active", "hidden" or "deleted"
	WithdrawnAt time.Time // zero while active
	KeyID       KeyID     // that signed
}

// Archives writes and takes in whole journals.
type Archives interface {
	// AgentIDs returns the ids of agents in order, after one of them.
	AgentIDs(ctx context.Context, after AgentID, limit int) ([]AgentID, error)
	// AgentRecord returns an agent with its keys; ErrNotFound for an unknown
	// one.
	AgentRecord(ctx context.Context, id AgentID) (AgentRecord, error)
	// Import runs fill in one transaction: all that it hands over is stored
	// when it returns nil and the commit succeeds, nothing otherwise.
	Import(ctx context.Context, fill func(Intake) error) error
}

// An Intake takes an archive in; ErrStored for what is there already.
type Intake interface {
	Agent(ctx context.Context, r AgentRecord) error
	// Entries stores entries in the order given, which is that of their public
	// positions. Their agents were handed over before.
	Entries(ctx context.Context, batch []ImportedEntry) error
}

// An Export is a page of the signer's whole journal: its first pages hold the
// agent and its keys as lines of an archive.
type Export struct {
	OwnerPage
	ExportedAt time.Time
	Agent      json.RawMessage
	Keys       []json.RawMessage
}

// exportKeyBytes is how much of a page keys may take.
const exportKeyBytes = 400_000

// ExportEntries returns a page of the signer's journal for export.
func (j *Journal) ExportEntries(ctx context.Context, r OwnerRequest) (Export, error) {
	x := Export{ExportedAt: j.clock()}
	q, l, err := j.ownerRange(ctx, r, OwnerExportMax, func(c *checks, _ *OwnerRange) { r.oneOf(c, "format", "json") })
	if err != nil {
		return x, err
	}
	after, size := KeyID(q.Before), 0
	if q.Before == "" || after.Valid() {
		q.Before = ""
		var next KeyID
		if size, next, err = j.exportKeys(ctx, q.Agent, after, &x); err != nil {
			return x, err
		}
		if next != "" {
			x.NextCursor = j.entryCursor(l, EntryID(next))
			return x, nil
		}
	}
	x.OwnerPage, err = j.ownerPage(ctx, q, l, size)
	return x, err
}

// exportKeys adds the agent, on the first page, and its keys after one of
// them. next is where another page has to go on.
func (j *Journal) exportKeys(ctx context.Context, agent AgentID, after KeyID, x *Export) (size int, next KeyID, err error) {
	record, err := j.store.AgentRecord(ctx, agent)
	if err != nil {
		return 0, "", fmt.Errorf("read agent record: %w", err)
	}
	keys := record.Keys
	if after == "" {
		x.Agent = record.Agent.Line()
		size = len(x.Agent)
	} else {
		for len(keys) > 0 && keys[0].Key.ID() != string(after) {
			keys = keys[1:]
		}
		keys = keys[min(1, len(keys)):]
	}
	for _, k := range keys {
		line := k.Line()
		if len(x.Keys) > 0 && size+len(line) > exportKeyBytes {
			return size, next, nil
		}
		x.Keys, size, next = append(x.Keys, line), size+len(line)+1, KeyID(k.Key.ID())
	}
	return size, "", nil
}

// exportStep is how many agents or entries are read at a time.
const exportStep = 200

// Export writes every agent with its journal to w, in the order of ids, and
// each agent's entries newest first. step, if not nil, hears the counts after
// each stretch.
func (j *Journal) Export(ctx context.Context, w io.Writer, step func(archive.Counts)) (archive.Counts, error) {
	out := archive.NewWriter(w)
	for after := AgentID(""); ; {
		ids, err := j.store.AgentIDs(ctx, after, exportStep)
		if err != nil {
			return archive.Counts{}, fmt.Errorf("read agents: %w", err)
		}
		for _, id := range ids {
			if err := j.exportAgent(ctx, out, id); err != nil {
				return archive.Counts{}, err
			}
			after = id
		}
		if step != nil {
			step(out.Counts())
		}
		if len(ids) < exportStep {
			return out.End()
		}
	}
}

// exportAgent reads the first entries before the keys: whatever key signed
// them is then among the keys.
func (j *Journal) exportAgent(ctx context.Context, out *archive.Writer, id AgentID) error {
	q := OwnerRange{Agent: id, IncludeDeleted: true, Limit: exportStep}
	page, err := j.store.OwnerEntries(ctx, q)
	if err != nil {
		return fmt.Errorf("read entries: %w", err)
	}
	record, err := j.store.AgentRecord(ctx, id)
	if err != nil {
		return fmt.Errorf("read agent record: %w", err)
	}
	if err := out.Write(record.Agent); err != nil {
		return err
	}
	for _, k := range record.Keys {
		if err := out.Write(k); err != nil {
			return err
		}
	}
	for {
		for _, e := range page {
			if err := out.Write(e.archived()); err != nil {
				return err
			}
		}
		if len(page) < exportStep {
			return nil
		}
		q.Before = page[len(page)-1].EntryID
		if page, err = j.store.OwnerEntries(ctx, q); err != nil {
			return fmt.Errorf("read entries: %w", err)
		}
	}
}

func (e OwnerEntry) archived() archive.Record {
	if e.Status == "deleted" {
		return archive.Tombstone{
			EntryID: string(e.EntryID), AgentID: string(e.AuthorID), Visibility: e.Visibility,
			KeyID: string(e.KeyID), CreatedAt: e.CreatedAt, DeletedAt: e.WithdrawnAt,
		}
	}
	return archive.Entry{
		EntryID: string(e.EntryID), AgentID: string(e.AuthorID), CreatedAt: e.CreatedAt, HiddenAt: e.WithdrawnAt,
		Canonical: e.Signed.CanonicalEntry, Envelope: e.Signed.CanonicalEnvelope, Signature: e.Signed.Signature, Key: e.Signed.Key,
	}
}
