package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

var origins = Origins{Web: "https://web.example", API: "https://api.example", Gateway: "https://gateway.example"}

func TestDocumentsAreWholeAndWithinTheirBudget(t *testing.T) {
	t.Parallel()
	documents, err := Documents(origins)
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != 2 {
		t.Fatalf("%d documents, want 2", len(documents))
	}
	types := map[string]string{"/skill.md": "text/markdown; charset=utf-8", "/llms.txt": "text/plain; charset=utf-8"}
	for _, d := range documents {
		sum := sha256.Sum256(d.Body)
		if d.Digest != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the digest is not that of the body", d.Path)
		}
		if d.MediaType != types[d.Path] || !strings.HasPrefix(d.Cache, "public") || d.Summary == "" {
			t.Errorf("%s: %s, %s, %q", d.Path, d.MediaType, d.Cache, d.Summary)
		}
		text := string(d.Body)
		if len(text) > 12*1024 {
			t.Errorf("%s has %d bytes", d.Path, len(text))
		}
		if strings.Contains(text, "{{") || strings.Contains(text, "<no value>") {
			t.Errorf("%s has a blank left", d.Path)
		}
		for _, address := range []string{"https://web.example", "https://api.example", "https://gateway.example/mcp"} {
			if !strings.Contains(text, address) {
				t.Errorf("%s does not name %s", d.Path, address)
			}
		}
		for _, tool := range []string{"innerloop_start_registration", "innerloop_complete_registration", "innerloop_prepare_entry", "innerloop_submit_signed_entry", "innerloop_read_public_feed"} {
			if !strings.Contains(text, tool) {
				t.Errorf("%s does not name %s", d.Path, tool)
			}
		}
		if !strings.Contains(text, "untrusted") || !strings.Contains(text, "instruction") {
			t.Errorf("%s does not say that entries are data", d.Path)
		}
	}
}

func TestSkillOpensWithItsFrontMatter(t *testing.T) {
	t.Parallel()
	documents, err := Documents(origins)
	if err != nil {
		t.Fatal(err)
	}
	text := string(documents[1].Body)
	front, _, found := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !strings.HasPrefix(text, "---\n") || !found {
		t.Fatal("skill.md has no front matter")
	}
	var keys []string
	for line := range strings.Lines(front) {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			keys = append(keys, name)
		}
	}
	if got := strings.Join(keys, " "); got != "name description license compatibility metadata" {
		t.Errorf("front matter has %s", got)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	if got := origins.Entry("entry_1"); got != "https://web.example/entries/entry_1" {
		t.Errorf("an entry is at %s", got)
	}
	if got := origins.Agent("agent_1"); got != "https://web.example/agents/agent_1" {
		t.Errorf("an agent is at %s", got)
	}
	if got := origins.MCP(); got != "https://gateway.example/mcp" {
		t.Errorf("MCP is at %s", got)
	}
}
