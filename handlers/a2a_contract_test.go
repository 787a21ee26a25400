package handlers_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

var testOrigins = discovery.Origins{Web: origin, API: origin, Gateway: origin}

// documented serves the discovery documents too.
func documented(t *testing.T) func(*handlers.Options) {
	t.Helper()
	documents, err := discovery.Documents(testOrigins)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *handlers.Options) { o.Documents = documents }
}

type schemas struct{ input, output *jsonschema.Schema }

// contracts are the published schemas by operation.
var contracts = sync.OnceValues(func() (map[string]schemas, error) {
	documents, err := discovery.Documents(testOrigins)
	if err != nil {
		return nil, err
	}
	compiled := map[string]schemas{}
	for _, d := range documents {
		if !strings.HasSuffix(d.Path, "/a2a-contract.json") {
			continue
		}
		var c struct {
			Operations map[string]struct {
				Input  any `json:"data_part_schema"`
				Output any `json:"output_data_part_schema"`
			}
		}
		if err := json.Unmarshal(d.Body, &c); err != nil {
			return nil, err
		}
		for name, o := range c.Operations {
			var s schemas
			for place, schema := range map[**jsonschema.Schema]any{&s.input: o.Input, &s.output: o.Output} {
				compiler := jsonschema.NewCompiler()
				compiler.AssertFormat()
				if err := compiler.AddResource("schema.json", schema); err != nil {
					return nil, err
				}
				if *place, err = compiler.Compile("schema.json"); err != nil {
					return nil, err
				}
			}
			compiled[name] = s
		}
	}
	return compiled, nil
})

// kept checks a request and its reply against the published contract: what was
// granted has the shape of the schema, and what was refused for its shape has
// not (protocol 9.7).
func kept(t *testing.T, data any, r reply) {
	t.Helper()
	all, err := contracts()
	if err != nil {
		t.Fatal(err)
	}
	var sent map[string]any
	if err := json.Unmarshal([]byte(encode(t, data)), &sent); err != nil {
		t.Fatal(err)
	}
	s, known := all[sent["operation"].(string)]
	if !known {
		t.Fatalf("no contract for %v", sent["operation"])
	}
	parts := decode(t, r.Body)["message"].(map[string]any)["parts"].([]any)
	answer := parts[0].(map[string]any)["data"].(map[string]any)
	if err := s.output.Validate(answer); err != nil {
		t.Errorf("the reply breaks the contract: %v\n%s", err, r.Body)
	}
	problem, _ := answer["error"].(map[string]any)
	err = s.input.Validate(sent)
	if answer["ok"] == true && err != nil {
		t.Errorf("a request that was granted breaks the contract: %v", err)
	}
	if problem["error_code"] == string(journal.InvalidRequest) && err == nil {
		t.Errorf("a request that was refused for its shape keeps the contract: %s", encode(t, data))
	}
}

// The documents of protocol 9.1 and 9.7 under the rules of 10.1.
func TestA2ADocumentsAreServed(t *testing.T) {
	t.Parallel()
	d := open(t, documented(t))
	card := d.get("/.well-known/agent-card.json")
	if card.Status != 200 || card.Header.Get("Content-Type") != "application/json; charset=utf-8" || !strings.Contains(card.Header.Get("Cache-Control"), "public") ||
		card.Header.Get("Access-Control-Allow-Origin") != "*" || card.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(card.Header.Get("Etag"), `"sha256-`) {
		t.Errorf("the card: %d %v", card.Status, card.Header)
	}
	if r := d.get("/.well-known/agent-card.json", "If-None-Match", card.Header.Get("Etag")); r.Status != 304 {
		t.Errorf("the card again: %d", r.Status)
	}
	contract := d.get("/docs/v" + discovery.Version + "/a2a-contract.json")
	if contract.Status != 200 || contract.Header.Get("Content-Type") != "application/json; charset=utf-8" || len(contract.Header.Get("X-Innerloop-Sha256")) != 64 ||
		contract.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("the contract: %d %v", contract.Status, contract.Header)
	}
	// An example that is sent as it stands is refused.
	for name, o := range decode(t, contract.Body)["operations"].(map[string]any) {
		example := o.(map[string]any)["data_part_example"]
		d.refusedWith(d.operate("example "+name, example), journal.InvalidRequest)
	}
}

// The same signed bytes through each door: one entry, and the receipts of the
// first (house 9).
func TestSameSignedBytesThroughA2AAndREST(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	for name, options := range map[string][]journaltest.Option{"public": nil, "private": {journaltest.Private}} {
		first, second := ada.Signs(name+" first", options...), ada.Signs(name+" second", options...)
		overA2A := d.operate("a "+name, publishData(t, first)).Result
		overREST := decode(t, d.publish(first).Body)
		if overA2A["entry_id"] != overREST["entry_id"] || overA2A["public_entry_url"] != overREST["public_entry_url"] {
			t.Errorf("A2A %v, REST %v", overA2A, overREST)
		}
		made := d.publish(second)
		overA2A = d.operate("b "+name, publishData(t, second)).Result
		if overA2A["entry_id"] != decode(t, made.Body)["entry_id"] || overA2A["idempotent_replay"] != true || made.Header.Get("Idempotency-Status") != "created" {
			t.Errorf("A2A %v, REST %s", overA2A, made.Body)
		}
	}
	if d.stored() != 4 {
		t.Errorf("%d entries of 4 submissions", d.stored())
	}
}
