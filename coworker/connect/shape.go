package connect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// An Omission tells of a place where something was left out.
type Omission struct {
	Path  string `json:"path"`
	Kept  int    `json:"kept"`  // items, names or bytes
	Total int    `json:"total"` // of the same
	Of    string `json:"of"`    // "items", "names" or "bytes"
}

const (
	leastDeep = 8   // bytes, below which a list or an object is left out whole
	pathHead  = 300 // bytes of a path that is told
)

// omissionsMax bounds the list; places beyond it are cut all the same.
const omissionsMax = 20

// A cutter makes a JSON value fit into a number of bytes: arrays lose whole
// items from their end, long texts their end, and every loss is told.
type cutter struct{ omitted []Omission }

// fit returns value, or a smaller one whose JSON has at most limit bytes. The
// value may be changed.
func fit(value any, limit int) (any, []Omission) {
	all := measure(value)
	if all.size <= limit {
		return value, nil
	}
	for budget := limit; ; budget = budget * 9 / 10 {
		c := &cutter{}
		out, n := c.cut(value, all, budget, "$")
		if n <= limit || budget < 16 {
			return out, c.omitted
		}
	}
}

// A measured value knows the bytes of its JSON and of its parts'.
type measured struct {
	size    int
	items   []measured
	members map[string]measured
}

func measure(value any) measured {
	switch v := value.(type) {
	case map[string]any:
		m := measured{size: 2, members: make(map[string]measured, len(v))}
		for key, inner := range v {
			part := measure(inner)
			m.members[key] = part
			m.size += textSize(key) + 2 + part.size
		}
		return m
	case []any:
		m := measured{size: 2, items: make([]measured, len(v))}
		for i, inner := range v {
			m.items[i] = measure(inner)
			m.size += 1 + m.items[i].size
		}
		return m
	case string:
		return measured{size: textSize(v)}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return measured{size: 4}
	}
	return measured{size: len(raw)}
}

// textSize counts as encoding/json writes without HTML escapes.
func textSize(s string) int {
	n := 2
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
			n += 2
		case r < 0x20, r == '\u2028', r == '\u2029', r == utf8.RuneError && width == 1:
			n += 6
		default:
			n += width
		}
		i += width
	}
	return n
}

func (c *cutter) note(o Omission) {
	if len(c.omitted) < omissionsMax {
		o.Path = head(o.Path, pathHead)
		c.omitted = append(c.omitted, o)
	}
}

// cut returns a value of at most budget bytes, if that can be, with its size.
func (c *cutter) cut(value any, m measured, budget int, path string) (any, int) {
	if m.size <= budget {
		return value, m.size
	}
	if _, text := value.(string); !text && budget < leastDeep {
		c.note(Omission{path, 0, m.size, "bytes"})
		return nil, len("null")
	}
	switch v := value.(type) {
	case string:
		return c.cutText(v, budget, path)
	case []any:
		return c.cutList(v, m, budget, path)
	case map[string]any:
		return c.cutObject(v, m, budget, path)
	}
	return value, m.size
}

// mark is the room that a cut text needs to say so.
const mark = 24

func (c *cutter) cutText(s string, budget int, path string) (any, int) {
	keep, used := 0, 2
	for keep < len(s) {
		_, width := utf8.DecodeRuneInString(s[keep:])
		n := textSize(s[keep:keep+width]) - 2
		if used+n > budget-mark {
			break
		}
		keep, used = keep+width, used+n
	}
	c.note(Omission{path, keep, len(s), "bytes"})
	out := s[:keep] + "…[+" + strconv.Itoa(len(s)-keep) + " bytes]"
	return out, textSize(out)
}

func (c *cutter) cutList(list []any, m measured, budget int, path string) (any, int) {
	used, kept := 2, 0
	for kept < len(list) && used+1+m.items[kept].size <= budget {
		used, kept = used+1+m.items[kept].size, kept+1
	}
	out := list[:kept:kept]
	if kept == 0 {
		// One item, cut, says more than none.
		item, n := c.cut(list[0], m.items[0], budget-3, path+"[0]")
		out, used, kept = []any{item}, n+3, 1
	}
	if kept < len(list) {
		c.note(Omission{path, kept, len(list), "items"})
	}
	return out, used
}

// leastMember is the room that a member of an object gets beside its name, or
// it is left out.
const leastMember = 40

// cutObject keeps small members whole and shares what is left among the large
// ones, the smallest first, so that one long text does not cost the others.
func (c *cutter) cutObject(object map[string]any, m measured, budget int, path string) (any, int) {
	type member struct {
		key        string
		name, size int // bytes of the name with its signs, and of the value
	}
	members := make([]member, 0, len(object))
	for key := range object {
		members = append(members, member{key, textSize(key) + 2, m.members[key].size})
	}
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.name+a.size, b.name+b.size), cmp.Compare(a.key, b.key))
	})
	kept, least := 0, 2
	for kept < len(members) {
		n := members[kept].name + min(members[kept].size, leastMember)
		if least+n > budget {
			break
		}
		least, kept = least+n, kept+1
	}
	if kept < len(members) {
		c.note(Omission{path, kept, len(members), "names"})
	}
	out, left, used := map[string]any{}, budget-2, 2
	for i, one := range members[:kept] {
		// What the later ones need at least is theirs.
		share := max(left/(kept-i), one.name+min(one.size, leastMember))
		inner, n := object[one.key], one.size
		if one.name+n > share {
			inner, n = c.cut(inner, m.members[one.key], share-one.name, path+member1(one.key))
		}
		out[one.key] = inner
		left, used = left-one.name-n, used+one.name+n
	}
	return out, used
}

// member1 spells a name as a step of a path.
func member1(key string) string {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' {
			return fmt.Sprintf("[%q]", key)
		}
	}
	return "." + key
}

// trim drops what the service's file says nobody needs, and shortens lists to
// its number of items.
func trim(value any, drops []string, maxItems int) (any, []Omission) {
	var omitted []Omission
	for _, path := range drops {
		if drop(value, path) {
			omitted = append(omitted, Omission{Path: path, Of: "names"})
		}
	}
	if maxItems > 0 {
		value = shorten(value, "$", maxItems, &omitted)
	}
	return value, omitted
}

func shorten(value any, path string, limit int, omitted *[]Omission) any {
	switch v := value.(type) {
	case []any:
		if len(v) > limit {
			if len(*omitted) < omissionsMax {
				*omitted = append(*omitted, Omission{path, limit, len(v), "items"})
			}
			v = v[:limit:limit]
		}
		for i := range v {
			v[i] = shorten(v[i], path+"["+strconv.Itoa(i)+"]", limit, omitted)
		}
		return v
	case map[string]any:
		for key, inner := range v {
			v[key] = shorten(inner, path+member1(key), limit, omitted)
		}
	}
	return value
}
