package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Attack: none; this is the ordinary life of an agent on an assistant's side.
// Expectation: both generations of the official client complete it, signing
// with Node's own crypto.
func TestOfficialMCPClients(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"mcp-legacy.mjs", "mcp-modern.mjs"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			server := serve(t, embedded(t))
			node(t, script, map[string]string{"url": server.URL})
		})
	}
}

// The scenarios of the official conformance suite that a server with only its
// own tools can pass, each with at least one check that really ran.
func TestConformance(t *testing.T) {
	t.Parallel()
	suite := map[string][]string{
		"2025-11-25": {"server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"},
		"2026-07-28": {
			"tools-list", "resources-list", "sep-2164-resource-not-found", "http-header-validation",
			"dns-rebinding-protection", "input-required-result-missing-input-response",
			"input-required-result-unsupported-methods", "input-required-result-ignore-extra-params",
			"input-required-result-validate-input",
		},
	}
	server := serve(t, embedded(t))
	for revision, scenarios := range suite {
		for _, scenario := range scenarios {
			t.Run(revision+"/"+scenario, func(t *testing.T) {
				results := t.TempDir()
				command := exec.CommandContext(t.Context(), nodeBinary(t),
					"node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
					"--url", server.URL+"/mcp", "--scenario", scenario, "--spec-version", revision, "-o", results)
				command.Dir = "node"
				out, err := command.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				ran := checks(t, results)
				if ran["SUCCESS"] == 0 || ran["FAILURE"] > 0 {
					t.Fatalf("checks by status: %v\n%s", ran, out)
				}
				t.Logf("checks by status: %v", ran)
			})
		}
	}
}

// checks counts the suite's results by status.
func checks(t *testing.T, dir string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var list []struct{ Status string }
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		for _, check := range list {
			counts[check.Status]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}
