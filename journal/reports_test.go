package journal_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

func report(t *testing.T, j *journaltest.J, from string, r journal.Report) (journal.ReportNotice, bool, error) {
	t.Helper()
	return j.ReportEntry(t.Context(), journaltest.From(t, from), r)
}

func listed(t *testing.T, j *journaltest.J, q journal.ReportQuery) []journal.StoredReport {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = journal.ReportPageMax
	}
	page, err := j.Reports(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page.Reports
}

func TestOneReportForAnEntryAndNetwork(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		one, two := j.MustPublish(ada.Signs("one")).EntryID, j.MustPublish(ada.Signs("two")).EntryID
		for _, row := range []struct {
			from  string
			entry journal.EntryID
			fresh bool
		}{
			{"203.0.113.7", one, true},
			{"203.0.113.200", one, false}, // the same /24
			{"203.0.113.7", two, true},
			{"198.51.100.7", one, true},
			{"2001:db8::1", one, true},
			{"2001:db8:0:ff::1", one, false}, // the same /56
		} {
			notice, fresh, err := report(t, j, row.from, journal.Report{Entry: row.entry, Reason: "spam", Note: "from " + row.from})
			if err != nil || fresh != row.fresh || notice.Entry != row.entry || notice.ID == 0 {
				t.Errorf("%s about %s: %+v, fresh %v (%v)", row.from, row.entry, notice, fresh, err)
			}
		}
		if got := listed(t, j, journal.ReportQuery{}); len(got) != 4 || got[0].Note != "from 2001:db8::1" || got[3].Note != "from 203.0.113.7" {
			t.Errorf("reports: %+v", got)
		}
		if got := listed(t, j, journal.ReportQuery{Entry: two}); len(got) != 1 || got[0].Entry != two || !got[0].At.Equal(journaltest.Start) {
			t.Errorf("reports of one entry: %+v", got)
		}
	})
}

// What cannot be read is one answer, whatever the reason.
func TestOnlyWhatIsPublicIsReported(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, eve := j.Agent("Ada"), j.Agent("Eve")
		ids := map[string]journal.EntryID{
			"private": j.MustPublish(ada.Signs("mine", journaltest.Private)).EntryID,
			"hidden":  j.MustPublish(ada.Signs("hidden")).EntryID, "deleted": j.MustPublish(ada.Signs("deleted")).EntryID,
			"suspended": j.MustPublish(eve.Signs("suspended")).EntryID, "unknown": "entry_0", "malformed": "entry 0\x00",
		}
		if err := j.HideEntry(t.Context(), ids["hidden"], "spam"); err != nil {
			t.Fatal(err)
		}
		if err := j.SuspendAgent(t.Context(), eve.ID, "spam"); err != nil {
			t.Fatal(err)
		}
		mustDelete(t, j, ada, ids["deleted"])
		want := j.Reportable(t.Context(), ids["unknown"]).Error()
		for name, id := range ids {
			_, _, err := report(t, j, "203.0.113.7", journal.Report{Entry: id, Reason: "nonsense"})
			journaltest.WantFault(t, err, journal.EntryNotFound)
			if err.Error() != want || j.Reportable(t.Context(), id).Error() != want {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
		if got := listed(t, j, journal.ReportQuery{}); len(got) != 0 {
			t.Errorf("reports: %+v", got)
		}
	})
}

func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		limits := limit.Defaults()
		limits.Numbers[limit.ReportsPerNetwork], limits.Numbers[limit.Reports], limits.Numbers[limit.RegistrationsPerNetwork] = 2, 3, 0
		j.Limit(limits)
		ada := j.Agent("Ada")
		var ids []journal.EntryID
		for n := range 4 {
			ids = append(ids, j.MustPublish(ada.Signs(fmt.Sprint("entry ", n), journaltest.Body(strings.Repeat(fmt.Sprint(n, "word"), 20)))).EntryID)
		}
		say := func(from string, id journal.EntryID) error {
			_, _, err := report(t, j, from, journal.Report{Entry: id, Reason: "other"})
			return err
		}
		for _, id := range ids[:2] {
			if err := say("203.0.113.7", id); err != nil {
				t.Fatal(err)
			}
		}
		err := say("203.0.113.7", ids[2])
		journaltest.WantFault(t, err, journal.RateLimited)
		if f, _ := journal.AsFault(err); f.RetryAfter != 14*time.Hour-time.Minute { // until midnight
			t.Errorf("the wait is %v", f.RetryAfter)
		}
		// One that is known uses nothing up and is answered still.
		if err := say("203.0.113.7", ids[0]); err != nil {
			t.Error("a repeat:", err)
		}
		if err := say("198.51.100.7", ids[2]); err != nil {
			t.Error("another network:", err)
		}
		journaltest.WantFault(t, say("192.0.2.7", ids[3]), journal.RateLimited) // three in all
		if got := listed(t, j, journal.ReportQuery{}); len(got) != 3 {
			t.Errorf("%d reports are stored, want 3", len(got))
		}
		j.Clock.Advance(24 * time.Hour)
		if err := say("203.0.113.7", ids[2]); err != nil {
			t.Error("the next day:", err)
		}
	})
}

func TestReportsHoldAReasonAndAShortNote(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	id := j.MustPublish(j.Agent("Ada").Signs("one")).EntryID
	for _, row := range []struct {
		reason, note string
		fields       []string
	}{
		{"", "x", []string{"reason"}},
		{"dislike", strings.Repeat("ё", journal.NoteMax+1), []string{"reason", "note"}},
		{"spam", strings.Repeat("😀", journal.NoteMax+1), []string{"note"}},
	} {
		_, _, err := report(t, j, "203.0.113.7", journal.Report{Entry: id, Reason: row.reason, Note: row.note})
		journaltest.WantFault(t, err, journal.ValidationFailed)
		f, _ := journal.AsFault(err)
		var fields []string
		for _, v := range f.Violations {
			fields = append(fields, v.Field)
		}
		if fmt.Sprint(fields) != fmt.Sprint(row.fields) {
			t.Errorf("%q: fields %v, want %v", row.reason, fields, row.fields)
		}
	}
	note := " \r\n" + strings.Repeat("ё", journal.NoteMax-2) + "\x00\x1b\xff\r\nA\u0085 "
	if _, fresh, err := report(t, j, "203.0.113.7", journal.Report{Entry: id, Reason: "spam", Note: note}); err != nil || !fresh {
		t.Fatalf("a long note: fresh %v (%v)", fresh, err)
	}
	if got := listed(t, j, journal.ReportQuery{})[0].Note; strings.ContainsAny(got, "\x00\x1b\r\u0085") || !strings.HasSuffix(got, "\nA") {
		t.Errorf("the note was kept as %q", got[max(0, len(got)-20):])
	}
}

func TestReportsAreListedClosedAndForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		id := j.MustPublish(j.Agent("Ada").Signs("one")).EntryID
		for n := range 5 {
			j.Clock.Advance(time.Hour)
			if _, fresh, err := report(t, j, fmt.Sprintf("203.0.%d.7", n), journal.Report{Entry: id, Reason: "spam", Note: fmt.Sprint(n)}); err != nil || !fresh {
				t.Fatal(fresh, err)
			}
		}
		var notes string
		q := journal.ReportQuery{Limit: 2}
		for pages := 1; ; pages++ {
			page, err := j.Reports(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Reports {
				notes += r.Note
			}
			if q.Cursor = page.NextCursor; q.Cursor == "" {
				if pages != 3 {
					t.Errorf("%d pages", pages)
				}
				break
			}
			_, err = j.Reports(t.Context(), journal.ReportQuery{Limit: 2, Closed: true, Cursor: q.Cursor})
			journaltest.WantFault(t, err, journal.ValidationFailed) // a cursor of another list
		}
		if notes != "43210" {
			t.Errorf("the pages hold %q, want 43210", notes)
		}
		closing := listed(t, j, journal.ReportQuery{})[1].ID
		if err := j.CloseReport(t.Context(), closing); err != nil {
			t.Fatal(err)
		}
		if err := j.CloseReport(t.Context(), closing); err != nil {
			t.Error("closed again:", err)
		}
		if err := j.CloseReport(t.Context(), 1<<40); err == nil {
			t.Error("closed a report that does not exist")
		}
		all := listed(t, j, journal.ReportQuery{Closed: true})
		if got := listed(t, j, journal.ReportQuery{}); len(got) != 4 || len(all) != 5 || all[1].ID != closing || all[1].ClosedAt.IsZero() || !all[0].ClosedAt.IsZero() {
			t.Errorf("%d open of %d: %+v", len(got), len(all), all)
		}
		// Two of the five are older than 90 days.
		j.Clock.Set(journaltest.Start.Add(2*time.Hour + journal.ReportKept + time.Minute))
		if err := j.Chores(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := listed(t, j, journal.ReportQuery{Closed: true}); len(got) != 3 || got[2].Note != "2" {
			t.Errorf("after 90 days: %+v", got)
		}
	})
}

func TestOperationLogNamesNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		id := j.MustPublish(ada.Signs("one")).EntryID
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for range journal.OperationPage / 2 {
			must(j.HideEntry(t.Context(), id, "spam"))
			must(j.UnhideEntry(t.Context(), id, "other"))
		}
		j.Clock.Advance(time.Hour)
		must(j.SuspendAgent(t.Context(), ada.ID, "a word that is "+string(ada.ID)))
		first, err := j.OperationLog(t.Context(), "")
		if err != nil || len(first.Operations) != journal.OperationPage || first.NextCursor == "" {
			t.Fatalf("%d rows, next %q (%v)", len(first.Operations), first.NextCursor, err)
		}
		newest := first.Operations[0]
		if newest.Action != "suspend" || newest.Reason != "other" || !newest.At.Equal(journaltest.Start.Add(time.Hour)) || first.Operations[1].Action != "unhide" || first.Operations[2].Reason != "spam" {
			t.Errorf("the log begins with %+v", first.Operations[:3])
		}
		second, err := j.OperationLog(t.Context(), first.NextCursor)
		if err != nil || len(second.Operations) != 1 || second.NextCursor != "" || second.Operations[0].Action != "hide" {
			t.Errorf("the second page: %+v (%v)", second, err)
		}
		_, err = j.OperationLog(t.Context(), first.NextCursor[1:])
		journaltest.WantFault(t, err, journal.ValidationFailed)
		if f, _ := journal.AsFault(err); f.Violations[0].Field != "before" {
			t.Errorf("a bad place is called %q, unlike the parameter", f.Violations[0].Field)
		}
	})
}
