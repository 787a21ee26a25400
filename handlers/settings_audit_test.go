package handlers_test

import (
	"encoding/csv"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"innerloop/coworker"
)

// Attack: names of users and keys that a spreadsheet would run.
// Expectation: each cell of the file begins with an apostrophe then, and the
// file has as many rows and columns as it should.
func TestSettingsAuditIsInertInASpreadsheet(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	hostile := []string{`=HYPERLINK("https://evil.example";"x")`, "+1+1", "-2+3", "@SUM(A1)", "|calc", "＝1+1", `"; =1`, "a,b;c\"d"}
	for _, name := range hostile {
		o.Clock.Advance(time.Millisecond)
		_, secret := o.Key(o.org, coworker.NewKey{Name: name, Scopes: coworker.ReadTools})
		o.Clock.Advance(time.Millisecond)
		o.call(secret.Reveal(), "list_services", "{}")
	}
	r := a.see("/settings/audit.csv?tool=list_services")
	text, bom := strings.CutPrefix(r.Body, "\ufeff")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || !bom || len(rows) != len(hostile)+1 {
		t.Fatalf("%d rows, %v\n%s", len(rows), err, r.Body)
	}
	slices.Reverse(rows[1:])
	at := slices.Index(rows[0], "key")
	for i, row := range rows[1:] {
		for _, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@|\t\r") || strings.HasPrefix(cell, "＝") {
				t.Errorf("a cell can run: %q", cell)
			}
		}
		if got := strings.TrimPrefix(row[at], "'"); got != hostile[i] {
			t.Errorf("key %q, want %q", got, hostile[i])
		}
	}
	if !strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment;") || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/csv") {
		t.Errorf("%v", r.Header)
	}
}

func TestSettingsAuditIsFilteredAndPaged(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	k, secret := o.scoped("read:tools")
	for range 60 {
		o.Clock.Advance(time.Millisecond)
		o.call(secret, "list_services", "{}")
	}
	o.call(secret, "describe_service", `{"service":"nonsense"}`)
	count := func(path string) int { return strings.Count(a.see(path).Body, `<td data-label="Time, UTC">`) }
	if n := count("/settings/audit"); n != 50 {
		t.Errorf("%d rows on a page", n)
	}
	first := a.see("/settings/audit?key_id=" + string(k.ID)).Body
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(first)
	if next == nil || !strings.Contains(next[1], "key_id=") {
		t.Fatal("no further page of the same filter")
	}
	if n := count(strings.ReplaceAll(next[1], "&amp;", "&")); n != 11 {
		t.Errorf("%d rows on the second page", n)
	}
	if n := count("/settings/audit?error=any"); n != 1 {
		t.Errorf("%d errors", n)
	}
	if n := count("/settings/audit?error=UNKNOWN_SERVICE&tool=describe_service"); n != 1 {
		t.Errorf("%d errors of the code", n)
	}
	if n := count("/settings/audit?until=2020-01-01"); n != 0 {
		t.Errorf("%d rows of another time", n)
	}
	for _, want := range []string{`<path class="calls" d="M`, `<path class="errors" d="M`, "Calls: 61", "Errors: 1"} {
		if !strings.Contains(first, want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
	if r := a.see("/settings/audit?from=yesterday"); r.Status != 400 || !strings.Contains(r.Body, "Give a day such as") || !strings.Contains(r.Body, `value="yesterday"`) {
		t.Errorf("a bad day: %d", r.Status)
	}
	if r := a.see("/settings/audit?key_id=nonsense&user_id=%3Cb%3E&tool=x&service=%3D1"); r.Status != 200 || strings.Contains(r.Body, "<b>") {
		t.Errorf("nonsense: %d", r.Status)
	}
	// A filter that is too long is cut between characters.
	if r := a.see("/settings/audit?service=a" + strings.Repeat("%D1%8F", 60)); r.Status != 200 || !utf8.ValidString(r.Body) || !strings.Contains(r.Body, `"a`+strings.Repeat("я", 49)+`"`) {
		t.Errorf("a long filter: %d, valid %v", r.Status, utf8.ValidString(r.Body))
	}
}
