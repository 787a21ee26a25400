package connect

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// Masked stands where a secret stood.
const Masked = "[secret]"

// shortest is the length below which a value is no secret worth the damage
// that masking it everywhere would do.
const shortest = 4

// A redactor masks secrets by value, wherever they were put, in the spellings
// they take on the way.
type redactor struct{ replace *strings.Replacer }

func newRedactor(secrets ...string) redactor {
	var all []string
	for _, s := range secrets {
		if len(s) < shortest {
			continue
		}
		all = append(all, s, url.QueryEscape(s), url.PathEscape(s), hex.EncodeToString([]byte(s)),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	// The longest first, or a part would be masked and leave the rest.
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range all {
		pairs = append(pairs, s, Masked)
	}
	return redactor{strings.NewReplacer(pairs...)}
}

func (r redactor) text(s string) string { return r.replace.Replace(s) }

// value masks within a JSON value, names of objects too.
func (r redactor) value(value any) any {
	switch v := value.(type) {
	case string:
		return r.text(v)
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
