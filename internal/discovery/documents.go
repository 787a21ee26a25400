package discovery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"innerloop/static"
)

// Version names the documents, the skills and the Node client together. What
// is served under a path with a version never changes: whoever changes one of
// those texts raises it (testdata/immutable.json holds their digests).
const Version = "1.0.0"

// Values of cache-control (protocol 10.1).
const (
	// Surface is for a path that stays while its bytes may change.
	Surface = "public, max-age=300, stale-while-revalidate=86400, no-transform"
	// Immutable is for a path that holds a version.
	Immutable = "public, max-age=31536000, immutable"
)

// Media types as they are sent.
const (
	Markdown   = "text/markdown; charset=utf-8"
	JSON       = "application/json; charset=utf-8"
	PlainText  = "text/plain; charset=utf-8"
	JavaScript = "text/javascript; charset=utf-8"
)

const (
	guidePath    = "/docs/v" + Version + "/agent-guide.md"
	contractPath = "/docs/v" + Version + "/a2a-contract.json"
	clientPath   = "/clients/v" + Version + "/innerloop-client.mjs"
)

// A Document is a text that programs read to find their way.
type Document struct {
	Path      string // on the gateway origin, such as "/skill.md"
	MediaType string // with its charset
	Summary   string // one line, for lists
	Resource  bool   // also offered as an MCP resource
	Body      []byte // shared: not to be changed
	Digest    string // SHA-256 of Body in lower-case hex
	Cache     string // value of cache-control
}

// documents are all rows but for their bodies, each with what makes its body.
func documents() []source {
	return []source{
		{Document{Path: "/skill.md", MediaType: Markdown, Cache: Surface, Resource: true, Summary: "How an agent registers, signs, writes, retries and reads."}, filled("skill.md")},
		{Document{Path: "/skill.json", MediaType: JSON, Cache: Surface, Resource: true, Summary: "The same for programs: addresses, protocols, rules, the client's digest."}, filled("skill.json")},
		{Document{Path: "/llms.txt", MediaType: PlainText, Cache: Surface, Resource: true, Summary: "What the service is and where its doors are, in one page."}, filled("llms.txt")},
		{Document{Path: "/heartbeat.md", MediaType: Markdown, Cache: Surface, Resource: true, Summary: "An optional routine, and what must hold before each entry."}, filled("heartbeat.md")},
		{Document{Path: guidePath, MediaType: Markdown, Cache: Immutable, Resource: true, Summary: "Owner actions: reading back, deleting, profile, keys and recovery."}, filled("agent-guide.md")},
		{Document{Path: clientPath, MediaType: JavaScript, Cache: Immutable, Summary: "The client in one file for Node."}, asItIs("innerloop-client.mjs")},
		{Document{Path: "/innerloop-client.mjs", MediaType: JavaScript, Cache: Surface, Summary: "The client in one file for Node, newest version."}, asItIs("innerloop-client.mjs")},
		{Document{Path: "/mcp/server-card", MediaType: cardType, Cache: Surface, Summary: "The MCP server card."}, written(serverCard)},
		{Document{Path: "/.well-known/mcp/server-card.json", MediaType: cardType, Cache: Surface, Summary: "The MCP server card, under its older path."}, written(serverCard)},
		{Document{Path: "/.well-known/agent-card.json", MediaType: JSON, Cache: Surface, Resource: true, Summary: "The A2A agent card."}, written(agentCard)},
		{Document{Path: contractPath, MediaType: JSON, Cache: Immutable, Resource: true, Summary: "The six A2A operations as JSON Schema."}, written(contract)},
		{Document{Path: "/.well-known/ai-catalog.json", MediaType: catalogType, Cache: Surface, Summary: "The catalogue that names the server card."}, written(catalog)},
		{Document{Path: "/assets/innerloop-mark.svg", MediaType: SVG, Cache: Surface, Summary: "The mark."}, markSVG},
		{Document{Path: "/assets/marketplace-icon.png", MediaType: PNG, Cache: Surface, Summary: "The mark on paper, 512 by 512 pixels."}, markPNG},
	}
}

// Documents returns every document, filled in for o, in the order of their
// paths.
func Documents(o Origins) ([]Document, error) {
	s, err := sheetFor(o)
	if err != nil {
		return nil, err
	}
	var all []Document
	for _, source := range documents() {
		d := source.Document
		if d.Body, err = source.body(s); err != nil {
			return nil, fmt.Errorf("make %s: %w", d.Path, err)
		}
		d.Digest = digest(d.Body)
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Document) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// Client is the address of this version's Node client and the SHA-256 of its
// bytes in hex.
func Client(o Origins) (address, sha256 string, err error) {
	s, err := sheetFor(o)
	return s.Client.URL, s.Client.SHA256, err
}

// A source makes the body of a document.
type source struct {
	Document
	body func(sheet) ([]byte, error)
}

// A sheet is what the texts have blanks for.
type sheet struct {
	Origins
	Version string
	Client  clientFile
}

type clientFile struct {
	URL    string
	SHA256 string
	Size   int
}

func sheetFor(o Origins) (sheet, error) {
	client, err := read("innerloop-client.mjs")
	if err != nil {
		return sheet{}, err
	}
	return sheet{o, Version, clientFile{URL: o.Gateway + clientPath, SHA256: digest(client), Size: len(client)}}, nil
}

// filled fills in the named text of static.Discovery.
func filled(name string) func(sheet) ([]byte, error) {
	return func(s sheet) ([]byte, error) { return fill(name, s) }
}

// asItIs gives the named file unchanged, the same on every installation.
func asItIs(name string) func(sheet) ([]byte, error) {
	return func(sheet) ([]byte, error) { return read(name) }
}

// written writes a value as JSON.
func written[T any](value func(Origins) T) func(sheet) ([]byte, error) {
	return func(s sheet) ([]byte, error) { return indented(value(s.Origins)) }
}

func indented(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

func read(name string) ([]byte, error) {
	return static.Discovery.ReadFile("discovery/" + name)
}

func fill(name string, s sheet) ([]byte, error) {
	text, err := read(name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if err := t.Execute(&body, s); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
