package handlers

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
)

const auditPath = apiRoot + "/audit"

// auditFilters narrow the audit, in lists and in counts.
var auditFilters = []string{"user_id", "key_id", "action", "tool", "service", "error", "errors", "from", "until"}

// auditQuery reads the filters.
func auditQuery(values map[string]string) (coworker.AuditQuery, error) {
	q := coworker.AuditQuery{
		User: coworker.UserID(values["user_id"]), Key: coworker.KeyID(values["key_id"]), Action: values["action"], Tool: values["tool"],
		Service: values["service"], Error: coworker.Code(values["error"]),
	}
	var problems []coworker.Problem
	switch values["errors"] {
	case "", "false":
	case "true":
		q.OnlyErrors = true
	default:
		problems = append(problems, coworker.Problem{Field: "errors", Problem: "must be true or false"})
	}
	for name, at := range map[string]*time.Time{"from": &q.From, "until": &q.Until} {
		text := values[name]
		if text == "" {
			continue
		}
		var err error
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			if *at, err = time.Parse(time.DateOnly, text); err != nil {
				problems = append(problems, coworker.Problem{Field: name, Problem: "must be a time of RFC 3339 or a day, as in 2026-09-01"})
			}
		}
	}
	if len(problems) > 0 {
		return q, coworker.InvalidArguments(problems...)
	}
	return q, nil
}

// listAudit is GET /api/v1/audit: own rows with read:data, all with admin.
func (s *Server) listAudit(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	values, err := query(c, append([]string{"limit", "cursor"}, auditFilters...)...)
	if err != nil {
		return err
	}
	q, err := auditQuery(values)
	if err != nil {
		return err
	}
	if q.Limit, err = sizeOf(values); err != nil {
		return err
	}
	page, err := s.coworker.Audit(ctx, who, q, values["cursor"])
	if err != nil {
		return err
	}
	items := []coworker.AuditRecord{}
	for _, row := range page.Items {
		items = append(items, row.Record())
	}
	return answer(c, fiber.StatusOK, inPage(items, page.Next))
}

// auditDays is GET /api/v1/audit/days: calls and errors by UTC day.
func (s *Server) auditDays(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	values, err := query(c, auditFilters...)
	if err != nil {
		return err
	}
	q, err := auditQuery(values)
	if err != nil {
		return err
	}
	days, err := s.coworker.AuditDays(ctx, who, q)
	if err != nil {
		return err
	}
	type day struct {
		Day    string `json:"day"`
		Calls  int    `json:"calls"`
		Errors int    `json:"errors"`
	}
	items := []day{}
	for _, d := range days {
		items = append(items, day{d.Day.Format(time.DateOnly), d.Calls, d.Errors})
	}
	return answer(c, fiber.StatusOK, inPage(items, ""))
}
