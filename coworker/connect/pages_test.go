package connect_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// Attack: a page without items names the page after it. Expectation: it is
// followed where the service's cursor alone says whether there is more.
func TestAnEmptyPageWithACursorIsNotTheLast(t *testing.T) {
	t.Parallel()
	b := open(t, turns(
		say(200, `{"ok":true,"channels":[{"id":"C1"}],"response_metadata":{"next_cursor":"a"}}`),
		say(200, `{"ok":true,"channels":[],"response_metadata":{"next_cursor":"b"}}`),
		say(200, `{"ok":true,"channels":[{"id":"C2"}],"response_metadata":{"next_cursor":""}}`),
	))
	b.books["slack"] = connect.Connection{ID: "connection_slack", Service: "slack", Fields: map[string]string{"bot_token": secret}, Version: 1}
	a := b.do(connect.Call{Service: "slack", Method: "conversations.list", MaxPages: 10})
	if got := asJSON(t, a.Data); got != `[{"id":"C1"},{"id":"C2"}]` || a.Page.Pages != 3 || a.Page.HasMore {
		t.Errorf("%s %+v", got, a.Page)
	}
}

// Updates of a bot are asked for from the one after the last.
func TestACursorThatIsCountedOn(t *testing.T) {
	t.Parallel()
	b := open(t, turns(
		say(200, `{"ok":true,"result":[{"update_id":6},{"update_id":7}]}`),
		say(200, `{"ok":true,"result":[]}`),
	))
	a := b.do(connect.Call{Service: "telegram_bot", Method: "getUpdates", MaxPages: 10})
	_, bodies := b.requests()
	if len(bodies) != 2 || bodies[1] != `{"offset":8}` || a.Page.HasMore {
		t.Errorf("%q %+v", bodies, a.Page)
	}
}

// Attack: the pace of a service admits one call a minute and two pages are
// asked for. Expectation: the first is told with the way to the second.
func TestPagesThatThePaceEndsAreNotLost(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `[{"lastChangeDate":"2026-11-02T00:00:00"}]`))
	call := connect.Call{Service: "wildberries", Module: "statistics", Method: "GET", Path: "/api/v1/supplier/orders", Query: map[string]any{"dateFrom": "2026-11-01"}, MaxPages: 2}
	a := b.do(call)
	if asked, _ := b.requests(); len(asked) != 1 || a.Page.Pages != 1 || !a.Page.HasMore || a.Page.Next == "" || !strings.Contains(a.Hint, "page") {
		t.Errorf("%d requests, %+v %q", len(asked), a.Page, a.Hint)
	}
	call.Page = a.Page.Next
	b.refused(call, "RATE_LIMITED")
}

// GitHub's pages of a repository's lists have the repository's number in their
// address.
func TestPagesGoOnUnderTheNumberOfARepository(t *testing.T) {
	t.Parallel()
	asked := []string{}
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		if n := len(asked); n < 3 {
			w.Header().Set("Link", fmt.Sprintf(`<https://api.github.com/repositories/1300192/issues?page=%d>; rel="next"`, n+1))
		}
		say(200, fmt.Sprintf(`[{"number":%d}]`, len(asked)))(w, r)
	})
	call := connect.Call{Service: "github", Method: "GET", Path: "/repos/o/r/issues", MaxPages: 2}
	a := b.do(call)
	if got := asJSON(t, a.Data); got != `[{"number":1},{"number":2}]` || a.Page.Pages != 2 || a.Page.Next == "" {
		t.Fatalf("%s %+v %q", got, a.Page, a.Hint)
	}
	call.Page = a.Page.Next
	if got := asJSON(t, b.do(call).Data); got != `[{"number":3}]` || strings.Join(asked, " ") != "/repos/o/r/issues /repositories/1300192/issues?page=2 /repositories/1300192/issues?page=3" {
		t.Errorf("%s %q", got, asked)
	}
	b.refused(connect.Call{Service: "github", Method: "POST", Path: "/repositories/1300192/issues", Body: map[string]any{"title": "A"}}, coworker.InvalidArg)
}

// Attack: a service names a next page that the module does not admit, that is
// elsewhere, or that is more than the call's class. Expectation: no such page
// is asked for, and what was read until then is told.
func TestAForeignNextPageEndsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, next := range []string{
		"https://api.github.com/admin/users?page=3", "https://api.github.com.evil.example/user/repos?page=3",
		"http://api.github.com/user/repos?page=3", "https://api.github.com/repositories/../admin/users", "//evil.example/user/repos",
	} {
		n := 0
		b := open(t, func(w http.ResponseWriter, r *http.Request) {
			if n++; n == 1 {
				w.Header().Set("Link", `<https://api.github.com/user/repos?page=2>; rel="next"`)
			} else {
				w.Header().Set("Link", "<"+next+`>; rel="next"`)
			}
			say(200, fmt.Sprintf(`[{"id":%d}]`, n))(w, r)
		})
		a := b.do(connect.Call{Service: "github", Method: "GET", Path: "/user/repos", MaxPages: 5})
		if got := asJSON(t, a.Data); got != `[{"id":1},{"id":2}]` || n != 2 || !a.Page.HasMore || a.Page.Next != "" || !strings.Contains(a.Hint, "outside") {
			t.Errorf("%s: %s, %d requests, %+v %q", next, got, n, a.Page, a.Hint)
		}
	}
}

// Attack: the next page of a search lies at a path that changes something.
// Expectation: it is not called under the permission to search.
func TestANextPageIsOfTheCallsClass(t *testing.T) {
	t.Parallel()
	n := 0
	b := open(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Link", `<https://api.github.com/repos/o/r/dispatches?page=2>; rel="next"`)
		say(200, `[{"id":1}]`)(w, r)
	})
	a := b.do(connect.Call{Service: "github", Method: "POST", Path: "/markdown/search", MaxPages: 5})
	if n != 1 || !a.Page.HasMore || a.Page.Next != "" || !strings.Contains(a.Hint, "outside") {
		t.Errorf("%d requests, %+v %q", n, a.Page, a.Hint)
	}
}
