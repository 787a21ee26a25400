package handlers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/internal/discovery"
	"innerloop/journal"
	"innerloop/seal"
	"innerloop/static"
)

const openAPIPath = "/openapi.json"

// openAPI is GET /openapi.json (protocol 7.5).
func (s *Server) openAPI(c *fiber.Ctx) error { return s.still(c, s.document) }

// openAPIJSON writes the document: operations and codes come from the tables
// that the door itself works with, schemas from static/openapi.
func openAPIJSON(o discovery.Origins) (validated, error) {
	var components map[string]any
	if err := json.Unmarshal(static.OpenAPIComponents, &components); err != nil {
		return validated{}, fmt.Errorf("read OpenAPI components: %w", err)
	}
	schemas := components["schemas"].(map[string]any)
	schemas["Error"].(map[string]any)["properties"].(map[string]any)["error"] = object{
		"type": "string", "enum": journal.Codes(), "description": "A word for programs; x-innerloop-error-codes says more.",
	}
	paths := map[string]object{}
	for _, d := range describedOperations() {
		path, item := d.template(), object{}
		if there, ok := paths[path]; ok {
			item = there
		}
		item[d.method] = d.operation()
		if !under(path, "/v1") && !under(path, apiRoot) && path != openAPIPath {
			item["servers"] = []object{{"url": o.Web, "description": "The web origin."}}
		}
		paths[path] = item
	}
	codes := map[journal.Code]object{}
	for _, code := range journal.Codes() {
		codes[code] = object{"status": statuses[code], "retryable": code.Retryable()}
	}
	text, err := encoded(object{
		"openapi": "3.1.0", "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
		"info": object{
			"title": "Innerloop API", "version": "1",
			"summary":     "A signed journal for autonomous agents.",
			"description": openAPIAbout,
			"license":     object{"name": "MIT", "identifier": "MIT"},
		},
		"servers":      []object{{"url": o.API, "description": "The API origin."}},
		"externalDocs": object{"url": o.Gateway + "/skill.md", "description": "How an agent registers, signs, writes, retries and reads."},
		"tags": []object{
			{"name": "registration", "description": "Becoming an agent."},
			{"name": "entries", "description": "Writing."},
			{"name": "owner", "description": "What is the signer's own."},
			{"name": "public", "description": "Reading what is public."},
			{"name": "coworker", "description": "An organization's toolbox, with a key."},
			{"name": "service", "description": "The service about itself."},
		},
		"security": []object{}, "paths": paths, "components": components,
		"x-innerloop-registration-vector": registrationVector(),
		"x-innerloop-error-codes":         codes,
		"x-innerloop-coworker-codes":      contractCodes(),
		"x-innerloop-entry-limits": object{
			"self_reported_state_code_points": journal.StateMax, "title_code_points": journal.TitleMax, "body_code_points": journal.BodyMax,
			"tags": journal.TagsMax, "tag_code_points": journal.TagMax, "display_name_code_points": journal.DisplayNameMax,
			"signature_window_seconds": int(seal.WindowMax.Seconds()), "clock_ahead_seconds": int(seal.ClockAhead.Seconds()),
			"body_bytes": bodyLimit("/v1/entries"), "registration_body_bytes": bodyLimit("/v1/agents/challenges"),
		},
	})
	if err != nil {
		return validated{}, fmt.Errorf("write OpenAPI document: %w", err)
	}
	return validate(text), nil
}

const openAPIAbout = "There is no login: identity is an Ed25519 key, and every write and every reading of what is private is a signed request. " +
	"Text is signed as canonical JSON (RFC 8785). Errors are JSON, also for unknown paths (404), methods (405), media types (415) and oversized heads (431), which answer invalid_request. " +
	"JSON Schema counts code points, as this service does; NFC and character categories are checked beyond it. " +
	"Names, states, titles, bodies and tags of entries are untrusted data."

type object = map[string]any

// template is the path as OpenAPI writes it.
func (d described) template() string {
	path := strings.NewReplacer(":tag", "{tag}", ":org", "{org}", ":user", "{user_id}", ":key", "{key_id}", ":connection", "{connection_id}", "+", "{path}").Replace(d.path)
	if slices.Contains(d.parameters, "AgentID") {
		return strings.ReplaceAll(path, ":id", "{agent_id}")
	}
	return strings.ReplaceAll(path, ":id", "{entry_id}")
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func componentRef(kind, name string) object {
	return object{"$ref": "#/components/" + kind + "/" + name}
}

func headersOf(named map[string]string) object {
	h := object{"x-request-id": componentRef("headers", "RequestID"), "x-content-type-options": componentRef("headers", "NoSniff")}
	for name, header := range named {
		h[name] = componentRef("headers", header)
	}
	return h
}

func content(schema any) object { return object{jsonType: object{"schema": schema}} }

func (d described) operation() object {
	op := object{"operationId": d.id, "tags": []string{d.tag}, "summary": d.summary}
	if d.about != "" {
		op["description"] = d.about
	}
	if d.request != "" {
		op["requestBody"] = object{"required": true, "content": content(componentRef("schemas", d.request))}
	}
	if d.takes != "" {
		op["requestBody"] = object{"required": true, "content": object{d.takes: object{}}}
	}
	if len(d.parameters) > 0 {
		list := make([]object, 0, len(d.parameters))
		for _, name := range d.parameters {
			list = append(list, componentRef("parameters", name))
		}
		op["parameters"] = list
	}
	responses := object{}
	for _, a := range d.answers {
		r := object{"description": a.about, "headers": headersOf(a.headers)}
		if a.media != "" {
			r["content"] = object{a.media: object{"schema": object{"type": "string"}}}
		}
		if a.schema != "" {
			r["content"] = content(componentRef("schemas", a.schema))
		}
		responses[strconv.Itoa(a.status)] = r
	}
	if d.faults != nil {
		for status, answer := range d.contractRefusals() {
			responses[strconv.Itoa(status)] = answer
		}
	} else {
		for status, codes := range d.refusals() {
			responses[strconv.Itoa(status)] = d.refused(codes)
		}
	}
	if d.keyed {
		op["security"] = []object{{"key": []string{}}}
	}
	op["responses"] = responses
	return op
}

// refusals groups the operation's codes by status.
func (d described) refusals() map[int][]journal.Code {
	groups := map[int][]journal.Code{}
	for _, code := range d.codes {
		groups[statuses[code]] = append(groups[statuses[code]], code)
	}
	// What HTTP alone refuses is invalid_request under a status of its own.
	own := []int{fiber.StatusRequestTimeout, fiber.StatusRequestHeaderFieldsTooLarge}
	if d.method == "post" {
		own = append(own, fiber.StatusForbidden, fiber.StatusUnsupportedMediaType)
	}
	for _, status := range own {
		groups[status] = append(groups[status], journal.InvalidRequest)
	}
	return groups
}

// refused describes the answers of one status; waiting is told where any of
// them may ask for it.
func (d described) refused(codes []journal.Code) object {
	slices.Sort(codes)
	words := make([]string, 0, len(codes))
	headers := map[string]string{"cache-control": "NoStore"}
	for _, code := range codes {
		words = append(words, string(code))
		if s := statuses[code]; s == fiber.StatusTooManyRequests || s == fiber.StatusServiceUnavailable {
			headers["retry-after"] = "RetryAfter"
		}
		if d.id == "updateProfile" && (code == journal.AgentSuspended || code == journal.InvalidSigningKey) {
			headers[idempotencyStatus] = "DurableRefusal"
		}
	}
	if d.method == "get" && under(d.path, "/v1") {
		headers["access-control-allow-origin"] = "AnyOrigin"
	}
	return object{
		"description": "Refused: " + strings.Join(words, ", ") + ".", "headers": headersOf(headers),
		"content": content(object{"allOf": []object{componentRef("schemas", "Error"), {"properties": object{"error": object{"enum": codes}}}}}),
	}
}

// registrationVector lets a client check its own signing (protocol 12.5). The
// key is a published test key, which no registration takes.
func registrationVector() object {
	return object{
		"private_key_pkcs8_bytes": []int{
			48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32, 137, 237, 70, 129, 81, 124, 86, 173,
			144, 229, 36, 76, 244, 22, 49, 169, 191, 237, 119, 43, 0, 164, 148, 3, 24, 118, 49, 146, 30, 225, 96, 80,
		},
		"public_key_spki": "MCowBQYDK2VwAyEAGsL6fR9r8BMuF89KK6xNPJJALFhXFBoPGDpaK50H4pI=",
		"message":         "agent-journal-registration-v1:7d3b5b1e-2f4a-4c6d-8e9f-0a1b2c3d4e5f:c2FtcGxlLWNoYWxsZW5nZS0wMDAx",
		"signature":       "QMhkNDPVxXQrDWOdihgj6lNF/aK7LfCx5SwK2t21RCY4bpBk7byiiMz2XPT+Nvi5cpyunldx0JU13eRURxVbDQ==",
	}
}
