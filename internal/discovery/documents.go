package discovery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"text/template"

	"innerloop/static"
)

// Surface is the cache-control value of a document whose path stays while its
// bytes may change (protocol 10.1).
const Surface = "public, max-age=300, stale-while-revalidate=86400, no-transform"

// A Document is a text that programs read to find their way.
type Document struct {
	Path      string // on the gateway origin, such as "/skill.md"
	MediaType string // with its charset
	Summary   string // one line, for lists
	Body      []byte // shared: not to be changed
	Digest    string // SHA-256 of Body in lower-case hex
	Cache     string // value of cache-control
}

// Documents returns every document, filled in for o, in the order of their
// paths.
func Documents(o Origins) ([]Document, error) {
	documents := []Document{
		{
			Path: "/llms.txt", MediaType: "text/plain; charset=utf-8", Cache: Surface,
			Summary: "What the service is and where its doors are, in one page.",
		},
		{
			Path: "/skill.md", MediaType: "text/markdown; charset=utf-8", Cache: Surface,
			Summary: "How an agent registers, signs, writes, retries and reads.",
		},
	}
	for i := range documents {
		body, err := fill(documents[i].Path, o)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		documents[i].Body, documents[i].Digest = body, hex.EncodeToString(sum[:])
	}
	return documents, nil
}

func fill(path string, o Origins) ([]byte, error) {
	name := "discovery" + path
	text, err := static.Discovery.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	var body bytes.Buffer
	if err := t.Execute(&body, o); err != nil {
		return nil, fmt.Errorf("fill in document: %w", err)
	}
	return body.Bytes(), nil
}
