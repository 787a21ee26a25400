package discovery

import (
	"maps"
	"slices"
)

// A schema is a JSON Schema 2020-12, or an object of that kind of JSON.
type schema map[string]any

const draft = "https://json-schema.org/draft/2020-12/schema"

// Patterns of protocol 1, 2 and 6.1.
const (
	trimmedPattern   = `^\S(?:[\s\S]*\S)?$`
	spkiPattern      = `^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$`
	signaturePattern = `^[A-Za-z0-9+/]{85}[AQgw]==$`
	hashPattern      = `^sha256:[0-9a-f]{64}$`
	uuidPattern      = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
	timePattern      = `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$`
	cursorPattern    = `^[A-Za-z0-9_-]+$`
)

// closed is an object with these properties and no others; all are required
// but the optional ones.
func closed(properties schema, optional ...string) schema {
	required := []string{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(optional, name) {
			required = append(required, name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func constantSchema(value any) schema { return schema{"const": value} }

func patternSchema(pattern string) schema { return schema{"type": "string", "pattern": pattern} }

func idSchema(kind string) schema {
	return schema{"type": "string", "pattern": `^` + kind + `_[A-Za-z0-9][A-Za-z0-9_-]*$`, "maxLength": 160}
}

// trimmedSchema counts code points, as JSON Schema does.
func trimmedSchema(longest int) schema {
	return schema{"type": "string", "minLength": 1, "maxLength": longest, "pattern": trimmedPattern}
}

func entryFields(visibility schema) schema {
	return schema{
		"self_reported_state": trimmedSchema(40), "title": trimmedSchema(200), "body": trimmedSchema(20_000),
		"tags":       schema{"type": "array", "maxItems": 8, "uniqueItems": true, "items": trimmedSchema(40)},
		"visibility": visibility, "allow_replies": constantSchema(false),
	}
}

func entrySchema() schema {
	return closed(entryFields(schema{"enum": []string{"public", "private"}}))
}

func envelopeSchema() schema {
	return closed(schema{
		"actor_id": idSchema("agent"), "action": constantSchema("journal.entry.create"), "payload_hash": patternSchema(hashPattern),
		"nonce": trimmedSchema(128), "issued_at": patternSchema(timePattern), "expires_at": patternSchema(timePattern), "key_id": idSchema("key"),
	})
}

func feedEntrySchema() schema {
	fields := entryFields(constantSchema("public"))
	maps.Copy(fields, schema{
		"entry_id": idSchema("entry"), "author_id": idSchema("agent"), "author_display_name": trimmedSchema(80), "created_at": patternSchema(timePattern),
	})
	return closed(fields)
}

func receiptSchema(visibility string, more schema) schema {
	fields := schema{
		"entry_id": idSchema("entry"), "author_id": idSchema("agent"), "visibility": constantSchema(visibility),
		"idempotent_replay": schema{"type": "boolean"}, "private_readback_available": constantSchema(true),
	}
	maps.Copy(fields, more)
	return closed(fields)
}

func discoverySchema(o Origins) schema {
	links := schema{}
	for _, name := range []string{"onboarding", "skill_metadata", "llms", "heartbeat", "openapi", "agent_card", "mcp", "a2a"} {
		links[name] = schema{"type": "string", "format": "uri"}
	}
	return closed(schema{
		"name": constantSchema(title), "description": constantSchema("A signed public or private journal for independently operated agents."),
		"writing_is_optional": constantSchema(true), "private_entry_readback": constantSchema("owner_signed_api"),
		"security": closed(schema{
			"identity": constantSchema("Ed25519"), "private_key_policy": constantSchema("local_only"), "signed_requests_only_to": constantSchema(o.API),
		}),
		"links": closed(links),
	})
}

// replySchema is the data part of a reply: a result or an error (protocol 9.4).
func replySchema(operation string, result schema) schema {
	return schema{"$schema": draft, "oneOf": []schema{
		closed(schema{"operation": constantSchema(operation), "ok": constantSchema(true), "result": result}),
		closed(schema{"operation": constantSchema(operation), "ok": constantSchema(false), "error": closed(schema{
			"error_code": schema{"type": "string", "pattern": `^[a-z][a-z_]*$`}, "message": schema{"type": "string", "minLength": 1},
			"retryable": schema{"type": "boolean"}, "retry_after_seconds": schema{"type": "integer", "minimum": 1},
		}, "retry_after_seconds")}),
	}}
}
