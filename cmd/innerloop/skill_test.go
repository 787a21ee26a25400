package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSkillsByTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := surroundings{environ: make(t).environ}
			execute(t, s, "migrate")
			org, _ := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)["organization_id"].(string)
			folder := filepath.Join(t.TempDir(), "month-end")
			write := func(path, text string) {
				t.Helper()
				whole := filepath.Join(folder, path)
				if err := os.MkdirAll(filepath.Dir(whole), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(whole, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("SKILL.md", "---\nname: month-end\ndescription: Closes a month.\nmetadata:\n  service: ozon\n---\nSteps.\n")
			write("scripts/run.py", "print(1)")
			added := decode(t, execute(t, s, "skill", "add", folder, "--org", org, "--json").out)
			if keysOf(added) != "added_at bytes changed_at description enabled files service skill_id uri" || added["skill_id"] != "month-end" || added["service"] != "ozon" || added["files"] != float64(2) {
				t.Errorf("%v", added)
			}
			execute(t, s, "skill", "disable", "month-end", "--org", org)
			if list := execute(t, s, "skill", "list", "--org", org).out; !strings.Contains(list, "month-end") || !strings.Contains(list, "disabled") {
				t.Errorf("%s", list)
			}
			if facts := decode(t, execute(t, s, "skill", "enable", "month-end", "--org", org, "--json").out); facts["enabled"] != true {
				t.Errorf("%v", facts)
			}
			link := folder + "-link"
			if err := os.Symlink(folder, link); err != nil {
				t.Fatal(err)
			}
			secret := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(secret, []byte("words"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, row := range []struct {
				want string
				args []string
			}{
				{"not a link to one", []string{"skill", "add", link, "--org", org}},
				{"must be a folder", []string{"skill", "add", secret, "--org", org}},
				{"There is no such skill", []string{"skill", "remove", "other", "--org", org}},
				{"There is no such organization", []string{"skill", "add", folder, "--org", "org_" + strings.Repeat("0", 32)}},
				{"needs --org", []string{"skill", "list"}},
			} {
				if told := attempt(t, s, row.args...); told.code == 0 || !strings.Contains(told.err, row.want) {
					t.Errorf("%q: %d %s", row.args, told.code, told.err)
				}
			}
			if err := os.Symlink(secret, filepath.Join(folder, "references")); err != nil {
				t.Fatal(err)
			}
			if told := attempt(t, s, "skill", "add", folder, "--org", org); told.code == 0 || !strings.Contains(told.err, "no links") {
				t.Errorf("a link inside: %d %s", told.code, told.err)
			}
			execute(t, s, "skill", "remove", "month-end", "--org", org)
			if list := execute(t, s, "skill", "list", "--org", org).out; !strings.Contains(list, "no skills") {
				t.Errorf("%s", list)
			}
		})
	}
}
