package coworker

import (
	"context"
	"fmt"
	"io"
	"time"
)

// What the rooms inside of this one (connections, skills, memory) need of it.

// Administers refuses a caller who may not manage an organisation. Whether
// somebody else's organisation exists is not told.
func (who Caller) Administers(o OrganizationID) error { return who.administers(o) }

// Change makes the audit row of a change; a store writes it with the change.
func (c *Coworker) Change(who Caller, o OrganizationID, action, target string) (Audit, error) {
	return c.act(who, o, action, target)
}

// Note writes a row that Change made and that belongs to no change of a store.
// Call it with a context that outlives the call.
func (c *Coworker) Note(ctx context.Context, a Audit) error {
	if err := c.store.RecordAudit(ctx, a); err != nil {
		return fmt.Errorf("record audit: %w", err)
	}
	return nil
}

// NewID makes an id in the order of time: a word, an underscore and the 32 hex
// digits of a UUIDv7.
func (c *Coworker) NewID(word string) (string, error) {
	id, err := newID(c.clock(), c.random)
	return word + "_" + id, err
}

// Now is the time as it is stored: UTC, whole milliseconds.
func (c *Coworker) Now() time.Time { return c.clock() }

// Random is the source of randomness.
func (c *Coworker) Random() io.Reader { return c.random }

// PageSize reads the limit of a list: 0 means the usual number.
func PageSize(limit int) (int, error) { return pageSize(limit) }

// BadCursor is the fault of a cursor that is none.
func BadCursor() error { return badCursor() }

// MayHold refuses a caller whose scopes do not pass a check for one.
func (who Caller) MayHold(one Scopes) error {
	if !who.Scopes.Holds(one) {
		return denied(who.Scopes, one)
	}
	return nil
}

// Operates tells whether the caller is the operator at the command line.
func (who Caller) Operates() bool { return who.operator }

// OperatorFor is the operator who acts on what belongs to one user.
func OperatorFor(o OrganizationID, u UserID) Caller {
	who := Operator()
	who.Organization, who.User = o, u
	return who
}
