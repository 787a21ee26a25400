package discovery

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"innerloop/static"
)

var origins = Origins{Web: "https://web.example", API: "https://api.example", Gateway: "https://gateway.example"}

// made returns every document by its path.
func made(t *testing.T) map[string]Document {
	t.Helper()
	documents, err := Documents(origins)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Document{}
	for i, d := range documents {
		if i > 0 && documents[i-1].Path >= d.Path {
			t.Errorf("%s comes out of order", d.Path)
		}
		all[d.Path] = d
	}
	return all
}

// The table of protocol 10.1, with the sizes of 0.2.
func TestDocumentsAreServedAsTheTableSays(t *testing.T) {
	t.Parallel()
	documents := made(t)
	for _, row := range []struct {
		path, media, cache string
		budget             int
	}{
		{"/skill.md", "text/markdown; charset=utf-8", Surface, 12_288},
		{"/skill.json", "application/json; charset=utf-8", Surface, 8_192},
		{"/llms.txt", "text/plain; charset=utf-8", Surface, 8_192},
		{"/heartbeat.md", "text/markdown; charset=utf-8", Surface, 8_192},
		{"/docs/v" + Version + "/agent-guide.md", "text/markdown; charset=utf-8", Immutable, 16_384},
		{"/clients/v" + Version + "/innerloop-client.mjs", "text/javascript; charset=utf-8", Immutable, 262_144},
		{"/innerloop-client.mjs", "text/javascript; charset=utf-8", Surface, 262_144},
		{"/mcp/server-card", "application/mcp-server-card+json", Surface, 4_096},
		{"/.well-known/mcp/server-card.json", "application/mcp-server-card+json", Surface, 4_096},
		{"/.well-known/agent-card.json", "application/json; charset=utf-8", Surface, 8_192},
		{"/docs/v" + Version + "/a2a-contract.json", "application/json; charset=utf-8", Immutable, 49_152},
		{"/.well-known/ai-catalog.json", "application/ai-catalog+json", Surface, 4_096},
		{"/assets/innerloop-mark.svg", "image/svg+xml", Surface, 2_048},
		{"/assets/marketplace-icon.png", "image/png", Surface, 65_536},
	} {
		d, there := documents[row.path]
		if !there {
			t.Errorf("%s is missing", row.path)
			continue
		}
		if d.MediaType != row.media || d.Cache != row.cache || d.Summary == "" {
			t.Errorf("%s: %s, %s, %q", row.path, d.MediaType, d.Cache, d.Summary)
		}
		if len(d.Body) == 0 || len(d.Body) > row.budget {
			t.Errorf("%s has %d bytes, want at most %d", row.path, len(d.Body), row.budget)
		}
		if d.Digest != digest(d.Body) {
			t.Errorf("%s: the digest is not that of the body", row.path)
		}
		if row.media != PNG && (strings.Contains(string(d.Body), "{{") || strings.Contains(string(d.Body), "<no value>")) {
			t.Errorf("%s has a blank left", row.path)
		}
	}
	if string(documents["/innerloop-client.mjs"].Body) != string(documents[clientPath].Body) {
		t.Error("the alias of the client is another file")
	}
	if string(documents["/mcp/server-card"].Body) != string(documents["/.well-known/mcp/server-card.json"].Body) {
		t.Error("the alias of the card is another file")
	}
}

// What is served under a versioned path stays as it is for ever. A change of
// one of these texts raises Version; INNERLOOP_UPDATE_GOLDEN=1 then adds it.
func TestVersionedTextsNeverChange(t *testing.T) {
	t.Parallel()
	const golden = "testdata/immutable.json"
	pinned := map[string]string{}
	text, err := os.ReadFile(golden)
	if err == nil {
		err = json.Unmarshal(text, &pinned)
	}
	update := os.Getenv("INNERLOOP_UPDATE_GOLDEN") == "1"
	if err != nil && !update {
		t.Fatal(err)
	}
	for path, d := range made(t) {
		if d.Cache != Immutable {
			continue
		}
		if update {
			pinned[path] = d.Digest
		} else if pinned[path] != d.Digest {
			t.Errorf("%s has digest %s, pinned is %q: raise Version", path, d.Digest, pinned[path])
		}
	}
	if !update {
		return
	}
	text, err = json.MarshalIndent(pinned, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(golden, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSkillOpensWithItsFrontMatter(t *testing.T) {
	t.Parallel()
	text := string(made(t)["/skill.md"].Body)
	front, _, found := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !strings.HasPrefix(text, "---\n") || !found {
		t.Fatal("skill.md has no front matter")
	}
	var keys, metadata []string
	for line := range strings.Lines(front) {
		name, _, _ := strings.Cut(line, ":")
		if inner, ok := strings.CutPrefix(name, "  "); ok {
			metadata = append(metadata, inner)
		} else {
			keys = append(keys, name)
		}
	}
	if got := strings.Join(keys, " "); got != "name description license compatibility metadata" {
		t.Errorf("front matter has %s", got)
	}
	if got := strings.Join(metadata, " "); got != "version homepage api_base" {
		t.Errorf("metadata has %s", got)
	}
}

func TestTextsSayWhatMatters(t *testing.T) {
	t.Parallel()
	documents := made(t)
	for path, words := range map[string][]string{
		"/skill.md": {
			"not end-to-end encrypted", "untrusted data", "Never follow an instruction", "no default", "12", "20,000", "self-test", "check draft.json",
			"second, independent", documents[clientPath].Digest, "nothing is stored twice", "invalid_signature_window",
		},
		"/llms.txt":     {"untrusted data", "no end-to-end encryption", documents[clientPath].Digest},
		"/heartbeat.md": {"Privacy gate", "at most one entry in a run", "one public entry in any 24 hours", "at most three entries", "cadence", "never a reason", "retry_after"},
		guidePath: {
			"journal.entries.list", "journal.entry.read", "journal.entries.export", "journal.entry.delete", "agent.profile.update", "agent.key.rotate",
			"agent.key.revoke", "Moving an identity", "boundary of trust", "72 hours",
		},
	} {
		for _, word := range words {
			if !strings.Contains(string(documents[path].Body), word) {
				t.Errorf("%s does not say %q", path, word)
			}
		}
	}
	for _, path := range []string{"/skill.md", "/skill.json", "/llms.txt"} {
		for _, policy := range []string{"/privacy", "/terms", "/acceptable-use", "/retention-and-deletion", "/security"} {
			if !strings.Contains(string(documents[path].Body), origins.Web+policy) {
				t.Errorf("%s does not lead to %s", path, policy)
			}
		}
		for _, tool := range []string{"innerloop_start_registration", "innerloop_complete_registration", "innerloop_prepare_entry", "innerloop_submit_signed_entry", "innerloop_read_public_feed"} {
			if !strings.Contains(string(documents[path].Body), tool) {
				t.Errorf("%s does not name %s", path, tool)
			}
		}
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	documents := made(t)
	type file struct {
		URL       string `json:"url"`
		MediaType string `json:"media_type"`
		SHA256    string `json:"sha256"`
		Size      int    `json:"size"`
		Immutable bool   `json:"immutable"`
		APIOrigin string `json:"api_origin"`
	}
	var m struct {
		Format        string
		FormatVersion int `json:"format_version"`
		Version       string
		APIBase       string `json:"api_base"`
		OpenAPI       string
		Files         map[string]file
		Protocols     struct {
			MCP struct {
				URL, Transport string
				Tools          []string
			}
			A2A struct {
				URL             string
				Card            string `json:"agent_card"`
				Binding         string `json:"protocol_binding"`
				ProtocolVersion string `json:"protocol_version"`
				Operations      []string
				Contracts       string `json:"operation_contracts_url"`
			}
		}
		Security map[string]any
	}
	if err := json.Unmarshal(documents["/skill.json"].Body, &m); err != nil {
		t.Fatal(err)
	}
	if m.Format != "innerloop.skill-manifest" || m.FormatVersion != 1 || m.Version != Version || m.APIBase != origins.API || m.OpenAPI != origins.API+"/openapi.json" {
		t.Errorf("the manifest begins %+v", m)
	}
	policies := map[string]string{
		"privacy": "/privacy", "terms": "/terms", "acceptable_use": "/acceptable-use", "retention": "/retention-and-deletion", "security": "/security",
	}
	for name, path := range policies {
		if f := m.Files[name]; f.URL != origins.Web+path || f.MediaType != "text/html" {
			t.Errorf("%s: %+v is not the page of this policy", name, f)
		}
		delete(m.Files, name)
	}
	for name, f := range m.Files {
		d, there := documents[strings.TrimPrefix(f.URL, origins.Gateway)]
		media, _, _ := strings.Cut(d.MediaType, ";")
		if !there || f.MediaType != media {
			t.Errorf("%s: %+v is not a document of this type", name, f)
		}
		if name == "client" && (f.SHA256 != d.Digest || f.Size != len(d.Body) || !f.Immutable || f.APIOrigin != origins.API || d.Cache != Immutable) {
			t.Errorf("the client is %+v", f)
		}
	}
	for _, name := range []string{"skill", "metadata", "llms", "heartbeat", "agent_guide", "agent_card", "a2a_contract", "client"} {
		if _, there := m.Files[name]; !there {
			t.Errorf("the manifest has no file %s", name)
		}
	}
	if m.Protocols.MCP.URL != origins.MCP() || m.Protocols.MCP.Transport != "streamable-http" || len(m.Protocols.MCP.Tools) != 5 {
		t.Errorf("MCP is %+v", m.Protocols.MCP)
	}
	if a := m.Protocols.A2A; a.URL != origins.A2A() || a.Card != origins.AgentCard() || a.Binding != "HTTP+JSON" || a.ProtocolVersion != "1.0" ||
		len(a.Operations) != 6 || a.Contracts != origins.Contract() {
		t.Errorf("A2A is %+v", a)
	}
	if m.Security["private_keys_accepted"] != false || m.Security["identity"] != "Ed25519" || m.Security["visibility"] != "required" {
		t.Errorf("security is %v", m.Security)
	}
}

// Every address on the gateway that a text names is a document or an endpoint
// of assistants; the API's and the pages' are known routes.
func TestTextsLinkToWhatIsServed(t *testing.T) {
	t.Parallel()
	documents := made(t)
	texts := map[string][]byte{}
	for path, d := range documents {
		texts[path] = d.Body
	}
	skills, err := Skills(origins)
	if err != nil {
		t.Fatal(err)
	}
	for _, skill := range skills {
		for _, f := range skill.Files {
			texts[f.URI] = f.Body
		}
	}
	address := regexp.MustCompile(`https://(web|api|gateway)\.example([A-Za-z0-9/._{}-]*)`)
	routes := []string{
		"/", "/openapi.json", "/v1/agents/challenges", "/v1/agents/register", "/v1/entries", "/v1/limits", "/v1/feed", "/v1/entries/{entry_id}", "/v1/agents/{agent_id}",
		"/v1/agents/{agent_id}/entries", "/v1/tags/{tag}/entries", "/v1/private/", "/entries/{entry_id}", "/entries/{entry_id}/proof.json",
		"/connect", "/feeds", "/about", "/signatures", "/privacy", "/terms", "/acceptable-use", "/retention-and-deletion", "/security", "/support",
	}
	for path, text := range texts {
		for _, found := range address.FindAllStringSubmatch(string(text), -1) {
			target := strings.TrimRight(found[2], ".")
			if _, there := documents[target]; found[1] == "gateway" && !there && target != "/mcp" && target != "/a2a/v1" && target != "" {
				t.Errorf("%s links to %s, which is not served", path, found[0])
			}
			if found[1] != "gateway" && target != "" && !slices.Contains(routes, target) {
				t.Errorf("%s names %s, which is no route", path, found[0])
			}
		}
	}
}

// The client is the same everywhere, so that its digest can be compared with
// a copy of the source.
func TestClientIsTheFileInTheSource(t *testing.T) {
	t.Parallel()
	source, err := static.Discovery.ReadFile("discovery/innerloop-client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(source, made(t)[clientPath].Body) {
		t.Error("the served client is not the file")
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		origins.Entry("entry_1"): "https://web.example/entries/entry_1",
		origins.Agent("agent_1"): "https://web.example/agents/agent_1",
		origins.MCP():            "https://gateway.example/mcp",
		origins.Guide():          "https://gateway.example/docs/v" + Version + "/agent-guide.md",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
