package handlers_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/internal/limit"
)

func TestSettingsSignIn(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	root := o.org.Secret.Reveal()
	_, reader := o.scoped("read:tools", "write:tools")
	gone, revoked := o.scoped("admin")
	if _, err := o.RevokeKey(t.Context(), coworker.Operator(), o.org.Organization.ID, gone.ID); err != nil {
		t.Fatal(err)
	}
	_, bound := o.Key(o.org, coworker.NewKey{Scopes: coworker.Admin, Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}})

	t.Run("the page asks for a key and keeps nothing", func(t *testing.T) {
		r := o.get("/settings")
		for _, want := range []string{`type="password"`, `autocomplete="off"`, `name="robots" content="noindex"`} {
			if !strings.Contains(r.Body, want) {
				t.Errorf("no %s", want)
			}
		}
		if r.Header.Get("Cache-Control") != "private, no-store" || r.Header.Get("Set-Cookie") != "" || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%v", r.Header)
		}
		if page := o.get("/settings", "Accept-Encoding", "br, gzip"); page.Header.Get("Content-Encoding") != "" {
			t.Error("compressed")
		}
	})
	t.Run("what opens nothing", func(t *testing.T) {
		for name, row := range map[string]struct{ key, says string }{
			"nothing":               {"", "Paste a whole key"},
			"half a key":            {root[:30], "Paste a whole key"},
			"a revoked key":         {revoked, "was revoked"},
			"a key that only reads": {reader, "lacks the scope admin"},
			"from a foreign place":  {bound.Reveal(), "may not be used from your address"},
		} {
			r := o.form("/settings", url.Values{"key": {row.key}})
			if r.Status != 400 || !strings.Contains(r.Body, row.says) || cookieOf(r) != "" {
				t.Errorf("%s: %d %s", name, r.Status, r.Body)
			}
			if row.key != "" && strings.Contains(r.Body, row.key) {
				t.Errorf("%s: the key is shown again", name)
			}
			if !strings.Contains(r.Body, `aria-describedby="key-hint key-fault"`) || !strings.Contains(r.Body, `aria-invalid="true"`) {
				t.Errorf("%s: the field is not marked", name)
			}
		}
	})
	t.Run("a key in the address opens nothing", func(t *testing.T) {
		r := o.get("/settings?key=" + root)
		if cookieOf(r) != "" || strings.Contains(r.Body, root) {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})
	t.Run("nobody is signed in by another site", func(t *testing.T) {
		for _, headers := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {}, {"Origin", o.URL, "Sec-Fetch-Site", "cross-site"}, {"Origin", o.URL, "Origin", "https://evil.example"}} {
			r := o.do(http.MethodPost, "/settings", url.Values{"key": {root}}.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
			if r.Status != 403 || cookieOf(r) != "" {
				t.Errorf("%q: %d %q", headers, r.Status, cookieOf(r))
			}
		}
	})
	t.Run("a token that was planted becomes nobody's", func(t *testing.T) {
		planted := "innerloop-session=" + strings.Repeat("A", 43)
		attacker := o.signIn(root)
		for _, before := range []string{planted, attacker.cookie} {
			r := o.form("/settings", url.Values{"key": {root}}, "Cookie", before)
			after := cookieOf(r)
			if r.Status != 303 || after == "" || after == before {
				t.Fatalf("%d %q", r.Status, after)
			}
			if page := o.get("/settings/keys", "Cookie", before); page.Status != 303 {
				t.Errorf("the planted token is a session: %d", page.Status)
			}
			if page := o.get("/settings/keys", "Cookie", after); page.Status != 200 {
				t.Errorf("the new token is none: %d", page.Status)
			}
		}
	})
	t.Run("the cookie", func(t *testing.T) {
		r := o.form("/settings", url.Values{"key": {root}})
		for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
			if !strings.Contains(r.Header.Get("Set-Cookie"), want) {
				t.Errorf("%q lacks %s", r.Header.Get("Set-Cookie"), want)
			}
		}
		if strings.Contains(r.Header.Get("Set-Cookie"), "Max-Age") || strings.Contains(r.Body+r.Header.Get("Location"), root) {
			t.Errorf("%v %s", r.Header, r.Body)
		}
	})
	t.Run("bad keys are slowed", func(t *testing.T) {
		last := reply{}
		for range coworker.BadKeysPerMinute + 1 {
			last = o.form("/settings", url.Values{"key": {"sk-org-nothing"}})
		}
		if last.Status != 429 || last.Header.Get("Retry-After") == "" {
			t.Errorf("%d %v", last.Status, last.Header)
		}
		o.signIn(root) // a good key is not held up
	})
	if strings.Contains(o.Log.String(), root) {
		t.Error("the key is in the log")
	}
}

// The settings behind a proxy that ends TLS, and in every clear way that is not
// this machine's own.
func TestSettingsNeedAnEncryptedWay(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	root := o.org.Secret.Reveal()
	host := strings.TrimPrefix(origin, "https://")
	https := []string{"Host", host, "X-Forwarded-Proto", "https", "X-Forwarded-For", "203.0.113.5"}
	if r := o.get("/settings", https...); r.Status != 200 || !strings.Contains(r.Body, `type="password"`) {
		t.Fatalf("over https: %d %s", r.Status, r.Body)
	}
	r := o.do(http.MethodPost, "/settings", url.Values{"key": {root}}.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", origin}, https...)...)
	if c := r.Header.Get("Set-Cookie"); r.Status != 303 || !strings.HasPrefix(c, "__Host-innerloop-session=") || !strings.HasSuffix(c, "; Secure") {
		t.Fatalf("%d %q", r.Status, c)
	}
	// The session of https is not one in the clear, under either name.
	if page := o.get("/settings/keys", append([]string{"Cookie", cookieOf(r)}, https...)...); page.Status != 200 {
		t.Errorf("the session over https: %d", page.Status)
	}
	if page := o.get("/settings/keys", "Cookie", cookieOf(r)); page.Status != 303 {
		t.Errorf("the cookie of https in the clear: %d", page.Status)
	}
	for name, headers := range map[string][]string{
		"a foreign name":          {"Host", host},
		"a proxy in the clear":    {"Host", host, "X-Forwarded-Proto", "http"},
		"a proxy that says both":  {"Host", host, "X-Forwarded-Proto", "https", "X-Forwarded-Proto", "http"},
		"a proxy that keeps mum":  {"X-Forwarded-For", "203.0.113.5"},
		"a proxy with Forwarded":  {"Forwarded", "for=203.0.113.5"},
		"a proxy with Via":        {"Via", "1.1 proxy"},
		"a name that is rebound":  {"Host", "evil.example"},
		"a name of many machines": {"Host", "0.0.0.0"},
	} {
		if page := o.get("/settings", headers...); page.Status != 403 || strings.Contains(page.Body, "<form class=\"sheet\"") {
			t.Errorf("%s: %d", name, page.Status)
		}
		if r := o.form("/settings", url.Values{"key": {root}}, headers...); r.Status != 403 || cookieOf(r) != "" {
			t.Errorf("%s, sent: %d", name, r.Status)
		}
	}
}

// Where the service itself is not known by an https address there is no secure
// way, whatever a header says.
func TestSettingsBelieveNoHeaderWithoutHTTPS(t *testing.T) {
	t.Parallel()
	o := openOffice(t, func(options *handlers.Options) {
		options.Origins = discovery.Origins{Web: "http://journal.example", API: "http://journal.example", Gateway: "http://journal.example"}
		options.Limits = limit.Defaults()
	})
	if r := o.get("/settings", "Host", "journal.example", "X-Forwarded-Proto", "https"); r.Status != 403 {
		t.Errorf("status %d", r.Status)
	}
}
