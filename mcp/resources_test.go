package mcp

import (
	"encoding/json"
	"testing"

	"innerloop/internal/discovery"
)

// Documents read over MCP are the bytes that the web serves.
func TestResourcesAreTheDiscoveryDocuments(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	documents, err := discovery.Documents(testOrigins)
	if err != nil {
		t.Fatal(err)
	}
	mimeTypes := map[string]string{"/skill.md": "text/markdown", "/llms.txt": "text/plain"}
	for _, e := range eras {
		var listed struct {
			Resources []struct{ URI, Name, MimeType, Description string }
		}
		if err := json.Unmarshal(e.call(t, d, "resources/list", "", "").Result, &listed); err != nil {
			t.Fatal(err)
		}
		if len(listed.Resources) != len(documents) {
			t.Fatalf("%s: %d resources, want %d", e, len(listed.Resources), len(documents))
		}
		for i, document := range documents {
			uri := testOrigins.Gateway + document.Path
			if got := listed.Resources[i]; got.URI != uri || got.MimeType != mimeTypes[document.Path] || got.Name == "" || got.Description == "" {
				t.Errorf("%s: resource %d is %+v", e, i, got)
			}
			var read struct{ Contents []json.RawMessage }
			if err := json.Unmarshal(e.call(t, d, "resources/read", uri, `"uri":"`+uri+`"`).Result, &read); err != nil {
				t.Fatal(err)
			}
			if len(read.Contents) != 1 {
				t.Fatalf("%s: %s has %d contents", e, uri, len(read.Contents))
			}
			wantKeys(t, read.Contents[0], "uri mimeType text")
			var content struct{ URI, MimeType, Text string }
			if err := json.Unmarshal(read.Contents[0], &content); err != nil {
				t.Fatal(err)
			}
			if content.URI != uri || content.MimeType != mimeTypes[document.Path] || content.Text != string(document.Body) {
				t.Errorf("%s: %s is not the document", e, uri)
			}
		}
		var templates struct{ ResourceTemplates []any }
		if err := json.Unmarshal(e.call(t, d, "resources/templates/list", "", "").Result, &templates); err != nil || templates.ResourceTemplates == nil || len(templates.ResourceTemplates) != 0 {
			t.Errorf("%s: templates are %v, %v", e, templates.ResourceTemplates, err)
		}
	}
}
