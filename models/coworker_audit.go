package models

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"innerloop/coworker"
)

const auditColumns = `organization_id, audit_id, at, user_id, key_id, action, target, tool, service, module, method, path, class, status, bytes_in, bytes_out, took_ms, retries, hosts, error`

const insertAuditRow = `INSERT INTO audit (` + auditColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func auditValues(a coworker.Audit) []any {
	return []any{
		string(a.Organization), string(a.ID), a.At.UnixMilli(), string(a.User), string(a.Key), a.Action, a.Target, a.Tool, a.Service, a.Module, a.Method,
		a.Path, string(a.Class), a.Status, a.BytesIn, a.BytesOut, a.Took.Milliseconds(), a.Retries, strings.Join(a.Hosts, ","), string(a.Error),
	}
}

func insertAudit(ctx context.Context, tx *transaction, a coworker.Audit) error {
	_, err := tx.exec(ctx, insertAuditRow, auditValues(a)...)
	return err
}

// RecordAudit writes a row of an organisation that is there.
func (c Coworker) RecordAudit(ctx context.Context, a coworker.Audit) error {
	return c.s.retry(ctx, "record audit", func() error {
		return c.s.write.inTransaction(ctx, func(tx *transaction) error {
			var one int
			found, err := first(tx, ctx, `SELECT 1 FROM organizations WHERE organization_id = ?`, []any{string(a.Organization)}, &one)
			if err == nil && !found {
				err = coworker.ErrNotFound
			}
			if err != nil {
				return err
			}
			return insertAudit(ctx, tx, a)
		})
	})
}

func scanAudit(rows *sql.Rows) (a coworker.Audit, err error) {
	var at, took int64
	var hosts string
	err = rows.Scan((*string)(&a.Organization), (*string)(&a.ID), &at, (*string)(&a.User), (*string)(&a.Key), &a.Action, &a.Target, &a.Tool, &a.Service,
		&a.Module, &a.Method, &a.Path, (*string)(&a.Class), &a.Status, &a.BytesIn, &a.BytesOut, &took, &a.Retries, &hosts, (*string)(&a.Error))
	a.At, a.Took = fromMillis(at), time.Duration(took)*time.Millisecond
	if hosts != "" {
		a.Hosts = strings.Split(hosts, ",")
	}
	return a, err
}

// auditWhere writes the condition of a query. Times become bounds on ids,
// which sort by time, so that the table is read from the right place on.
func auditWhere(q coworker.AuditQuery) (where string, args []any) {
	where, args = ` WHERE organization_id = ?`, []any{string(q.Organization)}
	narrow := func(condition string, value string) {
		if value != "" {
			where += ` AND ` + condition
			args = append(args, value)
		}
	}
	narrow(`user_id = ?`, string(q.User))
	narrow(`key_id = ?`, string(q.Key))
	narrow(`action = ?`, q.Action)
	narrow(`tool = ?`, q.Tool)
	narrow(`service = ?`, q.Service)
	narrow(`error = ?`, string(q.Error))
	narrow(`audit_id < ?`, string(q.Before))
	if q.OnlyErrors {
		where += ` AND error <> ''`
	}
	if !q.From.IsZero() {
		narrow(`audit_id >= ?`, string(coworker.AuditFrom(q.From)))
	}
	if !q.Until.IsZero() {
		narrow(`audit_id < ?`, string(coworker.AuditFrom(q.Until)))
	}
	return where, args
}

// AuditPage lists newest first.
func (c Coworker) AuditPage(ctx context.Context, q coworker.AuditQuery) ([]coworker.Audit, error) {
	where, args := auditWhere(q)
	return all(c.s.read, ctx, "read audit", scanAudit, `SELECT `+auditColumns+` FROM audit`+where+` ORDER BY audit_id DESC LIMIT ?`, append(args, q.Limit)...)
}

// AuditDays counts calls by day.
func (c Coworker) AuditDays(ctx context.Context, q coworker.AuditQuery) ([]coworker.AuditDay, error) {
	q.Action = coworker.ActionCall
	where, args := auditWhere(q)
	const day = 24 * time.Hour
	scan := func(rows *sql.Rows) (d coworker.AuditDay, err error) {
		var number int64
		err = rows.Scan(&number, &d.Calls, &d.Errors)
		d.Day = time.Unix(0, 0).UTC().Add(time.Duration(number) * day)
		return d, err
	}
	return all(c.s.read, ctx, "count audit", scan,
		`SELECT day, sum(calls), sum(errors) FROM (SELECT at / 86400000 AS day, 1 AS calls, CASE WHEN error <> '' THEN 1 ELSE 0 END AS errors FROM audit`+where+
			` ORDER BY audit_id DESC LIMIT ?) AS newest GROUP BY day ORDER BY day LIMIT 400`, append(args, coworker.AuditDaysOf)...)
}

// ForgetAudit removes old rows of every organisation.
func (c Coworker) ForgetAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	return c.forget(ctx, "forget audit", `DELETE FROM audit WHERE (organization_id, audit_id) IN
(SELECT organization_id, audit_id FROM audit WHERE at < ? ORDER BY at LIMIT ?)`, before.UnixMilli(), limit)
}

// ForgetAuditOf removes the rows of one organisation.
func (c Coworker) ForgetAuditOf(ctx context.Context, o coworker.OrganizationID, limit int) (int, error) {
	return c.forget(ctx, "forget audit", `DELETE FROM audit WHERE organization_id = ? AND audit_id IN
(SELECT audit_id FROM audit WHERE organization_id = ? LIMIT ?)`, string(o), string(o), limit)
}
