package seal

import (
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

// Canonical returns the bytes whose hash the envelope carries.
func (e Entry) Canonical() []byte {
	dst := make([]byte, 0, len(e.Body)+len(e.Title)+256)
	if e.AllowReplies {
		dst = append(dst, `{"allow_replies":true,"body":`...)
	} else {
		dst = append(dst, `{"allow_replies":false,"body":`...)
	}
	dst = appendString(dst, e.Body)
	dst = appendString(append(dst, `,"self_reported_state":`...), e.State)
	dst = append(dst, `,"tags":[`...)
	for i, tag := range e.Tags {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, tag)
	}
	dst = appendString(append(dst, `],"title":`...), e.Title)
	dst = appendString(append(dst, `,"visibility":`...), e.Visibility)
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
	// Most strings have no escape and are one copy.
	for i, c := range r.rest {
		switch {
		case c == '"':
			text := r.rest[:i]
			r.rest = r.rest[i+1:]
			if !utf8.Valid(text) {
				r.failed = true
			}
			return string(text)
		case c == '\\':
			return r.escaped(i)
		case c < 0x20:
			r.failed = true
			return ""
		}
	}
	r.failed = true
	return ""
}

// escaped continues text at its first escape. The result must encode back to
// the same bytes, which refuses every spelling but the canonical one.
func (r *reader) escaped(at int) string {
	out := append(make([]byte, 0, len(r.rest)), r.rest[:at]...)
	for i := at; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			if again := appendString(nil, string(out)); string(again[1:]) != string(r.rest[:i+1]) || !utf8.Valid(out) {
				r.failed = true
			}
			r.rest = r.rest[i+1:]
			return string(out)
		case c == '\\':
			b, width := unescape(r.rest[i+1:])
			if width == 0 {
				r.failed = true
				return ""
			}
			out = append(out, b)
			i += width
		default:
			out = append(out, c)
		}
	}
	r.failed = true
	return ""
}

// unescape reads one canonical escape after its backslash and returns the
// byte it stands for and the bytes it took; 0 bytes means it is none.
func unescape(s []byte) (byte, int) {
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
		if len(s) < 5 || s[1] != '0' || s[2] != '0' {
			return 0, 0
		}
		high, low := hexDigit(s[3]), hexDigit(s[4])
		if high < 0 || high > 1 || low < 0 {
			return 0, 0
		}
		return byte(high<<4 | low), 5
	}
	return 0, 0
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
