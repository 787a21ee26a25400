package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCodeRunsScriptsOfASkill adds a skill by the command line and runs a
// script of it through a serving process.
func TestCodeRunsScriptsOfASkill(t *testing.T) {
	t.Parallel()
	s := surroundings{environ: places(t)["sqlite"](t).environ}
	execute(t, s, "migrate")
	made := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)
	org, key := made["organization_id"].(string), made["key"].(string)
	folder := filepath.Join(t.TempDir(), "month-end")
	if err := os.MkdirAll(filepath.Join(folder, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"SKILL.md": "---\nname: month-end\ndescription: Closes a month.\n---\nSteps.\n", "scripts/run.py": "print('closed')"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	origin := serving(t, s)
	execute(t, s, "skill", "add", folder, "--org", org)
	const code = "exec(open('/mnt/skills/month-end/scripts/run.py').read())"
	if r := python(t, origin, key, code, `,"skills":["month-end"]`); r.Exit != 0 || r.Stdout != "closed\n" {
		t.Errorf("%+v", r)
	}
	execute(t, s, "skill", "disable", "month-end", "--org", org)
	if r := python(t, origin, key, code, `,"skills":["month-end"]`); r.Code != "NOT_FOUND" {
		t.Errorf("disabled: %+v", r)
	}
	if r := python(t, origin, key, code, `,"skills":["../month-end"]`); r.Code != "INVALID_ARG" {
		t.Errorf("a path for an id: %+v", r)
	}
}
