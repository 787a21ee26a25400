package connect

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Masked stands where a secret stood.
const Masked = "[secret]"

// shortest is the length below which a value is no secret worth the damage
// that masking it everywhere would do.
const shortest = 4

// A redactor masks secrets by value, wherever they were put, in the spellings
// they take on the way.
type redactor struct {
	replace *strings.Replacer
	least   int      // bytes of the shortest spelling: what is shorter holds none
	all     []string // spellings
}

func newRedactor(secrets ...string) redactor {
	var all []string
	for _, s := range secrets {
		if len(s) >= shortest {
			all = append(all, spellings(s)...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	// The longest first, or a part would be masked and leave the rest.
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range all {
		pairs = append(pairs, s, Masked)
	}
	r := redactor{replace: strings.NewReplacer(pairs...), least: 1, all: all}
	if len(all) > 0 {
		r.least = len(all[len(all)-1])
	}
	return r
}

var percents = regexp.MustCompile(`%[0-9A-F]{2}`)

// markup are the ways in which HTML and XML are written: within a text, within
// quotes, and by templates that escape more.
var markup = []*strings.Replacer{
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "+", "&#43;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"),
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;", "/", "&#x2F;"),
}

// spellings of a secret: in addresses once and twice, in HTML and XML, in JSON,
// in hex, and in base64 alone or in the middle of something longer.
func spellings(s string) []string {
	all := []string{s, url.QueryEscape(s), url.PathEscape(s), awsEscape(s, false), awsEscape(s, true), hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s)))}
	for _, one := range all[1:5] {
		all = append(all, percents.ReplaceAllStringFunc(one, strings.ToLower))
	}
	for _, one := range all[1:5] {
		for _, once := range []string{one, percents.ReplaceAllStringFunc(one, strings.ToLower)} {
			twice := url.QueryEscape(once)
			all = append(all, twice, percents.ReplaceAllStringFunc(twice, strings.ToLower), strings.ReplaceAll(once, "%", "%25"))
		}
	}
	for _, entities := range markup {
		all = append(all, entities.Replace(s))
	}
	for _, escape := range []bool{false, true} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		if e.Encode(s) == nil {
			text := strings.Trim(strings.TrimSpace(b.String()), `"`)
			all = append(all, text, strings.ReplaceAll(text, "/", `\/`), ascii(text), strings.ReplaceAll(ascii(text), "/", `\/`))
		}
	}
	for _, escaped := range []string{numbered(s, `"&'+<>`+"`"), numbered(s, `"&'<>`), numbered(s, `"&'<>/`)} {
		for _, one := range []string{escaped, hexNumbers.ReplaceAllStringFunc(escaped, upperHex), hexSigns.ReplaceAllStringFunc(escaped, upperHex)} {
			all = append(all, one, strings.ReplaceAll(one, "/", `\/`))
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(s)))
		for before := range 3 {
			all = append(all, middle(encoding, s, before))
		}
	}
	return slices.DeleteFunc(all, func(one string) bool { return len(one) < shortest })
}

// ascii spells what is not ASCII as JSON writers of other languages do.
func ascii(s string) string {
	quoted := strconv.QuoteToASCII(s)
	quoted = quoted[1 : len(quoted)-1]
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(quoted)
}

// hexSigns are those of signs: PHP writes them in upper case, and letters not.
var (
	hexNumbers = regexp.MustCompile(`\\u[0-9a-f]{4}`)
	hexSigns   = regexp.MustCompile(`\\u00[23][0-9a-f]`)
)

func upperHex(escape string) string { return `\u` + strings.ToUpper(escape[2:]) }

// numbered spells a text as careful JSON writers do: by number, what is not
// ASCII and certain signs.
func numbered(s, signs string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r < 0x20 || r >= 0x7f || strings.ContainsRune(signs, r):
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// middle is the part of a base64 text that a secret alone decides when so many
// bytes, modulo three, stand before it.
func middle(encoding *base64.Encoding, s string, before int) string {
	text := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", before) + s))
	from, to := []int{0, 2, 3}[before], len(text)
	if (before+len(s))%3 != 0 {
		to--
	}
	if to-from < 5 { // too short to be told from other text
		return ""
	}
	return text[from:to]
}

func (r redactor) text(s string) string {
	if len(s) < r.least {
		return s
	}
	return r.replace.Replace(s)
}

// within tells whether a text that lost its case has a secret in it.
func (r redactor) within(lower string) bool {
	return slices.ContainsFunc(r.all, func(s string) bool { return strings.Contains(lower, strings.ToLower(s)) })
}

// bytes masks what is no text, which may change its length, and tells whether
// there was anything to mask.
func (r redactor) bytes(raw []byte) (out []byte, masked bool) {
	if text := r.text(string(raw)); text != string(raw) {
		return []byte(text), true
	}
	return raw, false
}

// value masks within a JSON value, names of objects too.
func (r redactor) value(value any) any {
	switch v := value.(type) {
	case string:
		return r.text(v)
	case json.Number:
		if r.text(v.String()) != v.String() {
			return Masked
		}
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			inner := r.value(v[key])
			if masked := r.text(key); masked != key {
				delete(v, key)
				key = masked
			}
			v[key] = inner
		}
	}
	return value
}
