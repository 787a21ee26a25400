package models

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"innerloop/journal"
)

// SaveReport stores a report, one for an entry and network.
func (s *Store) SaveReport(ctx context.Context, r journal.NewReport) (id int64, fresh bool, err error) {
	err = s.retry(ctx, "save report", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) error {
			id, fresh = 0, false
			known, err := first(tx, ctx, `SELECT report_id FROM reports WHERE entry_id = ? AND network = ?`, []any{string(r.Entry), r.Network}, &id)
			if err != nil || known {
				return err
			}
			fresh, err = first(tx, ctx, `INSERT INTO reports (at, entry_id, network, reason, note) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (entry_id, network) DO NOTHING RETURNING report_id`,
				[]any{r.At.UnixMilli(), string(r.Entry), r.Network, r.Reason, r.Note}, &id)
			if err != nil || !fresh { // another process was faster
				return err
			}
			return spendEach(ctx, tx, r.Quotas)
		})
	})
	if err != nil {
		return 0, false, err
	}
	return id, fresh, nil
}

// spendEach uses one of each quota up, or fails with the first that is spent;
// the transaction then leaves no trace.
func spendEach(ctx context.Context, tx *transaction, quotas []journal.Quota) error {
	for _, q := range quotas {
		c := counterOf(q)
		n, err := tx.exec(ctx, `INSERT INTO quotas (scope, subject, window_from, window_until, used) VALUES (?, ?, ?, ?, 1)
ON CONFLICT (scope, subject, window_from) DO UPDATE SET used = quotas.used + 1 WHERE quotas.used < ?`,
			c.scope, c.subject, c.from, q.Until.UnixMilli(), q.Limit)
		if err != nil {
			return err
		}
		if n == 0 {
			return &journal.QuotaSpent{Quota: q}
		}
	}
	return nil
}

// Reports returns a page of reports, newest first.
func (s *Store) Reports(ctx context.Context, q journal.ReportRange) ([]journal.StoredReport, error) {
	query, args := `SELECT report_id, entry_id, reason, note, at, closed_at FROM reports WHERE report_id < ?`, []any{q.Before}
	if q.Before <= 0 {
		args[0] = int64(1) << 62
	}
	if q.Entry != "" {
		query, args = query+` AND entry_id = ?`, append(args, string(q.Entry))
	}
	if !q.Closed {
		query += ` AND closed_at IS NULL`
	}
	var page []journal.StoredReport
	err := each(s.read, ctx, query+` ORDER BY report_id DESC LIMIT ?`, append(args, q.Limit), func(rows *sql.Rows) error {
		var r journal.StoredReport
		var at int64
		var closed sql.NullInt64
		err := rows.Scan(&r.ID, &r.Entry, &r.Reason, &r.Note, &at, &closed)
		r.At, r.ClosedAt = fromMillis(at), fromMillisOrZero(closed)
		page = append(page, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read reports: %w", err)
	}
	return page, nil
}

// CloseReport marks a report as handled.
func (s *Store) CloseReport(ctx context.Context, id int64, at time.Time) error {
	return s.retry(ctx, "close report", func() error {
		n, err := s.write.exec(ctx, `UPDATE reports SET closed_at = coalesce(closed_at, ?) WHERE report_id = ?`, at.UnixMilli(), id)
		if err == nil && n == 0 {
			return journal.ErrNotFound
		}
		return err
	})
}

// ForgetReports removes reports from before a time.
func (s *Store) ForgetReports(ctx context.Context, before time.Time, limit int) (int, error) {
	var gone int64
	err := s.retry(ctx, "forget reports", func() (err error) {
		gone, err = s.write.exec(ctx, `DELETE FROM reports WHERE report_id IN (SELECT report_id FROM reports WHERE at < ? ORDER BY at LIMIT ?)`,
			before.UnixMilli(), limit)
		return err
	})
	return int(gone), err
}

// OperationLog returns rows of the operator's log, newest first.
func (s *Store) OperationLog(ctx context.Context, before int64, limit int) ([]journal.Operation, error) {
	if before <= 0 {
		before = int64(1) << 62
	}
	var page []journal.Operation
	err := each(s.read, ctx, `SELECT operation_id, at, action, reason FROM operations WHERE operation_id < ? ORDER BY operation_id DESC LIMIT ?`,
		[]any{before, limit}, func(rows *sql.Rows) error {
			var o journal.Operation
			var at int64
			err := rows.Scan(&o.ID, &at, &o.Action, &o.Reason)
			o.At = fromMillis(at)
			page = append(page, o)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	return page, nil
}
