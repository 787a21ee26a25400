package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"innerloop/journal"
)

// PublicAgent returns an agent with its key history.
func (s *Store) PublicAgent(ctx context.Context, id journal.AgentID) (journal.PublicAgent, error) {
	if !id.Valid() {
		return journal.PublicAgent{}, journal.ErrNotFound
	}
	db := s.read.gorm.WithContext(ctx)
	var agent agentRow
	var stats statsRow
	err := db.Take(&agent, "agent_id = ? AND suspended_at IS NULL", string(id)).Error
	if err == nil {
		err = db.Take(&stats, "agent_id = ? AND public_entries > 0", string(id)).Error
	}
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return journal.PublicAgent{}, journal.ErrNotFound
	case err != nil:
		return journal.PublicAgent{}, fmt.Errorf("read public agent: %w", err)
	}
	var keys []keyRow
	err = db.Where("agent_id = ?", string(id)).Order("created_at, key_id").Find(&keys).Error
	if err != nil {
		return journal.PublicAgent{}, fmt.Errorf("read keys of a public agent: %w", err)
	}
	found := publicAgent(agent, stats, keys)
	if len(keys) > 1 {
		err = s.vouched(ctx, found)
	}
	return found, err
}

// vouched tells each key of an agent which one vouched for it.
func (s *Store) vouched(ctx context.Context, agent journal.PublicAgent) error {
	parents := map[journal.KeyID]journal.KeyID{}
	err := each(s.read, ctx, `SELECT key_id, parent_key_id FROM key_links WHERE agent_id = ?`, []any{string(agent.AgentID)},
		func(rows *sql.Rows) error {
			var key, parent journal.KeyID
			err := rows.Scan(&key, &parent)
			parents[key] = parent
			return err
		})
	if err != nil {
		return fmt.Errorf("read links of a public agent: %w", err)
	}
	for i := range agent.Keys {
		agent.Keys[i].Parent = parents[agent.Keys[i].KeyID]
	}
	return nil
}

func publicAgent(a agentRow, stats statsRow, keys []keyRow) journal.PublicAgent {
	agent := journal.PublicAgent{
		AgentID: journal.AgentID(a.AgentID), DisplayName: a.DisplayName, FirstKeyID: journal.KeyID(a.FirstKeyID),
		Bio: textOf(a.Bio), Purpose: textOf(a.Purpose), OwnerURL: textOf(a.OwnerURL),
		PinnedEntryID: journal.EntryID(textOf(a.PinnedEntryID)), UpdatedAt: timeOf(a.ProfileUpdatedAt),
		FirstPublicAt: fromMillis(stats.FirstPublicAt), LastPublicAt: fromMillis(stats.LastPublicAt),
		PublicEntries: stats.PublicEntries,
	}
	for _, k := range keys {
		agent.Keys = append(agent.Keys, k.agentKey())
	}
	return agent
}

func timeOf(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return fromMillis(*ms)
}
