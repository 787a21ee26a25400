package locale

import (
	"strings"

	"golang.org/x/text/language"
)

// Lang is a language of the interface. The zero value is English.
type Lang uint8

// The interface languages.
const (
	English Lang = iota
	Russian
)

// All lists the interface languages, default first.
func All() []Lang { return []Lang{English, Russian} }

// Code is the BCP 47 tag of the language, as used in lang attributes.
func (l Lang) Code() string {
	if l == Russian {
		return "ru"
	}
	return "en"
}

// Prefix is what precedes every page path in this language: "" or "/ru".
func (l Lang) Prefix() string {
	if l == Russian {
		return "/ru"
	}
	return ""
}

// OpenGraph is the locale in the form og:locale wants.
func (l Lang) OpenGraph() string {
	if l == Russian {
		return "ru_RU"
	}
	return "en_GB"
}

// Name is the language's own name for itself.
func (l Lang) Name() string {
	if l == Russian {
		return "Русский"
	}
	return "English"
}

// Other is the language that the switch in the masthead leads to.
func (l Lang) Other() Lang {
	if l == Russian {
		return English
	}
	return Russian
}

// Path puts the language's prefix before a path such as "/" or
// "/entries/entry_1?x=y"; the root in Russian is "/ru", without a slash.
func (l Lang) Path(path string) string {
	prefix := l.Prefix()
	if prefix == "" {
		return path
	}
	if rest, root := strings.CutPrefix(path, "/?"); root {
		return prefix + "?" + rest
	}
	if path == "/" {
		return prefix
	}
	return prefix + path
}

// FromPath tells the language of a page path and the path without its prefix.
func FromPath(path string) (Lang, string) {
	if path == "/ru" {
		return Russian, "/"
	}
	if rest, ok := strings.CutPrefix(path, "/ru/"); ok {
		return Russian, "/" + rest
	}
	return English, path
}

func (l Lang) tag() language.Tag {
	if l == Russian {
		return language.Russian
	}
	return language.English
}
