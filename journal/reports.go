package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"innerloop/internal/limit"
)

const (
	// NoteMax is the longest note of a report, in code points.
	NoteMax = 1000
	// ReportKept is how long a report is kept, open or closed.
	ReportKept = 90 * 24 * time.Hour

	// ReportPageDefault and ReportPageMax bound a page of reports.
	ReportPageDefault = 50
	ReportPageMax     = 200

	reportStep = 200 // reports forgotten in one transaction
)

// ReasonClasses are why something is reported or taken out of sight.
func ReasonClasses() []string {
	return []string{"spam", "private-data", "impersonation", "injection", "other"}
}

// Reporting keeps what readers reported.
type Reporting interface {
	// SaveReport stores a report, unless there is one of the same entry and
	// network: then fresh is false and nothing is used up. A *QuotaSpent when
	// one of its quotas is.
	SaveReport(ctx context.Context, r NewReport) (id int64, fresh bool, err error)
	// Reports returns a page of reports, newest first.
	Reports(ctx context.Context, q ReportRange) ([]StoredReport, error)
	// CloseReport marks a report as handled; one that is keeps its time.
	// ErrNotFound when there is none.
	CloseReport(ctx context.Context, id int64, at time.Time) error
	// ForgetReports removes reports from before a time, at most limit a call,
	// and returns how many.
	ForgetReports(ctx context.Context, before time.Time, limit int) (int, error)
}

// A Report is what a reader says about an entry. The note is untrusted text.
type Report struct {
	Entry  EntryID
	Reason string // one of ReasonClasses
	Note   string // may be empty
}

// NewReport is a report to be stored.
type NewReport struct {
	Report
	Network string // keyed hash; empty when unknown
	At      time.Time
	Quotas  []Quota
}

// A StoredReport is a report as the operator sees it.
type StoredReport struct {
	ID int64
	Report
	At       time.Time
	ClosedAt time.Time // zero while it waits
}

// ReportRange asks the store for a page of reports.
type ReportRange struct {
	Entry  EntryID // empty: every entry
	Closed bool    // those that were handled as well
	Before int64   // id; 0: the newest
	Limit  int
}

// A ReportNotice is what may be told of a new report: no note, no network.
type ReportNotice struct {
	ID     int64
	Entry  EntryID
	Reason string
	At     time.Time
}

// Reportable tells whether a reader may report an entry. Whatever is not
// public now is one answer, EntryNotFound.
func (j *Journal) Reportable(ctx context.Context, id EntryID) error {
	_, err := j.Entry(ctx, id)
	if _, refused := AsFault(err); refused {
		return entryNotFound()
	}
	return err
}

// ReportEntry takes a report. Fresh is false when this network reported this
// entry before; the reader is told the same.
func (j *Journal) ReportEntry(ctx context.Context, c Caller, r Report) (notice ReportNotice, fresh bool, err error) {
	if err := j.take(limit.WritesPerMinute, c); err != nil {
		return ReportNotice{}, false, err
	}
	if err := j.Reportable(ctx, r.Entry); err != nil {
		return ReportNotice{}, false, err
	}
	r.Note = plainNote(r.Note)
	var found checks
	if !slices.Contains(ReasonClasses(), r.Reason) {
		found.add("reason", "not_in_enum", "must be one of "+strings.Join(ReasonClasses(), ", "))
	}
	if utf8.RuneCountInString(r.Note) > NoteMax {
		found.add("note", "too_long", fmt.Sprintf("must be at most %d characters", NoteMax))
	}
	if len(found.list) > 0 {
		return ReportNotice{}, false, invalid(found.list)
	}
	now := j.clock()
	id, fresh, err := j.store.SaveReport(ctx, NewReport{
		Report: r, Network: j.networkSubject(c, "report of "+string(r.Entry)), At: now, Quotas: j.reportQuotas(c, now),
	})
	var full *QuotaSpent
	switch {
	case errors.As(err, &full):
		return ReportNotice{}, false, slowDown("no more reports are taken today", max(full.Quota.Until.Sub(now), time.Second))
	case err != nil:
		return ReportNotice{}, false, fmt.Errorf("save report: %w", err)
	}
	return ReportNotice{ID: id, Entry: r.Entry, Reason: r.Reason, At: now}, fresh, nil
}

func (j *Journal) reportQuotas(c Caller, now time.Time) []Quota {
	b := budget{j: j, caller: c}
	from, until := day(now)
	if !c.Network.IsZero() {
		b.add(limit.ReportsPerNetwork, RateLimited, "network_reports", j.networkSubject(c, "reports "+from.Format(time.DateOnly)), from, until)
	}
	b.add(limit.Reports, RateLimited, "reports", "", from, until)
	return b.quotas
}

// plainNote is a note without what has no place in it: white space around it,
// control characters but line breaks and tabs, bytes that are no UTF-8.
func plainNote(note string) string {
	note = strings.ReplaceAll(strings.ToValidUTF8(note, ""), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, note))
}

// ReportQuery asks for a page of reports, newest first.
type ReportQuery struct {
	Entry  EntryID // empty: every entry
	Closed bool    // those that were handled as well
	Limit  int     // 1 to ReportPageMax
	Cursor string
}

// A ReportPage is a stretch of reports.
type ReportPage struct {
	Reports    []StoredReport
	NextCursor string // empty on the last page
}

// Reports lists reports for the operator.
func (j *Journal) Reports(ctx context.Context, q ReportQuery) (ReportPage, error) {
	var found checks
	if q.Limit < 1 || q.Limit > ReportPageMax {
		found.add("limit", "not_in_enum", fmt.Sprintf("must be an integer from 1 to %d", ReportPageMax))
	}
	if q.Entry != "" && !q.Entry.Valid() {
		found.add("entry", "wrong_type", "must be an entry id")
	}
	l, before := list{"reports", fmt.Sprint(q.Entry, q.Closed)}, int64(0)
	if q.Cursor != "" {
		var ok bool
		if before, ok = j.position(l, q.Cursor); !ok {
			found.add("cursor", "not_in_enum", "must be a next_cursor of this same list, unchanged")
		}
	}
	if len(found.list) > 0 {
		return ReportPage{}, invalid(found.list)
	}
	reports, err := j.store.Reports(ctx, ReportRange{Entry: q.Entry, Closed: q.Closed, Before: before, Limit: q.Limit + 1})
	if err != nil {
		return ReportPage{}, fmt.Errorf("read reports: %w", err)
	}
	p := ReportPage{Reports: reports}
	if len(reports) > q.Limit {
		p.Reports = reports[:q.Limit]
		p.NextCursor = j.cursorFor(l, p.Reports[q.Limit-1].ID)
	}
	return p, nil
}

// CloseReport marks a report as handled.
func (j *Journal) CloseReport(ctx context.Context, id int64) error {
	err := j.store.CloseReport(ctx, id, j.clock())
	if errors.Is(err, ErrNotFound) {
		return invalid([]Violation{{"report", "not_in_enum", "must be the number of one that is kept"}})
	}
	if err != nil {
		return fmt.Errorf("close report: %w", err)
	}
	return nil
}

func (j *Journal) forgetReports(ctx context.Context) error {
	before := j.clock().Add(-ReportKept)
	err := inSteps(reportStep, func(limit int) (int, error) { return j.store.ForgetReports(ctx, before, limit) })
	if err != nil {
		return fmt.Errorf("forget reports: %w", err)
	}
	return nil
}
