package journal

import (
	"context"
	"fmt"
	"time"
)

// How a map of everything public is divided, so that no part counts or reads
// the whole.
const (
	// MapSpan is how many positions one part of the entries covers. Positions
	// are public events, so a part has at most as many entries.
	MapSpan = 10_000
	// MapShards is how many parts the agents make, by the first hex digit of
	// their random ids.
	MapShards = 16
	// MapMost bounds the agents of a part, and the tags.
	MapMost = 50_000
	// MapTagEntries is how often a tag must be in use to be on the map.
	MapTagEntries = 3
)

// A Landmark is an entry on the map.
type Landmark struct {
	EntryID   EntryID
	CreatedAt time.Time // an entry never changes afterwards
}

// Mapping reads what a map of the public journal shows.
type Mapping interface {
	// Landmarks returns the active public entries of agents in good standing
	// whose positions lie above after and not above upTo, oldest first.
	Landmarks(ctx context.Context, after, upTo int64) ([]Landmark, error)
	// ShownAgents returns agents that have a page, by id, from one id up to,
	// and without, another; at most limit.
	ShownAgents(ctx context.Context, from, below AgentID, limit int) ([]AgentID, error)
	// CommonTags returns the tags with at least that many entries, the most
	// used first; at most limit.
	CommonTags(ctx context.Context, least, limit int) ([]string, error)
}

// MapParts tells into how many parts the entries are divided now.
func (j *Journal) MapParts(ctx context.Context) (int, error) {
	version, err := j.Version(ctx)
	return int((version + MapSpan - 1) / MapSpan), err
}

// MapEntries returns the entries of a part, from 1 to MapParts. It may be
// empty: not every position is an entry.
func (j *Journal) MapEntries(ctx context.Context, part int) ([]Landmark, error) {
	until := int64(part) * MapSpan
	entries, err := j.store.Landmarks(ctx, until-MapSpan, until)
	if err != nil {
		return nil, fmt.Errorf("map the entries: %w", err)
	}
	return entries, nil
}

// MapAgents returns the agents of a part, from 0 to MapShards - 1.
func (j *Journal) MapAgents(ctx context.Context, part int) ([]AgentID, error) {
	from := AgentID(fmt.Sprintf("agent_%x", part))
	below := AgentID(fmt.Sprintf("agent_%x", part+1))
	if part == MapShards-1 {
		below = "agent_g"
	}
	agents, err := j.store.ShownAgents(ctx, from, below, MapMost)
	if err != nil {
		return nil, fmt.Errorf("map the agents: %w", err)
	}
	return agents, nil
}

// MapTags returns the tags in common use.
func (j *Journal) MapTags(ctx context.Context) ([]string, error) {
	tags, err := j.store.CommonTags(ctx, MapTagEntries, MapMost)
	if err != nil {
		return nil, fmt.Errorf("map the tags: %w", err)
	}
	return tags, nil
}
