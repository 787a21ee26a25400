package catalog

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// CheckPath refuses a path that could leave its module: it must begin with
// one slash and hold, also after decoding, no scheme, no host, no empty,
// «.» or «..» segment, no backslash, no query, no fragment, no control
// character and no encoded slash.
func CheckPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("a path begins with /")
	}
	if strings.ContainsAny(path, "?#") {
		return fmt.Errorf("a path holds no ? and no #; use query")
	}
	if strings.Contains(strings.ToLower(path), "%2f") || strings.Contains(strings.ToLower(path), "%5c") {
		return fmt.Errorf("a path holds no encoded slash")
	}
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return fmt.Errorf("a path holds a broken %% escape")
	}
	// Decoded once, a path must have nothing left to decode: what decodes
	// twice could be a slash to the server and a letter to us.
	if again, err := url.PathUnescape(decoded); err == nil && again != decoded {
		return fmt.Errorf("a path is encoded at most once")
	}
	if strings.ContainsRune(decoded, '\\') || strings.IndexFunc(decoded, unicode.IsControl) >= 0 {
		return fmt.Errorf("a path holds no backslash and no control character")
	}
	for i, segment := range strings.Split(decoded[1:], "/") {
		last := i == strings.Count(decoded, "/")-1
		if segment == "." || segment == ".." || segment == "" && !last {
			return fmt.Errorf("a path holds no empty, . or .. segment")
		}
	}
	return nil
}

var globForm = regexp.MustCompile(`^(/([\p{L}\p{N}._~!$&'()+,;=:@*-]|\{[a-zA-Z_][a-zA-Z0-9_]*\})*)+$`)

// checkGlob refuses an allow-list pattern that could mean more than it says.
func checkGlob(glob string) error {
	if !globForm.MatchString(glob) || strings.Contains(glob, "//") {
		return fmt.Errorf("a path glob begins with / and holds letters, digits, * and path signs only")
	}
	for _, segment := range strings.Split(glob[1:], "/") {
		if segment == "." || segment == ".." {
			return fmt.Errorf("a path glob holds no . or .. segment")
		}
		if strings.Contains(segment, "**") && segment != "**" {
			return fmt.Errorf("** in a path glob is a whole segment")
		}
	}
	return nil
}

// globOf divides an entry of an allow-list: «GET /things/**» is admitted for one
// method alone.
func globOf(entry string) (method, glob string) {
	if method, glob, two := strings.Cut(entry, " "); two {
		return method, glob
	}
	return "", entry
}

// matchPath tells whether a decoded path fits a glob: * is any text within a
// segment, ** any number of segments.
func matchPath(glob, path string) bool {
	if glob == "*" {
		return true
	}
	return matchSegments(strings.Split(strings.TrimPrefix(glob, "/"), "/"), strings.Split(strings.TrimPrefix(path, "/"), "/"))
}

func matchSegments(glob, path []string) bool {
	for len(glob) > 0 {
		if glob[0] == "**" {
			for len(glob) > 1 && glob[1] == "**" {
				glob = glob[1:]
			}
			for skip := range len(path) + 1 {
				if matchSegments(glob[1:], path[skip:]) {
					return true
				}
			}
			return false
		}
		if len(path) == 0 || !matchText(glob[0], path[0]) {
			return false
		}
		glob, path = glob[1:], path[1:]
	}
	return len(path) == 0
}

// matchText fits one text to a pattern in which * is any text, empty too.
func matchText(pattern, text string) bool {
	head, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(part):], after
	}
}
