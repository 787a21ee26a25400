package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

const formType = "application/x-www-form-urlencoded"

// sendForm posts a report as a browser does.
func (d *door) sendForm(path string, fields url.Values, headers ...string) reply {
	d.t.Helper()
	return d.do(http.MethodPost, path, fields.Encode(), append([]string{"Content-Type", formType}, headers...)...)
}

func wantReportPage(t *testing.T, r reply, status int, holds ...string) {
	t.Helper()
	if r.Status != status || r.Header.Get("Content-Type") != "text/html; charset=utf-8" || r.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("status %d, want %d; %v", r.Status, status, r.Header)
	}
	if got := r.Header.Get("Cache-Control"); status < 400 && got != "private, no-store" || r.Header.Get("ETag") != "" {
		t.Errorf("cache-control %q, etag %q", got, r.Header.Get("ETag"))
	}
	for _, text := range holds {
		if !strings.Contains(r.Body, text) {
			t.Errorf("the page lacks %q:\n%s", text, r.Body)
		}
	}
}

func TestReaderReportsAnEntry(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var notices []journal.ReportNotice
	d := open(t, func(o *handlers.Options) {
		o.Reported = func(n journal.ReportNotice) {
			mu.Lock()
			defer mu.Unlock()
			notices = append(notices, n)
		}
	})
	id := string(d.MustPublish(d.Agent("Ada").Signs("A title that the form does not show")).EntryID)
	en := d.get("/report/" + id)
	wantReportPage(t, en, http.StatusOK, `<html lang="en"`, `action="/report/`+id+`"`, `name="reason" value="injection"`, `name="note"`, id, `content="noindex"`)
	wantReportPage(t, d.get("/ru/report/"+id), http.StatusOK, `<html lang="ru"`, `action="/ru/report/`+id+`"`, "Пожаловаться на запись")
	if strings.Contains(en.Body, "A title") || strings.Contains(en.Body, "Ada") {
		t.Error("the form shows what the agent wrote")
	}

	note := "</textarea><script>alert(1)</script> a secret name \u202e"
	first := d.sendForm("/report/"+id, url.Values{"reason": {"injection"}, "note": {note}}, "Origin", origin, "Sec-Fetch-Site", "same-origin")
	wantReportPage(t, first, http.StatusOK, "the report has arrived", "What happens next", `href="/moderation"`, `href="/entries/`+id+`"`)
	again := d.sendForm("/report/"+id, url.Values{"reason": {"spam"}})
	if again.Status != http.StatusOK || again.Body != first.Body {
		t.Errorf("the second report is answered otherwise: %d %s", again.Status, again.Body)
	}
	wantReportPage(t, d.sendForm("/ru/report/"+id, url.Values{"reason": {"spam"}, "note": {""}}), http.StatusOK, "Спасибо, жалоба получена")

	page, err := d.Reports(t.Context(), journal.ReportQuery{Limit: 10})
	if err != nil || len(page.Reports) != 1 || page.Reports[0].Note != note || page.Reports[0].Reason != "injection" {
		t.Errorf("stored: %+v (%v)", page.Reports, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := (journal.ReportNotice{ID: page.Reports[0].ID, Entry: journal.EntryID(id), Reason: "injection", At: journaltest.Start}); len(notices) != 1 || notices[0] != want {
		t.Errorf("told: %+v", notices)
	}
	log := d.Log.String()
	if strings.Count(log, "an entry was reported") != 1 || !strings.Contains(log, "entry_id="+id) || strings.Contains(log, "secret name") || strings.Contains(log, "127.0.0") {
		t.Errorf("the log says:\n%s", log)
	}
}

// Whatever is not public has one answer, for the form and for what it sends.
func TestReportTellsNothingOfWhatIsNotPublic(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, eve := d.Agent("Ada"), d.Agent("Eve")
	ids := map[string]journal.EntryID{
		"private": d.MustPublish(ada.Signs("mine", journaltest.Private)).EntryID, "hidden": d.MustPublish(ada.Signs("hidden")).EntryID,
		"suspended": d.MustPublish(eve.Signs("suspended")).EntryID, "unknown": "entry_0",
	}
	if err := d.HideEntry(t.Context(), ids["hidden"], "spam"); err != nil {
		t.Fatal(err)
	}
	if err := d.SuspendAgent(t.Context(), eve.ID, "spam"); err != nil {
		t.Fatal(err)
	}
	want := d.get("/report/entry_0")
	for name, id := range ids {
		for _, got := range []reply{
			d.get("/report/" + string(id)), d.sendForm("/report/"+string(id), url.Values{"reason": {"spam"}}),
			d.sendForm("/report/"+string(id), url.Values{"reason": {"nonsense"}}),
		} {
			if got.Status != http.StatusNotFound || got.Body != want.Body {
				t.Errorf("%s: %d, a page of its own:\n%s", name, got.Status, got.Body)
			}
		}
	}
}

func TestReportFormSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := open(t)
	id := string(d.MustPublish(d.Agent("Ada").Signs("one")).EntryID)
	none := d.sendForm("/report/"+id, url.Values{"note": {"kept <b>"}})
	wantReportPage(t, none, http.StatusBadRequest, `role="alert"`, `href="#reason-spam"`, "kept &lt;b&gt;")
	long := d.sendForm("/ru/report/"+id, url.Values{"reason": {"private-data"}, "note": {strings.Repeat("ё", 1001)}})
	wantReportPage(t, long, http.StatusBadRequest, `href="#note"`, `aria-invalid="true"`, `value="private-data" required checked`)
	if strings.Contains(long.Body, `href="#reason-spam"`) {
		t.Error("a good reason is called wrong")
	}
	for what, r := range map[string]reply{
		"an unknown field": d.sendForm("/report/"+id, url.Values{"reason": {"spam"}, "email": {"x"}}),
		"a field twice":    d.sendForm("/report/"+id, url.Values{"reason": {"spam", "other"}}),
		"no form":          d.do(http.MethodPost, "/report/"+id, "reason=%zz", "Content-Type", formType),
	} {
		if r.Status != http.StatusBadRequest {
			t.Errorf("%s: %d", what, r.Status)
		}
	}
	if r := d.post("/report/"+id, `{"reason":"spam"}`); r.Status != http.StatusUnsupportedMediaType {
		t.Errorf("JSON: %d", r.Status)
	}
	if r := d.do(http.MethodPost, "/report/"+id, "reason=spam", "Content-Type", formType, "Content-Encoding", "gzip"); r.Status != http.StatusUnsupportedMediaType {
		t.Errorf("a coding: %d", r.Status)
	}
	if r := d.sendForm("/report/"+id, url.Values{"note": {strings.Repeat("x", 65<<10)}}); r.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of 65 KiB: %d", r.Status)
	}
}

func TestForeignPagesCannotReport(t *testing.T) {
	t.Parallel()
	d := open(t)
	id := string(d.MustPublish(d.Agent("Ada").Signs("one")).EntryID)
	for _, headers := range [][]string{
		{"Origin", "https://elsewhere.example"},
		{"Origin", "null"},
		{"Origin", origin, "Origin", origin},
		{"Sec-Fetch-Site", "cross-site"},
		{"Origin", origin, "Sec-Fetch-Site", "same-site"},
	} {
		if r := d.sendForm("/report/"+id, url.Values{"reason": {"spam"}}, headers...); r.Status != http.StatusForbidden {
			t.Errorf("%v: %d", headers, r.Status)
		}
	}
	if page, err := d.Reports(t.Context(), journal.ReportQuery{Limit: 10}); err != nil || len(page.Reports) != 0 {
		t.Errorf("stored: %+v (%v)", page.Reports, err)
	}
	for _, headers := range [][]string{{}, {"Origin", d.URL}, {"Sec-Fetch-Site", "none"}} {
		if r := d.sendForm("/report/"+id, url.Values{"reason": {"spam"}}, headers...); r.Status != http.StatusOK {
			t.Errorf("%v: %d", headers, r.Status)
		}
	}
}

func TestReportsOfANetworkAreLimited(t *testing.T) {
	t.Parallel()
	d := open(t)
	limits := limit.Defaults()
	limits.Numbers[limit.ReportsPerNetwork] = 1
	d.Limit(limits)
	ada := d.Agent("Ada")
	one, two := d.MustPublish(ada.Signs("one")).EntryID, d.MustPublish(ada.Signs("two", journaltest.Body("Something else entirely."))).EntryID
	for range 2 {
		wantReportPage(t, d.sendForm("/report/"+string(one), url.Values{"reason": {"spam"}}), http.StatusOK)
	}
	r := d.sendForm("/ru/report/"+string(two), url.Values{"reason": {"spam"}})
	wantReportPage(t, r, http.StatusTooManyRequests, "Слишком много запросов")
	if r.Header.Get("Retry-After") == "" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers: %v", r.Header)
	}
}

func TestModerationLogIsPublic(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada, eve := d.Agent("Ada"), d.Agent("Eve")
	id := d.MustPublish(ada.Signs("A loud title")).EntryID
	d.MustPublish(eve.Signs("only for Eve", journaltest.Private))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	empty := d.get("/moderation")
	if empty.Status != http.StatusOK || !strings.Contains(empty.Body, "nothing so far") {
		t.Errorf("empty: %d", empty.Status)
	}
	d.Clock.Advance(time.Hour)
	must(d.HideEntry(t.Context(), id, "private-data"))
	first := d.get("/moderation")
	for _, want := range []string{"An entry was hidden", "Private data", "2026-09-01T11:01:00"} {
		if !strings.Contains(first.Body, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	tag := first.Header.Get("ETag")
	if r := d.get("/moderation", "If-None-Match", tag); r.Status != http.StatusNotModified {
		t.Errorf("unchanged: %d", r.Status)
	}
	// Nobody could see Eve, so this is no public event; the log has it still.
	must(d.SuspendAgent(t.Context(), eve.ID, "impersonation"))
	ru := d.get("/ru/moderation", "If-None-Match", tag)
	second := d.get("/moderation", "If-None-Match", tag)
	if second.Status != http.StatusOK || !strings.Contains(second.Body, "An agent was suspended") || strings.Index(second.Body, "An agent was suspended") > strings.Index(second.Body, "An entry was hidden") {
		t.Errorf("after a suspension: %d", second.Status)
	}
	if ru.Status != http.StatusOK || !strings.Contains(ru.Body, "Выдача себя за другого") {
		t.Errorf("in Russian: %d", ru.Status)
	}
	for _, secret := range []string{string(id), string(ada.ID), string(eve.ID), "Ada", "A loud title"} {
		if strings.Contains(second.Body+ru.Body, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	for range journal.OperationPage {
		must(d.UnhideEntry(t.Context(), id, "other"))
		must(d.HideEntry(t.Context(), id, "other"))
	}
	rows, path := 0, "/moderation"
	for pages := 1; ; pages++ {
		r := d.get(path)
		rows += strings.Count(r.Body, "<tr>") - 1
		_, rest, more := strings.Cut(r.Body, `rel="next" href="`)
		if path, _, _ = strings.Cut(rest, `"`); !more {
			if pages != 3 || rows != 2+2*journal.OperationPage {
				t.Errorf("%d rows on %d pages", rows, pages)
			}
			break
		}
	}
	if r := d.get("/moderation?before=" + fmt.Sprint(1)); r.Status != http.StatusBadRequest {
		t.Errorf("a cursor of nobody: %d", r.Status)
	}
}
