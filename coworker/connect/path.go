package connect

import (
	"strconv"
	"strings"
)

// A step of a JSON path as catalog files write them: a name, a place (from the
// end when negative), every place, or a name anywhere below.
type step struct {
	name  string
	place int
	kind  stepKind
}

type stepKind uint8

const (
	byName stepKind = iota
	byPlace
	every
	below
)

// steps reads a path that the catalog has checked; "" and "$" have none.
func steps(path string) []step {
	rest := strings.TrimPrefix(path, "$")
	var out []step
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "["):
			inner, after, _ := strings.Cut(rest[1:], "]")
			switch {
			case inner == "*":
				out = append(out, step{kind: every})
			case strings.HasPrefix(inner, "'"):
				out = append(out, step{name: strings.Trim(inner, "'")})
			default:
				n, _ := strconv.Atoi(inner)
				out = append(out, step{kind: byPlace, place: n})
			}
			rest = after
		default:
			kind := byName
			rest = rest[1:]
			if strings.HasPrefix(rest, ".") {
				kind, rest = below, rest[1:]
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			out = append(out, step{name: rest[:end], kind: kind})
			rest = rest[end:]
		}
	}
	return out
}

// find returns the first value at a path.
func find(value any, path string) (any, bool) {
	if path == "" {
		return nil, false
	}
	return findSteps(value, steps(path))
}

func findSteps(value any, rest []step) (any, bool) {
	if len(rest) == 0 {
		return value, true
	}
	switch s := rest[0]; s.kind {
	case byName:
		if object, ok := value.(map[string]any); ok {
			if inner, ok := object[s.name]; ok {
				return findSteps(inner, rest[1:])
			}
		}
	case byPlace, every:
		list, _ := value.([]any)
		at := s.place
		if at < 0 {
			at += len(list)
		}
		if at >= 0 && at < len(list) {
			return findSteps(list[at], rest[1:])
		}
	case below:
		return findBelow(value, s.name, rest[1:])
	}
	return nil, false
}

func findBelow(value any, name string, rest []step) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		if inner, ok := v[name]; ok {
			if found, ok := findSteps(inner, rest); ok {
				return found, true
			}
		}
		for _, key := range sortedKeys(v) {
			if found, ok := findBelow(v[key], name, rest); ok {
				return found, true
			}
		}
	case []any:
		for _, inner := range v {
			if found, ok := findBelow(inner, name, rest); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// drop removes what is at a path and tells whether there was anything.
func drop(value any, path string) bool {
	all := steps(path)
	return len(all) > 0 && dropSteps(value, all)
}

func dropSteps(value any, rest []step) bool {
	s, dropped := rest[0], false
	switch v := value.(type) {
	case map[string]any:
		if s.kind == byName || s.kind == below {
			if inner, ok := v[s.name]; ok {
				if len(rest) == 1 {
					delete(v, s.name)
					dropped = true
				} else if dropSteps(inner, rest[1:]) {
					dropped = true
				}
			}
		}
		if s.kind == below {
			for _, inner := range v {
				dropped = dropSteps(inner, rest) || dropped
			}
		}
	case []any:
		for i, inner := range v {
			switch {
			case s.kind == below:
				dropped = dropSteps(inner, rest) || dropped
			case len(rest) > 1 && (s.kind == every || s.kind == byPlace && (s.place == i || s.place+len(v) == i)):
				dropped = dropSteps(inner, rest[1:]) || dropped
			}
		}
	}
	return dropped
}

// put sets a value at a dotted name in a body, making objects on the way.
func put(body map[string]any, name string, value any) {
	head, rest, more := strings.Cut(name, ".")
	if !more {
		body[head] = value
		return
	}
	inner, ok := body[head].(map[string]any)
	if !ok {
		inner = map[string]any{}
		body[head] = inner
	}
	put(inner, rest, value)
}

// at reads a dotted name of a body.
func at(body any, name string) (any, bool) {
	for {
		object, ok := body.(map[string]any)
		if !ok {
			return nil, false
		}
		head, rest, more := strings.Cut(name, ".")
		inner, ok := object[head]
		if !ok || !more {
			return inner, ok
		}
		body, name = inner, rest
	}
}

// nothing tells values that stand for «there is none» in answers.
func nothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == "" || v == "0"
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return plain(value) == "0"
}
