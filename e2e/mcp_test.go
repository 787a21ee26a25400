package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"innerloop/e2e/program"
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

// Attack: none; a call that lasts. Expectation: both generations of the client
// hear of it while it runs, and get the result; who does not ask gets the
// result alone.
func TestOfficialMCPClientsHearProgress(t *testing.T) {
	t.Parallel()
	made, err := program.Build(t.Context(), t.TempDir(), "conformance")
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, program.Options{Binary: made, DataDir: t.TempDir()})
	node(t, "mcp-progress.mjs", map[string]string{"url": server.URL})
}

// The scenarios of the official conformance suite that a server with only its
// own tools can pass, each with at least one check that really ran.
func TestConformance(t *testing.T) {
	t.Parallel()
	suite := map[string][]string{
		"2025-11-25": {"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"},
		"2026-07-28": {
			"tools-list", "resources-list", "prompts-list", "caching", "sep-2164-resource-not-found", "http-header-validation",
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
				out, err := conformance(t, "server", "--url", server.URL+"/mcp", "--scenario", scenario, "--spec-version", revision, "-o", results)
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

// The extension for skills: with a revision named these scenarios would be
// left out in silence, so none is named and each must have run.
func TestConformanceOfSkills(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	for scenario, least := range map[string]int{"sep-2640-skills-enumeration": 32, "sep-2640-skills-manifest": 6} {
		t.Run(scenario, func(t *testing.T) {
			results := t.TempDir()
			out, err := conformance(t, "server", "--url", server.URL+"/mcp", "--scenario", scenario, "-o", results)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if ran := checks(t, results); ran["SUCCESS"] < least || ran["FAILURE"] > 0 || ran["WARNING"] > 0 {
				t.Errorf("checks by status: %v\n%s", ran, out)
			}
		})
	}
}

// All that a revision requires. What a server without fixtures cannot pass is
// listed with its reason; a line too many fails as well as one too few.
func TestConformanceRequirements(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	for revision, least := range map[string]int{"2025-11-25": 36, "2026-07-28": 100} {
		t.Run(revision, func(t *testing.T) {
			expected := expectedFailures(t, revision)
			listed := reasons(t, expected)
			ran := requirements(t, server.URL, revision, expected)
			if ran["SUCCESS"] < least {
				t.Errorf("only %v ran", ran)
			}
			t.Logf("checks by status: %v; scenarios expected to fail: %d", ran, listed)
		})
	}
}

// The same with the suite's own tools, prompts and resources beside ours, in a
// build that only this test makes: what they exercise is our reading in front
// of them and our writing behind.
func TestConformanceWithFixtures(t *testing.T) {
	t.Parallel()
	made, err := program.Build(t.Context(), t.TempDir(), "conformance")
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, program.Options{Binary: made, DataDir: t.TempDir()})
	both := []string{
		"completion-complete", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
		"tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "json-schema-2020-12", "resources-read-text",
		"resources-read-binary", "resources-templates-read", "prompts-get-simple", "prompts-get-with-args",
		"prompts-get-embedded-resource", "prompts-get-with-image",
	}
	asking := []string{
		"basic-elicitation", "basic-sampling", "basic-list-roots", "request-state", "multiple-input-requests", "multi-round",
		"non-tool-request", "result-type", "tampered-state", "capability-check", "missing-input-response", "ignore-extra-params",
	}
	for revision, passes := range map[string][]string{"2025-11-25": both, "2026-07-28": slices.Clone(both)} {
		if revision == "2026-07-28" {
			for _, scenario := range asking {
				passes = append(passes, "input-required-result-"+scenario)
			}
		}
		t.Run(revision, func(t *testing.T) {
			text, err := os.ReadFile(expectedFailures(t, revision))
			if err != nil {
				t.Fatal(err)
			}
			var left strings.Builder
			dropped := 0
			for line := range strings.Lines(string(text)) {
				scenario, _, _ := strings.Cut(strings.TrimPrefix(line, "  - "), " ")
				if slices.Contains(passes, scenario) {
					dropped++
					continue
				}
				left.WriteString(line)
			}
			if dropped != len(passes) {
				t.Errorf("%d of %d scenarios were expected to fail before", dropped, len(passes))
			}
			expected := filepath.Join(t.TempDir(), "expected.yml")
			if err := os.WriteFile(expected, []byte(left.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			ran := requirements(t, server.URL, revision, expected)
			if least := map[string]int{"2025-11-25": 59, "2026-07-28": 150}[revision]; ran["SUCCESS"] < least {
				t.Errorf("only %v passed", ran)
			}
			t.Logf("checks by status: %v", ran)
		})
	}
}

// requirements runs all that a revision requires and counts the checks.
func requirements(t *testing.T, address, revision, expected string) map[string]int {
	t.Helper()
	results := t.TempDir()
	out, err := conformance(t, "server", "--url", address+"/mcp", "--requirements", revision, "--expected-failures", expected, "-o", results)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return checks(t, results)
}

func expectedFailures(t *testing.T, revision string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("conformance", "expected-"+revision+".yml"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// reasons counts the lines of an expected-failures file; each says why.
func reasons(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(text)) {
		if scenario, reason, _ := strings.Cut(line, " # "); strings.HasPrefix(line, "  - ") {
			count++
			if len(strings.TrimSpace(reason)) < 20 {
				t.Errorf("%s has no reason", strings.TrimSpace(scenario))
			}
		}
	}
	return count
}

func conformance(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), nodeBinary(t), append([]string{"node_modules/@modelcontextprotocol/conformance/dist/index.js"}, args...)...)
	command.Dir = "node"
	return command.CombinedOutput()
}

// The Inspector fetches every file of every skill and compares digest, size
// and front matter, in both eras.
func TestInspectorVerifiesSkills(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), nodeBinary(t), "node_modules/.bin/mcp-inspector",
				"--cli", server.URL+"/mcp", "--transport", "http", "--method", "skills/list", "--verify", "--protocol-era", era)
			command.Dir = "node"
			out, err := command.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Verified 3 skills and 9 files: no conformance errors.") {
				t.Errorf("%v\n%s", err, out)
			}
		})
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
