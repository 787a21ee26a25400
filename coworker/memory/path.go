package memory

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"innerloop/coworker"
)

// Bounds of a path.
const (
	PathMax    = 512 // bytes
	segmentMax = 255 // bytes, as file systems have it
	depthMax   = 32  // segments
)

const pathRule = "must be a relative path in normal form: 1 to 512 bytes of UTF-8 (NFC), at most 32 parts of at most 255 bytes between single slashes, none of them . or .., no backslash, control or format character"

// CheckPath returns what is wrong with the path of a file, or nil.
func CheckPath(p string) *coworker.Problem {
	if p == "" || len(p) > PathMax || p == "." || !plain(p) || path.Clean(p) != p || strings.HasPrefix(p, "/") ||
		p == ".." || strings.HasPrefix(p, "../") || strings.Count(p, "/") >= depthMax {
		return &coworker.Problem{Field: "path", Problem: pathRule}
	}
	for part := range strings.SplitSeq(p, "/") {
		if len(part) > segmentMax {
			return &coworker.Problem{Field: "path", Problem: pathRule}
		}
	}
	return nil
}

// checkPrefix is CheckPath for the beginning of one, which may end anywhere.
func checkPrefix(p string) *coworker.Problem {
	whole := p + "x" // what ends in a slash becomes a path
	if len(p) > PathMax || !plain(p) || path.Clean(whole) != whole || strings.HasPrefix(p, "/") || strings.HasPrefix(whole, "../") {
		return &coworker.Problem{Field: "prefix", Problem: "must be the beginning of relative paths, such as notes/, of at most 512 bytes"}
	}
	return nil
}

func plain(p string) bool {
	odd := func(r rune) bool {
		return r == '\\' || r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point)
	}
	return utf8.ValidString(p) && norm.NFC.IsNormalString(p) && !strings.ContainsFunc(p, odd)
}

// Folded is a path as it is searched: case does not count.
func Folded(p string) string { return norm.NFC.String(strings.ToLower(p)) }

// After is the first text above every one that begins with prefix, in the
// order of bytes; "" when there is none.
func After(prefix string) string {
	runes := []rune(prefix)
	for n := len(runes) - 1; n >= 0; n-- {
		next := runes[n] + 1
		if next == 0xd800 {
			next = 0xe000 // no text holds a surrogate
		}
		if next <= unicode.MaxRune {
			return string(append(runes[:n:n], next))
		}
	}
	return ""
}
