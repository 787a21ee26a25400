package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"innerloop/journal"
	"innerloop/seal"
)

// AgentIDs returns the ids of agents in order, after one of them.
func (s *Store) AgentIDs(ctx context.Context, after journal.AgentID, limit int) ([]journal.AgentID, error) {
	var ids []journal.AgentID
	err := each(s.read, ctx, `SELECT agent_id FROM agents WHERE agent_id > ? ORDER BY agent_id LIMIT ?`,
		[]any{string(after), limit}, func(rows *sql.Rows) error {
			var id journal.AgentID
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	return ids, nil
}

// AgentRecord returns an agent with every key it ever had, oldest first.
func (s *Store) AgentRecord(ctx context.Context, id journal.AgentID) (journal.AgentRecord, error) {
	r, err := s.agentRecord(ctx, id)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return journal.AgentRecord{}, journal.ErrNotFound
	}
	if err != nil {
		return journal.AgentRecord{}, fmt.Errorf("read agent record: %w", err)
	}
	return r, nil
}

func (s *Store) agentRecord(ctx context.Context, id journal.AgentID) (r journal.AgentRecord, err error) {
	var a agentRow
	if err := s.read.gorm.WithContext(ctx).Take(&a, "agent_id = ?", string(id)).Error; err != nil {
		return r, err
	}
	r.Agent = journal.ArchivedAgent{
		AgentID: a.AgentID, DisplayName: a.DisplayName, CreatedAt: fromMillis(a.CreatedAt), SuspendedAt: timeOf(a.SuspendedAt),
		Bio: a.Bio, Purpose: a.Purpose, OwnerURL: a.OwnerURL, PinnedEntryID: a.PinnedEntryID, UpdatedAt: timeOf(a.ProfileUpdatedAt),
	}
	err = each(s.read, ctx, `SELECT '' AS kind, 0 AS effective_at, payload, envelope, signature FROM agent_recovery WHERE agent_id = ?
UNION ALL SELECT kind, effective_at, payload, envelope, signature FROM agent_pending WHERE agent_id = ?
ORDER BY 1`, []any{string(id), string(id)}, func(rows *sql.Rows) error {
		var p journal.ArchivedPending
		var effective int64
		var row signedRow
		if err := rows.Scan(&p.Kind, &effective, &row.payload, &row.envelope, &row.signature); err != nil {
			return err
		}
		request, err := row.archived()
		if err != nil {
			return err
		}
		if p.Kind == "" {
			r.Agent.Recovery = request
			return nil
		}
		p.EffectiveAt, p.Request = fromMillis(effective), *request
		r.Agent.Pending = append(r.Agent.Pending, p)
		return nil
	})
	if err != nil {
		return r, err
	}
	r.Keys, err = s.keyRecords(ctx, id)
	return r, err
}

func (s *Store) keyRecords(ctx context.Context, id journal.AgentID) ([]journal.ArchivedKey, error) {
	var keys []journal.ArchivedKey
	err := each(s.read, ctx, `SELECT k.public_key, k.kind, k.created_at, k.revoked_at,
l.payload, l.envelope, l.signature, l.commit_payload, l.commit_envelope, l.commit_signature
FROM agent_keys k LEFT JOIN key_links l ON l.agent_id = k.agent_id AND l.key_id = k.key_id
WHERE k.agent_id = ? ORDER BY k.created_at, k.key_id`, []any{string(id)}, func(rows *sql.Rows) error {
		k := journal.ArchivedKey{AgentID: string(id)}
		var text string
		var created int64
		var revoked sql.NullInt64
		var proof, commit signedRow
		err := rows.Scan(&text, &k.Kind, &created, &revoked, &proof.payload, &proof.envelope, &proof.signature,
			&commit.payload, &commit.envelope, &commit.signature)
		if err != nil {
			return err
		}
		k.CreatedAt, k.RevokedAt = fromMillis(created), fromMillisOrZero(revoked)
		if k.Key, err = seal.TrustedPublicKey(text); err != nil {
			return err
		}
		if k.Proof, err = proof.archived(); err != nil {
			return err
		}
		k.Commitment, err = commit.archived()
		keys = append(keys, k)
		return err
	})
	return keys, err
}

// archived is the request as an archive holds it, nil when the columns are.
func (r signedRow) archived() (*journal.ArchivedRequest, error) {
	if r.signature == nil {
		return nil, nil
	}
	raw, err := signature(r.signature)
	return &journal.ArchivedRequest{Payload: string(r.payload), Envelope: string(r.envelope), Signature: raw}, err
}

// Import runs fill in one transaction.
func (s *Store) Import(ctx context.Context, fill func(journal.Intake) error) error {
	return s.write.inTransaction(ctx, func(tx *transaction) error {
		in := &intake{events: events{tx: tx}, unseen: map[journal.AgentID]bool{}}
		if err := fill(in); err != nil {
			return err
		}
		return in.events.flush(ctx)
	})
}

// intake stores an archive inside one transaction.
type intake struct {
	events events
	unseen map[journal.AgentID]bool // agents that came suspended
}

// refusedTwice turns the clash of an insert into what an Intake promises.
func refusedTwice(made int64, err error) error {
	if err == nil && made == 0 {
		return journal.ErrStored
	}
	return err
}

// Agent stores an agent with its keys and what waits for it.
func (in *intake) Agent(ctx context.Context, r journal.AgentRecord) error {
	a, tx := r.Agent, in.events.tx
	if !a.SuspendedAt.IsZero() {
		in.unseen[journal.AgentID(a.AgentID)] = true
	}
	firstKey := ""
	for _, k := range r.Keys {
		if k.Kind == "first" {
			firstKey = k.Key.ID()
		}
	}
	err := refusedTwice(tx.exec(ctx, `INSERT INTO agents (agent_id, display_name, first_key_id, bio, purpose, owner_url,
pinned_entry_id, profile_updated_at, suspended_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		a.AgentID, a.DisplayName, firstKey, a.Bio, a.Purpose, a.OwnerURL, a.PinnedEntryID,
		millisOrNull(a.UpdatedAt), millisOrNull(a.SuspendedAt), a.CreatedAt.UnixMilli()))
	if err != nil {
		return err
	}
	for _, k := range r.Keys {
		if err := in.key(ctx, k); err != nil {
			return err
		}
	}
	if a.Recovery != nil {
		if _, err := tx.exec(ctx, `INSERT INTO agent_recovery (agent_id, key_hash, payload, envelope, signature) VALUES (?, ?, ?, ?, ?)`,
			a.AgentID, a.Recovery.Word("recovery_key_hash"), a.Recovery.Payload, a.Recovery.Envelope, a.Recovery.Signature[:]); err != nil {
			return err
		}
	}
	for _, p := range a.Pending {
		if err := in.pending(ctx, a.AgentID, p); err != nil {
			return err
		}
	}
	return nil
}

func (in *intake) pending(ctx context.Context, agent string, p journal.ArchivedPending) error {
	var hash any
	if p.Kind == "recovery" {
		if text := p.Request.Word("recovery_key_hash"); text != "" {
			hash = text
		}
	}
	_, err := in.events.tx.exec(ctx, `INSERT INTO agent_pending (agent_id, kind, effective_at, key_hash, payload, envelope, signature)
VALUES (?, ?, ?, ?, ?, ?, ?)`, agent, p.Kind, p.EffectiveAt.UnixMilli(), hash, p.Request.Payload, p.Request.Envelope, p.Request.Signature[:])
	return err
}

func (in *intake) key(ctx context.Context, k journal.ArchivedKey) error {
	tx, id := in.events.tx, k.Key.ID()
	err := refusedTwice(tx.exec(ctx, `INSERT INTO agent_keys (agent_id, key_id, public_key, kind, created_at, revoked_at)
VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, k.AgentID, id, k.Key.String(), k.Kind, k.CreatedAt.UnixMilli(), millisOrNull(k.RevokedAt)))
	if err != nil || k.Proof == nil {
		return err
	}
	vouching := k.Proof
	var payload, envelope, signature any
	if c := k.Commitment; c != nil {
		payload, envelope, signature, vouching = c.Payload, c.Envelope, c.Signature[:], c
	}
	parent, err := seal.ParseEnvelope([]byte(vouching.Envelope))
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `INSERT INTO key_links (agent_id, key_id, parent_key_id, payload, envelope, signature,
commit_payload, commit_envelope, commit_signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, k.AgentID, id, parent.KeyID,
		k.Proof.Payload, k.Proof.Envelope, k.Proof.Signature[:], payload, envelope, signature)
	return err
}

// Entries stores entries in the order given.
func (in *intake) Entries(ctx context.Context, batch []journal.ImportedEntry) error {
	e := &appending{tx: in.events.tx, batch: make([]journal.NewEntry, 0, len(batch))}
	var all, public, listed, signed []int
	for i, entry := range batch {
		proven := entry.Proven.Valid() && entry.Proven.Envelope().ActorID == string(entry.AgentID)
		if (entry.Status == "deleted") == proven {
			return ErrUnproven
		}
		e.batch = append(e.batch, entry.NewEntry)
		all = append(all, i)
		if proven {
			signed = append(signed, i)
		}
		if entry.Entry.Visibility == journal.Public {
			public = append(public, i)
			if entry.Status == "active" {
				listed = append(listed, i)
			}
		}
	}
	if err := in.events.lock(ctx); err != nil {
		return err
	}
	positions, err := e.announce(ctx, public)
	if err != nil {
		return err
	}
	if err := in.insert(ctx, e, batch, all, positions); err != nil {
		return err
	}
	free, err := e.insertSlots(ctx, signed, `INSERT INTO nonces (agent_id, nonce) VALUES `, 2,
		` ON CONFLICT DO NOTHING RETURNING agent_id, nonce`,
		func(i int) []any { return []any{string(e.batch[i].AgentID), e.batch[i].Nonce[:]} })
	if err != nil {
		return err
	}
	if len(free) < len(signed) {
		return journal.ErrStored
	}
	if err := e.list(ctx, listed, positions, in.unseen); err != nil {
		return err
	}
	for _, i := range public {
		if batch[i].Status != "active" {
			in.events.add("withdrawn", batch[i].AgentID, string(batch[i].EntryID), batch[i].WithdrawnAt)
		}
	}
	return e.addUp(ctx, listed)
}

func (in *intake) insert(ctx context.Context, e *appending, batch []journal.ImportedEntry, items []int, positions map[journal.EntryID]int64) error {
	known := map[journal.EntryID]bool{}
	for start, n := 0, 0; start < len(items); start += n {
		n = chunk(len(items) - start)
		var ids []any
		for _, i := range items[start : start+n] {
			ids = append(ids, string(batch[i].EntryID))
		}
		err := each(in.events.tx, ctx, `SELECT entry_id FROM entries WHERE entry_id IN (`+marks(n)+`)`, ids, func(rows *sql.Rows) error {
			var id journal.EntryID
			err := rows.Scan(&id)
			known[id] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(known) > 0 {
		return journal.ErrStored
	}
	return e.insert(ctx, items, `INSERT INTO entries (agent_id, entry_id, visibility, status, created_at, language, key_id,
position, withdrawn_at, withdrawn_by, signature, canonical_envelope, canonical_entry) VALUES `, 13, ``,
		func(i int) []any {
			n := &batch[i]
			var position, by, signature, envelope, entry any
			if p, ok := positions[n.EntryID]; ok {
				position = p
			}
			switch n.Status {
			case "hidden":
				by = "operator"
			case "deleted":
				by = "author"
			}
			if n.Proven.Valid() {
				raw := n.Proven.Signature()
				signature, envelope, entry = raw[:], string(n.Proven.CanonicalEnvelope()), string(n.Proven.Payload())
			}
			return []any{
				string(n.AgentID), string(n.EntryID), n.Entry.Visibility, n.Status, n.CreatedAt.UnixMilli(), n.Language, string(n.KeyID),
				position, millisOrNull(n.WithdrawnAt), by, signature, envelope, entry,
			}
		}, nothingReturned)
}

func millisOrNull(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UnixMilli()
}
