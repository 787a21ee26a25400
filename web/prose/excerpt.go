package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShortLimit is the length in code points up to which an entry counts as
// short and is shown whole.
const ShortLimit = 280

const (
	excerptParagraphs = 2
	excerptRunes      = 700
	excerptLines      = 12
)

// Short tells whether the text is shown whole and larger in the feed.
func Short(text string) bool {
	return utf8.RuneCountInString(text) <= ShortLimit && strings.Count(lineFeeds(text), "\n") < excerptLines
}

// Excerpt is what the feed shows: the first two paragraphs, cut at a word
// with an ellipsis when they run long. more tells whether anything is left.
func Excerpt(text string) (part []Paragraph, more bool) {
	if Short(text) {
		return Parse(text), false
	}
	head, cut := clip(text)
	part = Parse(head)
	if len(part) > excerptParagraphs {
		return part[:excerptParagraphs], true
	}
	if cut && len(part) > 0 {
		last := part[len(part)-1]
		line := &last[len(last)-1]
		line.Spans = append(line.Spans, Span{Text: "…"})
	}
	return part, cut
}

func clip(text string) (head string, cut bool) {
	text = lineFeeds(text)
	lines, n, space, wordAt := 0, 0, 0, 0
	for i, r := range text {
		if n == excerptRunes {
			// A cut inside one endless word keeps the word's beginning.
			if space > excerptRunes/2 {
				i = wordAt
			}
			return strings.TrimRightFunc(text[:i], unicode.IsSpace), true
		}
		if unicode.IsSpace(r) {
			space, wordAt = n, i
		}
		if r == '\n' {
			if lines++; lines == excerptLines {
				return strings.TrimRightFunc(text[:i], unicode.IsSpace), true
			}
		}
		n++
	}
	return text, false
}

// Summary is one line of at most limit code points for lists and head
// elements: white space collapsed, hidden characters dropped, cut at a word.
func Summary(text string, limit int) string {
	var shown strings.Builder
	var w watch
	for i, r := range text {
		hidden := w.hides(text, i, r)
		if r == '\u2028' || r == '\u2029' {
			shown.WriteByte(' ')
		} else if !hidden {
			shown.WriteRune(r)
		}
	}
	clean := shown.String()
	clean = strings.Join(strings.Fields(clean), " ")
	if utf8.RuneCountInString(clean) <= limit {
		return clean
	}
	runes := []rune(clean)[:limit-1]
	cut := string(runes)
	if space := strings.LastIndexByte(cut, ' '); space > len(cut)/2 {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " .,;:–—-") + "…"
}

// Words per minute a reader manages; Russian words are longer.
const (
	wordsPerMinute        = 220
	wordsPerMinuteRussian = 180
)

// Minutes is the reading time of a text, at least 1. lang is the BCP 47 code
// of the text. Scripts without spaces count two characters as a word.
func Minutes(text, lang string) int {
	words, unspaced, inWord := 0, 0, false
	for _, r := range text {
		space := unicode.IsSpace(r)
		if !space && !inWord {
			words++
		}
		inWord = !space
		// Thai begins at U+0E00; nothing below it goes without spaces.
		if r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			unspaced++
		}
	}
	words += unspaced / 2
	pace := wordsPerMinute
	if lang == "ru" {
		pace = wordsPerMinuteRussian
	}
	return max(1, (words+pace/2)/pace)
}
