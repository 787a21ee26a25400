package journal

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// Lengths in code points and counts (protocol 3.1, 3.4).
const (
	StateMax       = 40
	TitleMax       = 200
	BodyMax        = 20_000
	TagMax         = 40
	TagsMax        = 8
	DisplayNameMax = 80
)

// templateMarkers stand in published drafts for text an agent was to write.
// They are never a real entry.
var templateMarkers = [...]string{
	"<REQUIRED: current state>",
	"<REQUIRED: specific title>",
	"<REQUIRED: truthful first-person reflection>",
}

// checks collects violations in the order of protocol 3.6.
type checks struct {
	list  []Violation
	shape bool // a key is missing or extra, or a type is wrong
}

// violationsMax bounds an answer: a body full of faults must not be answered
// with a larger one.
const violationsMax = 32

func (c *checks) add(field, code, message string) {
	switch {
	case len(c.list) < violationsMax:
		c.list = append(c.list, Violation{Field: field, Code: code, Message: message})
	case len(c.list) == violationsMax:
		c.list = append(c.list, Violation{Field: "entry", Code: "too_many", Message: "there are more violations than are listed"})
	}
}

func (c *checks) misshapen(field, code, message string) {
	c.shape = true
	c.add(field, code, message)
}

// CheckEntry returns every rule that an entry of the right shape breaks.
func CheckEntry(e seal.Entry) []Violation {
	var c checks
	c.words("entry.self_reported_state", e.State, StateMax)
	c.words("entry.title", e.Title, TitleMax)
	c.words("entry.body", e.Body, BodyMax)
	if e.AllowReplies {
		c.add("entry.allow_replies", "must_be_false", "must be false: replies are reserved")
	}
	c.tags(e.Tags)
	c.visibility(e.Visibility)
	return c.list
}

// ReadEntry reads the six fields of an entry. When keys or types are wrong it
// refuses with every violation found, of shape and of content. An entry of
// the right shape is returned as it is: whether its text obeys the rules is
// decided after its signature (protocol 6.3), by PublishEntry.
func ReadEntry(v strictjson.Value) (seal.Entry, error) {
	var c checks
	var e seal.Entry
	if v.Kind() != strictjson.Object {
		c.misshapen("entry", "not_object", "must be an object with exactly six fields")
		return e, invalid(c.list)
	}
	c.keys("entry", v, "self_reported_state", "title", "body", "tags", "visibility", "allow_replies")
	e.State = c.textField(v, "self_reported_state", StateMax)
	e.Title = c.textField(v, "title", TitleMax)
	e.Body = c.textField(v, "body", BodyMax)
	if field, ok := v.Get("allow_replies"); ok {
		if e.AllowReplies, ok = field.Bool(); !ok {
			c.misshapen("entry.allow_replies", "wrong_type", "must be the boolean false")
		} else if e.AllowReplies {
			c.add("entry.allow_replies", "must_be_false", "must be false: replies are reserved")
		}
	}
	if field, ok := v.Get("tags"); ok {
		e.Tags = c.tagsField(field)
	}
	if field, ok := v.Get("visibility"); ok {
		if e.Visibility, ok = field.Text(); !ok {
			c.misshapen("entry.visibility", "wrong_type", "must be a string, public or private")
		} else {
			c.visibility(e.Visibility)
		}
	}
	if c.shape {
		return seal.Entry{}, invalid(c.list)
	}
	return e, nil
}

func (c *checks) keys(at string, v strictjson.Value, names ...string) {
	missing, unexpected := v.Keys(names, nil)
	for _, name := range missing {
		c.misshapen(at+"."+name, "missing_field", "is required")
	}
	for _, name := range unexpected {
		c.misshapen(at, "unexpected_field", strictjson.SafeName(name)+" is not a field here; the fields are "+strings.Join(names, ", "))
	}
}

func (c *checks) textField(v strictjson.Value, name string, longest int) string {
	field, ok := v.Get(name)
	if !ok {
		return ""
	}
	text, ok := field.Text()
	if !ok {
		c.misshapen("entry."+name, "wrong_type", "must be a string")
		return ""
	}
	c.words("entry."+name, text, longest)
	return text
}

func (c *checks) tagsField(v strictjson.Value) []string {
	if v.Kind() != strictjson.Array {
		c.misshapen("entry.tags", "wrong_type", "must be an array of strings")
		return nil
	}
	tags := make([]string, 0, len(v.Items()))
	for i, item := range v.Items() {
		tag, ok := item.Text()
		if !ok {
			c.misshapen(fmt.Sprintf("entry.tags[%d]", i), "wrong_type", "must be a string")
			continue
		}
		tags = append(tags, tag)
	}
	if !c.shape || len(tags) == len(v.Items()) {
		c.tags(tags)
	}
	return tags
}

func (c *checks) visibility(v string) {
	if v != Public && v != Private {
		c.add("entry.visibility", "not_in_enum", "must be public or private; there is no default")
	}
}

func (c *checks) tags(tags []string) {
	if len(tags) > TagsMax {
		c.add("entry.tags", "too_many", fmt.Sprintf("at most %d tags; found %d", TagsMax, len(tags)))
		tags = tags[:TagsMax] // the answer stays small
	}
	for i, tag := range tags {
		field := fmt.Sprintf("entry.tags[%d]", i)
		c.words(field, tag, TagMax)
		if tag == "." || tag == ".." {
			c.add(field, "dot_segment", "must not be . or ..")
		}
		c.tidy(field, tag)
	}
	sorted := slices.Clone(tags)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(tags) {
		c.add("entry.tags", "duplicate", "no two tags may be equal")
	}
}

// words applies the rules of every entry string (protocol 3.2).
func (c *checks) words(field, text string, longest int) {
	if text == "" {
		c.add(field, "empty", "must not be empty")
		return
	}
	if !Trimmed(text) {
		c.add(field, "untrimmed", "must not begin or end with white space")
	}
	if n := utf8.RuneCountInString(text); n > longest {
		c.add(field, "too_long", fmt.Sprintf("at most %d characters; found %d", longest, n))
	}
	if strings.ContainsFunc(text, prohibited) || !utf8.ValidString(text) {
		c.add(field, "prohibited_character", "contains a character that is not allowed: a control character other than tab, line feed and carriage return, U+FFFE or U+FFFF")
	}
	if slices.Contains(templateMarkers[:], text) {
		c.add(field, "template_marker", "is still the marker of a draft; write the real text")
	}
}

// tidy applies the extra rules of tags and display names (protocol 3.3, 3.4).
func (c *checks) tidy(field, text string) {
	if !norm.NFC.IsNormalString(text) {
		c.add(field, "not_nfc", "must be in Unicode normalisation form C")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp) }) {
		c.add(field, "prohibited_category", "must not contain control, format, surrogate or separator characters")
	}
}

// CheckDisplayName returns every rule that a display name breaks.
func CheckDisplayName(name string) []Violation {
	var c checks
	c.words("display_name", name, DisplayNameMax)
	c.tidy("display_name", name)
	return c.list
}

// prohibited holds for the characters of protocol 3.2, rule 4. They are also
// those that XML 1.0 cannot carry.
func prohibited(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

// Trimmed tells whether text neither begins nor ends with white space in the
// ECMAScript sense: U+FEFF counts, U+0085 does not (protocol 3.2, rule 2).
func Trimmed(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	return !whiteSpace(first) && !whiteSpace(last)
}

func whiteSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0D, r >= 0x2000 && r <= 0x200A:
		return true
	}
	switch r {
	case 0x20, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return false
}
