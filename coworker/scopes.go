package coworker

import (
	"encoding/json"
	"slices"
	"strings"
)

// Scopes is a set of what a key may do.
type Scopes uint8

// The scopes there are.
const (
	ReadTools  Scopes = 1 << iota // see the catalog and the skills
	WriteTools                    // call connectors and run code
	ReadData                      // read the user's memory and own audit rows
	Admin                         // manage the organisation; passes every check
	Chat                          // no tools
)

var scopeWords = [...]string{"read:tools", "write:tools", "read:data", "admin", "chat"}

// AllScopes lists the words of every scope, in their order.
func AllScopes() []string { return slices.Clone(scopeWords[:]) }

// Holds tells whether the set passes a check for one scope. Writing with tools
// and reading data both imply seeing the tools.
func (s Scopes) Holds(one Scopes) bool {
	if s&Admin != 0 {
		return true
	}
	if s&(WriteTools|ReadData) != 0 {
		s |= ReadTools
	}
	return s&one == one
}

// List returns the words of the set, in their order; never nil.
func (s Scopes) List() []string {
	words := []string{}
	for i, word := range scopeWords {
		if s&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}

// String joins the words with commas.
func (s Scopes) String() string { return strings.Join(s.List(), ",") }

// MarshalJSON writes the list of words.
func (s Scopes) MarshalJSON() ([]byte, error) { return json.Marshal(s.List()) }

// ParseScopes reads words; ok is false when there is none or an unknown one.
func ParseScopes(words []string) (s Scopes, ok bool) {
	for _, word := range words {
		at := slices.Index(scopeWords[:], word)
		if at < 0 {
			return 0, false
		}
		s |= 1 << at
	}
	return s, s != 0
}

// A Class says how much a call of a connector may change.
type Class string

// The classes, in rising order.
const (
	ClassRead         Class = "read"
	ClassWrite        Class = "write"
	ClassIrreversible Class = "irreversible"
)

var classes = []Class{ClassRead, ClassWrite, ClassIrreversible}

// AllClasses lists the classes, in rising order.
func AllClasses() []Class { return slices.Clone(classes) }

// Valid tells whether there is such a class.
func (c Class) Valid() bool { return slices.Contains(classes, c) }

// Covers tells whether a key of this class may make a call of another.
func (c Class) Covers(call Class) bool {
	return call.Valid() && slices.Index(classes, call) <= slices.Index(classes, c)
}
