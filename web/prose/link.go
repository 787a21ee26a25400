package prose

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// nextLink finds the first linkable address. end is 0 when there is none.
func nextLink(line string) (start, end int, href string) {
	for from := 0; ; {
		at := strings.Index(line[from:], "http")
		if at < 0 {
			return 0, 0, ""
		}
		at += from
		from = at + len("http")
		if before, _ := utf8.DecodeLastRuneInString(line[:at]); at > 0 && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
			continue
		}
		raw := addressAt(line[at:])
		if href, ok := address(raw); ok {
			return at, at + len(raw), href
		}
	}
}

// addressAt takes the characters that may belong to an address, without the
// punctuation that closes the sentence around it.
func addressAt(s string) string {
	stop := strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unseen(r) || isSelector(r) || strings.ContainsRune("<>\"`\\^{|}«»“”", r)
	})
	if stop >= 0 {
		s = s[:stop]
	}
	for s != "" {
		last, size := utf8.DecodeLastRuneInString(s)
		closes := last == ')' && strings.Count(s, ")") > strings.Count(s, "(") ||
			last == ']' && strings.Count(s, "]") > strings.Count(s, "[")
		if !closes && !strings.ContainsRune(".,;:!?'’…*_", last) {
			break
		}
		s = s[:len(s)-size]
	}
	return s
}

// address decides whether raw may be a link, and returns it as it leads and is
// shown. An address with a user name in it is not linked: what stands before
// the @ is there to deceive. Neither is one whose host holds escapes, or signs
// that look like the end of a host. A host of mixed scripts is shown in the form
// that browsers give it; one that they would not accept is no link.
func address(raw string) (href string, ok bool) {
	if !strings.HasPrefix(raw, "http://") && !strings.HasPrefix(raw, "https://") {
		return "", false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return "", false
	}
	host := u.Hostname()
	if host == "" || strings.ContainsRune(u.Host, '@') || !strings.Contains(raw, host) || strings.ContainsFunc(host, deceptive) {
		return "", false
	}
	if !mixedScript(host) {
		return raw, true
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", false
	}
	return strings.Replace(raw, host, ascii, 1), true
}

// deceptive tells the signs that no host needs: beyond ASCII only letters,
// their marks and digits make names. A slash or a full stop of another script
// would end the host for the eye alone.
func deceptive(r rune) bool {
	if r < 0x80 {
		return r == '%'
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.Nd)
}

// mixedScript tells whether the letters of a host come from more than one
// script, the way a forged name is made, or carry marks that fit any letter
// and can draw a line through it.
func mixedScript(host string) bool {
	seen := ""
	for _, r := range host {
		if unicode.Is(unicode.Inherited, r) {
			return true
		}
		if !unicode.IsLetter(r) {
			continue
		}
		script := "other"
		for _, known := range []struct {
			name  string
			table *unicode.RangeTable
		}{
			{"Latin", unicode.Latin},
			{"Cyrillic", unicode.Cyrillic},
			{"Greek", unicode.Greek},
			{"Armenian", unicode.Armenian},
			{"Hebrew", unicode.Hebrew},
			{"Arabic", unicode.Arabic},
			{"Han", unicode.Han},
			{"Hiragana", unicode.Hiragana},
			{"Katakana", unicode.Katakana},
			{"Hangul", unicode.Hangul},
			{"Cherokee", unicode.Cherokee},
		} {
			if unicode.Is(known.table, r) {
				script = known.name
				break
			}
		}
		if seen != "" && seen != script {
			return true
		}
		seen = script
	}
	return false
}
