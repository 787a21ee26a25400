package connect_test

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// TestAnAnswerLeadsNowhere: a service that may be called sends us to the target
// by each kind of redirect, by the address of a next page, and by headers that
// browsers obey.
func TestAnAnswerLeadsNowhere(t *testing.T) {
	t.Parallel()
	type row struct {
		status int
		header string
		value  string
	}
	rows := map[string]row{
		"metadata":                       {302, "Location", "http://169.254.169.254/latest/meta-data/"},
		"another host of the same name":  {302, "Location", "http://localhost:PORT/user"},
		"an address without its scheme":  {302, "Location", "//127.0.0.1:PORT/user"},
		"another scheme":                 {302, "Location", "https://127.0.0.1:PORT/user"},
		"a file":                         {302, "Location", "file:///etc/passwd"},
		"gopher":                         {302, "Location", "gopher://127.0.0.1:PORT/_x"},
		"a unix socket":                  {302, "Location", "http+unix://SOCKET"},
		"the same host, then on":         {302, "Location", "/user"},
		"a backslash":                    {302, "Location", `http:\\127.0.0.1:PORT\user`},
		"a choice":                       {300, "Location", "http://127.0.0.1:PORT/user"},
		"a made thing":                   {201, "Location", "http://127.0.0.1:PORT/user"},
		"a refresh":                      {200, "Refresh", "0; url=http://127.0.0.1:PORT/user"},
		"a content location":             {200, "Content-Location", "http://127.0.0.1:PORT/user"},
		"another service of its own":     {200, "Alt-Svc", `h2="127.0.0.1:PORT"; ma=3600`},
		"a proxy to use":                 {305, "Location", "http://127.0.0.1:PORT"},
		"a next page at the target":      {200, "Link", `<http://127.0.0.1:PORT/user>; rel="next"`},
		"a next page of a user":          {200, "Link", `<http://127.0.0.2@127.0.0.1:PORT/user>; rel="next"`},
		"a next page without its scheme": {200, "Link", `<//127.0.0.1:PORT/user>; rel="next"`},
		"a next page of a file":          {200, "Link", `<file:///etc/passwd>; rel="next"`},
		"a next page at metadata":        {200, "Link", `<http://169.254.169.254/user>; rel="next"`},
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		rows["status "+strconv.Itoa(status)] = row{status, "Location", "http://127.0.0.1:PORT/user"}
	}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTarget(t)
			var asked atomic.Int64
			s := besideServer(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Content-Type", "application/json")
				w.Header()[c.header] = []string{strings.NewReplacer("PORT", a.port, "SOCKET", a.socket).Replace(c.value)}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte("[1]"))
			})
			b, _ := openOut(t, nil)
			b.books["github"] = githubAt(s.URL, beside)
			said, _, err := b.Execute(t.Context(), everything, connect.Call{Service: "github", Method: "GET", Path: "/user/repos", MaxPages: 5})
			f, _ := coworker.AsFault(err)
			if followed := c.status >= 300; followed && (f == nil || f.Code != coworker.UpstreamError || f.Contract().Retryable) || !followed && err != nil {
				t.Errorf("%v", err)
			}
			if c.header == "Link" && (said == nil || said.Page.Next != "" || !strings.Contains(said.Hint, "outside of the module")) {
				t.Errorf("%+v", said)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
			a.untouched(t)
		})
	}
}

// TestACredentialIsNotSentAfterARedirect of the address that exchanges it.
func TestACredentialIsNotSentAfterARedirect(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	s := besideServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:"+a.port+"/token", http.StatusTemporaryRedirect)
	})
	b, _ := openOut(t, nil)
	b.books["cdek"] = connect.Connection{ID: "c", Service: "cdek", Version: 1, Fields: map[string]string{"client_id": "acme", "client_secret": secret}, BaseURL: s.URL, Networks: beside}
	b.refused(connect.Call{Service: "cdek", Method: "GET", Path: "/location/regions"}, coworker.UpstreamError)
	a.untouched(t)
}

// TestANameThatTurnsIsJudgedByWhereItLeads, at each connection anew and once
// for each: what was judged is what is connected to.
func TestANameThatTurnsIsJudgedByWhereItLeads(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string][]string{
		"after the first call":           {"127.0.0.2", "127.0.0.1"},
		"after the first call, to IPv6":  {"127.0.0.2", "::1"},
		"after the first call, mapped":   {"127.0.0.2", "::ffff:127.0.0.1"},
		"to metadata":                    {"127.0.0.2", "169.254.169.254"},
		"to nothing that may be called":  {"127.0.0.2", "10.0.0.1 127.0.0.1"},
		"to the target beside a way out": {"127.0.0.1 127.0.0.2 ::1", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTarget(t)
			l, err := net.Listen("tcp4", "127.0.0.2:"+a.port) // the same port, or the turn could lead nowhere
			if err != nil {
				t.Fatal(err)
			}
			var asked atomic.Int64
			s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) })}
			s.SetKeepAlivesEnabled(false)
			go func() { _ = s.Serve(l) }()
			t.Cleanup(func() { _ = s.Close() })
			b, n := openOut(t, map[string][]string{"turn.example": turns})
			base := "http://turn.example:" + a.port
			b.books["github"] = githubAt(base, beside)
			b.do(connect.Call{Service: "github", Method: "GET", Path: "/user"})
			if asked.Load() != 1 || n.asked["turn.example"] != 1 {
				t.Errorf("%d requests, %d look-ups", asked.Load(), n.asked["turn.example"])
			}
			wantClosed(t, b, base)
			if asked.Load() != 1 || n.asked["turn.example"] != 2 {
				t.Errorf("then %d requests, %d look-ups", asked.Load(), n.asked["turn.example"])
			}
			a.untouched(t)
		})
	}
}

// TestProxiesOfTheEnvironmentAreNotAsked, for http and https. Go never sends
// loopback addresses to a proxy, so the service has a name.
func TestProxiesOfTheEnvironmentAreNotAsked(t *testing.T) {
	a := newTarget(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:"+a.port)
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	var asked atomic.Int64
	s := besideServer(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://shop.example:"+port, nil)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := http.ProxyFromEnvironment(r); p == nil || err != nil {
				t.Fatal("nobody would be sent to the proxy", err)
			}
			b, _ := openOut(t, map[string][]string{"shop.example": {"127.0.0.2"}})
			b.books["github"] = githubAt(scheme+"://shop.example:"+port, beside)
			_, _, err = b.Execute(t.Context(), everything, connect.Call{Service: "github", Method: "GET", Path: "/user"})
			if scheme == "http" && (err != nil || asked.Load() != 1) {
				t.Errorf("%v, %d requests", err, asked.Load())
			}
			a.untouched(t)
		})
	}
}
