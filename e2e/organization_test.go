package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"innerloop/e2e/program"
)

// Attack: files and skills of an organisation are asked for with keys of
// another. Expectation: official clients of both generations read memory and
// skills with a key of the organisation and see nothing of them with another's;
// the Inspector finds every digest of a skill to hold.
func TestMemoryAndSkillsThroughOfficialClients(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server := serve(t, o)
	acme, other := found(t, o), found(t, o)
	_, key := acme.key(t, o, "write:tools,read:data")
	for path, content := range map[string]string{"a.md": "prices: ten", "b.md": "b", "c.bin": "\x00\xff"} {
		if status, body := asked(t, http.MethodPut, server.URL+"/api/v1/memory/notes/"+path, key, content); status != http.StatusCreated {
			t.Fatalf("%d %s", status, body)
		}
	}
	folder := filepath.Join(t.TempDir(), "month-end")
	if err := os.MkdirAll(filepath.Join(folder, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"SKILL.md":       "---\nname: month-end\ndescription: Closes a month. Use when the month ends.\nmetadata:\n  service: ozon\n  version: \"1.0\"\n---\n\n# Month end\n\nPrivate steps.\n",
		"scripts/run.py": "print(1)\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := program.Run(t.Context(), o, "skill", "add", folder, "--org", acme.ID); err != nil {
		t.Fatal(err)
	}
	node(t, "mcp-organization.mjs", map[string]any{"url": server.URL, "key": key, "stranger": other.Key})
	for _, era := range []string{"legacy", "modern"} {
		command := exec.CommandContext(t.Context(), nodeBinary(t), "node_modules/.bin/mcp-inspector",
			"--cli", server.URL+"/mcp", "--transport", "http", "--protocol-era", era, "--header", "Authorization: Bearer "+key, "--method", "skills/list", "--verify")
		command.Dir = "node"
		if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "month-end") {
			t.Errorf("%s: %v\n%s", era, err, out)
		}
	}
	if _, err := program.Run(t.Context(), o, "skill", "disable", "month-end", "--org", acme.ID); err != nil {
		t.Fatal(err)
	}
	if _, body := asked(t, http.MethodPost, server.URL+"/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"skill://month-end/SKILL.md"}}`); strings.Contains(body, "Private") {
		t.Errorf("disabled: %s", body)
	}
}
