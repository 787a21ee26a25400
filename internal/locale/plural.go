package locale

import (
	"strconv"
	"strings"

	"golang.org/x/text/feature/plural"
)

// Forms are the plural forms of one counted phrase; "#" stands for the
// number. English fills One and Other, Russian One, Few and Many.
type Forms struct {
	One, Few, Many, Other string
}

// Count puts n into the form that CLDR chooses for it. A form the language
// leaves empty falls back to Other, then to Many.
func (l Lang) Count(n int, f Forms) string {
	if n < 0 {
		n = 0
	}
	var form string
	// Integers have no visible fraction digits: v, w, f and t are zero.
	switch plural.Cardinal.MatchPlural(l.tag(), n, 0, 0, 0, 0) {
	case plural.One:
		form = f.One
	case plural.Few:
		form = f.Few
	case plural.Many:
		form = f.Many
	default:
		form = f.Other
	}
	for _, fallback := range []string{f.Other, f.Many} {
		if form == "" {
			form = fallback
		}
	}
	return strings.ReplaceAll(form, "#", strconv.Itoa(n))
}
