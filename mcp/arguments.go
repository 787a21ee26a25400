package mcp

import (
	"slices"

	"innerloop/internal/strictjson"
	"innerloop/journal"
)

// arguments reads the members of a call and collects every fault of shape,
// so that a model can mend them all at once.
type arguments struct {
	object     strictjson.Value
	violations []journal.Violation
}

// readArguments compares the keys with those a tool takes.
func readArguments(object strictjson.Value, required, optional []string) *arguments {
	a := &arguments{object: object}
	missing, unexpected := object.Keys(required, optional)
	for _, name := range missing {
		a.violate(name, "missing_field", "is required")
	}
	if len(unexpected) > 8 {
		unexpected = unexpected[:8] // the answer stays small
	}
	for _, name := range unexpected {
		name = strictjson.SafeName(name)
		v := journal.Violation{Field: "arguments", Code: "unexpected_field", Message: name + " is not an argument of this tool"}
		if !slices.Contains(a.violations, v) {
			a.violations = append(a.violations, v)
		}
	}
	return a
}

func (a *arguments) violate(field, code, message string) {
	a.violations = append(a.violations, journal.Violation{Field: field, Code: code, Message: message})
}

// text returns a string argument, or "" when it is absent or something else.
func (a *arguments) text(name string) string {
	field, sent := a.object.Get(name)
	text, ok := field.Text()
	if sent && !ok {
		a.violate(name, "wrong_type", "must be a string")
	}
	return text
}

// integer returns an integer argument, or fallback when it is absent.
func (a *arguments) integer(name string, fallback int) int {
	field, sent := a.object.Get(name)
	if !sent {
		return fallback
	}
	n, ok := field.Int()
	if !ok {
		a.violate(name, "wrong_type", "must be an integer written without fraction or exponent")
	}
	return int(n)
}

// fault is nil when the shape is right.
func (a *arguments) fault() error {
	if len(a.violations) == 0 {
		return nil
	}
	f := journal.Refuse(journal.ValidationFailed, "compare the arguments with the tool's inputSchema")
	f.Violations = a.violations
	return f
}
