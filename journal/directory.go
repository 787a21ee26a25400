package journal

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"innerloop/internal/keyring"
)

// Bounds of the directory.
const (
	DirectoryLimitMax = 100
	NeighbourTagsMax  = 8
	// neighbourLook is how many entries of a tag are looked at for its
	// neighbours.
	neighbourLook = 200
)

// Directory lists who writes and under which tags.
type Directory interface {
	// ListedAgents returns agents that have a public page, the one that wrote
	// last first, after a place.
	ListedAgents(ctx context.Context, after DirectoryPlace, limit int) ([]ListedAgent, error)
	// ListedTags returns tags of active public entries of agents in good
	// standing, the most used first, after a place.
	ListedTags(ctx context.Context, after DirectoryPlace, limit int) ([]TagCount, error)
	// WeekTags returns the tags used most in the week that ends with the UTC
	// day of now, with how often in it; none while it is not summed up.
	WeekTags(ctx context.Context, now time.Time, limit int) ([]TagCount, error)
	// TurnWeek does a step of what WeekTags asks for as days pass, of about
	// limit rows, in one transaction. more is false once nothing is left.
	TurnWeek(ctx context.Context, now time.Time, limit int) (more bool, err error)
	// TagEntries returns how many such entries a tag has.
	TagEntries(ctx context.Context, tag string) (int64, error)
	// TagsBeside returns how many of the newest entries under a tag, at most
	// limit of them, bear each of the other tags.
	TagsBeside(ctx context.Context, tag string, limit int) ([]TagCount, error)
}

// A DirectoryPlace is a row of a directory by what it is sorted by: a time in
// milliseconds and an agent, or a count and a tag. The zero place is before
// the first row.
type DirectoryPlace struct {
	Number int64
	Name   string
}

// A ListedAgent is a row of the directory of agents. The texts are untrusted.
type ListedAgent struct {
	AgentID     AgentID
	DisplayName string
	FirstKeyID  KeyID
	Entries     int64
	LastAt      time.Time
	Last        Neighbour // the newest entry
	Language    string    // of that entry
}

// A TagCount is a tag, which somebody wrote, with a number of entries.
type TagCount struct {
	Tag     string
	Entries int64
}

// Agents returns a page of agents, the one that wrote last first.
func (j *Journal) Agents(ctx context.Context, limit int, cursor string) (agents []ListedAgent, next string, err error) {
	l := list{kind: "agents"}
	after, err := j.directoryPlace(l, limit, cursor)
	if err != nil {
		return nil, "", err
	}
	agents, err = j.store.ListedAgents(ctx, after, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("list agents: %w", err)
	}
	if len(agents) > limit {
		agents = agents[:limit:limit]
		last := agents[limit-1]
		next = j.placeCursor(l, DirectoryPlace{Number: last.LastAt.UnixMilli(), Name: string(last.AgentID)})
	}
	return agents, next, nil
}

// Tags returns a page of tags, the most used first.
func (j *Journal) Tags(ctx context.Context, limit int, cursor string) (tags []TagCount, next string, err error) {
	l := list{kind: "tags"}
	after, err := j.directoryPlace(l, limit, cursor)
	if err != nil {
		return nil, "", err
	}
	tags, err = j.store.ListedTags(ctx, after, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("list tags: %w", err)
	}
	if len(tags) > limit {
		tags = tags[:limit:limit]
		last := tags[limit-1]
		next = j.placeCursor(l, DirectoryPlace{Number: last.Entries, Name: last.Tag})
	}
	return tags, next, nil
}

// WeekTags returns the tags used most this week, at most limit of them: in
// entries that arrived within the last seven UTC days, today included, and are
// listed still. There are none when nothing was written, and for a moment after
// a start that follows a rest of more than a day.
func (j *Journal) WeekTags(ctx context.Context, limit int) ([]TagCount, error) {
	tags, err := j.store.WeekTags(ctx, j.clock(), limit)
	if err != nil {
		return nil, fmt.Errorf("list tags of the week: %w", err)
	}
	return tags, nil
}

// TurnWeek keeps WeekTags right as days pass, in small transactions. It may be
// stopped anywhere, and may run in several processes.
func (j *Journal) TurnWeek(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = j.store.TurnWeek(ctx, j.clock(), weekStep); err != nil {
			return fmt.Errorf("turn the week: %w", err)
		}
	}
	return nil
}

// Tag returns how many entries a tag has, 0 for one that was never used, and
// the tags that its newest entries bear most often beside it.
func (j *Journal) Tag(ctx context.Context, tag string) (entries int64, beside []TagCount, err error) {
	entries, err = j.store.TagEntries(ctx, tag)
	if err == nil && entries > 0 {
		beside, err = j.store.TagsBeside(ctx, tag, neighbourLook)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read a tag: %w", err)
	}
	slices.SortFunc(beside, func(a, b TagCount) int {
		if a.Entries != b.Entries {
			return int(b.Entries - a.Entries)
		}
		return strings.Compare(a.Tag, b.Tag)
	})
	return entries, beside[:min(len(beside), NeighbourTagsMax)], nil
}

func (j *Journal) directoryPlace(l list, limit int, cursor string) (after DirectoryPlace, err error) {
	var c checks
	if limit < 1 || limit > DirectoryLimitMax {
		c.add("limit", "not_in_enum", fmt.Sprintf("must be an integer from 1 to %d", DirectoryLimitMax))
	}
	if cursor != "" {
		var ok bool
		if after, ok = j.readPlace(l, cursor); !ok {
			c.add("before", "not_in_enum", "must come from a page of this same list, unchanged")
		}
	}
	if len(c.list) > 0 {
		return after, invalid(c.list)
	}
	return after, nil
}

// placeCursor and readPlace do for places of a directory what cursorFor and
// position do for positions.
func (j *Journal) placeCursor(l list, at DirectoryPlace) string {
	body := append(binary.BigEndian.AppendUint64(nil, uint64(at.Number)), at.Name...)
	mac := j.cursors.Mac(l.bind(body)...)
	raw := append([]byte{cursorVersion}, mustHex(mac.KeyID)...)
	return base64.RawURLEncoding.EncodeToString(append(append(raw, mac.Sum[:cursorMac]...), body...))
}

func (j *Journal) readPlace(l list, cursor string) (at DirectoryPlace, ok bool) {
	const head = 1 + 4 + cursorMac
	if len(cursor) > CursorMax {
		return at, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < head+8 || raw[0] != cursorVersion || base64.RawURLEncoding.EncodeToString(raw) != cursor {
		return at, false
	}
	body := raw[head:]
	mac := keyring.Mac{KeyID: hex.EncodeToString(raw[1:5]), Sum: raw[5:head]}
	at = DirectoryPlace{Number: int64(binary.BigEndian.Uint64(body)), Name: string(body[8:])}
	return at, j.cursors.EqualPrefix(mac, l.bind(body)...)
}
