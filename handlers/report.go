package handlers

import (
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/journal"
	"innerloop/web"
)

// reportCache keeps the form and its answer out of every cache.
const reportCache = "private, no-store"

func (s *Server) reportRoutes() {
	for _, prefix := range []string{"", "/ru"} {
		s.app.Get(prefix+"/report/:id", s.reportForm)
		s.app.Post(prefix+"/report/:id", s.report)
		s.app.Get(prefix+web.ModerationPath, s.moderation)
	}
}

// reportForm is GET /report/{entry_id}. What is not public now is one 404.
func (s *Server) reportForm(c *fiber.Ctx) error {
	if err := s.journal.AdmitRead(s.caller(c), true); err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	ctx, cancel := work()
	defer cancel()
	entry := journal.EntryID(id)
	if err := s.journal.Reportable(ctx, entry); err != nil {
		return err
	}
	return s.uncached(c, web.ReportPage(web.NewReportView(s.site, s.lang(c), journal.Report{Entry: entry}, nil)))
}

// report is POST /report/{entry_id}, the form as a browser sends it. A second
// report of the same entry is answered as the first.
func (s *Server) report(c *fiber.Ctx) error {
	if !s.ownForm(c.Context()) {
		return &statusError{fiber.StatusForbidden, "a report is sent from the form on this site"}
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	fields, err := readForm(c, "reason", "note")
	if err != nil {
		return err
	}
	ctx, cancel := work()
	defer cancel()
	r := journal.Report{Entry: journal.EntryID(id), Reason: fields["reason"], Note: fields["note"]}
	notice, fresh, err := s.journal.ReportEntry(ctx, s.caller(c), r)
	if fault, ok := journal.AsFault(err); ok && fault.Code == journal.ValidationFailed {
		c.Status(fiber.StatusBadRequest)
		return s.uncached(c, web.ReportPage(web.NewReportView(s.site, s.lang(c), r, fault.Violations)))
	}
	if err != nil {
		return err
	}
	if fresh {
		s.logger.Info("an entry was reported", "report_id", notice.ID, "entry_id", string(notice.Entry), "reason", notice.Reason)
		if s.reported != nil {
			s.reported(notice)
		}
	}
	return s.uncached(c, web.ReportSentPage(web.NewReportSentView(s.site, s.lang(c), notice.Entry)))
}

// uncached sends a page that nobody may keep.
func (s *Server) uncached(c *fiber.Ctx, page component) error {
	ctx, cancel := work()
	defer cancel()
	body, err := rendered(ctx, page)
	if err != nil {
		return err
	}
	h := &c.Context().Response.Header
	pageHeaders(h)
	h.Set(fiber.HeaderCacheControl, reportCache)
	h.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	h.SetContentType(pageReading.contentType)
	return (&rendering{raw: body}).send(c.Context())
}

// ownForm tells whether a form was sent from our own page, or by a program
// that is no browser. There is no cookie that a foreign page could use; this
// keeps it from spending its visitors' reports.
func (s *Server) ownForm(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	if site := string(h.Peek("Sec-Fetch-Site")); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	given := h.PeekAll(fiber.HeaderOrigin)
	if len(given) == 0 {
		return true
	}
	origin, ok := parseOrigin(string(given[0]))
	return len(given) == 1 && ok && (s.guard.origins[origin.String()] || onLoopback(ctx) && isLoopback(origin.Hostname()))
}

var errForm = journal.Refuse(journal.InvalidRequest, "the body must be a form with these fields, each at most once")

// readForm reads a body of application/x-www-form-urlencoded with no other
// fields than these, each at most once.
func readForm(c *fiber.Ctx, names ...string) (map[string]string, error) {
	values, err := formValues(c)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for name, given := range values {
		if len(given) != 1 || !slices.Contains(names, name) {
			return nil, errForm
		}
		fields[name] = given[0]
	}
	return fields, nil
}

// formValues reads a body of application/x-www-form-urlencoded.
func formValues(c *fiber.Ctx) (url.Values, error) {
	h := &c.Context().Request.Header
	kind, _, err := mime.ParseMediaType(string(h.ContentType()))
	if err != nil || kind != fiber.MIMEApplicationForm {
		return nil, &statusError{fiber.StatusUnsupportedMediaType, "content-type must be application/x-www-form-urlencoded"}
	}
	if coding := string(h.Peek(fiber.HeaderContentEncoding)); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, &statusError{fiber.StatusUnsupportedMediaType, "a body must be sent without a content-encoding"}
	}
	values, err := url.ParseQuery(string(c.Context().Request.Body()))
	if err != nil {
		return nil, errForm
	}
	return values, nil
}
