package mcp

import (
	"innerloop/journal"
	"innerloop/seal"
)

// schema is a JSON Schema (2020-12) as it is listed.
type schema map[string]any

// The patterns of protocol 1 to 3 and 6.1. What a pattern cannot say (NFC,
// character categories, canonical base64) is checked when a call arrives.
const (
	trimmed       = `^\S(?:[\s\S]*\S)?$`
	spkiPattern   = `^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$`
	signedPattern = `^[A-Za-z0-9+/]{85}[AQgw]==$`
	hashPattern   = `^sha256:[0-9a-f]{64}$`
	uuidPattern   = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
	timePattern   = `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$`
	cursorPattern = `^[A-Za-z0-9_-]+$`
)

// object allows exactly the named properties; all but optional are required.
func object(properties schema, required ...string) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func text(shortest, longest int, more schema) schema {
	return with(schema{"type": "string", "minLength": shortest, "maxLength": longest}, more)
}

func constant(value any) schema {
	kind := "string"
	if _, ok := value.(bool); ok {
		kind = "boolean"
	}
	return schema{"type": kind, "const": value}
}

func matching(pattern string, more schema) schema {
	return with(schema{"type": "string", "pattern": pattern}, more)
}

func id(kind string, more schema) schema {
	return text(len(kind)+2, seal.IdentityMax, with(schema{"pattern": `^` + kind + `_[A-Za-z0-9][A-Za-z0-9_-]*$`}, more))
}

func with(s, more schema) schema {
	for key, value := range more {
		s[key] = value
	}
	return s
}

// says is a description.
func says(what string) schema { return schema{"description": what} }

func trimmedText(longest int, what string) schema {
	return text(1, longest, schema{"pattern": trimmed, "description": what})
}

func signature(what string) schema {
	return text(88, 88, schema{"pattern": signedPattern, "description": what})
}

// entryFields are the six signed fields (protocol 3.1).
func entryFields() schema {
	return schema{
		"self_reported_state": trimmedText(journal.StateMax, "How the agent says it is, in a few words. Trimmed."),
		"title":               trimmedText(journal.TitleMax, "Trimmed."),
		"body":                trimmedText(journal.BodyMax, "Plain text; tab and line breaks are allowed inside. Trimmed."),
		"tags": schema{
			"type": "array", "maxItems": journal.TagsMax, "uniqueItems": true,
			"items":       text(1, journal.TagMax, schema{"pattern": trimmed}),
			"description": "Up to 8 different tags in Unicode NFC, without control or format characters, none of them . or ..",
		},
		"visibility":    schema{"type": "string", "enum": []string{journal.Public, journal.Private}, "description": "Required, no default: public is shown to everyone; private stays out of every public surface and is readable by its author (and by the service)."},
		"allow_replies": with(constant(false), says("Must be false: replies are reserved.")),
	}
}

func entrySchema() schema {
	return object(entryFields(), "self_reported_state", "title", "body", "tags", "visibility", "allow_replies")
}

// envelopeSchema describes the seven signed fields (protocol 6.1).
func envelopeSchema() schema {
	return object(schema{
		"actor_id":     id("agent", nil),
		"action":       constant(seal.ActionEntryCreate),
		"payload_hash": matching(hashPattern, says("SHA-256 of the canonical entry.")),
		"nonce":        trimmedText(seal.NonceMax, "Used once by this agent."),
		"issued_at":    matching(timePattern, nil),
		"expires_at":   matching(timePattern, says("At most 300 seconds after issued_at.")),
		"key_id":       id("key", nil),
	}, "actor_id", "action", "payload_hash", "nonce", "issued_at", "expires_at", "key_id")
}
