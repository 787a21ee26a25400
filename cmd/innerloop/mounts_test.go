package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

// TestCodeReadsTheMemoryOfItsUser writes a file by the command line and reads
// it in code, with a key that may and with one that may not.
func TestCodeReadsTheMemoryOfItsUser(t *testing.T) {
	t.Parallel()
	s := surroundings{environ: places(t)["sqlite"](t).environ}
	execute(t, s, "migrate")
	made := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)
	org, key := made["organization_id"].(string), made["key"].(string)
	blind := decode(t, execute(t, s, "key", "create", "--org", org, "--scopes", "write:tools", "--json").out)["key"].(string)
	origin := serving(t, s)
	prices := filepath.Join(t.TempDir(), "prices.csv")
	if err := os.WriteFile(prices, []byte("a,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, s, "memory", "put", "--org", org, "lists/prices.csv", prices)
	const code = "print(open('/mnt/memory/lists/prices.csv').read())"
	if r := python(t, origin, key, code, ""); r.Exit != 0 || r.Stdout != "a,1\n\n" {
		t.Errorf("%+v", r)
	}
	if r := python(t, origin, blind, code, ""); r.Exit != 1 || r.Stdout != "" {
		t.Errorf("without read:data: %+v", r)
	}
}

// TestHealthTellsOfTheSandbox asks a serving process, with a sandbox and with
// none.
func TestHealthTellsOfTheSandbox(t *testing.T) {
	t.Parallel()
	for sandbox, want := range map[string]string{"native": `"sandbox":{"available":true,"driver":"native","memory_bound_by":"`, "off": `{"status":"ok"}`} {
		s := surroundings{environ: append(places(t)["sqlite"](t).environ, "INNERLOOP_SANDBOX="+sandbox)}
		answer, err := http.Get(serving(t, s) + "/healthz") //nolint:noctx // of the test's own server
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(answer.Body)
		if _ = answer.Body.Close(); err != nil || !strings.Contains(string(said), want) {
			t.Errorf("%s: %s %v", sandbox, said, err)
		}
	}
}
