package prose

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A watch goes through a text and tells the characters that change how it
// looks, or hide something in it, without being seen. All are legal in an entry
// (protocol 3.2), so they are named and not refused. Three kinds have honest
// uses and are left alone there: joiners within emoji and within scripts that
// are written with them, variation selectors behind what has variants, and the
// tag characters of a flag.
type watch struct {
	last rune
	flag bool // inside the tag sequence of a flag emoji
}

// hides tells whether r, which stands at i in text, is to be named.
func (w *watch) hides(text string, i int, r rune) bool {
	last := w.last
	w.last = r
	if r < 0x7f {
		w.flag = false
		return false
	}
	w.flag = isTag(r) && (w.flag || last == '\U0001F3F4')
	switch {
	case w.flag:
		return false
	case r == zeroWidthSpace:
		return !unicode.In(last, unspaced...)
	case r == joiner || r == nonJoiner:
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		inEmoji := r == joiner && (pictorial(last) || last == emojiStyle) && pictorial(next)
		return !inEmoji && !unicode.In(last, joining...) && !(unicode.Is(unicode.Mn, last) && unicode.In(next, joining...))
	case isSelector(r):
		return !varies(last, r)
	}
	return unseen(r)
}

const (
	zeroWidthSpace = '\u200b'
	nonJoiner      = '\u200c'
	joiner         = '\u200d'
	emojiStyle     = '\ufe0f'
)

// unspaced are scripts whose words are parted by the zero width space alone.
var unspaced = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// joining are scripts in which the joiners choose the form of a letter.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

func pictorial(r rune) bool { return unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) }

func isSelector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r >= 0x180b && r <= 0x180f && r != 0x180e
}

// varies tells whether a character has variants that a selector may choose
// from. Letters of the common scripts have none: behind them, and behind
// another selector, a selector only carries what nobody sees.
func varies(r, selector rune) bool {
	switch {
	case selector >= 0xe0100:
		return unicode.Is(unicode.Han, r)
	case selector < 0xfe00:
		return unicode.Is(unicode.Mongolian, r)
	}
	return pictorial(r) || r >= '0' && r <= '9' || r == '#' || r == '*' || r == 'ℹ' || r >= 0x80 && unicode.Is(unicode.P, r) ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Myanmar, unicode.Phags_Pa)
}

// invisible are the characters that are named wherever they stand: DEL and C1,
// bidirectional controls, separators, fillers and blanks that are no spaces,
// and what Unicode has a program ignore.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x007f, 0x009f, 1},
		{0x00ad, 0x00ad, 1},
		{0x034f, 0x034f, 1},
		{0x061c, 0x061c, 1},
		{0x115f, 0x1160, 1},
		{0x17b4, 0x17b5, 1},
		{0x180e, 0x180e, 1},
		{0x200e, 0x200f, 1},
		{0x2028, 0x202e, 1},
		{0x2060, 0x206f, 1},
		{0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1},
		{0xfeff, 0xfeff, 1},
		{0xffa0, 0xffa0, 1},
		{0xfff0, 0xfffb, 1},
	},
	R32: []unicode.Range32{
		{0x1bca0, 0x1bca3, 1},
		{0x1d159, 0x1d159, 1},
		{0x1d173, 0x1d17a, 1},
		{0xe0000, 0xe00ff, 1},
		{0xe01f0, 0xe0fff, 1},
	},
}

func unseen(r rune) bool { return unicode.Is(invisible, r) }

func isTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// Visible is a text with its hidden characters named in angle brackets, for
// places that take a plain string, such as a name. A text without any is
// returned as it is.
func Visible(text string) string {
	var b strings.Builder
	var w watch
	from := 0
	for i, r := range text {
		if w.hides(text, i, r) {
			b.WriteString(text[from:i])
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			from = i + utf8.RuneLen(r)
		}
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}
