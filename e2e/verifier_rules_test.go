package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// verified are the rules of protocol 8 to 10 that others hold us to: V is
// asserted by a release verifier, S stands in the published A2A contract, M is
// required by MCP or A2A. Each names the tests that repeat it against a running
// program.
var verified = []struct{ section, mark, rule, tests string }{
	{"8", "M", "no session is made or needed", "TestVerifierMCP"},
	{"8.1", "V", "2025-06-18 and 2026-07-28 work on one endpoint, each without an opening", "TestVerifierMCP TestOfficialMCPClients"},
	{"8.2", "V", "a result comes with 2xx, JSON, the same id, resultType complete and serverInfo", "TestVerifierMCP"},
	{"8.2", "V", "server/discover: versions, capabilities, the skills extension, ttlMs, cacheScope", "TestVerifierMCP"},
	{"8.2", "V", "tools/list: five tools in order, with input and output schemas", "TestVerifierMCP"},
	{"8.2", "V", "a call of the feed: exact keys, at most the limit, the constants", "TestVerifierMCP"},
	{"8.2", "V", "resources/list holds the five discovery documents; no templates", "TestVerifierMCP"},
	{"8.2", "V", "resources/read: one content of exactly three keys, the bytes of the web", "TestVerifierMCP"},
	{"8.2", "V", "skills/list and skills/get: the same text, keys in order, one page, ttlMs, cacheScope public", "TestVerifierMCP"},
	{"8.3", "M", "a header that is missing or differs from the body is 400, -32020; base64 names are decoded", "TestVerifierMCPRefusals"},
	{"8.3", "M", "an unsupported version is 400, -32022, with what is supported", "TestVerifierMCPRefusals"},
	{"8.3", "M", "a missing member of _meta is 400, -32602", "TestVerifierMCPRefusals"},
	{"8.3", "M", "an unknown method is 404, -32601", "TestVerifierMCPRefusals"},
	{"8.3", "M", "an unknown tool, resource, skill or cursor is -32602", "TestVerifierMCPRefusals"},
	{"8.3", "M", "ttlMs and cacheScope stand on complete results of lists, reads and discovery, and on no others", "TestVerifierMCP"},
	{"8.3", "M", "ids are strings or integers, never null; batches are not taken", "TestVerifierMCPRefusals"},
	{"8.3", "M", "a notification gets 202 and no body; GET and DELETE get 405", "TestVerifierMCP TestVerifierMCPRefusals"},
	{"8.3", "M", "a foreign origin gets 403", "TestVerifierMCPRefusals"},
	{"8.3", "M", "all that the revisions require of a server", "TestConformance TestConformanceRequirements TestConformanceWithFixtures"},
	{"8.4", "V", "initialize, the notification after it, and every list and read without _meta", "TestVerifierMCP"},
	{"8.4", "V", "every file of every skill has the type, size and digest that are told", "TestVerifierMCP TestInspectorVerifiesSkills"},
	{"8.4", "V", "answers carry cache-control: no-store", "TestVerifierMCP"},
	{"8.5", "V", "names and order of the tools", "TestVerifierMCP"},
	{"8.5", "M", "the root of an output schema is an object", "TestVerifierMCP"},
	{"8.5", "S", "the results of the five tools have exact keys and constants", "TestOfficialMCPClients TestVerifierMCP"},
	{"8.6", "V", "the two constants of a feed, to the letter", "TestVerifierMCP TestVerifierA2A"},
	{"8.6", "S", "truncated tells that a budget left entries out", "TestVerifierMCP TestOfficialMCPClients"},
	{"8.7", "M", "the extension is declared with resources; an unknown skill is -32602; a skill is named as its folder", "TestVerifierMCP TestVerifierMCPRefusals TestConformanceOfSkills"},
	{"8.7", "V", "three skills of the agreed names", "TestVerifierMCP"},
	{"9.1", "V", "the agent card: its fields, one interface, nothing optional, four skills, examples that cannot be run", "TestVerifierA2A"},
	{"9.2", "V", "message:send as others send it, and the three headers of its answer", "TestVerifierA2A"},
	{"9.2", "M", "a reply has an id, the agent's role, a context and one data part", "TestVerifierA2A TestOfficialA2AClient"},
	{"9.3", "S", "six operations whose requests have no other keys", "TestVerifierA2A TestVerifierA2AOperationsRefuse"},
	{"9.3", "S", "the constants and links of discovery", "TestVerifierA2A"},
	{"9.3", "S", "results have exact keys", "TestVerifierA2A TestSameSignedBytesThroughEveryDoor"},
	{"9.4", "S", "success and failure of an operation have exact keys", "TestVerifierA2A TestVerifierA2AOperationsRefuse"},
	{"9.5", "M", "each refusal of the protocol has its status, state and reason", "TestVerifierA2ARefusals"},
	{"9.5", "M", "a version is 1.0 with any patch, in the header or the query", "TestVerifierA2ARefusals"},
	{"9.7", "V", "the contract: its top level, six operations, examples that cannot be sent, answers that obey it", "TestVerifierA2A"},
	{"10.1", "V", "type, cache, CORS, nosniff, digest and no redirect of each document", "TestVerifierDiscovery"},
	{"10.1", "V", "versioned copies are immutable and carry their digest", "TestVerifierDiscovery"},
	{"10.1", "V", "bytes are those of the release", "TestVerifierDiscovery TestVerifierMCP"},
	{"10.2", "V", "skill.json names what is served, with types and the client's digest", "TestVerifierDiscovery"},
	{"10.2", "V", "every link of ours leads somewhere", "TestVerifierLinks"},
}

// A rule whose test is gone fails here.
func TestEveryRuleIsVerified(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	known, used := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				known[f.Name.Name] = true
			}
		}
	}
	for _, r := range verified {
		if !slices.Contains([]string{"V", "S", "M"}, r.mark) || r.section == "" || r.rule == "" || r.tests == "" {
			t.Errorf("the rule %+v is not whole", r)
		}
		for name := range strings.FieldsSeq(r.tests) {
			used[name] = true
			if !known[name] {
				t.Errorf("%s: %s: there is no %s", r.section, r.rule, name)
			}
		}
	}
	for name := range known {
		if strings.HasPrefix(name, "TestVerifier") && !used[name] {
			t.Errorf("%s repeats no rule of the table", name)
		}
	}
}
