//go:build conformance

package mcp

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"innerloop/internal/discovery"
	"innerloop/internal/strictjson"
	"innerloop/journal"
)

// What the official conformance suite wants a server to have, in a build that
// is made by its test and nowhere else. Every fixture goes the way of our own:
// through the strict reading in front and the rewriting behind.

// A PNG of one pixel and an empty WAV.
var (
	pixel   = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"))
	silence = base64.StdEncoding.EncodeToString([]byte("RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00D\xac\x00\x00\x88X\x01\x00\x02\x00\x10\x00data\x00\x00\x00\x00"))
)

// dialect is the schema whose words must come through a listing unchanged.
const dialect = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

func (d *Door) addFixtures(core *server.MCPServer) error {
	embedded := func(uri, media, text string) mcp.Content {
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: media, Text: text})
	}
	image := mcp.NewImageContent(pixel, "image/png")
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":            {mcp.NewTextContent("This is a simple text response for testing.")},
		"test_image_content":          {image},
		"test_audio_content":          {mcp.NewAudioContent(silence, "audio/wav")},
		"test_embedded_resource":      {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {mcp.NewTextContent("Multiple content types test:"), image, embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)},
		"test_error_handling":         {mcp.NewTextContent("This tool intentionally returns an error for testing")},
		"json_schema_2020_12_tool":    {mcp.NewTextContent("Read by its schema alone.")},
	} {
		fixture := mcp.Tool{Name: name, Description: "A fixture of the conformance suite.", RawInputSchema: []byte(`{"type":"object"}`)}
		if name == "json_schema_2020_12_tool" {
			fixture.RawInputSchema = []byte(dialect)
		}
		core.AddTool(fixture, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content, IsError: name == "test_error_handling"}, nil
		})
		d.tools[name] = true
	}
	d.fixtureResources(core)
	d.fixturePrompts(core)
	d.fixtureInput(core)
	return d.fixtureWork(core)
}

// fixtureWork adds the suite's tool that tells of its progress, and a pair of
// ours: the one tells that it began and ends when the other is called, so that
// a client that hears of it only at the end would wait in vain.
func (d *Door) fixtureWork(core *server.MCPServer) error {
	begun := make(chan struct{}, 1)
	object := schema{"type": "object"}
	for _, t := range []tool{
		{name: "test_tool_with_progress", work: func(_ context.Context, _ journal.Caller, _ strictjson.Value, report func(string)) (any, error) {
			for _, message := range []string{"first step", "second step", "third step"} {
				report(message)
			}
			return map[string]int{"steps": 3}, nil
		}},
		{name: "test_wait", work: func(ctx context.Context, _ journal.Caller, _ strictjson.Value, report func(string)) (any, error) {
			report("begun")
			select {
			case <-begun:
				return map[string]bool{"let_go": true}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}},
		{name: "test_let_go", call: func(context.Context, journal.Caller, strictjson.Value) (any, error) {
			begun <- struct{}{}
			return struct{}{}, nil
		}},
	} {
		t.description, t.input, t.output = "A fixture of the tests.", object, object
		if err := d.add(core, t); err != nil {
			return err
		}
	}
	return nil
}

func (d *Door) fixtureResources(core *server.MCPServer) {
	add := func(uri, media string, contents mcp.ResourceContents) {
		core.AddResource(mcp.NewResource(uri, uri, mcp.WithMIMEType(media)), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{contents}, nil
		})
		d.documents[uri] = true
	}
	add("test://static-text", "text/plain", mcp.TextResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."})
	add("test://static-binary", "image/png", mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel})
	core.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template"), func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: `{"id":"` + id + `","templateTest":true,"data":"Data for ID: ` + id + `"}`}}, nil
	})
	d.documents["test://template/123/data"] = true
}

func (d *Door) fixturePrompts(core *server.MCPServer) {
	says := func(content mcp.Content) mcp.PromptMessage { return mcp.NewPromptMessage(mcp.RoleUser, content) }
	taking := func(names ...string) (list []promptArgument) {
		for _, name := range names {
			list = append(list, promptArgument{name: name, description: "Any text.", longest: 1000})
		}
		return list
	}
	for _, p := range []prompt{
		{name: "test_simple_prompt", messages: oneText(func(discovery.Origins, map[string]string) string { return "This is a simple prompt for testing." })},
		{name: "test_prompt_with_arguments", arguments: taking("arg1", "arg2"), messages: oneText(func(_ discovery.Origins, given map[string]string) string {
			return "Prompt with arguments: arg1='" + given["arg1"] + "', arg2='" + given["arg2"] + "'"
		})},
		{name: "test_prompt_with_embedded_resource", arguments: taking("resourceUri"), messages: func(_ discovery.Origins, given map[string]string) []mcp.PromptMessage {
			resource := mcp.TextResourceContents{URI: given["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}
			return []mcp.PromptMessage{says(mcp.NewEmbeddedResource(resource)), says(mcp.NewTextContent("Please process the embedded resource above."))}
		}},
		{name: "test_prompt_with_image", messages: func(discovery.Origins, map[string]string) []mcp.PromptMessage {
			return []mcp.PromptMessage{says(mcp.NewImageContent(pixel, "image/png")), says(mcp.NewTextContent("Please analyze the image above."))}
		}},
	} {
		p.description = "A fixture of the conformance suite."
		d.offer(core, p, discovery.Origins{})
	}
}
