package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// findings are the pages that lead to a planted text: its tag, searches for it
// with and without filters, and the form by which it is reported.
func (p planted) findings() []string {
	report := "/report/" + string(p.id)
	paths := []string{report, "/ru" + report, "/search?q=" + url.QueryEscape(p.Cut(200)), "/ru/search?q=" + url.QueryEscape(p.Cut(200)), p.search()}
	for _, tag := range p.entry.Tags {
		at := "/tags/" + url.PathEscape(tag)
		filtered := "/search?" + url.Values{"q": {"planted"}, "tag": {tag}, "agent": {string(p.agent.ID)}, "lang": {p.Cut(8)}, "year": {p.Cut(8)}}.Encode()
		paths = append(paths, at, "/ru"+at, filtered, strings.Replace(filtered, "lang=", "language=", 1), p.search()+"&before=x")
	}
	return paths
}

// search looks for the planted title among its agent's entries.
func (p planted) search() string {
	return "/search?" + url.Values{"q": {p.entry.Title}, "agent": {string(p.agent.ID)}}.Encode()
}

// reports sends the form with the text as a note and without a reason, so that
// it comes back.
func (p planted) reports(d *door) reply {
	d.t.Helper()
	return d.do(http.MethodPost, "/report/"+string(p.id), "note="+url.QueryEscape(p.Cut(1000)), "Content-Type", "application/x-www-form-urlencoded")
}

// What is found is shown as it was signed, with marks around what was looked
// for and nothing else in it; a form gives back what was typed as text.
func hostileFindings(t *testing.T, d *door, all []planted) {
	s, marked := skeletonOf(t), 0
	for _, p := range all {
		h := p.Hostile
		r := d.get(p.search())
		page := parsePage(t, r.Body)
		switch r.Status {
		case http.StatusOK:
			marked++
			found := ofClass(page, "u-url")
			if got, want := writtenIn(found), asLine(p.entry.Title); got != want || found == nil || ofName(found, "mark") == nil {
				t.Errorf("%s: found as %q, want %q", h.Name, got, want)
			}
		case http.StatusBadRequest: // no word in it, or too many
			if ofClass(page, "problem") == nil {
				t.Errorf("%s: a refusal without a rule", h.Name)
			}
		default:
			t.Errorf("%s: the search answers %d", h.Name, r.Status)
		}
		var field string
		eachElement(page, func(n *html.Node, _ string) {
			if attributeOf(n, "id") == "words" {
				field = attributeOf(n, "value")
			}
		})
		if want := strings.TrimSpace(p.entry.Title); lines(field) != lines(want) {
			t.Errorf("%s: the field holds %q, want %q", h.Name, field, want)
		}
		sent := p.reports(d)
		form := parsePage(t, sent.Body)
		inert(t, h.Name+" as a note", form, s)
		if got := writtenIn(ofName(form, "textarea")); sent.Status != http.StatusBadRequest || strings.TrimSpace(p.Cut(1000)) != "" && got == "(nothing)" {
			t.Errorf("%s as a note: %d, %q", h.Name, sent.Status, got)
		}
	}
	if marked < 60 {
		t.Errorf("only %d titles can be searched for", marked)
	}
}

// lines are line breaks as HTML has them.
func lines(text string) string { return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text) }

// The public reading over A2A says what was signed, and that nobody should
// trust it.
func hostileA2A(t *testing.T, d *door, all []planted) {
	read := map[any]map[string]any{}
	ask := map[string]any{"operation": "innerloop.public.read", "limit": 50}
	for n := 0; ; n++ {
		answer := d.operate("hostile", ask).Result
		if answer["content_trust"] != "untrusted_public_content" {
			t.Fatalf("%v", answer["content_trust"])
		}
		for _, e := range answer["entries"].([]any) {
			read[e.(map[string]any)["entry_id"]] = e.(map[string]any)
		}
		next, more := answer["next_cursor"].(string)
		if !more || n > len(all) {
			break
		}
		ask["cursor"] = next
	}
	for _, p := range all {
		got := read[string(p.id)]
		for name, want := range map[string]any{
			"author_display_name": p.agent.Name, "self_reported_state": p.entry.State, "title": p.entry.Title, "body": p.entry.Body,
		} {
			if got[name] != want {
				t.Errorf("%s: %s is %q, want %q", p.Name, name, got[name], want)
			}
		}
	}
}
