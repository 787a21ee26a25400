package connect_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// TestAddressesThatAreNoAddresses: tricks of user names, schemes and signs in
// the base address of a connection.
func TestAddressesThatAreNoAddresses(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]string{
		"a user":                     "http://shop.example@127.0.0.1:PORT",
		"a user and a password":      "http://shop.example:443@127.0.0.1:PORT",
		"two users":                  "http://a@b@127.0.0.1:PORT",
		"a backslash for a slash":    `http://shop.example\@127.0.0.1:PORT`,
		"a backslash after the host": `http://127.0.0.1:PORT\.shop.example`,
		"a fragment":                 "http://127.0.0.1:PORT#.shop.example",
		"an empty fragment user":     "http://shop.example#@127.0.0.1:PORT/",
		"a query":                    "http://127.0.0.1:PORT?.shop.example",
		"a tab":                      "http://127.0.0.1\t:PORT",
		"a new line":                 "http://127.0.0.1:PORT\r\nHost: shop.example",
		"a space":                    "http://127.0.0.1 :PORT",
		"a scheme within a scheme":   "http://http://127.0.0.1:PORT",
		"no scheme":                  "//127.0.0.1:PORT",
		"one slash":                  "http:/127.0.0.1:PORT",
		"no slash":                   "http:127.0.0.1:PORT",
		"gopher":                     "gopher://127.0.0.1:PORT/_GET",
		"file":                       "file:///etc/passwd",
		"file with a host":           "file://127.0.0.1:PORT/etc/passwd",
		"ftp":                        "ftp://127.0.0.1:PORT",
		"dict":                       "dict://127.0.0.1:PORT/x",
		"ldap":                       "ldap://127.0.0.1:PORT/x",
		"a web socket":               "ws://127.0.0.1:PORT",
		"data":                       "data:application/json,{}",
		"a unix socket":              "unix://SOCKET",
		"a unix socket over http":    "http+unix://ESCAPED/x",
		"a unix socket as a host":    "http://unix:SOCKET",
		"an escaped unix socket":     "http://ESCAPED/x",
		"an empty host":              "http://:PORT",
		"a port that is none":        "http://127.0.0.1:0PORTx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTarget(t)
			base := strings.NewReplacer("PORT", a.port, "SOCKET", a.socket, "ESCAPED", url.QueryEscape(a.socket)).Replace(base)
			b, _ := openOut(t, nil)
			b.books["github"] = githubAt(base, beside)
			wantClosed(t, b, base)
			a.untouched(t)
		})
	}
}

// TestValuesOfAConnectionNameNoOtherHost: what an organisation may fill in, in
// the place of {portal}, {subdomain} or a whole address.
func TestValuesOfAConnectionNameNoOtherHost(t *testing.T) {
	t.Parallel()
	portal := func(value string) (connect.Connection, connect.Call) {
		return connect.Connection{ID: "c", Service: "bitrix24", Auth: "oauth", Version: 1, Networks: beside, Fields: map[string]string{"access_token": secret}, Params: map[string]string{"portal": value}},
			connect.Call{Service: "bitrix24", Module: "oauth", Method: "crm.deal.list"}
	}
	hook := func(value string) (connect.Connection, connect.Call) {
		return connect.Connection{ID: "c", Service: "bitrix24", Auth: "webhook", Version: 1, Networks: beside, Fields: map[string]string{"webhook_url": value}},
			connect.Call{Service: "bitrix24", Method: "crm.deal.list"}
	}
	server := func(value string) (connect.Connection, connect.Call) {
		return connect.Connection{ID: "c", Service: "onec", Version: 1, Networks: beside, Fields: map[string]string{"user": "robot", "password": secret}, Params: map[string]string{"base_url": value}},
			connect.Call{Service: "onec", Method: "Catalog_X"}
	}
	for name, row := range map[string]struct {
		of    func(string) (connect.Connection, connect.Call)
		value string
	}{
		"{portal} with a port":             {portal, "127.0.0.1:PORT"},
		"{portal} with a user":             {portal, "acme.example@127.0.0.1:PORT"},
		"{portal} with a path":             {portal, "127.0.0.1:PORT/rest"},
		"{portal} with a fragment":         {portal, "127.0.0.1:PORT#"},
		"{portal} with a query":            {portal, "127.0.0.1:PORT?"},
		"{portal} with a backslash":        {portal, `127.0.0.1:PORT\`},
		"{portal} with an escaped slash":   {portal, "127.0.0.1%2f"},
		"{portal} with a new line":         {portal, "acme.example\r\n127.0.0.1"},
		"{portal} as an address":           {portal, "127.0.0.1"},
		"{portal} as a number":             {portal, "2130706433"},
		"{portal} as IPv6":                 {portal, "[::1]"},
		"{portal} as localhost":            {portal, "localhost"},
		"{portal} as another template":     {portal, "{access_token}.example"},
		"{portal} as metadata":             {portal, "169.254.169.254"},
		"a webhook of an address":          {hook, "https://127.0.0.1/rest/1/code0123456789/"},
		"a webhook with a port":            {hook, "https://127.0.0.1:PORT/rest/1/code0123456789/"},
		"a webhook with a user":            {hook, "https://a@127.0.0.1/rest/1/code0123456789/"},
		"a webhook of a name here":         {hook, "https://here.example/rest/1/code0123456789/"},
		"a webhook that climbs":            {hook, "https://acme.example/rest/../../rest/1/code0123456789/"},
		"an own server over http":          {server, "http://127.0.0.1:PORT"},
		"an own server with a port":        {server, "https://127.0.0.1:PORT"},
		"an own server with a user":        {server, "https://a:b@127.0.0.1:PORT"},
		"an own server that is a number":   {server, "https://2130706433:PORT"},
		"an own server with a query":       {server, "https://127.0.0.1:PORT?x="},
		"an own server that climbs":        {server, "https://127.0.0.1:PORT/a/../b"},
		"an own server with slashes twice": {server, "https://acme.example//127.0.0.1:PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTarget(t)
			b, _ := openOut(t, nil)
			connection, call := row.of(strings.ReplaceAll(row.value, "PORT", a.port))
			b.books[connection.Service] = connection
			_, _, err := b.Execute(t.Context(), everything, call)
			f, ok := coworker.AsFault(err)
			if !ok || f.Code != coworker.NotConnected && (f.Code != coworker.UpstreamError || !strings.Contains(f.Hint, "may not be called")) {
				t.Errorf("%v", err)
			}
			a.untouched(t)
		})
	}
}

// TestPathsNameNoOtherHost, however their slashes are written.
func TestPathsNameNoOtherHost(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"an address": "http://127.0.0.1:PORT/user", "two slashes": "//127.0.0.1:PORT/user", "three slashes": "///127.0.0.1:PORT", "a user": "@127.0.0.1:PORT/user", "a port": ":PORT/user",
		"a backslash": `/\127.0.0.1:PORT`, "two backslashes": `\\127.0.0.1:PORT\user`, "an encoded slash": "/%2f127.0.0.1:PORT/user", "an encoded backslash": "/user/%5c127.0.0.1",
		"encoded twice": "/user/%252f127.0.0.1", "dots": "/user/../../x", "encoded dots": "/user/%2e%2e/x", "dots encoded twice": "/user/%252e%252e/x", "dots between backslashes": `/user/..\..\x`,
		"a tab": "/user/\t/x", "an encoded tab": "/user/%09x", "a new line": "/user/x HTTP/1.1\r\nHost: 127.0.0.1:PORT", "an encoded new line": "/user/%0d%0aHost:127.0.0.1",
		"a query": "/user?@127.0.0.1:PORT", "a fragment": "/user#@127.0.0.1:PORT", "a broken escape": "/user/%zz", "a template": "/user/{token}", "no slash before": "user",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTarget(t)
			var asked atomic.Int64
			s := besideServer(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
			b, _ := openOut(t, nil)
			b.books["github"] = githubAt(s.URL, beside)
			b.refused(connect.Call{Service: "github", Method: "GET", Path: strings.ReplaceAll(path, "PORT", a.port)}, coworker.InvalidArg)
			if asked.Load() != 0 {
				t.Error("something was sent")
			}
			a.untouched(t)
		})
	}
}
