package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"innerloop/handlers"
)

// A specification compares requests and answers with /openapi.json. The door
// of every test asks it, so whatever a test reaches is held against the
// document.
type specification struct {
	document map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

var specified = sync.OnceValues(func() (*specification, error) {
	text, err := handlers.OpenAPIDocument(origin)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("mem:///openapi.json", document); err != nil {
		return nil, err
	}
	return &specification{document: document.(map[string]any), compiler: c, compiled: map[string]*jsonschema.Schema{}}, nil
})

func spec(t testing.TB) *specification {
	t.Helper()
	s, err := specified()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schema compiles the schema at a place of the document.
func (s *specification) schema(place ...string) (*jsonschema.Schema, error) {
	pointer := ""
	for _, part := range place {
		pointer += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if done := s.compiled[pointer]; done != nil {
		return done, nil
	}
	made, err := s.compiler.Compile("mem:///openapi.json#" + pointer)
	s.compiled[pointer] = made
	return made, err
}

func (s *specification) holds(text string, place ...string) error {
	schema, err := s.schema(place...)
	if err != nil {
		return fmt.Errorf("the schema does not compile: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// find returns the operation of a request, nil when the document has none.
func (s *specification) find(method, path string) (template string, operation map[string]any) {
	path, _, _ = strings.Cut(path, "?")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	parts := strings.Split(path, "/")
	best := -1
	for candidate, item := range s.document["paths"].(map[string]any) {
		literal := 0
		names := strings.Split(candidate, "/")
		for i, name := range names {
			switch {
			case len(names) != len(parts):
				literal = -1
			case literal < 0, strings.HasPrefix(name, "{") && parts[i] != "":
			case name == parts[i]:
				literal++
			default:
				literal = -1
			}
		}
		if op, ok := item.(map[string]any)[strings.ToLower(method)].(map[string]any); ok && literal > best {
			best, template, operation = literal, candidate, op
		}
	}
	return template, operation
}

func (s *specification) resolve(v any) map[string]any {
	object, _ := v.(map[string]any)
	name, ok := object["$ref"].(string)
	if !ok {
		return object
	}
	var at any = s.document
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "#/"), "/") {
		at = at.(map[string]any)[part]
	}
	return at.(map[string]any)
}

// check holds a request and its answer against the document, and returns what
// differs in one sentence each.
func (s *specification) check(method, path, body string, r reply) (faults []string) {
	template, op := s.find(method, path)
	if op == nil {
		return nil
	}
	verb := strings.ToLower(method)
	if verb == "head" {
		verb = "get"
	}
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s %s, %d: ", method, template, r.Status)+fmt.Sprintf(format, args...))
	}
	status := fmt.Sprint(r.Status)
	told, ok := op["responses"].(map[string]any)[status].(map[string]any)
	if !ok {
		fault("the status is not in the document: %.200s", r.Body)
		return faults
	}
	headers := told["headers"].(map[string]any)
	for name := range headers {
		value := r.Header.Get(name)
		header := s.resolve(headers[name])
		if value == "" {
			if header["required"] == true {
				fault("the answer has no %s", name)
			}
			continue
		}
		reference := strings.Split(strings.TrimPrefix(headers[name].(map[string]any)["$ref"].(string), "#/"), "/")
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
		if err := s.holds(`"`+quoted+`"`, append(reference, "schema")...); err != nil {
			fault("%s: %v", name, err)
		}
	}
	for _, name := range []string{"idempotency-status", "retry-after", "etag", "set-cookie", "location"} {
		if _, documented := headers[name]; r.Header.Get(name) != "" && !documented {
			fault("%s is not in the document", name)
		}
	}
	if _, described := told["content"]; !described {
		if r.Body != "" {
			fault("there is a body that is not in the document")
		}
	} else if method != http.MethodHead {
		if told["content"].(map[string]any)["application/json"] == nil {
			return faults // JSON Lines, looked at by the test itself
		}
		if kind := r.Header.Get("Content-Type"); kind != "application/json" {
			fault("content-type %s", kind)
		}
		if r.Header.Get("Content-Encoding") == "" {
			if err := s.holds(r.Body, "paths", template, verb, "responses", status, "content", "application/json", "schema"); err != nil {
				fault("%v\n%.400s", err, r.Body)
			}
		}
	}
	// What was accepted is what the document allows.
	if request, _ := op["requestBody"].(map[string]any); request != nil && request["content"].(map[string]any)["application/json"] != nil && r.Status < 300 {
		if err := s.holds(body, "paths", template, verb, "requestBody", "content", "application/json", "schema"); err != nil {
			fault("an accepted request: %v", err)
		}
	}
	return faults
}

// reads tells whether the operation of this id is a GET.
func (s *specification) reads(id string) bool {
	for _, item := range s.document["paths"].(map[string]any) {
		if op, ok := item.(map[string]any)["get"].(map[string]any); ok && op["operationId"] == id {
			return true
		}
	}
	return false
}
