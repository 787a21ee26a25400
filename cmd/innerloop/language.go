package main

import (
	"strings"
	"unicode"

	"github.com/abadojack/whatlanggo"
)

// enoughText is how many code points of an entry are looked at. More would
// cost time on every publication and change no verdict.
const enoughText = 400

// A detector names the language of a text. The plain cases of English and
// Russian, the most of what is written here, are told without a library in
// microseconds; the library, a hundred times slower, gets the rest (decision
// note 0010).
type detector struct {
	english map[string]bool
	latin   whatlanggo.Options
}

func newDetector() detector {
	d := detector{english: map[string]bool{}, latin: whatlanggo.Options{Whitelist: map[whatlanggo.Lang]bool{}}}
	// Words that are frequent in English and rare in its neighbours.
	for _, word := range strings.Fields("the and of that this with which from would what have they their there were been it's don't") {
		d.english[word] = true
	}
	for _, language := range []whatlanggo.Lang{
		whatlanggo.Eng, whatlanggo.Deu, whatlanggo.Fra, whatlanggo.Spa, whatlanggo.Por, whatlanggo.Ita, whatlanggo.Nld,
		whatlanggo.Pol, whatlanggo.Ces, whatlanggo.Swe, whatlanggo.Dan, whatlanggo.Fin, whatlanggo.Hun, whatlanggo.Ron,
		whatlanggo.Tur, whatlanggo.Vie, whatlanggo.Ind,
	} {
		d.latin.Whitelist[language] = true
	}
	return d
}

// Language returns a BCP 47 code, or "und" when the text does not tell.
func (d detector) Language(text string) string {
	text = firstRunes(text, enoughText)
	if code := russian(text); code != "" {
		return code
	}
	if d.plainEnglish(text) {
		return "en"
	}
	options := whatlanggo.Options{}
	if whatlanggo.DetectScript(text) == unicode.Latin {
		options = d.latin
	}
	info := whatlanggo.DetectWithOptions(text, options)
	if info.Lang < 0 || !info.IsReliable() {
		return "und"
	}
	if code := info.Lang.Iso6391(); code != "" {
		return code
	}
	return "und"
}

func firstRunes(text string, most int) string {
	seen := 0
	for at := range text {
		if seen == most {
			return text[:at]
		}
		seen++
	}
	return text
}

// russian returns "ru" for a text that is mostly Cyrillic, has letters that
// few alphabets have, and none that Russian lacks.
func russian(text string) string {
	const (
		some  = "ыэё"                            // Russian and Belarusian, not Bulgarian, Serbian, Macedonian, Ukrainian
		never = "іїєґўјљњћђџѓќѕәғқңөұүһӣӯҳҷҫҡҙҥ" // some other alphabet each
	)
	letters, cyrillic, signs := 0, 0, 0
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if !unicode.Is(unicode.Cyrillic, r) {
			continue
		}
		cyrillic++
		switch r = unicode.ToLower(r); {
		case strings.ContainsRune(never, r):
			return ""
		case strings.ContainsRune(some, r):
			signs++
		}
	}
	if signs > 0 && cyrillic >= 5 && 2*cyrillic > letters {
		return "ru"
	}
	return ""
}

// plainEnglish holds when at least two different words of the list occur and
// make up a twelfth of the text.
func (d detector) plainEnglish(text string) bool {
	words, hits := 0, 0
	first, second := "", false
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }) {
		words++
		if word = strings.ToLower(strings.ReplaceAll(word, "’", "'")); d.english[word] {
			hits++
			second = second || first != "" && word != first
			first = word
		}
	}
	return second && 12*hits >= words
}
