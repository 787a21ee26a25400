package published

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Request holds a request against the document: its path, method, parameters
// and body, and that no name is sent that the operation does not know. Names in
// also are admitted in the query. Every deviation is part of the error.
func (d *Document) Request(ctx context.Context, r *http.Request, body []byte, also ...string) error {
	in, names, err := d.input(r)
	if err != nil {
		return err
	}
	var problems []error
	for name := range r.URL.Query() {
		head, _, _ := strings.Cut(name, "[")
		if !slices.Contains(names, name) && !slices.Contains(names, head) && !slices.Contains(names, head+"[]") && !slices.Contains(also, name) {
			problems = append(problems, fmt.Errorf("query %s is not known", name))
		}
	}
	problems = append(problems, unknown(in.Route.Operation, r.Header.Get("Content-Type"), body)...)
	in.Request = r.Clone(ctx)
	in.Request.Body = io.NopCloser(bytes.NewReader(body))
	if err := openapi3filter.ValidateRequest(ctx, in); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s %s: %w", r.Method, in.Route.Path, errors.Join(problems...))
	}
	return nil
}

// input is a request as the validator takes it, and the names of its query.
func (d *Document) input(r *http.Request) (*openapi3filter.RequestValidationInput, []string, error) {
	p, values, err := d.find(r.Method, r.URL.EscapedPath())
	if err != nil {
		return nil, nil, err
	}
	spec, item, operation, err := d.operation(r.Method, p.template)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, list := range []openapi3.Parameters{item.Parameters, operation.Parameters} {
		for _, parameter := range list {
			if parameter.Value != nil && parameter.Value.In == "query" {
				names = append(names, parameter.Value.Name)
			}
		}
	}
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: values,
		Route:   &routers.Route{Spec: spec, Path: p.template, PathItem: item, Method: r.Method, Operation: operation},
		Options: &openapi3filter.Options{MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}, names, nil
}

// unknown names what a body holds at its top and the operation does not tell
// of: a schema admits that, and a service ignores it or refuses it.
func unknown(operation *openapi3.Operation, contentType string, body []byte) []error {
	if len(body) == 0 {
		return nil
	}
	if operation.RequestBody == nil || operation.RequestBody.Value == nil {
		if string(body) == "{}" {
			return nil // an object without a name says nothing
		}
		return []error{errors.New("the operation takes no body")}
	}
	kind, _, _ := strings.Cut(contentType, ";")
	media := operation.RequestBody.Value.Content.Get(kind)
	if media == nil || media.Schema == nil {
		return nil // the validator tells of it
	}
	known := map[string]bool{}
	properties(media.Schema, known)
	if len(known) == 0 {
		return nil
	}
	given := map[string]bool{}
	if kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return []error{err}
		}
		for name := range form {
			head, _, _ := strings.Cut(name, "[")
			given[head] = true
		}
	} else {
		var object map[string]json.RawMessage
		if json.Unmarshal(body, &object) != nil {
			return nil
		}
		for name := range object {
			given[name] = true
		}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			problems = append(problems, fmt.Errorf("body.%s is not known", name))
		}
	}
	return problems
}

func properties(schema *openapi3.SchemaRef, into map[string]bool) {
	if schema == nil || schema.Value == nil {
		return
	}
	for name := range schema.Value.Properties {
		into[name] = true
	}
	for _, list := range []openapi3.SchemaRefs{schema.Value.AllOf, schema.Value.AnyOf, schema.Value.OneOf} {
		for _, one := range list {
			properties(one, into)
		}
	}
}

// Has tells whether the document has an operation for a method and a path.
func (d *Document) Has(method, escaped string) bool {
	_, _, err := d.find(method, escaped)
	return err == nil
}
