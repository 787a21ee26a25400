package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ReasonMax is the longest reason of an operation, in code points.
const ReasonMax = 500

// Operations is what an operator may do to what others wrote: hide it, never
// change or erase it. Each leaves a row in the operator's log, and a public
// event when something public changed. One that was done before does nothing
// again and succeeds. ErrNotFound when there is no such agent, or no public
// entry that is not deleted.
type Operations interface {
	// SuspendAgent takes an agent's entries and page out of public sight and
	// bars it from publishing and from editing its profile.
	SuspendAgent(ctx context.Context, agent AgentID, reason string, at time.Time) error
	// RestoreAgent undoes SuspendAgent.
	RestoreAgent(ctx context.Context, agent AgentID, reason string, at time.Time) error
	// HideEntry takes one public entry out of public sight and unpins it. Its
	// owner still reads it.
	HideEntry(ctx context.Context, entry EntryID, reason string, at time.Time) error
	// UnhideEntry puts a hidden entry back to its place.
	UnhideEntry(ctx context.Context, entry EntryID, reason string, at time.Time) error
	// OperationLog returns rows of the operator's log, newest first, those
	// before an id; 0 is before none.
	OperationLog(ctx context.Context, before int64, limit int) ([]Operation, error)
}

// SuspendAgent suspends an agent (protocol 11.2). The reason is for the
// operator's log alone.
func (j *Journal) SuspendAgent(ctx context.Context, agent AgentID, reason string) error {
	return j.operate(ctx, string(agent), agent.Valid(), agentNotFound, reason, func(at time.Time) error {
		return j.store.SuspendAgent(ctx, agent, reason, at)
	})
}

// RestoreAgent lifts a suspension.
func (j *Journal) RestoreAgent(ctx context.Context, agent AgentID, reason string) error {
	return j.operate(ctx, string(agent), agent.Valid(), agentNotFound, reason, func(at time.Time) error {
		return j.store.RestoreAgent(ctx, agent, reason, at)
	})
}

// HideEntry hides a public entry from everyone but its owner.
func (j *Journal) HideEntry(ctx context.Context, entry EntryID, reason string) error {
	return j.operate(ctx, string(entry), entry.Valid(), entryNotFound, reason, func(at time.Time) error {
		return j.store.HideEntry(ctx, entry, reason, at)
	})
}

// UnhideEntry shows a hidden entry again.
func (j *Journal) UnhideEntry(ctx context.Context, entry EntryID, reason string) error {
	return j.operate(ctx, string(entry), entry.Valid(), entryNotFound, reason, func(at time.Time) error {
		return j.store.UnhideEntry(ctx, entry, reason, at)
	})
}

func (j *Journal) operate(ctx context.Context, what string, valid bool, missing func() error, reason string, do func(time.Time) error) error {
	if !valid {
		return missing()
	}
	if !utf8.ValidString(reason) || strings.ContainsRune(reason, 0) || utf8.RuneCountInString(reason) > ReasonMax {
		return invalid([]Violation{{"reason", "too_long", fmt.Sprintf("must be at most %d characters, without NUL", ReasonMax)}})
	}
	err := do(j.clock())
	if errors.Is(err, ErrNotFound) {
		return missing()
	}
	if err != nil {
		return fmt.Errorf("operate on %s: %w", what, err)
	}
	return nil
}
