package journal

import (
	"slices"
	"unicode/utf8"
)

// Bounds of what may be searched for.
const (
	SearchTextMax  = 200 // characters
	SearchWordsMax = 16  // words, those in phrases too
)

// Terms are what a search looks for, prepared as the index is.
type Terms struct {
	words   []string   // stems that must all occur, each once
	phrases [][]string // stems that must follow one another, two or more each
	loose   []string   // those of words that stand in no phrase
	stems   *Stems     // of the texts that are looked at; may be nil
}

// ParseTerms reads a query as Search does, whatever its bounds say.
func ParseTerms(text string) Terms {
	t, _ := parseTerms(text)
	return t
}

// parseTerms reads a query: words, and phrases between quotation marks of any
// kind, each of which ends what the one before began. One that is not closed
// holds to the end. Whatever else is neither letter nor digit only separates.
func parseTerms(text string) (t Terms, words int) {
	quoted := false
	for text != "" {
		end, size := len(text), 0
		for i, r := range text {
			if isQuote(r) {
				end, size = i, utf8.RuneLen(r)
				break
			}
		}
		words += t.add(text[:end], quoted)
		quoted, text = !quoted, text[end+size:]
	}
	return t, words
}

func isQuote(r rune) bool {
	switch r {
	case '"', '\u00ab', '\u00bb', '\u201c', '\u201d', '\u201e', '\uff02':
		return true
	}
	return false
}

// add takes the words of a part in and returns how many it has. In a quoted
// part they are one phrase; elsewhere only letters that stand close are.
func (t *Terms) add(part string, quoted bool) (words int) {
	var phrase []string
	end := func() {
		if len(phrase) > 1 {
			t.phrases = append(t.phrases, phrase)
		} else {
			t.loose = append(t.loose, phrase...)
		}
		phrase = nil
	}
	eachWord(part, func(w word) bool {
		words++
		if !quoted && !w.close {
			end()
		}
		phrase = append(phrase, w.stem)
		if !slices.Contains(t.words, w.stem) {
			t.words = append(t.words, w.stem)
		}
		return words <= SearchWordsMax
	})
	end()
	return words
}

// in tells whether every phrase stands in one of the texts. Words alone are
// the index's to find.
func (t Terms) in(texts []string) bool {
	if len(t.phrases) == 0 {
		return true
	}
	missing := slices.Clone(t.phrases)
	for _, text := range texts {
		var stems []string
		eachWordBy(t.stems, text, func(w word) bool {
			stems = append(stems, w.stem)
			return true
		})
		missing = slices.DeleteFunc(missing, func(phrase []string) bool { return contains(stems, phrase) })
		if len(missing) == 0 {
			return true
		}
	}
	return false
}

func contains(stems, phrase []string) bool {
	for at := range stems {
		if len(stems)-at < len(phrase) {
			return false
		}
		if slices.Equal(stems[at:at+len(phrase)], phrase) {
			return true
		}
	}
	return false
}
