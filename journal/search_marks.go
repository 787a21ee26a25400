package journal

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Piece is a stretch of a text. Match tells that it is what was looked for.
type Piece struct {
	Text  string
	Match bool
}

// Mark cuts a text into pieces that are together the text. Words that the
// query has in a phrase alone match as that phrase.
func (t Terms) Mark(text string) []Piece {
	var pieces []Piece
	end := 0
	for _, m := range t.matches(text) {
		if m.from < end {
			continue
		}
		if m.from > end {
			pieces = append(pieces, Piece{Text: text[end:m.from]})
		}
		pieces = append(pieces, Piece{Text: text[m.from:m.to], Match: true})
		end = m.to
	}
	if end < len(text) {
		pieces = append(pieces, Piece{Text: text[end:]})
	}
	return pieces
}

// From returns the text from a little before its first match on, at the start
// of a word, and whether anything was left out. A text without a match is
// returned whole.
func (t Terms) From(text string, before int) (rest string, cut bool) {
	found := t.matches(text)
	if len(found) == 0 || utf8.RuneCountInString(text[:found[0].from]) <= before {
		return text, false
	}
	at := found[0].from
	for range before {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	if space := strings.IndexAny(text[at:found[0].from], " \n\t"); space >= 0 {
		at += space + 1
	}
	return text[at:], true
}

type match struct{ from, to int }

// matches are in order of where they begin, a longer one first.
func (t Terms) matches(text string) []match {
	var words []word
	eachWordBy(t.stems, text, func(w word) bool {
		words = append(words, w)
		return true
	})
	var found []match
	for i, w := range words {
		most := 0
		if slices.Contains(t.loose, w.stem) {
			most = 1
		}
		for _, phrase := range t.phrases {
			if len(phrase) > most && follows(words[i:], phrase) {
				most = len(phrase)
			}
		}
		if most > 0 {
			found = append(found, match{w.from, words[i+most-1].to})
		}
	}
	return found
}

func follows(words []word, phrase []string) bool {
	if len(words) < len(phrase) {
		return false
	}
	for i, stem := range phrase {
		if words[i].stem != stem {
			return false
		}
	}
	return true
}
