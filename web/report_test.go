package web_test

import (
	"testing"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web"
)

func TestReportAndModerationPages(t *testing.T) {
	t.Parallel()
	empty := journal.Report{Entry: "entry_0192f0c0de"}
	bad := journal.Report{Entry: empty.Entry, Reason: "spam", Note: hostile}
	log := journal.OperationList{NextCursor: "older", Operations: []journal.Operation{
		{ID: 4, At: now, Action: "restore", Reason: "other"},
		{ID: 3, At: now, Action: "suspend", Reason: "injection"},
		{ID: 2, At: now, Action: "unhide", Reason: "impersonation"},
		{ID: 1, At: now, Action: "hide", Reason: "private-data"},
	}}
	for _, lang := range locale.All() {
		for name, page := range map[string]string{
			"report":       render(t, web.ReportPage(web.NewReportView(site, lang, empty, nil))),
			"report.wrong": render(t, web.ReportPage(web.NewReportView(site, lang, bad, []journal.Violation{{Field: "reason"}, {Field: "note"}}))),
			"report.sent":  render(t, web.ReportSentPage(web.NewReportSentView(site, lang, empty.Entry))),
			"moderation":   render(t, web.ModerationPage(web.NewModerationView(site, lang, log, "cursor"))),
			"moderation.0": render(t, web.ModerationPage(web.NewModerationView(site, lang, journal.OperationList{}, ""))),
		} {
			golden(t, name+"."+lang.Code()+".html", page)
		}
	}
}

// Every class and every action has words in both languages.
func TestReportWordsAreComplete(t *testing.T) {
	t.Parallel()
	for _, lang := range locale.All() {
		report, log := lang.ReportMessages(), lang.ModerationMessages()
		for _, class := range journal.ReasonClasses() {
			if report.Reasons[class] == "" || log.Reasons[class] == "" {
				t.Errorf("%s: no words for %s", lang.Code(), class)
			}
		}
		for _, action := range []string{"suspend", "restore", "hide", "unhide"} {
			if log.Actions[action] == "" {
				t.Errorf("%s: no words for %s", lang.Code(), action)
			}
		}
	}
}
