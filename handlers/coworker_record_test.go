package handlers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/handlers"
)

// One row a call, with what is promised and no argument.
func TestEveryCallIsAudited(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	k, key := o.scoped("read:data")
	_, other := o.scoped("chat")
	o.call(key, "list_services", `{"query":"very private words"}`)
	o.Clock.Advance(time.Millisecond)
	o.call(key, "describe_service", `{"service":"github"}`)
	o.Clock.Advance(time.Millisecond)
	o.call(key, "describe_service", `{"service":"private-words"}`)
	o.Clock.Advance(time.Millisecond)
	o.call(other, "read_memory", `{"path":"private words"}`)
	o.call("", "list_services", `{}`)
	r := o.get("/api/v1/audit?action=tool.call", "Authorization", "Bearer "+key)
	var page struct {
		Items []coworker.AuditRecord
		Next  *string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(r.Body), &page); err != nil || r.Status != 200 || !strings.HasSuffix(r.Body, `"next_cursor":null}`) || r.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var rows []string
	for _, a := range page.Items {
		rows = append(rows, fmt.Sprintf("%s %s %s %t", a.Tool, a.Service, a.Error, a.BytesOut > 0 && a.BytesIn > 0 && a.User == o.org.User.ID))
	}
	want := []string{"read_memory  PERMISSION_DENIED false", "describe_service  UNKNOWN_SERVICE false", "describe_service github  true", "list_services   true"}
	if !slices.Equal(rows, want) || page.Items[1].Key != k.ID {
		t.Errorf("%q", rows)
	}
	if strings.Contains(r.Body, "private") {
		t.Error("an argument is in the audit")
	}
}

// A key stands in the answer that makes it and nowhere else: not in a later
// answer, not in a log.
func TestAKeyIsToldOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	admin := o.org.Secret.Reveal()
	as := []string{"Authorization", "Bearer " + admin}
	base := "/api/v1/organizations/" + string(o.org.Organization.ID)
	r := o.post(base+"/api-keys", `{"name":"new","scopes":["read:tools"]}`, as...)
	var made struct{ Key, KeyID string }
	if err := json.Unmarshal([]byte(strings.ReplaceAll(r.Body, "key_id", "KeyID")), &made); err != nil || r.Status != 201 || len(made.Key) != 65 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var said strings.Builder
	for _, path := range []string{"/api-keys", "/api-keys/" + made.KeyID, "", "/users", "/export"} {
		said.WriteString(o.get(base+path, as...).Body)
	}
	said.WriteString(o.do("PATCH", base+"/api-keys/"+made.KeyID, `{"name":"renamed"}`, append(as, "Content-Type", "application/json")...).Body)
	said.WriteString(o.call(made.Key, "list_services", "{}").Body)
	said.WriteString(o.call(made.Key, "describe_service", `{"service":"`+made.Key[:60]+`"}`).Body)
	said.WriteString(o.rpc(made.Key+"x", "tools/list", "{}").Body)
	said.WriteString(o.get("/api/v1/audit", as...).Body)
	said.WriteString(o.do("DELETE", base+"/api-keys/"+made.KeyID, "", as...).Body)
	said.WriteString(o.rpc(made.Key, "tools/list", "{}").Body)
	said.WriteString(o.Log.String())
	if !strings.Contains(said.String(), made.Key[:15]) || !strings.Contains(said.String(), "renamed") {
		t.Error("nothing was said of the key")
	}
	for _, key := range []string{made.Key, admin} {
		if strings.Contains(said.String(), key[16:30]) {
			t.Error("a key was told a second time")
		}
	}
}

// Both spellings of each code: a tool error of the door of tools, and a status
// with a body of REST.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	for _, code := range coworker.Codes() {
		status, body := handlers.ContractAnswer(&coworker.Fault{Code: code})
		c := readContract(t, body)
		want := string(code)
		if code == coworker.PermissionDenied {
			want = "AUTH_PERMISSION_DENIED"
		}
		if c.Code != want || status < 400 || status > 599 || (status == 401) != (code == coworker.Unauthenticated) {
			t.Errorf("%s: %d %s", code, status, body)
		}
	}
}
