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

// Attack: a connection gets another credential while its test is under way: the
// old one is good and the new one is not, and the other way round, over REST
// and by the form. Expectation: what is told is true of what is kept then, and
// the list says the same.
func TestTheCheckOfAConnectionThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, is int
		state   string
	}{"for worse": {200, 401, "reconnect"}, "for better": {401, 200, "connected"}} {
		for _, form := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " by the form: ", form), func(t *testing.T) {
				t.Parallel()
				o := openOffice(t)
				admin := o.org.Secret.Reveal()
				all := "/api/v1/organizations/" + string(o.org.Organization.ID) + "/connections"
				save := func(token, address string) string {
					said := o.as(admin, "POST", all, `{"service":"github","base_url":"`+address+`","fields":{"token":"`+token+`"}}`)
					if said.Status != 201 && said.Status != 200 {
						t.Errorf("%d %s", said.Status, said.Body)
					}
					return decoded(t, said, said.Status)["connection_id"].(string)
				}
				sent := []string{}
				var upstream *httptest.Server
				upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					sent = append(sent, r.Header.Get("Authorization"))
					w.Header().Set("Content-Type", "application/json")
					if sent[len(sent)-1] == "Bearer token-that-was" {
						save("token-that-is", upstream.URL)
						w.WriteHeader(c.was)
					} else {
						w.WriteHeader(c.is)
					}
					_, _ = w.Write([]byte(`{}`))
				}))
				t.Cleanup(upstream.Close)
				if _, err := o.keeper.AllowNetwork(t.Context(), coworker.Operator(), o.org.Organization.ID, "127.0.0.0/8"); err != nil {
					t.Fatal(err)
				}
				id := save("token-that-was", upstream.URL)
				if form {
					a := o.signIn(admin)
					said := a.send("/settings/connections/github/"+id+"/test", nil)
					if worked := strings.HasSuffix(said.Header.Get("Location"), "done=worked"); worked != (c.is == 200) || worked == (said.Status == 502) {
						t.Errorf("%d %q", said.Status, said.Header.Get("Location"))
					}
				} else if said := o.as(admin, "POST", all+"/"+id+"/check", ""); said.Status != map[int]int{200: 200, 401: 409}[c.is] {
					t.Errorf("%d %s", said.Status, said.Body)
				}
				if len(sent) != 2 || sent[1] != "Bearer token-that-is" {
					t.Errorf("%q", sent)
				}
				kept := decoded(t, o.as(admin, "GET", all, ""), 200)["items"].([]any)[0].(map[string]any)
				if kept["state"] != c.state || kept["checked_at"] == nil {
					t.Errorf("%v", kept)
				}
				if rows := decoded(t, o.as(admin, "GET", "/api/v1/audit?action=connection.test", ""), 200)["items"].([]any); len(rows) != 2 {
					t.Errorf("%d rows of tests", len(rows))
				}
			})
		}
	}
}
