package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/skills"
)

// Skills of an organisation over resources and the skills extension, in every
// era: with digests that hold, beside everybody's, and for its keys alone.
func TestSkillsOfAnOrganization(t *testing.T) {
	t.Parallel()
	c, d, who := openBoth(t)
	services, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	shelf := c.Skills(services)
	skill, err := skills.ReadFolder(fstest.MapFS{
		"SKILL.md":       {Data: []byte("---\nname: month-end\ndescription: Closes a month.\nmetadata:\n  service: ozon\n---\nPrivate steps.\n"), Mode: 0o644},
		"scripts/run.py": {Data: []byte("print(1)"), Mode: 0o755},
		"assets/a.bin":   {Data: []byte{0, 0xff}, Mode: 0o644},
	}, "month-end")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shelf.Add(t.Context(), coworker.Operator(), who.Organization, skill); err != nil {
		t.Fatal(err)
	}
	stranger, chat := c.Caller(c.Found("Other").Secret), who
	chat.Scopes = coworker.Chat
	const uri = "skill://month-end/SKILL.md"
	type entry struct {
		URI         string
		Frontmatter struct{ Name string }
		Resources   []struct {
			URI, Digest string
			Size        int
		}
	}
	for _, e := range eras {
		listed := func(caller coworker.Caller) (entries []entry, uris []string) {
			t.Helper()
			var list struct{ Skills []entry }
			r := e.keyed(t, d, caller, "skills/list", "", "")
			if err := json.Unmarshal(r.Result, &list); err != nil {
				t.Fatalf("%s", r.body)
			}
			var resources struct{ Resources []struct{ URI string } }
			r = e.keyed(t, d, caller, "resources/list", "", "")
			if err := json.Unmarshal(r.Result, &resources); err != nil {
				t.Fatalf("%s", r.body)
			}
			for _, one := range resources.Resources {
				uris = append(uris, one.URI)
			}
			return list.Skills, uris
		}
		read := func(caller coworker.Caller, at string) (text []byte, ok bool) {
			t.Helper()
			var result struct {
				Contents []struct{ Text, Blob string }
			}
			r := e.keyed(t, d, caller, "resources/read", at, `"uri":"`+at+`"`)
			if len(r.Result) == 0 {
				return nil, false
			}
			if err := json.Unmarshal(r.Result, &result); err != nil || len(result.Contents) != 1 {
				t.Fatalf("%s", r.body)
			}
			if blob := result.Contents[0].Blob; blob != "" {
				raw, err := base64.StdEncoding.DecodeString(blob)
				return raw, err == nil
			}
			return []byte(result.Contents[0].Text), true
		}
		entries, uris := listed(who)
		if len(entries) != 4 || entries[3].URI != uri || entries[3].Frontmatter.Name != "month-end" || len(entries[3].Resources) != 3 || !slices.Contains(uris, uri) {
			t.Fatalf("%s: %+v %q", e, entries, uris)
		}
		for _, f := range entries[3].Resources {
			text, ok := read(who, f.URI)
			if sum := sha256.Sum256(text); !ok || f.Digest != "sha256:"+hex.EncodeToString(sum[:]) || f.Size != len(text) {
				t.Errorf("%s: %s does not hold", e, f.URI)
			}
		}
		if text, _ := read(who, uri); !strings.Contains(string(text), "Private steps.") || !strings.Contains(string(text), "connector_execute") || !strings.Contains(string(text), "`ozon`") {
			t.Errorf("%s", text)
		}
		if r := e.keyed(t, d, who, "skills/get", uri, `"uri":"`+uri+`"`); !strings.Contains(string(r.Result), `"name":"month-end"`) {
			t.Errorf("%s: %s", e, r.body)
		}
		for name, caller := range map[string]coworker.Caller{"a stranger": stranger, "a key without tools": chat} {
			entries, uris := listed(caller)
			if len(entries) != 3 || slices.Contains(uris, uri) {
				t.Errorf("%s, %s: %+v", e, name, entries)
			}
			if text, ok := read(caller, uri); ok {
				t.Errorf("%s, %s reads %s", e, name, text)
			}
			if r := e.keyed(t, d, caller, "skills/get", uri, `"uri":"`+uri+`"`); len(r.Result) != 0 {
				t.Errorf("%s, %s: %s", e, name, r.body)
			}
			if r := e.keyed(t, d, caller, "skills/get", "skill://innerloop-onboard/SKILL.md", `"uri":"skill://innerloop-onboard/SKILL.md"`); len(r.Result) == 0 {
				t.Errorf("%s, %s: %s", e, name, r.body)
			}
		}
	}
	// Nobody without a key, whatever was answered to others before.
	for _, method := range []string{"skills/list", "resources/list"} {
		if r := eras[0].call(t, d, method, "", ""); strings.Contains(string(r.body), "month-end") {
			t.Errorf("%s: %s", method, r.body)
		}
	}
	for _, method := range []string{"skills/get", "resources/read"} {
		if r := eras[0].call(t, d, method, uri, `"uri":"`+uri+`"`); len(r.Result) != 0 || strings.Contains(string(r.body), "Private") {
			t.Errorf("%s: %s", method, r.body)
		}
	}
	// The bound service names it, and stays JSON; another does not.
	describe := func(caller coworker.Caller, service string) string {
		t.Helper()
		var result struct{ Content []struct{ Text string } }
		r := eras[0].keyed(t, d, caller, "tools/call", coworker.ToolDescribeService, `"name":"describe_service","arguments":{"service":"`+service+`"}`)
		if err := json.Unmarshal(r.Result, &result); err != nil || len(result.Content) != 1 || !json.Valid([]byte(result.Content[0].Text)) {
			t.Fatalf("%s", r.body)
		}
		return result.Content[0].Text
	}
	if text := describe(who, "ozon"); !strings.Contains(text, `"skills":[{"id":"month-end","description":"Closes a month.","uri":"`+uri+`","files":3}]`) {
		t.Errorf("%s", text)
	}
	if strings.Contains(describe(who, "github"), "month-end") || strings.Contains(describe(stranger, "ozon"), "month-end") {
		t.Error("a skill is named where it does not belong")
	}
	if err := shelf.Switch(t.Context(), coworker.Operator(), who.Organization, "month-end", false); err != nil {
		t.Fatal(err)
	}
	if r := eras[0].keyed(t, d, who, "resources/read", uri, `"uri":"`+uri+`"`); len(r.Result) != 0 || strings.Contains(describe(who, "ozon"), "month-end") {
		t.Errorf("disabled: %s", r.body)
	}
}

// A key's rate holds for skills as it does for tools: each look reads the store.
func TestSkillsKeepToTheRateOfAKey(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ method, header, params string }{
		"a file":         {"resources/read", "skill://month-end/SKILL.md", `"uri":"skill://month-end/SKILL.md"`},
		"a skill":        {"skills/get", "skill://month-end/SKILL.md", `"uri":"skill://month-end/SKILL.md"`},
		"all skills":     {"skills/list", "", ""},
		"every resource": {"resources/list", "", ""},
	} {
		for _, e := range eras {
			c, d, who := openBoth(t)
			_, secret := c.Key(c.Found("Slow"), coworker.NewKey{Rate: 2})
			slow := c.Caller(secret)
			limited := func(caller coworker.Caller) bool {
				return strings.Contains(string(e.keyed(t, d, caller, row.method, row.header, row.params).body), `"code":"RATE_LIMITED"`)
			}
			for n, want := range []bool{false, false, true} {
				if got := limited(slow); got != want {
					t.Errorf("%s, %s: call %d is limited: %t", e, name, n+1, got)
				}
			}
			if limited(who) {
				t.Errorf("%s, %s: another key is limited", e, name)
			}
		}
	}
}
