package handlers_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
)

func TestSettingsShowAKeyOnce(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	form := newKeyForm()
	form.Set("user", string(o.org.User.ID))
	form.Set("networks", "127.0.0.0/8\n192.0.2.1")
	form.Set("connectors", "ozon, github")
	form.Set("rate", "120")
	made := a.send("/settings/keys", form)
	secret := regexp.MustCompile(coworker.SecretPattern).FindString(made.Body)
	if made.Status != http.StatusCreated || secret == "" || made.Header.Get("Cache-Control") != "private, no-store" {
		t.Fatalf("%d %v", made.Status, made.Header)
	}
	for _, client := range []string{"Claude Code", "Cursor", "VS Code", "Codex", "Gemini CLI", "Windsurf", "Zed", "LM Studio", "Claude Desktop", "ChatGPT", "innerloop bridge", "Cannot use a key"} {
		if !strings.Contains(made.Body, client) {
			t.Errorf("no word on %s", client)
		}
	}
	if r := o.call(secret, "list_services", "{}"); r.Status != 200 || strings.Contains(r.Body, `"isError":true`) {
		t.Errorf("the key does not work: %d %s", r.Status, r.Body)
	}
	page, err := o.ListKeys(t.Context(), coworker.Operator(), o.org.Organization.ID, "", 0)
	if err != nil || len(page.Keys) != 2 {
		t.Fatal(page, err)
	}
	k := page.Keys[slices.IndexFunc(page.Keys, func(k coworker.Key) bool { return k.Name == "a laptop" })]
	if k.Scopes != coworker.ReadTools || k.Rate != 120 || !slices.Equal(k.Connectors, []string{"ozon", "github"}) || len(k.Networks) != 2 || k.ExpiresAt.Sub(k.CreatedAt) != 90*24*time.Hour {
		t.Errorf("%+v", k)
	}
	for _, path := range []string{"", "/users", "/keys", "/keys/" + string(k.ID), "/keys/" + string(k.ID) + "/revoke", "/sessions", "/audit", "/audit.csv"} {
		for _, prefix := range []string{"/settings", "/ru/settings"} {
			r := a.see(prefix + path)
			if r.Status != 200 || strings.Contains(r.Body, secret) || strings.Contains(r.Body, secret[len(k.Prefix):]) {
				t.Errorf("%s%s: %d, the key is there: %t", prefix, path, r.Status, strings.Contains(r.Body, secret))
			}
		}
	}
	if strings.Contains(o.Log.String(), secret) {
		t.Error("the key is in the log")
	}
}

func TestSettingsFormsKeepWhatWasTyped(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	for field, row := range map[string]struct{ name, value, says string }{
		"name":            {"name", "", "1 to 80 characters"},
		"networks":        {"networks", "nowhere at all", "such as 203.0.113.0/24"},
		"connectors":      {"connectors", "Ozon!", "ids of services"},
		"rate_per_minute": {"rate", "many", "0 (no limit) to 100000"},
		"class":           {"class", "everything", "may change"},
		"expires_in_days": {"days", "1000", "30, 90 or 365"},
		"user_id":         {"user", "user_" + strings.Repeat("0", 32), "one of the users"},
		"scopes":          {"scope", "root", "at least one scope"},
	} {
		form := newKeyForm()
		form.Set("user", string(o.org.User.ID))
		form.Set("connectors", "github")
		form.Set(row.name, row.value)
		r := a.send("/settings/keys", form)
		if r.Status != 400 || !strings.Contains(r.Body, row.says) || !strings.Contains(r.Body, `id="`+field+`-fault"`) || !strings.Contains(r.Body, `href="#`+field+`"`) {
			t.Errorf("%s: %d\n%s", field, r.Status, r.Body)
		}
		if field != "name" && !strings.Contains(r.Body, `value="a laptop"`) {
			t.Errorf("%s: the name is gone", field)
		}
		if field != "connectors" && !strings.Contains(r.Body, `value="github"`) {
			t.Errorf("%s: the list of connectors is gone", field)
		}
		if strings.Contains(a.send("/ru/settings/keys", form).Body, row.says) {
			t.Errorf("%s: English in a Russian page", field)
		}
	}
	if r := a.send("/settings/keys", url.Values{"name": {"x"}, "unknown": {"y"}}); r.Status != 400 {
		t.Errorf("an unknown field: %d", r.Status)
	}
	if r := a.send("/settings/users", url.Values{"name": {" <b>x</b> "}}); r.Status != 400 || !strings.Contains(r.Body, `value=" &lt;b&gt;x&lt;/b&gt; "`) {
		t.Errorf("a bad name: %d", r.Status)
	}
	page, err := o.ListKeys(t.Context(), coworker.Operator(), o.org.Organization.ID, "", 0)
	if err != nil || len(page.Keys) != 1 {
		t.Errorf("a bad form made a key: %v %v", page.Keys, err)
	}
}

func TestSettingsChangeUsersKeysAndSessions(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	a.did("/settings/users", url.Values{"name": {"Build machine"}}, "/settings/users?done=user")
	users, err := o.Users(t.Context(), coworker.Operator(), o.org.Organization.ID, "", 0)
	if err != nil || len(users) != 2 {
		t.Fatal(users, err)
	}
	machine := users[0] // both were made in one millisecond, which leaves their order to chance
	if machine.ID == o.org.User.ID {
		machine = users[1]
	}
	k, secret := o.Key(o.org, coworker.NewKey{User: machine.ID, Scopes: coworker.Admin, Connectors: []string{}})
	edit := url.Values{"name": {"renamed"}, "scope": {"read:tools", "read:data"}, "class": {"read"}, "connectors": {"none"}, "networks": {""}, "rate": {"5"}}
	a.did("/settings/keys/"+string(k.ID), edit, "/settings/keys?done=saved")
	if k, err = o.C.Coworker.Key(t.Context(), coworker.Operator(), k.ID); err != nil || k.Name != "renamed" || k.Scopes != coworker.ReadTools|coworker.ReadData || k.Class != coworker.ClassRead || k.Connectors == nil || len(k.Connectors) != 0 || k.Rate != 5 {
		t.Errorf("%+v %v", k, err)
	}
	if page := a.see("/settings/keys/" + string(k.ID)); !strings.Contains(page.Body, `value="none"`) || !strings.Contains(page.Body, "<details class=\"narrower\" open>") {
		t.Error("a key without connectors is shown as one with all")
	}
	if page := a.see("/settings/keys/" + string(k.ID) + "/revoke"); !strings.Contains(page.Body, "Revoke “renamed”?") {
		t.Errorf("the page does not name the key: %s", page.Body)
	}
	a.did("/settings/keys/"+string(k.ID)+"/revoke", nil, "/settings/keys?done=revoked")
	if r := o.call(secret.Reveal(), "list_services", "{}"); r.Status != 401 {
		t.Errorf("a revoked key: %d", r.Status)
	}
	if page := a.see("/settings/users/" + string(machine.ID) + "/remove"); !strings.Contains(page.Body, "Remove Build machine?") {
		t.Errorf("the page does not name the user: %s", page.Body)
	}
	a.did("/settings/users/"+string(machine.ID)+"/remove", nil, "/settings/users?done=gone")
	if r := a.send("/settings/users/"+string(o.org.User.ID)+"/remove", nil); r.Status != 400 || !strings.Contains(r.Body, "last user of the organisation") {
		t.Errorf("the last user: %d", r.Status)
	}
	b := o.signIn(o.org.Secret.Reveal())
	sessions, err := o.Sessions(t.Context(), o.Caller(o.org.Secret))
	if err != nil || len(sessions) != 2 {
		t.Fatal(sessions, err)
	}
	for _, one := range sessions {
		b.send("/settings/sessions/"+string(one.ID)+"/end", nil)
	}
	for _, one := range []*admin{a, b} {
		if r := one.see("/settings/keys"); r.Status == 200 {
			if r := one.send("/settings/sign-out", nil); r.Status != 303 {
				t.Errorf("sign out: %d", r.Status)
			}
		}
		if r := one.see("/settings/keys"); r.Status != 303 {
			t.Errorf("an ended session: %d", r.Status)
		}
	}
}

func TestSettingsSessionsEndByTime(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	o.Clock.Advance(coworker.SessionIdle + time.Minute)
	if r := a.see("/settings/keys"); r.Status != 303 {
		t.Errorf("after an idle hour: %d", r.Status)
	}
	if r := a.send("/settings/users", url.Values{"name": {"late"}}); r.Status != 401 || !strings.Contains(r.Body, "Your session is over") {
		t.Errorf("a form after an idle hour: %d", r.Status)
	}
}

// Nobody finds the settings by a search.
func TestSettingsAreNotToBeFound(t *testing.T) {
	t.Parallel()
	o := settingsOffice(t)
	if r := o.get("/sitemap.xml"); strings.Contains(r.Body, "/settings") {
		t.Error("in the sitemap")
	}
	for _, path := range []string{"/settings", "/ru/settings"} {
		if r := o.get(path); r.Header.Get("X-Robots-Tag") != "noindex" {
			t.Errorf("%s: %v", path, r.Header)
		}
	}
	if r := o.get("/robots.txt"); !strings.Contains(r.Body, "Disallow: /settings") {
		t.Error("robots may come")
	}
}
