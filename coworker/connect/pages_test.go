package connect_test

import (
	"strings"
	"testing"

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
