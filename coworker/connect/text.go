package connect

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var placeholder = regexp.MustCompile(`\{([a-zA-Z_][a-zA-Z0-9_]*)\}`)

// expand puts values into a template. It tells the first name without a value.
func expand(template string, values map[string]string) (text, missing string) {
	text = placeholder.ReplaceAllStringFunc(template, func(part string) string {
		value, ok := values[part[1:len(part)-1]]
		if !ok && missing == "" {
			missing = part[1 : len(part)-1]
		}
		return value
	})
	return text, missing
}

// plain is a scalar as it stands in addresses and headers.
func plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return fmt.Sprint(v)
	case json.Number:
		return v.String()
	case float64, int, int64, uint64: // the last three: of a file of the catalog
		return strings.TrimSuffix(fmt.Sprint(v), ".0")
	}
	return ""
}

func scalar(value any) bool {
	switch value.(type) {
	case string, bool, json.Number, float64, int, int64, uint64:
		return true
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// copied makes a deep copy of a JSON value, so that pages and credentials can
// be put into it.
func copied(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = copied(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = copied(inner)
		}
		return out
	}
	return value
}
