package handlers_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/coworkertest"
	"innerloop/coworker/vault"
	"innerloop/internal/egress"
	"innerloop/internal/keyring"
)

// connections makes a keeper on an office's store and an engine that calls for
// real.
func connections(t *testing.T, c *coworkertest.C, services *catalog.Catalog) (*connect.Keeper, *connect.Engine) {
	t.Helper()
	store, ok := c.Store.(connect.Store)
	if !ok {
		t.Fatal("the store keeps no connections")
	}
	ring, err := keyring.New(bytes.Repeat([]byte{7}, keyring.MasterSize))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ring.For(vault.Purpose)
	if err != nil {
		t.Fatal(err)
	}
	safe, err := vault.New(key, rand.NewChaCha8([32]byte{7}))
	if err != nil {
		t.Fatal(err)
	}
	keeper := connect.NewKeeper(store, safe, services, c.Coworker)
	ways := &egress.Services{}
	engine, err := connect.New(connect.Options{
		Catalog: services, Book: keeper, Cursors: key, Now: time.Now,
		Clients: func(networks []netip.Prefix, own string) connect.Doer { return ways.For(networks, own) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return keeper, engine
}

const plantedKey = "planted-api-key-0123456789abcd"

func TestConnectionsOverREST(t *testing.T) {
	t.Parallel()
	var good atomic.Bool
	good.Store(true)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != plantedKey || !good.Load() {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(`{"detail":"` + r.Header.Get("Authorization") + `"}`))
	}))
	t.Cleanup(upstream.Close)
	o := openOffice(t)
	admin := o.org.Secret.Reveal()
	org := "/api/v1/organizations/" + string(o.org.Organization.ID)
	all := org + "/connections"

	if _, err := o.keeper.AllowNetwork(t.Context(), coworker.Operator(), o.org.Organization.ID, "127.0.0.0/8"); err != nil {
		t.Fatal(err)
	}
	wish := `{"service":"wildberries","base_url":"` + upstream.URL + `","fields":{"api_key":"` + plantedKey + `"}}`
	made := decoded(t, o.as(admin, "POST", all, wish), 201)
	if made["name"] != "main" || made["state"] != "connected" || encode(t, made["fields"]) != `{"api_key":"abcd"}` || made["checked_at"] != nil {
		t.Errorf("%v", made)
	}
	if again := decoded(t, o.as(admin, "POST", all, wish), 200); again["connection_id"] != made["connection_id"] {
		t.Errorf("%v", again)
	}
	mine := decoded(t, o.as(admin, "POST", all, `{"service":"ozon","name":"second","auth":"header","fields":{"client_id":"77","api_key":"`+plantedKey+`"},"params":{},"test":false,"user_id":"`+string(o.org.User.ID)+`"}`), 201)
	if mine["user_id"] != string(o.org.User.ID) {
		t.Errorf("%v", mine)
	}
	page := decoded(t, o.as(admin, "GET", all+"?limit=1", ""), 200)
	rest := decoded(t, o.as(admin, "GET", all+"?limit=1&cursor="+page["next_cursor"].(string), ""), 200)
	if len(page["items"].([]any)) != 1 || len(rest["items"].([]any)) != 1 || rest["next_cursor"] != nil {
		t.Errorf("%v, %v", page, rest)
	}
	one := all + "/" + made["connection_id"].(string)
	if checked := decoded(t, o.as(admin, "POST", one+"/check", ""), 200); checked["status"] != 200.0 || checked["state"] != "connected" {
		t.Errorf("%v", checked)
	}
	good.Store(false)
	refused := o.as(admin, "POST", one+"/check", "")
	if refused.Status != 409 || readContract(t, refused.Body).Code != "NOT_CONNECTED" || strings.Contains(refused.Body, plantedKey) {
		t.Errorf("%d %s", refused.Status, refused.Body)
	}
	if list := o.as(admin, "GET", all, ""); !strings.Contains(list.Body, `"state":"reconnect"`) || strings.Contains(list.Body, plantedKey) {
		t.Errorf("%s", list.Body)
	}
	upstream.Close()
	if gone := o.as(admin, "POST", one+"/check", ""); gone.Status != 502 || readContract(t, gone.Body).Code != "UPSTREAM_ERROR" {
		t.Errorf("%d %s", gone.Status, gone.Body)
	}
	if removed := decoded(t, o.as(admin, "DELETE", one, ""), 200); removed["removed"] != true {
		t.Errorf("%v", removed)
	}

	_, weak := o.scoped("write:tools", "read:data")
	other := o.Found("Other")
	foreign := "/api/v1/organizations/" + string(other.Organization.ID)
	for _, row := range []struct {
		name, key, method, path, body string
		status                        int
		code, field                   string
	}{
		{"no admin lists", weak, "GET", all, "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin connects", weak, "POST", all, wish, 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin removes", weak, "DELETE", one, "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin checks", weak, "POST", one + "/check", "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin sees networks", weak, "GET", org + "/networks", "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin admits a network", weak, "POST", org + "/networks", `{"cidr":"10.0.0.0/8"}`, 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin takes a network back", weak, "DELETE", org + "/networks", `{"cidr":"10.0.0.0/8"}`, 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin reads settings", weak, "GET", org + "/settings", "", 403, "AUTH_PERMISSION_DENIED", ""},
		{"no admin changes settings", weak, "PATCH", org + "/settings", `{"must_confirm":true}`, 403, "AUTH_PERMISSION_DENIED", ""},
		{"a foreign list", admin, "GET", foreign + "/connections", "", 404, "NOT_FOUND", ""},
		{"a foreign connection", admin, "POST", foreign + "/connections", wish, 404, "NOT_FOUND", ""},
		{"foreign networks", admin, "GET", foreign + "/networks", "", 404, "NOT_FOUND", ""},
		{"foreign settings", admin, "GET", foreign + "/settings", "", 404, "NOT_FOUND", ""},
		{"foreign settings, changed", admin, "PATCH", foreign + "/settings", `{"must_confirm":true}`, 404, "NOT_FOUND", ""},
		{"nobody's connection", admin, "DELETE", one, "", 404, "NOT_FOUND", ""},
		{"nobody's check", admin, "POST", one + "/check", "", 404, "NOT_FOUND", ""},
		{"another's user", admin, "POST", all, `{"service":"wildberries","fields":{"api_key":"x"},"user_id":"` + string(other.User.ID) + `"}`, 404, "NOT_FOUND", ""},
		{"no service", admin, "POST", all, `{"fields":{}}`, 400, "INVALID_ARG", "service"},
		{"an unknown service", admin, "POST", all, `{"service":"none"}`, 404, "UNKNOWN_SERVICE", ""},
		{"a secret for a name", admin, "POST", all, `{"service":"wildberries","fields":{"api_key":"x","` + plantedKey + `":"api_key"}}`, 400, "INVALID_ARG", "fields"},
		{"fields that are none", admin, "POST", all, `{"service":"wildberries","fields":["` + plantedKey + `"]}`, 400, "INVALID_ARG", "fields"},
		{"a field that is no text", admin, "POST", all, `{"service":"wildberries","fields":{"api_key":{"x":"` + plantedKey + `"}}}`, 400, "INVALID_ARG", "fields"},
		{"a test that is no truth", admin, "POST", all, `{"service":"wildberries","test":"yes"}`, 400, "INVALID_ARG", "test"},
		{"a strange key", admin, "POST", all, `{"service":"wildberries","` + plantedKey + `":1}`, 400, "INVALID_ARG", "body"},
		{"this machine", admin, "POST", org + "/networks", `{"cidr":"127.0.0.0/8"}`, 403, "AUTH_PERMISSION_DENIED", ""},
		{"no network", admin, "POST", org + "/networks", `{"cidr":"10.0.0.1"}`, 400, "INVALID_ARG", "cidr"},
		{"no network back", admin, "DELETE", org + "/networks", `{"cidr":"x"}`, 400, "INVALID_ARG", "cidr"},
		{"a network that is not there", admin, "DELETE", org + "/networks", `{"cidr":"192.168.0.0/16"}`, 404, "NOT_FOUND", ""},
		{"nothing to change", admin, "PATCH", org + "/settings", `{}`, 400, "INVALID_ARG", "body"},
		{"a strange setting", admin, "PATCH", org + "/settings", `{"x":true}`, 400, "INVALID_ARG", "body"},
		{"too much", admin, "POST", all, `{"service":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "INVALID_ARG", ""},
		{"a query", admin, "GET", org + "/networks?x=y", "", 400, "INVALID_ARG", ""},
	} {
		r := o.as(row.key, row.method, row.path, row.body)
		c := readContract(t, r.Body)
		if r.Status != row.status || c.Code != row.code || !strings.Contains(string(c.Details), row.field) {
			t.Errorf("%s: %d %s", row.name, r.Status, r.Body)
		}
		if strings.Contains(r.Body, plantedKey) || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v %s", row.name, r.Header, r.Body)
		}
	}
	if audit := o.as(admin, "GET", "/api/v1/audit", ""); !strings.Contains(audit.Body, "connection.save") || strings.Contains(audit.Body, plantedKey) {
		t.Errorf("%s", audit.Body)
	}
}

func TestNetworksAndSettingsOverREST(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	admin := o.org.Secret.Reveal()
	org := "/api/v1/organizations/" + string(o.org.Organization.ID)
	if made := decoded(t, o.as(admin, "POST", org+"/networks", `{"cidr":"10.1.2.3/8"}`), 201); made["cidr"] != "10.0.0.0/8" {
		t.Errorf("%v", made)
	}
	if list := decoded(t, o.as(admin, "GET", org+"/networks", ""), 200); encode(t, list) != `{"items":["10.0.0.0/8"],"next_cursor":null}` {
		t.Errorf("%v", list)
	}
	if gone := decoded(t, o.as(admin, "DELETE", org+"/networks", `{"cidr":"10.0.0.0/8"}`), 200); gone["removed"] != true {
		t.Errorf("%v", gone)
	}
	before := decoded(t, o.as(admin, "GET", org+"/settings", ""), 200)
	if encode(t, before) != `{"all_when_unnamed":false,"broker_only":false,"must_confirm":false}` {
		t.Errorf("%v", before)
	}
	decoded(t, o.as(admin, "PATCH", org+"/settings", `{"must_confirm":true,"broker_only":true}`), 200)
	after := decoded(t, o.as(admin, "PATCH", org+"/settings", `{"broker_only":false}`), 200)
	if encode(t, after) != `{"all_when_unnamed":false,"broker_only":false,"must_confirm":true}` || encode(t, decoded(t, o.as(admin, "GET", org+"/settings", ""), 200)) != encode(t, after) {
		t.Errorf("%v", after)
	}
}
