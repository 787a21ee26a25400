package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fiveDocuments are the documents that a release is compared by (protocol 8.2).
var fiveDocuments = []string{"/skill.md", "/skill.json", "/llms.txt", "/.well-known/agent-card.json", "/heartbeat.md"}

type discoveryFile struct {
	URL       string
	MediaType string `json:"media_type"`
	SHA256    string
	Immutable bool
	APIOrigin string `json:"api_origin"`
}

type discoveryManifest struct {
	Format        string
	FormatVersion int `json:"format_version"`
	Version       string
	APIBase       string `json:"api_base"`
	Files         map[string]discoveryFile
	Protocols     map[string]struct {
		URL, Transport string
		Tools          []string
	}
}

// Protocol 10.1 and 10.2, as far as others assert it.
func TestVerifierDiscovery(t *testing.T) {
	t.Parallel()
	v := verify(t)
	var manifest discoveryManifest
	v.read(v.do(http.MethodGet, v.url+"/skill.json", nil).body, &manifest)
	if manifest.Format != "innerloop.skill-manifest" || manifest.FormatVersion != 1 || manifest.Version == "" || manifest.APIBase != v.url {
		t.Errorf("skill.json begins %+v", manifest)
	}
	if mcp := manifest.Protocols["mcp"]; mcp.URL != v.url+"/mcp" || mcp.Transport != "streamable-http" || strings.Join(mcp.Tools, " ") != strings.Join(fiveTools, " ") {
		t.Errorf("skill.json tells of MCP %+v", mcp)
	}
	versioned := "/v" + manifest.Version + "/"
	for path, row := range map[string]struct {
		media     string
		immutable bool
		budget    int
	}{
		"/skill.md":                            {"text/markdown; charset=utf-8", false, 12_288},
		"/skill.json":                          {"application/json; charset=utf-8", false, 8_192},
		"/heartbeat.md":                        {"text/markdown; charset=utf-8", false, most},
		"/llms.txt":                            {"text/plain; charset=utf-8", false, most},
		"/docs" + versioned + "agent-guide.md": {"text/markdown; charset=utf-8", true, most},
		"/clients" + versioned + "innerloop-client.mjs": {"text/javascript; charset=utf-8", true, 262_144},
		"/innerloop-client.mjs":                         {"text/javascript; charset=utf-8", false, 262_144},
		"/.well-known/agent-card.json":                  {"application/json; charset=utf-8", false, most},
		"/docs" + versioned + "a2a-contract.json":       {"application/json; charset=utf-8", true, most},
		"/mcp/server-card":                              {"application/mcp-server-card+json", false, most},
		"/.well-known/mcp/server-card.json":             {"application/mcp-server-card+json", false, most},
		"/.well-known/ai-catalog.json":                  {"application/ai-catalog+json", false, most},
		"/.well-known/security.txt":                     {"text/plain; charset=utf-8", false, most},
	} {
		v.served(path, row.media, row.immutable, row.budget)
	}
	for name, file := range manifest.Files {
		got := v.do(http.MethodGet, file.URL, nil)
		media, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
		if got.status != http.StatusOK || media != file.MediaType {
			t.Errorf("%s of skill.json: %d, %s", name, got.status, media)
		}
		sum := sha256.Sum256(got.body)
		if name == "client" && (hex.EncodeToString(sum[:]) != file.SHA256 || !file.Immutable || file.APIOrigin != v.url) {
			t.Errorf("the client of skill.json is %+v", file)
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		if got := v.do(http.MethodGet, v.url+path, nil); got.status != http.StatusNotFound {
			t.Errorf("%s: %d, and there is no OAuth", path, got.status)
		}
	}
	found := regexp.MustCompile(`(?m)^Expires: (\S+)$`).FindSubmatch(v.do(http.MethodGet, v.url+"/.well-known/security.txt", nil).body)
	if found == nil {
		t.Fatal("security.txt does not say when it expires")
	}
	if expires, err := time.Parse(time.RFC3339, string(found[1])); err != nil || !expires.After(time.Now()) || !expires.Before(time.Now().AddDate(1, 0, 0)) {
		t.Errorf("security.txt expires %s, %v", found[1], err)
	}
}

// served holds one document against the table of protocol 10.1.
func (v verifier) served(path, media string, immutable bool, budget int) {
	v.Helper()
	got := v.do(http.MethodGet, v.url+path, nil)
	sum := sha256.Sum256(got.body)
	digest := hex.EncodeToString(sum[:])
	if got.status != http.StatusOK || got.header.Get("Content-Type") != media || len(got.body) == 0 || len(got.body) > budget {
		v.Errorf("%s: %d, %s, %d bytes", path, got.status, got.header.Get("Content-Type"), len(got.body))
	}
	want := map[string]string{"Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff", "Etag": `"sha256-` + digest + `"`}
	if immutable {
		want["X-Innerloop-Sha256"] = digest
	}
	for name, value := range want {
		if got.header.Get(name) != value {
			v.Errorf("%s: %s is %q, want %q", path, name, got.header.Get(name), value)
		}
	}
	cache := got.header.Get("Cache-Control")
	if !strings.Contains(cache, "public") || strings.Contains(cache, "immutable") != immutable {
		v.Errorf("%s: cache-control %q", path, cache)
	}
	if again := v.do(http.MethodGet, v.url+path, nil, "if-none-match", `"sha256-`+digest+`"`); again.status != http.StatusNotModified || len(again.body) != 0 {
		v.Errorf("%s asked again: %d", path, again.status)
	}
	if head := v.do(http.MethodHead, v.url+path, nil); head.status != http.StatusOK || head.header.Get("Etag") != got.header.Get("Etag") {
		v.Errorf("%s by HEAD: %d", path, head.status)
	}
}

// Every address of ours that a document or a skill names is there: read with
// GET, or taking POST and refusing an empty object.
func TestVerifierLinks(t *testing.T) {
	t.Parallel()
	v := verify(t)
	var listed struct {
		Resources []struct{ URI, MimeType string }
	}
	v.result(modern, "resources/list", nil, &listed)
	// Some addresses are the beginning of others; one of those is tried.
	below := map[string]string{"/v1/private/": "entries/list", "/a2a/v1": "/message:send"}
	followed := map[string]bool{}
	follow := func(from, text string) {
		for _, path := range v.links(text) {
			if followed[path] {
				continue
			}
			followed[path] = true
			path += below[path]
			if got := v.do(http.MethodGet, v.url+path, nil); got.status == http.StatusOK {
				continue
			}
			if got := v.do(http.MethodPost, v.url+path, []byte("{}"), "content-type", "application/json"); got.status != http.StatusBadRequest {
				t.Errorf("%s names %s, which is served by neither GET nor POST: %d", from, path, got.status)
			}
		}
	}
	for _, resource := range listed.Resources {
		follow(resource.URI, v.resource(modern, resource.URI, resource.MimeType))
	}
	var manifest discoveryManifest
	v.read(v.do(http.MethodGet, v.url+"/skill.json", nil).body, &manifest)
	for _, path := range []string{
		"/.well-known/ai-catalog.json", "/mcp/server-card", "/.well-known/mcp/server-card.json", "/.well-known/security.txt", "/openapi.json",
		"/docs/v" + manifest.Version + "/agent-guide.md", "/docs/v" + manifest.Version + "/a2a-contract.json",
	} {
		follow(path, string(v.do(http.MethodGet, v.url+path, nil).body))
	}
	if len(followed) < 15 {
		t.Errorf("only %d links were found", len(followed))
	}
}
