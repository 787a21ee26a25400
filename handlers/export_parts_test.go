package handlers_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/memory"
)

// An export has what every room keeps: no credential, and of memory what the
// one who exports may read.
func TestAnExportHasWhatEveryRoomKeeps(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, key := o.scoped("admin")
	a := o.signIn(key)
	a.upload("/settings/memory", nil, "mine.txt", "what I keep")
	a.upload("/settings/skills", nil, "month-end.zip", skillArchive(t, "---\nname: month-end\ndescription: d\n---\nbody\n"))
	a.did("/settings/networks", map[string][]string{"cidr": {"203.0.113.0/24"}}, "/settings?done=admitted")
	a.did("/settings/connections/ozon", ozonForm(), "/settings/connections/ozon?done=connected")
	u, err := o.AddUser(t.Context(), coworker.Operator(), o.org.Organization.ID, "Bob")
	if err != nil {
		t.Fatal(err)
	}
	files := o.Memory()
	if _, _, err := files.Put(t.Context(), coworker.OperatorFor(o.org.Organization.ID, u.ID), "theirs.txt", []byte("what Bob keeps"), memory.Condition{}); err != nil {
		t.Fatal(err)
	}
	count := func(text string) map[string]int {
		t.Helper()
		kinds := map[string]int{}
		for line := range strings.Lines(text) {
			var record struct{ Kind string }
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			kinds[record.Kind]++
		}
		return kinds
	}
	r := o.as(key, "GET", "/api/v1/organizations/"+string(o.org.Organization.ID)+"/export", "")
	kinds := count(r.Body)
	for kind, want := range map[string]int{"rules": 1, "network": 1, "connection": 1, "skill": 1, "skill_file": 2, "memory_file": 1} {
		if kinds[kind] != want {
			t.Errorf("%d of kind %s, want %d", kinds[kind], kind, want)
		}
	}
	mine, theirs := base64.StdEncoding.EncodeToString([]byte("what I keep")), base64.StdEncoding.EncodeToString([]byte("what Bob keeps"))
	if !strings.Contains(r.Body, mine) || strings.Contains(r.Body, theirs) || strings.Contains(r.Body, "theirs.txt") || strings.Contains(r.Body, plantedCredential) {
		t.Errorf("exported: %s", r.Body)
	}
	var all strings.Builder
	err = o.ExportOrganization(t.Context(), coworker.Operator(), o.org.Organization.ID, func(e coworker.ExportedRecord) error {
		all.WriteString(encode(t, e) + "\n")
		return nil
	}, files.Export)
	if err != nil || count(all.String())["memory_file"] != 2 || !strings.Contains(all.String(), theirs) {
		t.Errorf("exported by the operator: %v %s", err, all.String())
	}
	err = o.C.Store.RecordAudit(t.Context(), coworker.Audit{ID: "audit_1", At: o.Clock.Now(), Organization: "org_nobody", Action: "tool.call"})
	if !errors.Is(err, coworker.ErrNotFound) {
		t.Errorf("an audit row of no organisation: %v", err)
	}
}
