package strictjson

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is the JSON type of a Value.
type Kind uint8

// The six JSON types. The zero Kind is Invalid: no Value that Parse returned.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// A Value is one parsed JSON value.
type Value struct {
	kind  Kind
	text  string // the string, the number's literal, or "true"
	parts *parts // of an array or object that is not empty
}

// parts stand behind a pointer to keep a scalar small: an array of a hundred
// thousand zeros should not cost a hundred bytes each.
type parts struct {
	items   []Value
	members []Member
}

// A Member is one key of an object with its value, in the order received.
type Member struct {
	Name  string
	Value Value
}

// Kind returns the JSON type.
func (v Value) Kind() Kind { return v.kind }

// Text returns the string and whether v is one.
func (v Value) Text() (string, bool) { return v.text, v.kind == String }

// Bool returns the boolean and whether v is one.
func (v Value) Bool() (value, ok bool) { return v.text == "true", v.kind == Bool }

// Literal returns a number as it was spelled and whether v is a number.
func (v Value) Literal() (string, bool) { return v.text, v.kind == Number }

// Int returns an integer spelled as a plain decimal literal (no fraction, no
// exponent, no negative zero) that fits 53 bits, and whether v is one.
func (v Value) Int() (int64, bool) {
	if v.kind != Number || strings.ContainsAny(v.text, ".eE") || v.text == "-0" {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	const limit = 1<<53 - 1
	return n, err == nil && n >= -limit && n <= limit
}

// Items returns the elements of an array, and nothing for any other kind.
func (v Value) Items() []Value {
	if v.parts == nil {
		return nil
	}
	return v.parts.items
}

// Members returns the keys of an object with their values in the order
// received, and nothing for any other kind.
func (v Value) Members() []Member {
	if v.parts == nil {
		return nil
	}
	return v.parts.members
}

// Get returns the member called exactly name.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.Members() {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Keys compares the keys of an object with those it should have: which of
// required are missing, and which keys are in neither list, each in order.
func (v Value) Keys(required, optional []string) (missing, unexpected []string) {
	for _, name := range required {
		if _, ok := v.Get(name); !ok {
			missing = append(missing, name)
		}
	}
	for _, m := range v.Members() {
		if !slices.Contains(required, m.Name) && !slices.Contains(optional, m.Name) {
			unexpected = append(unexpected, m.Name)
		}
	}
	return missing, unexpected
}

// SafeName returns a key for use in an error message, or a neutral phrase when
// the key is not a short plain word and might itself carry text.
func SafeName(name string) string {
	if name == "" || len(name) > 40 {
		return "an unnamed key"
	}
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "an unnamed key"
		}
	}
	return name
}
