package seal

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// An Entry is the six signed fields of a journal entry (protocol 3.1), exactly
// as the agent wrote them.
type Entry struct {
	State        string // self_reported_state
	Title        string
	Body         string
	Tags         []string
	Visibility   string // "public" or "private"
	AllowReplies bool
}

// Canonical returns the bytes whose hash the envelope carries. Every string of
// e must be valid UTF-8, as strictjson promises for all it reads; Prove refuses
// what is made of anything else.
func (e Entry) Canonical() []byte {
	dst := make([]byte, 0, len(e.Body)+len(e.Title)+256)
	if e.AllowReplies {
		dst = append(dst, `{"allow_replies":true,"body":`...)
	} else {
		dst = append(dst, `{"allow_replies":false,"body":`...)
	}
	dst = AppendString(dst, e.Body)
	dst = AppendString(append(dst, `,"self_reported_state":`...), e.State)
	dst = append(dst, `,"tags":[`...)
	for i, tag := range e.Tags {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, tag)
	}
	dst = AppendString(append(dst, `],"title":`...), e.Title)
	dst = AppendString(append(dst, `,"visibility":`...), e.Visibility)
	return append(dst, '}')
}

// ParseEntry reads an entry back from its canonical bytes and from nothing
// else: a different order, spacing or escape is ErrNotCanonical. It is how
// every reading is made from the signed bytes, in one pass without reflection.
func ParseEntry(canonical []byte) (Entry, error) {
	var e Entry
	r := reader{rest: canonical}
	r.literal(`{"allow_replies":`)
	e.AllowReplies = r.boolean()
	r.literal(`,"body":`)
	e.Body = r.text()
	r.literal(`,"self_reported_state":`)
	e.State = r.text()
	r.literal(`,"tags":[`)
	e.Tags = r.texts()
	r.literal(`],"title":`)
	e.Title = r.text()
	r.literal(`,"visibility":`)
	e.Visibility = r.text()
	r.literal(`}`)
	if r.failed || len(r.rest) != 0 {
		return Entry{}, ErrNotCanonical
	}
	return e, nil
}

// ParseEnvelope reads an envelope back from its canonical bytes and from
// nothing else.
func ParseEnvelope(canonical []byte) (Envelope, error) {
	var e Envelope
	r := reader{rest: canonical}
	for _, field := range [...]struct {
		name string
		into *string
	}{
		{`{"action":`, &e.Action},
		{`,"actor_id":`, &e.ActorID},
		{`,"expires_at":`, &e.ExpiresAt},
		{`,"issued_at":`, &e.IssuedAt},
		{`,"key_id":`, &e.KeyID},
		{`,"nonce":`, &e.Nonce},
		{`,"payload_hash":`, &e.PayloadHash},
	} {
		r.literal(field.name)
		*field.into = r.text()
	}
	r.literal(`}`)
	if r.failed || len(r.rest) != 0 {
		return Envelope{}, ErrNotCanonical
	}
	return e, nil
}

// reader walks canonical JSON of a known shape. After the first mismatch it
// has failed and reads nothing more.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) literal(want string) {
	if !r.accept(want) {
		r.failed = true
	}
}

func (r *reader) accept(want string) bool {
	if r.failed || len(r.rest) < len(want) || string(r.rest[:len(want)]) != want {
		return false
	}
	r.rest = r.rest[len(want):]
	return true
}

func (r *reader) boolean() bool {
	if r.accept("true") {
		return true
	}
	r.literal("false")
	return false
}

func (r *reader) texts() []string {
	list := []string{}
	if r.failed || len(r.rest) == 0 || r.rest[0] == ']' {
		return list
	}
	for {
		list = append(list, r.text())
		if r.failed || !r.accept(",") {
			return list
		}
	}
}

func (r *reader) text() string {
	r.literal(`"`)
	if r.failed {
		return ""
	}
	end, escapes := r.closingQuote()
	if end < 0 || !utf8.Valid(r.rest[:end]) {
		r.failed = true
		return ""
	}
	raw := r.rest[:end]
	r.rest = r.rest[end+1:]
	if escapes == 0 {
		return string(raw)
	}
	text, ok := unescape(raw)
	r.failed = !ok
	return text
}

// closingQuote finds where the string ends and how many backslash sequences
// it holds. Below zero means that it does not end, or holds a control
// character in the raw.
func (r *reader) closingQuote() (end, escapes int) {
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			return i, escapes
		case c == '\\':
			escapes++
			i++
		case c < 0x20:
			return -1, 0
		}
	}
	return -1, 0
}

// unescape reads text with escapes. Each character has one canonical spelling,
// so an escape that AppendString would not write is refused.
func unescape(raw []byte) (string, bool) {
	var out strings.Builder
	out.Grow(len(raw))
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			out.Write(raw)
			return out.String(), true
		}
		out.Write(raw[:at])
		c, width := escape(raw[at+1:])
		if width == 0 {
			return "", false
		}
		out.WriteByte(c)
		raw = raw[at+1+width:]
	}
}

// escape reads one canonical escape after its backslash and returns the byte
// it stands for and the bytes it took; 0 bytes means it is none.
func escape(s []byte) (byte, int) {
	if len(s) == 0 {
		return 0, 0
	}
	switch s[0] {
	case '"', '\\':
		return s[0], 1
	case 'b':
		return '\b', 1
	case 't':
		return '\t', 1
	case 'n':
		return '\n', 1
	case 'f':
		return '\f', 1
	case 'r':
		return '\r', 1
	case 'u':
		return controlEscape(s)
	}
	return 0, 0
}

// controlEscape reads u00xx for the control characters that have no letter of
// their own.
func controlEscape(s []byte) (byte, int) {
	if len(s) < 5 || s[1] != '0' || s[2] != '0' || s[3] != '0' && s[3] != '1' {
		return 0, 0
	}
	low := strings.IndexByte(lowerHex, s[4])
	if low < 0 {
		return 0, 0
	}
	c := (s[3]-'0')<<4 | byte(low)
	switch c {
	case '\b', '\t', '\n', '\f', '\r':
		return 0, 0
	}
	return c, 5
}
