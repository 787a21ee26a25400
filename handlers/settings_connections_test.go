package handlers_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/coworkertest"
	"innerloop/coworker/vault"
	"innerloop/handlers"
	"innerloop/internal/keyring"
	"innerloop/internal/limit"
	"innerloop/journal/journaltest"
)

// An upstream is every outside service at once: it answers with a status.
type upstream struct{ status atomic.Int32 }

func (u *upstream) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: int(u.status.Load()), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{}`)),
	}, nil
}

// connectingOffice is an office whose services can be connected.
func connectingOffice(t *testing.T) (*office, *upstream) {
	t.Helper()
	j := journaltest.Open(t)
	o, outside := &office{C: coworkertest.On(t, j)}, &upstream{}
	outside.status.Store(http.StatusOK)
	services, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(bytes.Repeat([]byte{1}, keyring.MasterSize))
	if err != nil {
		t.Fatal(err)
	}
	master, err := ring.For(vault.Purpose)
	if err != nil {
		t.Fatal(err)
	}
	cursors, err := ring.For("connector cursor")
	if err != nil {
		t.Fatal(err)
	}
	safe, err := vault.New(master, rand.NewChaCha8([32]byte{7}))
	if err != nil {
		t.Fatal(err)
	}
	keeper := connect.NewKeeper(j.Store.Coworker(), safe, services, o.Coworker)
	engine, err := connect.New(connect.Options{
		Catalog: services, Book: keeper, Cursors: cursors, Now: j.Clock.Now, Sleep: func(context.Context, time.Duration) error { return nil },
		Clients: func([]netip.Prefix, string) connect.Doer { return outside },
	})
	if err != nil {
		t.Fatal(err)
	}
	o.door = openOn(t, j, func(options *handlers.Options) {
		options.Coworker, options.Keeper, options.Engine, options.ServerName, options.Limits = o.Coworker, keeper, engine, "innerloop", limit.Defaults()
	})
	o.org = o.Found("Acme")
	return o, outside
}

const plantedCredential = "planted-secret-0123456789"

func ozonForm() url.Values {
	return url.Values{
		"auth": {"seller_api"}, "name": {"main"}, "user": {""}, "base_url": {""},
		"field.client_id": {"12345"}, "field.api_key": {plantedCredential},
	}
}

func TestSettingsConnectAService(t *testing.T) {
	t.Parallel()
	o, outside := connectingOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	page := a.see("/settings/connections/ozon")
	for _, name := range []string{"auth", "name", "user", "base_url"} {
		if !strings.Contains(page.Body, `name="`+name+`"`) {
			t.Errorf("the form lacks %s", name)
		}
	}
	form := ozonForm()
	form.Set("auth", regexp.MustCompile(`name="auth" value="([^"]*)"`).FindStringSubmatch(page.Body)[1])
	for _, name := range regexp.MustCompile(`name="(field\.[a-z_]+)"`).FindAllStringSubmatch(page.Body, -1) {
		if !form.Has(name[1]) {
			t.Fatalf("the page asks for %s", name[1])
		}
	}
	bad := url.Values{}
	for name, given := range form {
		bad[name] = given
	}
	bad.Set("field.client_id", "77")
	bad.Set("name", "Not A Name")
	r := a.send("/settings/connections/ozon", bad)
	if r.Status != 400 || strings.Contains(r.Body, plantedCredential) || !strings.Contains(r.Body, `value="77"`) || !strings.Contains(r.Body, `id="name-fault"`) {
		t.Errorf("a bad form: %d %s", r.Status, r.Body)
	}
	missing := ozonForm()
	missing.Set("auth", form.Get("auth"))
	missing.Set("field.api_key", "")
	if r := a.send("/ru/settings/connections/ozon", missing); r.Status != 400 || !strings.Contains(r.Body, `id="fields.api_key-fault"`) || !strings.Contains(r.Body, "Это поле нужно заполнить.") {
		t.Errorf("a missing secret: %d", r.Status)
	}
	a.did("/settings/connections/ozon", form, "/settings/connections/ozon?done=connected")
	page = a.see("/settings/connections/ozon")
	id := regexp.MustCompile(`connection_[0-9a-f]{32}`).FindString(page.Body)
	if id == "" || !strings.Contains(page.Body, "ends in 6789") || !strings.Contains(page.Body, "Never tried") || strings.Contains(page.Body, plantedCredential) {
		t.Fatalf("the page of the service: %s", page.Body)
	}
	at := "/settings/connections/ozon/" + id
	a.did(at+"/test", nil, "/settings/connections/ozon?done=worked")
	if page := a.see("/settings/connections"); !strings.Contains(page.Body, `class="state-of is-connected"`) {
		t.Error("a working connection is not shown as connected")
	}
	outside.status.Store(http.StatusInternalServerError)
	if r := a.send(at+"/test", nil); r.Status != 502 || !strings.Contains(r.Body, "status 500") {
		t.Errorf("a failing service: %d", r.Status)
	}
	outside.status.Store(http.StatusUnauthorized)
	if r := a.send(at+"/test", nil); r.Status != 502 || strings.Contains(r.Body, plantedCredential) {
		t.Errorf("a refused credential: %d %s", r.Status, r.Body)
	}
	if page := a.see("/settings/connections"); !strings.Contains(page.Body, "Reconnect needed") {
		t.Error("a refused credential is not shown")
	}
	if page := a.see(at + "/remove"); page.Status != 200 || !strings.Contains(page.Body, "Remove “main” of") {
		t.Errorf("the page that asks: %d", page.Status)
	}
	for _, path := range []string{"/settings", "/settings/connections", "/settings/audit", "/settings/audit.csv"} {
		if strings.Contains(a.see(path).Body, plantedCredential) {
			t.Errorf("%s shows the secret", path)
		}
	}
	if strings.Contains(o.Log.String(), plantedCredential) {
		t.Error("the secret is in the log")
	}
	other := o.signIn(o.Found("Other").Secret.Reveal())
	for _, path := range []string{at + "/test", at + "/remove"} {
		if r := other.send(path, nil); r.Status != 404 {
			t.Errorf("%s of another organisation: %d", path, r.Status)
		}
		if r := a.form(path, url.Values{}, "Cookie", a.cookie); r.Status != 403 {
			t.Errorf("%s without the token: %d", path, r.Status)
		}
	}
	a.did(at+"/remove", nil, "/settings/connections/ozon?done=removed")
	if page := a.see("/settings/connections/ozon"); strings.Contains(page.Body, id) {
		t.Error("it is still there")
	}
}

func TestSettingsFindServices(t *testing.T) {
	t.Parallel()
	o, _ := connectingOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	count := func(path string) int {
		return strings.Count(a.see(path).Body, `href="`+strings.Split(path, "?")[0]+`/`)
	}
	all := count("/settings/connections")
	if all < 100 {
		t.Errorf("%d services", all)
	}
	if n := count("/settings/connections?q=ozon"); n < 1 || n > 5 {
		t.Errorf("%d services for ozon", n)
	}
	if n := count("/ru/settings/connections?q=" + url.QueryEscape("платежи")); n < 3 || n >= all {
		t.Errorf("%d services for платежи", n)
	}
	if r := a.see("/settings/connections?q=%3Cb%3Enothing"); !strings.Contains(r.Body, "No service fits") || strings.Contains(r.Body, "<b>nothing") {
		t.Errorf("%d", r.Status)
	}
	services, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range services.IDs() {
		one, _ := services.Service(id)
		for _, way := range one.Auth {
			if r := a.see("/ru/settings/connections/" + id + "?way=" + url.QueryEscape(way.ID)); r.Status != 200 {
				t.Errorf("%s, %s: %d", id, way.ID, r.Status)
			}
		}
	}
}

func TestSettingsRulesAndNetworks(t *testing.T) {
	t.Parallel()
	o, _ := connectingOffice(t)
	a := o.signIn(o.org.Secret.Reveal())
	a.did("/settings/rules", url.Values{"confirm": {"yes"}, "all": {"yes"}}, "/settings?done=saved")
	page := a.see("/settings")
	for id, on := range map[string]bool{"confirm": true, "broker": false, "all": true} {
		box := regexp.MustCompile(`<input id="` + id + `"[^>]*>`).FindString(page.Body)
		if box == "" || strings.Contains(box, " checked") != on {
			t.Errorf("%s: %s", id, box)
		}
	}
	// The form changes what its reader did: not what it was shown with, which
	// another admin may have changed since.
	was := regexp.MustCompile(`name="was" value="([^"]*)"`).FindStringSubmatch(page.Body)
	if was == nil || was[1] != "confirm all" {
		t.Fatalf("%q", was)
	}
	a.did("/settings/rules", url.Values{"was": {"confirm all"}, "confirm": {"yes"}, "broker": {"yes"}, "all": {"yes"}}, "/settings?done=saved")
	a.did("/settings/rules", url.Values{"was": {"confirm all"}, "all": {"yes"}}, "/settings?done=saved")
	settings := o.get("/api/v1/organizations/"+string(o.org.Organization.ID)+"/settings", "Authorization", "Bearer "+o.org.Secret.Reveal())
	if settings.Body != `{"must_confirm":false,"broker_only":true,"all_when_unnamed":true}` {
		t.Error(settings.Body)
	}
	if r := a.send("/settings/networks", url.Values{"cidr": {"nonsense"}}); r.Status != 400 || !strings.Contains(r.Body, `id="cidr-fault"`) || !strings.Contains(r.Body, `value="nonsense"`) {
		t.Errorf("a bad network: %d", r.Status)
	}
	a.did("/settings/networks", url.Values{"cidr": {"10.20.0.0/16"}}, "/settings?done=admitted")
	if page := a.see("/settings"); !strings.Contains(page.Body, "<code>10.20.0.0/16</code>") {
		t.Error("the network is not listed")
	}
	a.did("/settings/networks/remove", url.Values{"cidr": {"10.20.0.0/16"}}, "/settings?done=forbidden")
	for _, path := range []string{"/settings/rules", "/settings/networks", "/settings/networks/remove"} {
		if r := a.form(path, url.Values{"cidr": {"10.0.0.0/8"}}, "Cookie", a.cookie); r.Status != 403 {
			t.Errorf("%s without the token: %d", path, r.Status)
		}
		if r := o.get(path, "Cookie", a.cookie); r.Status != 405 {
			t.Errorf("GET %s: %d", path, r.Status)
		}
	}
}
