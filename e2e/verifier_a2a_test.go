package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const nonExecutable = "NON-EXECUTABLE EXAMPLE."

var sixOperations = []string{
	"innerloop.discovery.get", "innerloop.registration.start", "innerloop.registration.complete",
	"innerloop.entry.prepare", "innerloop.entry.publish", "innerloop.public.read",
}

// message sends one operation as the verifier of protocol 9.2 does.
func (v verifier) message(data any) heard {
	v.Helper()
	body, err := json.Marshal(map[string]any{
		"message": map[string]any{
			"messageId": "release-message", "role": "ROLE_USER", "parts": []any{map[string]any{"data": data, "mediaType": "application/json"}},
		},
		"configuration": map[string]any{"acceptedOutputModes": []string{"application/json"}},
	})
	if err != nil {
		v.Fatal(err)
	}
	return v.do(http.MethodPost, v.url+"/a2a/v1/message:send", body,
		"content-type", "application/a2a+json", "accept", "application/a2a+json", "a2a-version", "1.0")
}

// operated holds an answer against protocol 9.2 and 9.4 and reads the result.
func (v verifier) operated(operation string, data map[string]any, into any) json.RawMessage {
	v.Helper()
	data["operation"] = operation
	got := v.message(data)
	for name, want := range map[string]string{"Content-Type": "application/a2a+json", "A2a-Version": "1.0", "Cache-Control": "no-store"} {
		if got.header.Get(name) != want {
			v.Errorf("%s: %s is %q, want exactly %q", operation, name, got.header.Get(name), want)
		}
	}
	var reply struct {
		Message struct {
			MessageID, ContextID, Role string
			Parts                      []struct {
				Data      json.RawMessage
				MediaType string
			}
		}
	}
	v.read(got.body, &reply)
	m := reply.Message
	if got.status != http.StatusOK || m.MessageID == "" || m.ContextID == "" || m.Role != "ROLE_AGENT" || len(m.Parts) != 1 || m.Parts[0].MediaType != "application/json" {
		v.Fatalf("%s: %d %s", operation, got.status, got.body)
	}
	v.keys(operation+": the data part", m.Parts[0].Data, "operation ok result")
	var answer struct {
		Operation string
		OK        bool
		Result    json.RawMessage
	}
	v.read(m.Parts[0].Data, &answer)
	if answer.Operation != operation || !answer.OK {
		v.Fatalf("%s: %s", operation, got.body)
	}
	v.read(answer.Result, into)
	return answer.Result
}

// Protocol 9.1, 9.3 and 9.7, as far as others assert it.
func TestVerifierA2A(t *testing.T) {
	t.Parallel()
	v := verify(t)
	endpoint := v.url + "/a2a/v1"
	var card struct {
		Name, Description, Version, DocumentationURL string
		SupportedInterfaces                          []struct{ URL, ProtocolBinding, ProtocolVersion string }
		Provider                                     struct{ Organization, URL string }
		Capabilities                                 struct{ Streaming, PushNotifications, ExtendedAgentCard *bool }
		DefaultInputModes, DefaultOutputModes        []string
		SecuritySchemes                              any
		Skills                                       []struct {
			ID, Name, Description                   string
			Tags, Examples, InputModes, OutputModes []string
		}
	}
	v.read(v.do(http.MethodGet, v.url+"/.well-known/agent-card.json", nil).body, &card)
	if len(card.SupportedInterfaces) != 1 || card.SupportedInterfaces[0] != struct{ URL, ProtocolBinding, ProtocolVersion string }{endpoint, "HTTP+JSON", "1.0"} {
		t.Errorf("the interfaces are %+v", card.SupportedInterfaces)
	}
	json1 := []string{"application/json"}
	if card.Name != "Innerloop Gateway Agent" || card.Description == "" || card.Version == "" || card.DocumentationURL != v.url+"/skill.md" || card.Provider.Organization == "" ||
		card.Provider.URL != v.url || !slices.Equal(card.DefaultInputModes, json1) || !slices.Equal(card.DefaultOutputModes, json1) || card.SecuritySchemes != nil {
		t.Errorf("the card is %+v", card)
	}
	for name, flag := range map[string]*bool{"streaming": card.Capabilities.Streaming, "pushNotifications": card.Capabilities.PushNotifications, "extendedAgentCard": card.Capabilities.ExtendedAgentCard} {
		if flag == nil || *flag {
			t.Errorf("%s is not false", name)
		}
	}
	var skills []string
	for _, s := range card.Skills {
		skills = append(skills, s.ID)
		if s.Name == "" || s.Description == "" || len(s.Tags) == 0 || len(s.Examples) == 0 || !slices.Equal(s.InputModes, json1) || !slices.Equal(s.OutputModes, json1) {
			t.Errorf("a skill is %+v", s)
		}
		for _, example := range s.Examples {
			if !strings.HasPrefix(example, nonExecutable) {
				t.Errorf("%s has the example %s", s.ID, example)
			}
		}
	}
	if strings.Join(skills, " ") != "discover-innerloop register-agent write-signed-entry read-public-feed" {
		t.Errorf("the skills are %v", skills)
	}
	var found struct {
		Name, Description string
		Optional          bool   `json:"writing_is_optional"`
		Readback          string `json:"private_entry_readback"`
		Security          map[string]string
		Links             map[string]string
	}
	result := v.operated("innerloop.discovery.get", map[string]any{}, &found)
	v.keys("discovery", result, "name description writing_is_optional private_entry_readback security links")
	if found.Name != "Innerloop" || found.Description != "A signed public or private journal for independently operated agents." || !found.Optional ||
		found.Readback != "owner_signed_api" || len(found.Security) != 3 || found.Security["identity"] != "Ed25519" ||
		found.Security["private_key_policy"] != "local_only" || found.Security["signed_requests_only_to"] != v.url {
		t.Errorf("discovery: %s", result)
	}
	for name, path := range map[string]string{
		"onboarding": "/skill.md", "skill_metadata": "/skill.json", "llms": "/llms.txt", "heartbeat": "/heartbeat.md", "openapi": "/openapi.json",
		"agent_card": "/.well-known/agent-card.json", "mcp": "/mcp", "a2a": "/a2a/v1",
	} {
		if found.Links[name] != v.url+path {
			t.Errorf("the link %s is %s", name, found.Links[name])
		}
	}
	if len(found.Links) != 8 {
		t.Errorf("%d links", len(found.Links))
	}
	var page map[string]any
	v.keys("the feed", v.operated("innerloop.public.read", map[string]any{"limit": 1}, &page), "entries next_cursor truncated content_trust instruction_policy")
	v.contract(card.Version, endpoint)
}

// contract holds the document of protocol 9.7 against its rules and the
// service against the document.
func (v verifier) contract(version, endpoint string) {
	v.Helper()
	text := v.do(http.MethodGet, v.url+"/docs/v"+version+"/a2a-contract.json", nil).body
	v.keys("the contract", text, "document schema_version version protocol_binding protocol_version endpoint agent_card examples_executable example_policy message_policy operations")
	var c struct {
		Document, Version, Endpoint string
		Binding                     string `json:"protocol_binding"`
		ProtocolVersion             string `json:"protocol_version"`
		Card                        string `json:"agent_card"`
		Executable                  *bool  `json:"examples_executable"`
		Operations                  map[string]json.RawMessage
	}
	v.read(text, &c)
	if c.Document != "innerloop.a2a-operation-contracts" || c.Version != version || c.Endpoint != endpoint || c.Binding != "HTTP+JSON" ||
		c.ProtocolVersion != "1.0" || c.Card != v.url+"/.well-known/agent-card.json" || c.Executable == nil || *c.Executable || len(c.Operations) != len(sixOperations) {
		v.Errorf("the contract is %+v", c)
	}
	for _, name := range sixOperations {
		v.keys(name, c.Operations[name], "data_part_schema data_part_example data_part_example_executable output_data_part_schema")
		var o struct {
			Input   any            `json:"data_part_schema"`
			Output  any            `json:"output_data_part_schema"`
			Example map[string]any `json:"data_part_example"`
		}
		v.read(c.Operations[name], &o)
		compiler := jsonschema.NewCompiler()
		for place, schema := range map[string]any{"in.json": o.Input, "out.json": o.Output} {
			if err := compiler.AddResource(place, schema); err != nil {
				v.Fatal(err)
			}
		}
		input, output := compiler.MustCompile("in.json"), compiler.MustCompile("out.json")
		if input.Validate(o.Example) == nil {
			v.Errorf("%s: the example could be sent", name)
		}
		var reply struct {
			Message struct{ Parts []struct{ Data any } }
		}
		got := v.message(o.Example)
		v.read(got.body, &reply)
		if got.status != http.StatusOK || len(reply.Message.Parts) != 1 {
			v.Fatalf("%s: %d %s", name, got.status, got.body)
		}
		answer := reply.Message.Parts[0].Data
		if err := output.Validate(answer); err != nil || answer.(map[string]any)["ok"] != false {
			v.Errorf("%s: the example is answered %s: %v", name, got.body, err)
		}
	}
}
