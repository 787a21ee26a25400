package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"innerloop/coworker"
)

// Attack: a connection whose refresh token is good once was refused a while
// ago; its test exchanges the token and goes well. Expectation: the list says
// the same as the test, the new refresh token is the one that is kept, and each
// test, also one that is refused, is a row of the audit without a secret in it.
func TestTheCheckOfARotatingConnectionIsKept(t *testing.T) {
	t.Parallel()
	made := 0
	body := func(r *http.Request) string {
		raw, _ := io.ReadAll(r.Body) // a request of the program is whole
		return string(raw)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path != "/oauth2/access_token" && r.Header.Get("Authorization") == fmt.Sprintf("Bearer access-%d", made) && made < 3:
			_, _ = w.Write([]byte(`{"id":1}`))
		case r.URL.Path == "/oauth2/access_token" && strings.Contains(body(r), fmt.Sprintf(`"refresh-planted-%d"`, made)):
			made++
			_, _ = fmt.Fprintf(w, `{"access_token":"access-%d","refresh_token":"refresh-planted-%d","expires_in":1}`, made, made)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		}
	}))
	t.Cleanup(upstream.Close)
	o := openOffice(t)
	admin := o.org.Secret.Reveal()
	all := "/api/v1/organizations/" + string(o.org.Organization.ID) + "/connections"
	if _, err := o.keeper.AllowNetwork(t.Context(), coworker.Operator(), o.org.Organization.ID, "127.0.0.0/8"); err != nil {
		t.Fatal(err)
	}
	id := decoded(t, o.as(admin, "POST", all, `{"service":"amocrm","auth":"oauth2_refresh","base_url":"`+upstream.URL+`","params":{"subdomain":"acme"},
"fields":{"client_id":"c","client_secret":"client-planted-secret","refresh_token":"refresh-planted-0","redirect_uri":"https://acme.example/back"}}`), 201)["connection_id"].(string)
	state := func() any {
		return decoded(t, o.as(admin, "GET", all, ""), 200)["items"].([]any)[0].(map[string]any)["state"]
	}
	for version := range int64(2) {
		if err := o.keeper.Broken(t.Context(), id, version+1); err != nil {
			t.Fatal(err)
		}
		if got := state(); got != "reconnect" {
			t.Fatalf("it begins %v", got)
		}
		checked := decoded(t, o.as(admin, "POST", all+"/"+id+"/check", ""), 200)
		if got := state(); got != "connected" || checked["state"] != got || checked["status"] != 200.0 {
			t.Errorf("the test says %v and the list %v", checked, got)
		}
	}
	if bad := o.as(admin, "POST", all+"/"+id+"/check", ""); bad.Status != 409 || state() != "reconnect" {
		t.Errorf("%d %s, then %v", bad.Status, bad.Body, state())
	}

	audit := o.as(admin, "GET", "/api/v1/audit?action=connection.test", "")
	rows := decoded(t, audit, 200)["items"].([]any)
	if len(rows) != 3 {
		t.Fatalf("%d rows of tests: %s", len(rows), audit.Body)
	}
	refused := 0
	for _, one := range rows {
		row := one.(map[string]any)
		if row["error"] == "NOT_CONNECTED" && row["status"] == 401.0 {
			refused++
		} else if row["error"] != nil || row["status"] != 200.0 {
			t.Errorf("%v", row)
		}
		if row["service"] != "amocrm" || row["module"] != "crm" || row["method"] != "GET" || row["path"] != "/account" || row["target"] != id || row["key_id"] == nil {
			t.Errorf("%v", row)
		}
	}
	if refused != 1 {
		t.Errorf("%d rows tell a refusal", refused)
	}
	if strings.Contains(audit.Body, "planted") {
		t.Errorf("%s", audit.Body)
	}
}
