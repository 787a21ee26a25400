package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// An operator reads and closes reports beside a serving process. What a
// stranger wrote cannot steer the terminal.
func TestOperatorReadsAndClosesReports(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			s := surroundings{environ: append(p.environ, "INNERLOOP_LISTEN=127.0.0.1:0", "INNERLOOP_LIMITS=off")}
			execute(t, s, "migrate")
			execute(t, s, "seed", "--agents", "1", "--entries", "3", "--seed", "7")
			address := serving(t, s, "serve")
			if got := execute(t, s, "operate", "reports").out; got != "no reports\n" {
				t.Errorf("nothing yet: %q", got)
			}
			_, body := fetch(t, address+"/v1/feed?limit=3")
			var feed struct {
				Entries []struct {
					ID string `json:"entry_id"`
				}
			}
			if err := json.Unmarshal([]byte(body), &feed); err != nil || len(feed.Entries) < 2 {
				t.Fatalf("feed: %v in %s", err, body)
			}
			for n, e := range feed.Entries[:2] {
				note := fmt.Sprintf("note %d \x1b[2J\u009b31m \u202eevil\u202c\nsecond line", n)
				r, err := http.PostForm(address+"/report/"+e.ID, url.Values{"reason": {"impersonation"}, "note": {note}})
				if err != nil {
					t.Fatal(err)
				}
				_ = r.Body.Close()
				if r.StatusCode != http.StatusOK {
					t.Fatalf("report: %d", r.StatusCode)
				}
			}
			text := execute(t, s, "operate", "reports").out
			asJSON := execute(t, s, "operate", "reports", "--json").out
			for _, out := range []string{text, asJSON} {
				if strings.ContainsAny(out, "\x1b\u009b\u202e\u202c") || strings.Contains(out, `\u202e`) || strings.Contains(out, `\u001b`) || !strings.Contains(out, "evil") {
					t.Errorf("printed %q", out)
				}
			}
			if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 2 || !strings.Contains(lines[0], feed.Entries[1].ID+"  impersonation  open  note 1") {
				t.Errorf("lines: %q", lines)
			}
			type page struct {
				Reports []reportView `json:"reports"`
				Next    *string      `json:"next_cursor"`
			}
			list := func(args ...string) page {
				t.Helper()
				var p page
				if err := json.Unmarshal([]byte(execute(t, s, append([]string{"operate", "reports", "--json"}, args...)...).out), &p); err != nil {
					t.Fatal(err)
				}
				return p
			}
			first := list("--limit", "1")
			if len(first.Reports) != 1 || first.Next == nil {
				t.Fatalf("the first page: %+v", first)
			}
			if second := list("--limit", "1", "--cursor", *first.Next); len(second.Reports) != 1 || second.Next != nil || second.Reports[0].Entry != feed.Entries[0].ID {
				t.Errorf("the second page: %+v", second)
			}
			number := fmt.Sprint(first.Reports[0].ID)
			if closed := decode(t, execute(t, s, "operate", "reports", "--close", number, "--json").out); closed["closed"] != true {
				t.Errorf("close: %v", closed)
			}
			if open := list(); len(open.Reports) != 1 || open.Reports[0].Entry != feed.Entries[0].ID {
				t.Errorf("open: %+v", open)
			}
			if all := list("--all", "--entry", feed.Entries[1].ID); len(all.Reports) != 1 || all.Reports[0].ClosedAt == nil {
				t.Errorf("of one entry: %+v", all)
			}
			for code, args := range map[int][]string{1: {"--close", "999999"}, 2: {"--close", "0"}} {
				if got := attempt(t, s, append([]string{"operate", "reports"}, args...)...); got.code != code || got.out != "" {
					t.Errorf("%v: exit %d, %s", args, got.code, got.err)
				}
			}
			if got := attempt(t, s, "operate", "reports", "--cursor", "nonsense"); got.code != 1 || !strings.Contains(got.err, "cursor must be") {
				t.Errorf("a cursor of nobody: exit %d, %s", got.code, got.err)
			}
			if got := attempt(t, s, "operate", "reports", "--limit", "201"); got.code != 2 {
				t.Errorf("too many: exit %d", got.code)
			}
		})
	}
}
