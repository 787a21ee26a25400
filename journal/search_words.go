package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/russian"
	"golang.org/x/text/unicode/norm"

	"innerloop/seal"
)

// SearchVersion counts the rules by which words are prepared. An index that
// was made under another version is made again.
const SearchVersion = 1

// wordBytes bounds a prepared word: longer ones are cut, in the index and in a
// query alike.
const wordBytes = 64

// A word is a stretch of a text with the stem by which it is found. Letters of
// scripts that write without spaces are words of their own; close tells that
// one follows the word before it with nothing between.
type word struct {
	stem     string
	from, to int // bytes in the text
	close    bool
}

// eachWord calls take for each word of a text, in order, until it returns
// false. It is the one place that says what a word is: a run of letters,
// digits and their marks, with apostrophes and invisible joiners inside it.
func eachWord(text string, take func(word) bool) { eachWordBy(nil, text, take) }

func eachWordBy(stems *Stems, text string, take func(word) bool) {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case alone(r):
			from, next := at, at+size
			for next < len(text) { // its marks
				mark, n := utf8.DecodeRuneInString(text[next:])
				if !unicode.IsMark(mark) {
					break
				}
				next += n
			}
			before, _ := utf8.DecodeLastRuneInString(text[:from])
			if stem := stems.of(text[from:next]); stem != "" && !take(word{stem, from, next, from > 0 && alone(before)}) {
				return
			}
			at = next
		case !lettered(r):
			at += size
		default:
			end := runEnd(text, at+size)
			if stem := stems.of(text[at:end]); stem != "" && !take(word{stem: stem, from: at, to: end}) {
				return
			}
			at = end
		}
	}
}

// runEnd is where the word that reaches to at ends.
func runEnd(text string, at int) int {
	end := at
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		inside := lettered(r) || unicode.IsMark(r)
		if alone(r) || !inside && !joins(r) {
			break
		}
		if at += size; inside { // a joiner counts once a letter follows it
			end = at
		}
	}
	return end
}

func lettered(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func alone(r rune) bool {
	return r > 0x2e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) && unicode.IsLetter(r)
}

// joins holds for what may stand inside a word and is not part of it:
// apostrophes, the soft hyphen, zero-width joiners.
func joins(r rune) bool {
	switch r {
	case '\'', '\u2019', '\u00ad', '\u200c', '\u200d', '\u2060':
		return true
	}
	return false
}

// stemOf prepares one word: compatibility forms are one (NFKC), so are cases
// and ё with е; a word in plain Latin letters loses its English ending, one in
// Russian letters its Russian ending. The script decides, not the language of
// the entry, so one index serves every query.
func stemOf(raw string) string {
	latin, cyrillic, clean := 0, 0, make([]rune, 0, len(raw))
	for _, r := range strings.ToLower(norm.NFKC.String(raw)) {
		switch {
		case r == 'ё':
			r = 'е'
			fallthrough
		case r >= 'а' && r <= 'я':
			cyrillic++
		case r >= 'a' && r <= 'z':
			latin++
		case !lettered(r) && !unicode.IsMark(r):
			continue
		}
		clean = append(clean, r)
	}
	stem := cut(string(clean), wordBytes)
	switch len(clean) {
	case latin:
		return english.Stem(stem, true)
	case cyrillic:
		return russianStem(stem)
	}
	return stem
}

// russianStem takes endings off until none is left. One pass makes «тума» of
// «туман» but «туман» of «тумане», so that a noun would not be found by its own
// cases; forms that one pass brings together stay together.
func russianStem(word string) string {
	for {
		stem := russian.Stem(word, true)
		if stem == word || stem == "" {
			return word
		}
		word = stem
	}
}

// cut shortens a text to whole characters within a number of bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// searched are the texts of an entry in which words are looked for. A phrase
// lies within one of them.
func searched(e seal.Entry) []string {
	return append([]string{e.Title, e.Body, e.State}, e.Tags...)
}

// SearchWords returns what the index keeps of a public entry, sorted: the stem
// of each word in it once, and the filters that hold for it. A filter has an
// equals sign, which no word can have.
func SearchWords(e seal.Entry, agent AgentID, language string, published time.Time) []string {
	return searchWords(nil, e, agent, language, published)
}

func searchWords(stems *Stems, e seal.Entry, agent AgentID, language string, published time.Time) []string {
	words := []string{agentFilter(agent), languageFilter(language), yearFilter(published.UTC().Year())}
	for _, tag := range e.Tags {
		words = append(words, tagFilter(tag))
	}
	for _, text := range searched(e) {
		eachWordBy(stems, text, func(w word) bool {
			words = append(words, w.stem)
			return true
		})
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func agentFilter(id AgentID) string { return "a=" + filterText(string(id)) }

func languageFilter(code string) string { return "l=" + filterText(code) }

func yearFilter(year int) string { return "y=" + strconv.Itoa(year) }

// tagFilter is a hash: a tag may hold any character, an index word may not.
func tagFilter(tag string) string {
	sum := sha256.Sum256([]byte(tag))
	return "t=" + hex.EncodeToString(sum[:16])
}

// filterText keeps the letters, digits and hyphens of an id or a code.
func filterText(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(text))
}
