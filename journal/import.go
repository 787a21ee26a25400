package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"innerloop/internal/archive"
	"innerloop/seal"
)

// importBatch is how many entries are stored by few statements.
const importBatch = 200

// Import takes an archive in (decisions D.6): everything in it is verified
// first, and then stored in one transaction. Windows, used nonces and limits
// are not looked at; signatures, chains of keys, dates and rules are. Ids,
// times, tombstones and the history of keys stay as they were. An error of the
// file is an *archive.Refused. step, if not nil, hears how many entries are
// stored.
func (j *Journal) Import(ctx context.Context, file io.ReaderAt, size int64, step func(entries int64)) (archive.Counts, error) {
	p := &importPlan{file: file}
	counts, err := archive.Verify(io.NewSectionReader(file, 0, size), p.take)
	if err == nil {
		err = p.pins()
	}
	if err != nil {
		return counts, err
	}
	p.sort()
	err = j.store.Import(ctx, func(in Intake) error { return j.fill(ctx, p, in, step) })
	if err != nil {
		return counts, fmt.Errorf("import: %w", err)
	}
	return counts, nil
}

// importPlan is what is kept of a file between verifying and storing it: the
// agents, and where the entries stand.
type importPlan struct {
	file    io.ReaderAt
	agents  []importedAgent
	entries []importedPlace
}

type importedAgent struct {
	AgentRecord
	at     archive.Place
	pinned bool // the pinned entry was found
}

// importedPlace orders entries as they arrived.
type importedPlace struct {
	archive.Place
	created int64 // unix milliseconds
	id      string
}

func (p *importPlan) take(at archive.Place, r archive.Record) error {
	var last *importedAgent
	if len(p.agents) > 0 {
		last = &p.agents[len(p.agents)-1]
	}
	switch r := r.(type) {
	case archive.Agent:
		switch {
		case len(CheckDisplayName(r.DisplayName)) > 0:
			return archive.Break(at, r, archive.NameRules)
		case !lawfulProfile(r):
			return archive.Break(at, r, archive.ProfileRules)
		}
		p.agents = append(p.agents, importedAgent{AgentRecord: AgentRecord{Agent: r}, at: at})
	case archive.Key:
		last.Keys = append(last.Keys, r)
	case archive.Entry:
		if misdated(r.EntryID, r.CreatedAt) {
			return archive.Break(at, r, archive.Dates)
		}
		entry, err := seal.ParseEntry(r.Canonical)
		if err != nil || len(CheckEntry(entry)) > 0 {
			return archive.Break(at, r, archive.EntryRules)
		}
		if pin := last.Agent.PinnedEntryID; pin != nil && *pin == r.EntryID {
			last.pinned = entry.Visibility == Public && r.HiddenAt.IsZero()
		}
		p.entries = append(p.entries, importedPlace{at, r.CreatedAt.UnixMilli(), r.EntryID})
	case archive.Tombstone:
		if misdated(r.EntryID, r.CreatedAt) {
			return archive.Break(at, r, archive.Dates)
		}
		p.entries = append(p.entries, importedPlace{at, r.CreatedAt.UnixMilli(), r.EntryID})
	}
	return nil
}

// misdated holds for an entry that came at another time than its id says.
func misdated(id string, at time.Time) bool {
	return StoredEntry{EntryID: EntryID(id), CreatedAt: at}.misdated()
}

// lawfulProfile applies the rules of protocol 3.5.
func lawfulProfile(a archive.Agent) bool {
	var c checks
	for _, field := range []struct {
		text    *string
		longest int
	}{{a.Bio, BioMax}, {a.Purpose, PurposeMax}, {a.OwnerURL, OwnerURLMax}} {
		if field.text != nil {
			c.words("profile", *field.text, field.longest)
		}
	}
	return len(c.list) == 0 &&
		(a.Purpose == nil || oneLine(*a.Purpose)) &&
		(a.OwnerURL == nil || lawfulURL(*a.OwnerURL)) &&
		(a.PinnedEntryID == nil || EntryID(*a.PinnedEntryID).Valid())
}

func (p *importPlan) pins() error {
	for _, a := range p.agents {
		if a.Agent.PinnedEntryID != nil && !a.pinned {
			return archive.Break(a.at, a.Agent, archive.UnknownPin)
		}
	}
	return nil
}

func (p *importPlan) sort() {
	slices.SortFunc(p.entries, func(a, b importedPlace) int {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
	})
}

// fill reads the file again in the order in which its entries arrived. The
// store takes proven entries alone, so each is proved once more.
func (j *Journal) fill(ctx context.Context, p *importPlan, in Intake, step func(int64)) error {
	keys := map[KeyID]seal.PublicKey{}
	for _, a := range p.agents {
		if err := in.Agent(ctx, a.AgentRecord); err != nil {
			return named(err, a.at, a.Agent)
		}
		for _, k := range a.Keys {
			keys[KeyID(k.Key.ID())] = k.Key
		}
	}
	for start := 0; start < len(p.entries); start += importBatch {
		places := p.entries[start:min(start+importBatch, len(p.entries))]
		batch := make([]ImportedEntry, 0, len(places))
		for _, at := range places {
			e, err := j.imported(p.file, at, keys)
			if err != nil {
				return err
			}
			batch = append(batch, e)
		}
		if err := in.Entries(ctx, batch); err != nil {
			return named(err, places[0].Place, archive.Tombstone{EntryID: places[0].id})
		}
		if step != nil {
			step(int64(start + len(places)))
		}
	}
	return nil
}

func named(err error, at archive.Place, r archive.Record) error {
	if errors.Is(err, ErrStored) {
		return archive.Break(at, r, archive.AlreadyStored)
	}
	return err
}

func (j *Journal) imported(file io.ReaderAt, at importedPlace, keys map[KeyID]seal.PublicKey) (ImportedEntry, error) {
	line := make([]byte, at.Length)
	if _, err := file.ReadAt(line, at.Offset); err != nil {
		return ImportedEntry{}, fmt.Errorf("read archive again: %w", err)
	}
	record, err := archive.Parse(line)
	if err != nil {
		return ImportedEntry{}, archive.Break(at.Place, archive.Tombstone{EntryID: at.id}, archive.Form)
	}
	switch r := record.(type) {
	case archive.Tombstone:
		e := ImportedEntry{Status: "deleted", WithdrawnAt: r.DeletedAt, KeyID: KeyID(r.KeyID)}
		e.NewEntry = NewEntry{AgentID: AgentID(r.AgentID), EntryID: EntryID(r.EntryID), CreatedAt: r.CreatedAt, Language: "und"}
		e.Entry.Visibility = r.Visibility
		return e, nil
	case archive.Entry:
		return j.importedEntry(at, r, keys)
	}
	return ImportedEntry{}, archive.Break(at.Place, record, archive.Form)
}

func (j *Journal) importedEntry(at importedPlace, r archive.Entry, keys map[KeyID]seal.PublicKey) (ImportedEntry, error) {
	envelope, err := seal.ParseEnvelope(r.Envelope)
	if err != nil {
		return ImportedEntry{}, archive.Break(at.Place, r, archive.Form)
	}
	proven, err := seal.Prove(keys[KeyID(envelope.KeyID)], r.Canonical, envelope, r.Signature)
	if err != nil {
		return ImportedEntry{}, archive.Break(at.Place, r, archive.Signature)
	}
	entry, err := seal.ParseEntry(r.Canonical)
	if err != nil {
		return ImportedEntry{}, archive.Break(at.Place, r, archive.Form)
	}
	e := ImportedEntry{Status: "active", WithdrawnAt: r.HiddenAt, KeyID: KeyID(envelope.KeyID)}
	if !r.HiddenAt.IsZero() {
		e.Status = "hidden"
	}
	e.NewEntry = NewEntry{
		Proven: proven, Entry: entry, AgentID: AgentID(r.AgentID), EntryID: EntryID(r.EntryID), CreatedAt: r.CreatedAt,
		Language: j.language(entry.Title + "\n" + entry.Body), Nonce: Digest(sha256.Sum256([]byte(envelope.Nonce))),
	}
	return e, nil
}
