package coworker

import (
	"context"
	"fmt"
	"time"
)

// AuditLife is how long a row of the audit is kept.
const AuditLife = 90 * 24 * time.Hour

// ActionCall is the action of every row that is a tool call. The others are
// changes: "organization.create", "key.revoke" and the like.
const ActionCall = "tool.call"

// An Audit is one row: a tool call or a change. It never holds arguments,
// bodies or secrets; Path is a template, with no value of the call in it.
type Audit struct {
	ID           AuditID
	At           time.Time
	Organization OrganizationID
	User         UserID // empty: the command line
	Key          KeyID  // empty: the command line
	Action       string
	Target       string // the id of what was changed; empty for a call

	Tool     string
	Service  string
	Module   string
	Method   string
	Path     string
	Class    Class
	Status   int // the upstream's; 0: none
	BytesIn  int64
	BytesOut int64
	Took     time.Duration // whole milliseconds
	Retries  int
	Hosts    []string // that a run of code reached
	Error    Code     // empty: it went well
}

// act makes the row of a change.
func (c *Coworker) act(who Caller, o OrganizationID, action, target string) (Audit, error) {
	now := c.clock()
	id, err := newID(now, c.random)
	return Audit{ID: AuditID("audit_" + id), At: now, Organization: o, User: who.User, Key: who.Key, Action: action, Target: target}, err
}

// Record writes the row of a tool call; ID, time, action and caller are filled
// in. Call it with a context that outlives the call.
func (c *Coworker) Record(ctx context.Context, who Caller, call Audit) error {
	filled, err := c.act(who, who.Organization, ActionCall, "")
	if err != nil {
		return err
	}
	call.ID, call.At, call.Organization, call.User, call.Key, call.Action = filled.ID, filled.At, filled.Organization, filled.User, filled.Key, filled.Action
	if err := c.store.RecordAudit(ctx, call); err != nil {
		return fmt.Errorf("record audit: %w", err)
	}
	return nil
}

// An AuditQuery says which rows; zero fields do not narrow.
type AuditQuery struct {
	Organization OrganizationID
	User         UserID
	Key          KeyID
	Action       string // one action, or empty
	Tool         string
	Service      string
	Error        Code
	OnlyErrors   bool
	From, Until  time.Time // Until is not included
	Before       AuditID   // rows below this id
	Limit        int
}

// An AuditPage is a page of the audit, newest first.
type AuditPage struct {
	Items []Audit
	Next  string // cursor of the next page, empty on the last
}

// An AuditDay counts the tool calls of one UTC day and those that failed.
type AuditDay struct {
	Day    time.Time
	Calls  int
	Errors int
}

// own narrows a query to what the caller may see: admins everything of their
// organisation, others the rows of their own user.
func (who Caller) own(q *AuditQuery) error {
	switch {
	case who.operator:
		return nil
	case who.Scopes.Holds(Admin):
	case who.Scopes.Holds(ReadData):
		if q.User != "" && q.User != who.User {
			return denied(who.Scopes, Admin)
		}
		q.User = who.User
	default:
		return denied(who.Scopes, ReadData, Admin)
	}
	if q.Organization != "" && q.Organization != who.Organization {
		return Missing("organization")
	}
	q.Organization = who.Organization
	return nil
}

// Audit lists rows.
func (c *Coworker) Audit(ctx context.Context, who Caller, q AuditQuery, cursor string) (AuditPage, error) {
	if err := who.own(&q); err != nil {
		return AuditPage{}, err
	}
	size, err := pageSize(q.Limit)
	if err != nil {
		return AuditPage{}, err
	}
	if cursor != "" {
		if q.Before = AuditID(cursor); !q.Before.Valid() {
			return AuditPage{}, badCursor()
		}
	}
	q.Limit = size + 1
	rows, err := c.store.AuditPage(ctx, q)
	if err != nil {
		return AuditPage{}, fmt.Errorf("read audit: %w", err)
	}
	page := AuditPage{Items: rows}
	if len(rows) > size {
		page.Items, page.Next = rows[:size], string(rows[size-1].ID)
	}
	return page, nil
}

// AuditDaysOf is how many calls AuditDays looks at, the newest first: what a
// look costs must not grow with the audit.
const AuditDaysOf = 100_000

// AuditDays counts calls and errors by day, of the newest AuditDaysOf calls.
func (c *Coworker) AuditDays(ctx context.Context, who Caller, q AuditQuery) ([]AuditDay, error) {
	if err := who.own(&q); err != nil {
		return nil, err
	}
	if q.From.IsZero() {
		q.From = c.clock().Add(-AuditLife)
	}
	days, err := c.store.AuditDays(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("count audit: %w", err)
	}
	return days, nil
}

// Chores forgets audit rows whose time is over and sessions that have ended,
// in small steps. Several processes may do it at once.
func (c *Coworker) Chores(ctx context.Context) error {
	now := c.clock()
	if err := inSteps(auditStep, func(n int) (int, error) { return c.store.ForgetAudit(ctx, now.Add(-AuditLife), n) }); err != nil {
		return fmt.Errorf("forget audit: %w", err)
	}
	if err := inSteps(auditStep, func(n int) (int, error) { return c.store.ForgetSessions(ctx, now, n) }); err != nil {
		return fmt.Errorf("forget sessions: %w", err)
	}
	return nil
}
