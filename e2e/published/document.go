package published

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// A Document is one service's OpenAPI document. It is safe for concurrent use.
type Document struct {
	raw   map[string]any
	paths []*path
	mu    sync.Mutex
	known map[string]*openapi3.T
}

// A path is a path template of the document.
type path struct {
	template string
	pattern  *regexp.Regexp
	names    []string
}

var placeholder = regexp.MustCompile(`\{[^{}/]+\}`)

// Read reads a document. prefix, a regular expression, is what stands before
// each of its paths in a request; it is what the path of its server address
// says, as far as that is to be believed.
func Read(file, prefix string) (*Document, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a published document: %w", err)
	}
	d := &Document{known: map[string]*openapi3.T{}}
	if err := json.Unmarshal(text, &d.raw); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	paths, _ := d.raw["paths"].(map[string]any)
	for template := range paths {
		p := &path{template: template}
		var pattern strings.Builder
		rest := template
		for _, at := range placeholder.FindAllString(template, -1) {
			before, after, _ := strings.Cut(rest, at)
			pattern.WriteString(regexp.QuoteMeta(before) + `([^/]+)`)
			p.names, rest = append(p.names, at[1:len(at)-1]), after
		}
		if p.pattern, err = regexp.Compile("^" + prefix + pattern.String() + regexp.QuoteMeta(rest) + "$"); err != nil {
			return nil, fmt.Errorf("path %s: %w", template, err)
		}
		d.paths = append(d.paths, p)
	}
	if len(d.paths) == 0 {
		return nil, fmt.Errorf("%s has no paths", file)
	}
	// What names more of a path is meant before what names less.
	slices.SortFunc(d.paths, func(a, b *path) int {
		if n := len(a.names) - len(b.names); n != 0 {
			return n
		}
		return strings.Compare(a.template, b.template)
	})
	return d, nil
}

// find returns the path of a request that has the method, and the values in it.
func (d *Document) find(method, escaped string) (*path, map[string]string, error) {
	elsewhere := ""
	for _, p := range d.paths {
		match := p.pattern.FindStringSubmatch(escaped)
		if match == nil {
			continue
		}
		item, _ := d.raw["paths"].(map[string]any)[p.template].(map[string]any)
		if _, ok := item[strings.ToLower(method)]; !ok {
			elsewhere = p.template
			continue
		}
		values := map[string]string{}
		for i, name := range p.names {
			value, err := url.PathUnescape(match[len(match)-len(p.names)+i])
			if err != nil {
				return nil, nil, fmt.Errorf("path %s: %w", escaped, err)
			}
			values[name] = value
		}
		return p, values, nil
	}
	if elsewhere != "" {
		return nil, nil, fmt.Errorf("%s has no %s", elsewhere, method)
	}
	return nil, nil, fmt.Errorf("no path is like %s", escaped)
}

// operation compiles one operation and what it refers to.
func (d *Document) operation(method, template string) (*openapi3.T, *openapi3.PathItem, *openapi3.Operation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := method + " " + template
	spec, ok := d.known[name]
	if !ok {
		item := d.raw["paths"].(map[string]any)[template].(map[string]any)
		part := map[string]any{}
		for _, key := range []string{"parameters", strings.ToLower(method)} {
			if value, ok := item[key]; ok {
				part[key] = bare(value)
			}
		}
		small := map[string]any{
			"openapi": "3.0.3", "info": map[string]any{"title": "part", "version": "1"},
			"paths": map[string]any{template: part}, "components": d.closure(part),
		}
		text, err := json.Marshal(small)
		if err != nil {
			return nil, nil, nil, err
		}
		if spec, err = openapi3.NewLoader().LoadFromData(text); err != nil {
			return nil, nil, nil, fmt.Errorf("compile %s: %w", name, err)
		}
		d.known[name] = spec
	}
	item := spec.Paths.Value(template)
	return spec, item, item.GetOperation(method), nil
}

// closure is every component that a part refers to, directly or not.
func (d *Document) closure(part any) map[string]any {
	out := map[string]any{}
	components, _ := d.raw["components"].(map[string]any)
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
				from, _ := components[kind].(map[string]any)
				target, there := from[name]
				into, _ := out[kind].(map[string]any)
				if into == nil {
					into = map[string]any{}
					out[kind] = into
				}
				if _, done := into[name]; there && !done {
					into[name] = bare(target)
					walk(into[name])
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(part)
	return out
}

// bare leaves out what says nothing about form (examples, links, extensions),
// what answers leave out too (discriminators), and what the specification does
// not define: patterns in another dialect, arrays in the form of objects.
func bare(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = bare(inner)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			_, text := inner.(string)
			if strings.HasPrefix(key, "x-") || key == "discriminator" || key == "links" || key == "callbacks" || key == "security" || key == "servers" ||
				key == "example" && !schemaOf(inner) || key == "examples" && !schemaOf(inner) {
				continue
			}
			if key == "style" && inner == "deepObject" && isArray(v["schema"]) {
				continue
			}
			if key == "pattern" && text {
				if _, err := regexp.Compile(inner.(string)); err != nil {
					continue
				}
			}
			out[key] = bare(inner)
		}
		return out
	}
	return value
}

func isArray(schema any) bool {
	v, _ := schema.(map[string]any)
	return v["type"] == "array"
}

// schemaOf tells a property that happens to be called "example".
func schemaOf(value any) bool {
	v, ok := value.(map[string]any)
	if !ok {
		return false
	}
	_, typed := v["type"].(string)
	_, ref := v["$ref"].(string)
	return typed || ref
}

// Example is the document's own example of an answer of an operation that went
// well, as JSON: null when it has none.
func (d *Document) Example(method, escaped string) (status string, body []byte) {
	p, _, err := d.find(method, escaped)
	if err != nil {
		return "", nil
	}
	op, _ := d.raw["paths"].(map[string]any)[p.template].(map[string]any)[strings.ToLower(method)].(map[string]any)
	responses, _ := op["responses"].(map[string]any)
	for _, status := range []string{"200", "201", "202", "204"} {
		response, _ := d.resolve(responses[status]).(map[string]any)
		content, _ := response["content"].(map[string]any)
		media, _ := content["application/json"].(map[string]any)
		if example, ok := media["example"]; ok {
			body, _ = json.Marshal(example)
			return status, body
		}
		examples, _ := media["examples"].(map[string]any)
		for _, name := range sorted(examples) {
			example, _ := d.resolve(examples[name]).(map[string]any)
			if value, ok := example["value"]; ok {
				body, _ = json.Marshal(value)
				return status, body
			}
		}
	}
	return "", nil
}

func sorted(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// resolve follows a reference into the components.
func (d *Document) resolve(value any) any {
	v, _ := value.(map[string]any)
	ref, ok := v["$ref"].(string)
	if !ok {
		return value
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
	components, _ := d.raw["components"].(map[string]any)
	from, _ := components[kind].(map[string]any)
	return from[name]
}
