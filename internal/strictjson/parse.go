package strictjson

import (
	"fmt"
	"unicode/utf8"
)

// Limits of one text. MaxValues bounds memory: a value costs tens of bytes,
// the two bytes of text that make one would otherwise be multiplied freely.
const (
	MaxDepth  = 16      // objects and arrays inside one another
	MaxValues = 1 << 17 // values in all, members of objects included
)

// An Error says where in the text a rule was broken. It never quotes a value.
type Error struct {
	Offset int    // bytes from the start
	Rule   string // what is wrong, in plain words
}

func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d", e.Rule, e.Offset) }

// Parse reads exactly one JSON value. Its error is an *Error.
func Parse(data []byte) (Value, error) {
	p := parser{data: data}
	if !utf8.Valid(data) {
		p.at = validPrefix(data)
		return Value{}, p.fail("text is not valid UTF-8")
	}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	p.space()
	if p.at < len(p.data) {
		return Value{}, p.fail("there is text after the JSON value")
	}
	return v, nil
}

// validPrefix is how many bytes of data are valid UTF-8 from the start.
func validPrefix(data []byte) int {
	at := 0
	for at < len(data) {
		r, width := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && width == 1 {
			break
		}
		at += width
	}
	return at
}

type parser struct {
	data   []byte
	at     int
	values int
}

func (p *parser) fail(rule string) error { return &Error{Offset: p.at, Rule: rule} }

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end; JSON has no use for a raw 0.
func (p *parser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

func (p *parser) accept(c byte) bool {
	if p.peek() == c && p.at < len(p.data) {
		p.at++
		return true
	}
	return false
}

// value reads one value that stands inside depth objects and arrays.
func (p *parser) value(depth int) (Value, error) {
	if p.values++; p.values > MaxValues {
		return Value{}, p.fail("JSON has too many values")
	}
	switch c := p.peek(); {
	case (c == '{' || c == '[') && depth == MaxDepth:
		return Value{}, p.fail("JSON is nested too deeply")
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c == '"':
		text, err := p.str()
		if err != nil {
			return Value{}, err
		}
		return Value{kind: String, text: text}, nil
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't':
		return p.word("true", Bool)
	case c == 'f':
		return p.word("false", Bool)
	case c == 'n':
		return p.word("null", Null)
	}
	if p.at >= len(p.data) {
		return Value{}, p.fail("JSON ends too early")
	}
	return Value{}, p.fail("a JSON value is expected")
}

func (p *parser) word(word string, kind Kind) (Value, error) {
	if len(p.data)-p.at < len(word) || string(p.data[p.at:p.at+len(word)]) != word {
		return Value{}, p.fail("a JSON value is expected")
	}
	p.at += len(word)
	return Value{kind: kind, text: word}, nil
}

func (p *parser) object(depth int) (Value, error) {
	p.at++
	var members []Member
	p.space()
	if p.accept('}') {
		return Value{kind: Object}, nil
	}
	seen := keySet{}
	for {
		p.space()
		if p.peek() != '"' {
			return Value{}, p.fail("a key in double quotes is expected")
		}
		name, err := p.str()
		if err != nil {
			return Value{}, err
		}
		if !seen.add(members, name) {
			return Value{}, p.fail("a key occurs twice in one object")
		}
		p.space()
		if !p.accept(':') {
			return Value{}, p.fail("a colon is expected")
		}
		p.space()
		item, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		members = append(members, Member{Name: name, Value: item})
		p.space()
		if p.accept('}') {
			return Value{kind: Object, parts: &parts{members: members}}, nil
		}
		if !p.accept(',') {
			return Value{}, p.fail("a comma or the end of the object is expected")
		}
	}
}

// keySet finds repeated keys: by a walk while the object is small, by a map
// once it is not, so that a hostile object costs linear time.
type keySet struct{ names map[string]struct{} }

func (s *keySet) add(members []Member, name string) bool {
	const few = 16
	if s.names == nil && len(members) < few {
		for _, m := range members {
			if m.Name == name {
				return false
			}
		}
		return true
	}
	if s.names == nil {
		s.names = make(map[string]struct{}, 2*few)
		for _, m := range members {
			s.names[m.Name] = struct{}{}
		}
	}
	if _, twice := s.names[name]; twice {
		return false
	}
	s.names[name] = struct{}{}
	return true
}

func (p *parser) array(depth int) (Value, error) {
	p.at++
	var items []Value
	p.space()
	if p.accept(']') {
		return Value{kind: Array}, nil
	}
	for {
		p.space()
		item, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		items = append(items, item)
		p.space()
		if p.accept(']') {
			return Value{kind: Array, parts: &parts{items: items}}, nil
		}
		if !p.accept(',') {
			return Value{}, p.fail("a comma or the end of the array is expected")
		}
	}
}

func (p *parser) number() (Value, error) {
	start := p.at
	p.accept('-')
	if !p.accept('0') && p.digits() == 0 {
		return Value{}, p.fail("a digit is expected")
	}
	if p.accept('.') && p.digits() == 0 {
		return Value{}, p.fail("a digit is expected")
	}
	if p.accept('e') || p.accept('E') {
		if !p.accept('+') {
			p.accept('-')
		}
		if p.digits() == 0 {
			return Value{}, p.fail("a digit is expected")
		}
	}
	return Value{kind: Number, text: string(p.data[start:p.at])}, nil
}

func (p *parser) digits() int {
	start := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at - start
}

func (p *parser) str() (string, error) {
	p.at++
	start := p.at
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return string(p.data[start : p.at-1]), nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.fail("a control character in a string must be escaped")
		}
		p.at++
	}
	return "", p.fail("JSON ends inside a string")
}

func (p *parser) escaped(start int) (string, error) {
	out := append([]byte(nil), p.data[start:p.at]...)
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			return string(out), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		case c < 0x20:
			return "", p.fail("a control character in a string must be escaped")
		default:
			out = append(out, c)
			p.at++
		}
	}
	return "", p.fail("JSON ends inside a string")
}

// escape reads one backslash sequence. Two \u escapes that form a pair are one
// rune; half a pair is refused, since no valid UTF-8 can stand for it.
func (p *parser) escape() (rune, error) {
	p.at++
	c := p.peek()
	if c == 'u' {
		return p.unicode()
	}
	const names, values = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	for i := range len(names) {
		if names[i] == c {
			p.at++
			return rune(values[i]), nil
		}
	}
	return 0, p.fail("an unknown escape in a string")
}

func (p *parser) unicode() (rune, error) {
	first, ok := p.hex4()
	if !ok {
		return 0, p.fail("a \\u escape needs four hex digits")
	}
	if first < 0xD800 || first > 0xDFFF {
		return first, nil
	}
	if first <= 0xDBFF && p.accept('\\') && p.peek() == 'u' {
		if second, ok := p.hex4(); ok && second >= 0xDC00 && second <= 0xDFFF {
			return (first-0xD800)<<10 + (second - 0xDC00) + 0x10000, nil
		}
	}
	return 0, p.fail("an escape forms half a surrogate pair")
}

// hex4 reads the letter u and four hex digits.
func (p *parser) hex4() (rune, bool) {
	if len(p.data)-p.at < 5 {
		return 0, false
	}
	var r rune
	for _, c := range p.data[p.at+1 : p.at+5] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	p.at += 5
	return r, true
}
