package handlers_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/handlers"
)

// An admin is a browser that is signed in to the settings.
type admin struct {
	*office
	cookie, csrf string
}

// settingsOffice is an office whose pages are reached in the clear on loopback.
func settingsOffice(t *testing.T) *office {
	t.Helper()
	return openOffice(t)
}

// form posts a form as a browser does that shows our own page.
func (o *office) form(path string, values url.Values, headers ...string) reply {
	o.t.Helper()
	return o.do(http.MethodPost, path, values.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", o.URL}, headers...)...)
}

// cookieOf is the session cookie that an answer sets: name=value.
func cookieOf(r reply) string {
	for _, line := range r.Header.Values("Set-Cookie") {
		if name, _, _ := strings.Cut(line, ";"); strings.Contains(name, "innerloop-session=") {
			return name
		}
	}
	return ""
}

var csrfField = regexp.MustCompile(`name="csrf" value="([A-Za-z0-9_-]{43})"`)

// signIn opens a session with a key.
func (o *office) signIn(key string) *admin {
	o.t.Helper()
	r := o.form("/settings", url.Values{"key": {key}})
	if r.Status != http.StatusSeeOther || r.Header.Get("Location") != "/settings/keys" {
		o.t.Fatalf("sign in: %d %s", r.Status, r.Body)
	}
	a := &admin{office: o, cookie: cookieOf(r)}
	page := a.see("/settings/keys")
	found := csrfField.FindStringSubmatch(page.Body)
	if page.Status != http.StatusOK || found == nil {
		o.t.Fatalf("signed in, and then %d %s", page.Status, page.Body)
	}
	a.csrf = found[1]
	return a
}

func (a *admin) see(path string) reply {
	a.t.Helper()
	return a.get(path, "Cookie", a.cookie)
}

// send posts one of our forms with its token.
func (a *admin) send(path string, values url.Values) reply {
	a.t.Helper()
	if values == nil {
		values = url.Values{}
	}
	values.Set("csrf", a.csrf)
	return a.form(path, values, "Cookie", a.cookie)
}

func (a *admin) did(path string, values url.Values, location string) {
	a.t.Helper()
	if r := a.send(path, values); r.Status != http.StatusSeeOther || r.Header.Get("Location") != location {
		a.t.Errorf("%s: %d to %q, want %q\n%s", path, r.Status, r.Header.Get("Location"), location, r.Body)
	}
}

func newKeyForm() url.Values {
	return url.Values{"name": {"a laptop"}, "user": {""}, "scope": {"read:tools"}, "days": {"90"}, "class": {"irreversible"}, "connectors": {""}, "networks": {""}, "rate": {"0"}}
}

// settingsForms are all forms that change something, with fields that would do
// it, but for those that bring a file (TestUploadsAreSentByTheAdminAlone).
// {user}, {key}, {session} and {connection} are those of the organisation under
// attack, as are the network, the file and the skill.
func settingsForms() map[string]url.Values {
	edit := newKeyForm()
	edit.Del("user")
	edit.Del("days")
	return map[string]url.Values{
		"/settings/sign-out":               {},
		"/settings/users":                  {"name": {"Mallory"}},
		"/settings/users/{user}/remove":    {},
		"/settings/keys":                   newKeyForm(),
		"/settings/keys/{key}":             edit,
		"/settings/keys/{key}/revoke":      {},
		"/settings/sessions/{session}/end": {},

		"/settings/rules":           {"confirm": {"yes"}},
		"/settings/networks":        {"cidr": {"10.1.0.0/16"}},
		"/settings/networks/remove": {"cidr": {"10.2.0.0/16"}},
		"/settings/connections/ozon": {
			"auth": {"seller_api"}, "name": {"second"}, "user": {""}, "base_url": {""}, "field.client_id": {"1"}, "field.api_key": {plantedCredential},
		},
		"/settings/connections/ozon/{connection}/test":   {},
		"/settings/connections/ozon/{connection}/remove": {},
		"/settings/memory/delete?path=a_file.txt":        {},
		"/settings/skills/month-end/enable":              {},
		"/settings/skills/month-end/disable":             {},
		"/settings/skills/month-end/remove":              {},
	}
}

// No form is left out, whatever is routed later.
func TestSettingsFormsAreAllInTheTable(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{"/settings": true, "/settings/memory": true, "/settings/skills": true} // the sign-in and what brings a file
	route := strings.NewReplacer("{", ":", "}", "", "/ozon", "/:service", "/month-end", "/:skill")
	for path := range settingsForms() {
		path, _, _ = strings.Cut(path, "?")
		listed[route.Replace(path)] = true
	}
	routed := handlers.Posts(settingsOffice(t).server)
	for _, path := range routed {
		if plain := strings.TrimPrefix(path, "/ru"); strings.HasPrefix(plain, "/settings") && !listed[plain] {
			t.Errorf("%s is in no table", path)
		}
	}
	for path := range listed {
		if !slices.Contains(routed, path) || !slices.Contains(routed, "/ru"+path) {
			t.Errorf("%s is not routed in both languages", path)
		}
	}
}

// rows is everything that a form could have changed.
func (o *office) rows() string {
	o.t.Helper()
	var all strings.Builder
	err := o.ExportOrganization(o.t.Context(), coworker.Operator(), o.org.Organization.ID, func(r coworker.ExportedRecord) error {
		if r.Kind != "audit" {
			all.WriteString(encode(o.t, r))
		}
		return nil
	}, o.keeper.Export, o.shelf.Export, o.files.Export)
	if err != nil {
		o.t.Fatal(err)
	}
	return all.String()
}

// fills gives the organisation a network, a connection, a file and a skill, and
// returns the connection's id.
func (a *admin) fills() string {
	a.t.Helper()
	a.did("/settings/networks", url.Values{"cidr": {"10.2.0.0/16"}}, "/settings?done=admitted")
	a.did("/settings/connections/ozon", ozonForm(), "/settings/connections/ozon?done=connected")
	skill := skillArchive(a.t, "---\nname: month-end\ndescription: Closes a month.\n---\nbody\n")
	for path, file := range map[string][2]string{"/settings/memory": {"a_file.txt", "kept"}, "/settings/skills": {"month-end.zip", skill}} {
		if r := a.upload(path, nil, file[0], file[1]); r.Status != http.StatusSeeOther {
			a.t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	id := regexp.MustCompile(`connection_[0-9a-f]{32}`).FindString(a.see("/settings/connections/ozon").Body)
	if id == "" {
		a.t.Fatal("no connection")
	}
	return id
}

// Every form, and every way in which somebody who must not could send it. None
// changes anything, and the session of the one it was meant for goes on.
func TestSettingsFormsAreSentByTheAdminAlone(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	root := o.org.Secret.Reveal()
	victim := o.signIn(root)
	second, err := o.AddUser(t.Context(), coworker.Operator(), o.org.Organization.ID, "Second")
	if err != nil {
		t.Fatal(err)
	}
	key, _ := o.scoped("read:tools")
	sessions, err := o.Sessions(t.Context(), o.Caller(o.org.Secret))
	if err != nil || len(sessions) != 1 {
		t.Fatal(sessions, err)
	}
	connection := victim.fills()
	fill := strings.NewReplacer("{user}", string(second.ID), "{key}", string(key.ID), "{session}", string(sessions[0].ID), "{connection}", connection).Replace

	other := o.Found("Other")
	stranger := o.signIn(other.Secret.Reveal())
	spareKey, spare := o.scoped("admin")
	lost := o.signIn(spare)
	if _, err := o.RevokeKey(t.Context(), coworker.Operator(), o.org.Organization.ID, spareKey.ID); err != nil {
		t.Fatal(err)
	}
	with := func(values url.Values, csrf string) url.Values {
		out := url.Values{}
		for name, given := range values {
			out[name] = given
		}
		if csrf != "" {
			out.Set("csrf", csrf)
		}
		return out
	}
	post := func(path string, values url.Values, headers ...string) reply {
		return o.do(http.MethodPost, path, values.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
	}
	attacks := []struct {
		name   string
		status int
		send   func(path string, values url.Values) reply
	}{
		{"without the token", 403, func(p string, v url.Values) reply { return post(p, v, "Origin", o.URL, "Cookie", victim.cookie) }},
		{"with a wrong token", 403, func(p string, v url.Values) reply {
			return post(p, with(v, strings.Repeat("A", 43)), "Origin", o.URL, "Cookie", victim.cookie)
		}},
		{"with the token of another session", 403, func(p string, v url.Values) reply {
			return post(p, with(v, stranger.csrf), "Origin", o.URL, "Cookie", victim.cookie)
		}},
		{"with the token twice", 403, func(p string, v url.Values) reply {
			v = with(v, "")
			v["csrf"] = []string{victim.csrf, victim.csrf}
			return post(p, v, "Origin", o.URL, "Cookie", victim.cookie)
		}},
		{"from another origin", 403, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Origin", "https://evil.example", "Cookie", victim.cookie)
		}},
		{"from another port of this machine", 403, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Origin", "http://127.0.0.1:1", "Cookie", victim.cookie)
		}},
		{"from an origin that hides", 403, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Origin", "null", "Cookie", victim.cookie)
		}},
		{"without an origin", 403, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Cookie", victim.cookie)
		}},
		{"from another site, says the browser", 403, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Origin", o.URL, "Sec-Fetch-Site", "same-site", "Cookie", victim.cookie)
		}},
		{"as a script's JSON", 415, func(p string, v url.Values) reply {
			return o.do(http.MethodPost, p, with(v, victim.csrf).Encode(), "Content-Type", "text/plain", "Origin", o.URL, "Cookie", victim.cookie)
		}},
		{"without a session", 401, func(p string, v url.Values) reply { return post(p, with(v, victim.csrf), "Origin", o.URL) }},
		{"with two session cookies", 401, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Origin", o.URL, "Cookie", victim.cookie+"; "+stranger.cookie)
		}},
		{"with the session of a revoked key", 401, func(p string, v url.Values) reply {
			return post(p, with(v, lost.csrf), "Origin", o.URL, "Cookie", lost.cookie)
		}},
		{"with the key itself", 401, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Origin", o.URL, "Authorization", "Bearer "+root)
		}},
		{"in the clear through a proxy", 403, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Origin", o.URL, "X-Forwarded-For", "192.0.2.1", "Cookie", victim.cookie)
		}},
		{"under a foreign name", 403, func(p string, v url.Values) reply {
			return post(p, with(v, victim.csrf), "Origin", "http://evil.example", "Host", "evil.example", "Cookie", victim.cookie)
		}},
	}
	before := o.rows()
	for path, values := range settingsForms() {
		path = fill(path)
		for _, a := range attacks {
			for _, prefix := range []string{"", "/ru"} {
				r := a.send(prefix+path, values)
				if r.Status != a.status || o.rows() != before {
					t.Fatalf("%s%s %s: status %d, want %d; changed: %t", prefix, path, a.name, r.Status, a.status, o.rows() != before)
				}
				if c := r.Header.Get("Cache-Control"); c != "private, no-store" {
					t.Errorf("%s %s: cache-control %q", path, a.name, c)
				}
			}
		}
		// What only shows may be asked for by a link; it changes nothing.
		if r := victim.see(path); r.Status != 200 && r.Status != 405 || o.rows() != before {
			t.Errorf("GET %s: %d", path, r.Status)
		}
		// A session of another organisation reaches nothing of this one.
		if strings.Contains(path, "_") || strings.Contains(path, "month-end") {
			if r := stranger.send(path, values); r.Status != 404 || o.rows() != before {
				t.Errorf("%s of a stranger: %d", path, r.Status)
			}
		}
		if r := victim.see("/settings/keys"); r.Status != 200 {
			t.Fatalf("after %s the session is gone: %d", path, r.Status)
		}
	}
	if r := o.get("/settings/keys", "Cookie", lost.cookie); r.Status != 303 || r.Header.Get("Location") != "/settings" {
		t.Errorf("a page with the session of a revoked key: %d", r.Status)
	}
}
