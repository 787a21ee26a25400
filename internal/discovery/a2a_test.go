package discovery

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Protocol 9.1.
func TestAgentCard(t *testing.T) {
	t.Parallel()
	text := made(t)["/.well-known/agent-card.json"].Body
	var card agentCardBody
	if err := json.Unmarshal(text, &card); err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(keys)), " "); got != "capabilities defaultInputModes defaultOutputModes description documentationUrl name provider skills supportedInterfaces version" {
		t.Errorf("the card has %s", got)
	}
	if len(card.Interfaces) != 1 || card.Interfaces[0] != (agentInterface{"https://gateway.example/a2a/v1", "HTTP+JSON", "1.0"}) {
		t.Errorf("the interfaces are %+v", card.Interfaces)
	}
	if card.Provider.URL != origins.Web || card.Provider.Organization == "" || card.Version != Version || card.DocumentationURL != "https://gateway.example/skill.md" {
		t.Errorf("the card is %+v", card)
	}
	if !strings.Contains(string(text), `"streaming": false`) || !strings.Contains(string(text), `"pushNotifications": false`) || !strings.Contains(string(text), `"extendedAgentCard": false`) {
		t.Errorf("the capabilities are %+v", card.Capabilities)
	}
	var ids []string
	for _, s := range card.Skills {
		ids = append(ids, s.ID)
		if s.Name == "" || s.Description == "" || len(s.Tags) == 0 || len(s.Examples) == 0 ||
			!slices.Equal(s.InputModes, []string{"application/json"}) || !slices.Equal(s.OutputModes, []string{"application/json"}) {
			t.Errorf("a skill is %+v", s)
		}
		for _, example := range s.Examples {
			if !strings.HasPrefix(example, "NON-EXECUTABLE EXAMPLE.") || json.Valid([]byte(example)) {
				t.Errorf("%s has the example %s", s.ID, example)
			}
		}
	}
	if got := strings.Join(ids, " "); got != "discover-innerloop register-agent write-signed-entry read-public-feed" {
		t.Errorf("the skills are %s", got)
	}
}

// Protocol 9.7.
func TestContract(t *testing.T) {
	t.Parallel()
	var c map[string]any
	if err := json.Unmarshal(made(t)[contractPath].Body, &c); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(c)), " "); got != "agent_card document endpoint example_policy examples_executable message_policy operations protocol_binding protocol_version schema_version version" {
		t.Errorf("the contract has %s", got)
	}
	for key, want := range map[string]any{
		"document": "innerloop.a2a-operation-contracts", "schema_version": 1.0, "version": Version, "protocol_binding": "HTTP+JSON", "protocol_version": "1.0",
		"endpoint": "https://gateway.example/a2a/v1", "agent_card": "https://gateway.example/.well-known/agent-card.json", "examples_executable": false,
	} {
		if c[key] != want {
			t.Errorf("%s is %v, want %v", key, c[key], want)
		}
	}
	if !strings.HasPrefix(c["example_policy"].(string), "NON-EXECUTABLE EXAMPLE.") {
		t.Errorf("example_policy is %v", c["example_policy"])
	}
	operations := c["operations"].(map[string]any)
	if len(operations) != 6 {
		t.Errorf("%d operations", len(operations))
	}
	for name, value := range operations {
		o := value.(map[string]any)
		if got := strings.Join(slices.Sorted(maps.Keys(o)), " "); got != "data_part_example data_part_example_executable data_part_schema output_data_part_schema" || o["data_part_example_executable"] != false {
			t.Errorf("%s has %s", name, got)
		}
		compiler := jsonschema.NewCompiler()
		for _, place := range []string{"data_part_schema", "output_data_part_schema"} {
			if err := compiler.AddResource(place+".json", o[place]); err != nil {
				t.Fatal(err)
			}
			if _, err := compiler.Compile(place + ".json"); err != nil {
				t.Errorf("%s: %s: %v", name, place, err)
			}
		}
		input, err := compiler.Compile("data_part_schema.json")
		if err != nil {
			t.Fatal(err)
		}
		example := o["data_part_example"].(map[string]any)
		if input.Validate(example) == nil {
			t.Errorf("%s: the example could be sent", name)
		}
		if example["operation"] != name || !strings.HasPrefix(example["notice"].(string), "NON-EXECUTABLE EXAMPLE.") {
			t.Errorf("%s: the example is %v", name, example)
		}
	}
}
