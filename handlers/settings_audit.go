package handlers

import (
	"bytes"
	"encoding/csv"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/internal/locale"
	"innerloop/web/settings"
)

// Bounds of the audit pages.
const (
	auditRows  = 50
	chartDays  = 30     // of a chart without dates
	csvRows    = 10_000 // of a file
	filterText = 100    // bytes of a filter
)

// anyError is what the form sends for every error.
const anyError = "any"

// An asking is the filter of the page as it was sent.
type asking struct{ user, key, tool, service, code, from, until, before string }

func (d *desk) asking() asking {
	args := d.Context().QueryArgs()
	value := func(name string) string {
		return shortText(args.Peek(name))
	}
	return asking{value("user_id"), value("key_id"), value("tool"), value("service"), value("error"), value("from"), value("until"), value("before")}
}

// shortText is what was typed into a filter, cut between characters.
func shortText(typed []byte) string {
	text := strings.ToValidUTF8(string(typed), "")
	return strings.TrimSpace(strings.ToValidUTF8(text[:min(len(text), filterText)], ""))
}

// query reads the filter. Dates are whole days in UTC, the last one included.
func (a asking) query() (coworker.AuditQuery, []coworker.Problem) {
	q := coworker.AuditQuery{User: coworker.UserID(a.user), Key: coworker.KeyID(a.key), Tool: a.tool, Service: a.service, Error: coworker.Code(a.code)}
	if a.code == anyError {
		q.Error, q.OnlyErrors = "", true
	}
	var problems []coworker.Problem
	for _, one := range []struct {
		field, text string
		at          *time.Time
		add         time.Duration
	}{{"from", a.from, &q.From, 0}, {"until", a.until, &q.Until, day}} {
		if one.text == "" {
			continue
		}
		t, err := time.Parse(time.DateOnly, one.text)
		if err != nil || t.Year() < 2000 || t.Year() > 2999 {
			problems = append(problems, coworker.Problem{Field: one.field})
			continue
		}
		*one.at = t.Add(one.add)
	}
	return q, problems
}

// address is the same filter at another path or page.
func (a asking) address(path, before string) string {
	v := url.Values{}
	for name, text := range map[string]string{"user_id": a.user, "key_id": a.key, "tool": a.tool, "service": a.service, "error": a.code, "from": a.from, "until": a.until, "before": before} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// auditPage is GET /settings/audit.
func (s *Server) auditPage(d *desk) error {
	a := d.asking()
	m := d.messages()
	q, problems := a.query()
	if len(problems) > 0 {
		d.Status(fiber.StatusBadRequest)
		for _, p := range problems {
			label := m.Log.From
			if p.Field == "until" {
				label = m.Log.Until
			}
			d.frame.Faults = append(d.frame.Faults, settings.Fault{Field: p.Field, Label: label, Text: m.Log.BadDay})
		}
	}
	known, err := s.namesOf(d.ctx, d.who)
	if err != nil {
		return err
	}
	d.frame.Title = m.Audit
	v := settings.Audit{Frame: d.frame, Service: a.service, From: a.from, Until: a.until, Narrowed: a.address("", "") != ""}
	d.choices(&v, a, known)
	if len(problems) > 0 {
		return s.sheet(d.Ctx, settings.AuditPage(v))
	}
	if err := s.chart(d, &v, q); err != nil {
		return err
	}
	q.Limit = auditRows
	page, err := s.coworker.Audit(d.ctx, d.who, q, a.before)
	if err != nil {
		return err
	}
	for _, row := range page.Items {
		v.Rows = append(v.Rows, auditRow(d.lang(), row, known))
	}
	if page.Next != "" {
		v.Older = d.lang().Path(a.address(settings.AuditPath, page.Next))
	}
	if a.before != "" {
		v.Newest = d.lang().Path(a.address(settings.AuditPath, ""))
	}
	v.Download = d.lang().Path(a.address(settings.CSVPath, ""))
	return s.sheet(d.Ctx, settings.AuditPage(v))
}

// choices fill the lists of the filter. What is asked for is among them even
// when it is no longer there.
func (d *desk) choices(v *settings.Audit, a asking, known names) {
	m := d.messages().Log
	list := func(chosen string, all []settings.Choice) []settings.Choice {
		out, found := []settings.Choice{{Label: m.Any}}, chosen == ""
		for _, c := range all {
			c.Chosen = c.Value == chosen
			found = found || c.Chosen
			out = append(out, c)
		}
		if !found {
			out = append(out, settings.Choice{Value: chosen, Label: chosen, Chosen: true})
		}
		return out
	}
	var users, keys, tools []settings.Choice
	for _, u := range known.users {
		users = append(users, settings.Choice{Value: string(u.ID), Label: u.Name})
	}
	for _, k := range known.keys {
		keys = append(keys, settings.Choice{Value: string(k.ID), Label: k.Name + " (" + k.Prefix + "…)"})
	}
	for _, tool := range coworker.Tools() {
		tools = append(tools, settings.Choice{Value: tool, Label: tool})
	}
	codes := []settings.Choice{{Value: anyError, Label: m.AnyError}}
	for _, code := range coworker.Codes() {
		codes = append(codes, settings.Choice{Value: string(code), Label: string(code)})
	}
	v.Users, v.Keys, v.Tools, v.Errors = list(a.user, users), list(a.key, keys), list(a.tool, tools), list(a.code, codes)
}

// chart counts calls and errors by day: of the days asked for, or of the last
// thirty.
func (s *Server) chart(d *desk, v *settings.Audit, q coworker.AuditQuery) error {
	today := s.now().UTC().Truncate(day)
	from, until := today.Add((1-chartDays)*day), today.Add(day)
	if !q.Until.IsZero() && q.Until.Before(until) {
		until = q.Until
		from = until.Add(-chartDays * day)
	}
	if !q.From.IsZero() {
		from = q.From
	}
	if oldest := today.Add(-coworker.AuditLife); from.Before(oldest) {
		from = oldest
	}
	if !from.Before(until) {
		return nil
	}
	q.From, q.Until = from, until
	counted, err := s.coworker.AuditDays(d.ctx, d.who, q)
	if err != nil {
		return err
	}
	of := map[time.Time]coworker.AuditDay{}
	for _, one := range counted {
		of[one.Day.UTC().Truncate(day)] = one
		v.Calls += one.Calls
		v.Failed += one.Errors
	}
	for at := from; at.Before(until); at = at.Add(day) {
		v.Days = append(v.Days, settings.AuditDay{Day: d.lang().ShortDate(at), Calls: of[at].Calls, Errors: of[at].Errors})
	}
	return nil
}

func auditRow(lang locale.Lang, a coworker.Audit, known names) settings.AuditRow {
	m := lang.SettingsMessages().Log
	row := settings.AuditRow{
		At:  settings.Moment{Machine: locale.Machine(a.At), Text: lang.ShortDate(a.At) + a.At.UTC().Format(", 15:04:05")},
		Who: m.Command, What: a.Action, Call: a.Target, Service: a.Service, Result: m.Fine,
	}
	if a.User != "" {
		row.Who = named(known.user, a.User)
	}
	if a.Key != "" {
		row.Key = named(known.key, a.Key)
	}
	if words, ok := m.Actions[a.Action]; ok {
		row.What = words
	}
	if a.Action == coworker.ActionCall {
		row.Call = a.Tool
		row.Took = strings.Replace(m.Took, "#", strconv.FormatInt(a.Took.Milliseconds(), 10), 1)
	}
	row.Where = strings.Join(strings.Fields(strings.Join([]string{a.Module, a.Method, a.Path}, " ")), " ")
	if a.Status != 0 {
		row.Result = strconv.Itoa(a.Status)
	}
	if a.Error != "" {
		row.Result, row.Bad = string(a.Error), true
	}
	return row
}

var csvHead = []string{
	"time", "action", "user_id", "user", "key_id", "key", "target", "tool", "service", "module", "method", "path", "class",
	"status", "error", "bytes_in", "bytes_out", "took_ms", "retries", "hosts",
}

// auditCSV is GET /settings/audit.csv: the rows of the filter in one file of
// RFC 4180, the newest first.
func (s *Server) auditCSV(d *desk) error {
	q, problems := d.asking().query()
	if len(problems) > 0 {
		return errForm
	}
	known, err := s.namesOf(d.ctx, d.who)
	if err != nil {
		return err
	}
	var file bytes.Buffer
	file.WriteString("\ufeff") // or a spreadsheet takes it for another encoding than UTF-8
	w := csv.NewWriter(&file)
	w.UseCRLF = true
	_ = w.Write(csvHead) // to memory
	q.Limit = coworker.PageMax
	for cursor, rows := "", 0; rows < csvRows; {
		page, err := s.coworker.Audit(d.ctx, d.who, q, cursor)
		if err != nil {
			return err
		}
		for _, a := range page.Items {
			_ = w.Write(csvRow(a, known))
		}
		if rows += len(page.Items); page.Next == "" {
			break
		}
		cursor = page.Next
	}
	w.Flush()
	h := &d.Context().Response.Header
	h.Set(fiber.HeaderCacheControl, settingsCache)
	h.Set("X-Robots-Tag", "noindex")
	h.Set(fiber.HeaderContentDisposition, `attachment; filename="audit-`+s.now().UTC().Format(time.DateOnly)+`.csv"`)
	h.SetContentType("text/csv; charset=utf-8")
	d.Context().Response.SetBodyRaw(file.Bytes())
	return nil
}

func csvRow(a coworker.Audit, known names) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	status := ""
	if a.Status != 0 {
		status = strconv.Itoa(a.Status)
	}
	row := []string{
		coworker.FormatTime(a.At), a.Action, string(a.User), known.user[a.User], string(a.Key), known.key[a.Key], a.Target, a.Tool, a.Service, a.Module, a.Method, a.Path,
		string(a.Class), status, string(a.Error), number(a.BytesIn), number(a.BytesOut), number(a.Took.Milliseconds()), number(int64(a.Retries)), strings.Join(a.Hosts, " "),
	}
	for i := range row {
		row[i] = inert(row[i])
	}
	return row
}

// inert keeps a spreadsheet from taking a cell for a formula: an apostrophe
// before whatever could begin one, in either width, after any white space.
func inert(cell string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, " \u00a0\u3000"))
	if strings.ContainsRune("=+-@\t\r\n|%\uff1d\uff0b\uff0d\uff20", first) && cell != "" {
		return "'" + cell
	}
	return cell
}
