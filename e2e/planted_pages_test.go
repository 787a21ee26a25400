package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"innerloop/e2e/program"
)

// A settingsVisitor is an admin who signed in to the settings pages.
type settingsVisitor struct {
	t              *testing.T
	server         *program.Server
	cookie, csrf   string
	everythingSeen strings.Builder // headers too
}

var settingsToken = regexp.MustCompile(`name="csrf" value="([A-Za-z0-9_-]{43})"`)

func openSettings(t *testing.T, server *program.Server, key string) *settingsVisitor {
	t.Helper()
	v := &settingsVisitor{t: t, server: server}
	status, header, _ := v.send(http.MethodPost, "/settings", url.Values{"key": {key}})
	v.cookie, _, _ = strings.Cut(header.Get("Set-Cookie"), ";")
	if status != http.StatusSeeOther || v.cookie == "" {
		t.Fatalf("signing in answers %d", status)
	}
	_, _, page := v.send(http.MethodGet, "/settings/keys", nil)
	found := settingsToken.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no token in %s", page)
	}
	v.csrf = found[1]
	return v
}

func (v *settingsVisitor) send(method, path string, form url.Values) (int, http.Header, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.server.URL)
	}
	if v.cookie != "" {
		r.Header.Set("Cookie", v.cookie)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	fmt.Fprintf(&v.everythingSeen, "%v %s\n", answer.Header, body)
	return answer.StatusCode, answer.Header, string(body)
}

// tests presses the button that tests a connection and returns the page.
func (v *settingsVisitor) tests(service, id string) string {
	v.t.Helper()
	_, _, page := v.send(http.MethodPost, "/settings/connections/"+service+"/"+id+"/test", url.Values{"csrf": {v.csrf}})
	return page
}

// settingsPages is every page of the settings and the audit as a file, as an
// admin's browser gets them, the headers too.
func settingsPages(t *testing.T, server *program.Server, key string) string {
	t.Helper()
	v := openSettings(t, server, key)
	paths := []string{"/settings", "/settings/keys", "/settings/users", "/settings/connections", "/settings/audit", "/settings/audit.csv", "/settings/sessions"}
	for _, p := range plants() {
		paths = append(paths, "/settings/connections/"+p.service)
	}
	for _, path := range paths {
		if status, _, _ := v.send(http.MethodGet, path, nil); status != http.StatusOK {
			t.Errorf("%s answers %d", path, status)
		}
	}
	return v.everythingSeen.String()
}
