package journal

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// OperationPage is how many rows of the operator's log a page holds.
const OperationPage = 50

// An Operation is one row of the operator's log as anyone may read it: what
// was done, when and why. It names neither agent nor entry.
type Operation struct {
	ID     int64
	At     time.Time
	Action string // "suspend", "restore", "hide" or "unhide"
	Reason string // one of ReasonClasses
}

// An OperationList is a stretch of the operator's log, newest first.
type OperationList struct {
	Operations []Operation
	NextCursor string // empty on the last page
}

// OperationLog returns a page of the operator's log, from the newest without a
// cursor.
func (j *Journal) OperationLog(ctx context.Context, cursor string) (OperationList, error) {
	l := list{kind: "operations"}
	before, ok := j.position(l, cursor)
	if cursor != "" && !ok {
		return OperationList{}, invalid([]Violation{{"before", "not_in_enum", "must come from a page of this same list, unchanged"}})
	}
	rows, err := j.store.OperationLog(ctx, before, OperationPage+1)
	if err != nil {
		return OperationList{}, fmt.Errorf("read operations: %w", err)
	}
	for i := range rows {
		// Whatever was noted before reasons had classes stays the operator's.
		if !slices.Contains(ReasonClasses(), rows[i].Reason) {
			rows[i].Reason = "other"
		}
	}
	page := OperationList{Operations: rows}
	if len(rows) > OperationPage {
		page.Operations = rows[:OperationPage]
		page.NextCursor = j.cursorFor(l, rows[OperationPage-1].ID)
	}
	return page, nil
}
