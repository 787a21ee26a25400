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
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

// Answer holds an answer to a request against the document.
func (d *Document) Answer(ctx context.Context, r *http.Request, status int, body []byte) error {
	return d.answer(ctx, r, status, http.Header{"Content-Type": {"application/json"}}, body)
}

func (d *Document) answer(ctx context.Context, r *http.Request, status int, header http.Header, body []byte) error {
	in, _, err := d.input(r)
	if err != nil {
		return err
	}
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{MultiError: true, IncludeResponseStatus: true},
	})
}

// Canned holds an answer that somebody made up against the document: its
// status, headers and body, and that it has no name, however deep, that the
// document does not know. Every deviation is part of the error.
func (d *Document) Canned(ctx context.Context, r *http.Request, status int, header http.Header, body []byte) error {
	var problems []error
	if err := d.answer(ctx, r, status, header, body); err != nil {
		problems = append(problems, err)
	}
	in, _, err := d.input(r)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); len(body) > 0 && err != nil {
		problems = append(problems, err)
	}
	if response := in.Route.Operation.Responses.Status(status); response != nil && response.Value != nil {
		if media := response.Value.Content.Get("application/json"); media != nil {
			problems = append(problems, strange(value, openapi3.SchemaRefs{media.Schema}, "answer")...)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s %s: %d: %w", r.Method, in.Route.Path, status, errors.Join(problems...))
	}
	return nil
}

// strange names what a value has and none of its schemas tells of. A schema
// without names admits any.
func strange(value any, schemas openapi3.SchemaRefs, at string) []error {
	var problems []error
	schemas = spread(schemas)
	switch v := value.(type) {
	case []any:
		var items openapi3.SchemaRefs
		for _, schema := range schemas {
			if schema.Value.Items != nil {
				items = append(items, schema.Value.Items)
			}
		}
		for i, inner := range v {
			problems = append(problems, strange(inner, items, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		known := map[string]openapi3.SchemaRefs{}
		for _, schema := range schemas {
			for name, property := range schema.Value.Properties {
				known[name] = append(known[name], property)
			}
		}
		if len(known) == 0 {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if _, ok := known[name]; !ok {
				problems = append(problems, fmt.Errorf("%s.%s is not known", at, name))
				continue
			}
			problems = append(problems, strange(v[name], known[name], at+"."+name)...)
		}
	}
	return problems
}

// spread is every schema that schemas are made of, themselves too.
func spread(schemas openapi3.SchemaRefs) openapi3.SchemaRefs {
	var out openapi3.SchemaRefs
	for _, schema := range schemas {
		if schema == nil || schema.Value == nil {
			continue
		}
		out = append(out, schema)
		for _, list := range []openapi3.SchemaRefs{schema.Value.AllOf, schema.Value.AnyOf, schema.Value.OneOf} {
			out = append(out, spread(list)...)
		}
	}
	return out
}
