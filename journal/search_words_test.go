package journal

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"innerloop/seal"
)

func stems(text string) (list []string) {
	eachWord(text, func(w word) bool {
		list = append(list, w.stem)
		return true
	})
	return list
}

func TestWordsOfAText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                               nil,
		" — … !":                         nil,
		"Running, runs; RUN":             {"run", "run", "run"},
		"don't won’t":                    {"dont", "wont"},
		"'quoted'":                       {"quot"},
		"ёж Ежи е\u0308ж":                {"еж", "еж", "еж"},
		"туман тумане туманом":           {"тум", "тум", "тум"},
		"so\u00adft hy\u200dphen":        {"soft", "hyphen"},
		"v2.4.1 23:15":                   {"v2", "4", "1", "23", "15"},
		"東京の夜 Tokyo":                     {"東", "京", "の", "夜", "tokyo"},
		"ﬁrst Ｆｕｌｌ x²":                   {"first", "full", "x"},
		"under_score and-hyphen":         {"under", "score", "and", "hyphen"},
		"Zürich café":                    {"zürich", "café"},
		"zu\u0308rich cafe\u0301":        {"zürich", "café"},
		"\xff\xfebroken":                 {"broken"},
		strings.Repeat("щ", 50):          {strings.Repeat("щ", 32)},
		"\u202ereversed\u202c \u200bgap": {"revers", "gap"},
	} {
		if got := stems(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTermsOfAQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		terms string
		words int
	}{
		`fox`:                     {"fox|", 1},
		`quick "brown fox" quick`: {"quick brown fox|brown fox|", 4},
		`"one" two`:               {"one two|", 2},
		`"brown fox`:              {"brown fox|brown fox|", 2},
		`«бурые лисы»`:            {"бур лис|бур лис|", 2},
		`„a b“ c "d e"`:           {"a b c d e|a b|d e|", 5},
		`"" " " "!"`:              {"|", 0},
		`東京 夜`:                    {"東 京 夜|東 京|", 3},
		`a:b AND (c OR d*) -e ^f`: {"a b and c or d e f|", 8},
	} {
		terms, words := parseTerms(query)
		if terms.String() != want.terms || words != want.words {
			t.Errorf("%s: %q and %d words, want %q and %d", query, terms, words, want.terms, want.words)
		}
	}
}

func TestMarksAreTheMatchesAndTheTextStaysWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, text, want string }{
		{"fox", "A fox, two foxes; no firefox.", "A [fox], two [foxes]; no firefox."},
		{`"brown fox"`, "fox brown fox brown, foxes; brown", "fox [brown fox] [brown, foxes]; brown"},
		{`brown "brown fox"`, "brown fox brown", "[brown fox] [brown]"},
		{"рассвет", "Рассветы — о рассвете.", "[Рассветы] — о [рассвете]."},
		{"еж", "Ёж", "[Ёж]"},
		{"b script", "<b>&lt;script", "<[b]>&lt;[script]"},
		{"nothing", "here", "here"},
		{"x", "", ""},
	} {
		terms, _ := parseTerms(c.query)
		got, whole := "", ""
		for _, p := range terms.Mark(c.text) {
			whole += p.Text
			if p.Match {
				got += "[" + p.Text + "]"
			} else {
				got += p.Text
			}
		}
		if got != c.want || whole != c.text {
			t.Errorf("%s in %q: %q", c.query, c.text, got)
		}
	}
	terms, _ := parseTerms("needle")
	if rest, cut := terms.From(strings.Repeat("hay ", 100)+"needle and more", 20); rest != "hay hay hay hay needle and more" || !cut {
		t.Errorf("%q, %t", rest, cut)
	}
	if rest, cut := terms.From("a needle", 20); rest != "a needle" || cut {
		t.Errorf("%q, %t", rest, cut)
	}
}

// Whatever a text or a query holds: a word has only characters that both
// indexes take as they are, and a text is found by its own words.
func FuzzSearchWords(f *testing.F) {
	for _, seed := range []string{
		"", `quick "brown fox" don't`, "«Рассвет» ёжиков", "東京タワー", "a\x00b' OR 1=1 --", `"'\:&|!()<>*`, "\xff\u0301\u200d'", "İstanbul ǅ ﷺ ½",
		"o'o'o''", strings.Repeat("ё", 100), strings.Repeat("a ", 40), "\u202e\U0001f914\u0300", "YYY yyy sYs", "ингами ившись",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		eachWord(text, func(w word) bool {
			if w.from < end || w.to <= w.from || w.to > len(text) {
				t.Fatalf("a word from %d to %d after %d of %d", w.from, w.to, end, len(text))
			}
			end = w.to
			return true
		})
		words := SearchWords(seal.Entry{Body: text}, "agent_1", "en", time.Unix(0, 0))
		for _, w := range words {
			if w == "" || len(w) > wordBytes || !utf8.ValidString(w) || strings.ContainsAny(w, " \t\r\n'\"\\:&|!()<>*^+{}ABCDEFGHIJKLMNOPQRSTUVWXYZ\x00") {
				t.Fatalf("%q is no word", w)
			}
		}
		terms, n := parseTerms(text)
		whole := ""
		for _, p := range terms.Mark(text) {
			whole += p.Text
		}
		if whole != text {
			t.Fatalf("marks made %q of %q", whole, text)
		}
		terms.From(text, 20)
		if n > SearchWordsMax+1 && strings.IndexFunc(text, isQuote) < 0 {
			t.Fatalf("%d words were read", n)
		}
		for _, w := range terms.words {
			if _, found := slices.BinarySearch(words, w); !found {
				t.Fatalf("%q is not found by %q", text, w)
			}
		}
		if phrase, _ := parseTerms(`"` + strings.Join(strings.FieldsFunc(text, isQuote), " ") + `"`); len(phrase.words) > 0 && n <= SearchWordsMax && !phrase.in([]string{text}) {
			t.Fatalf("%q does not hold its own phrase %q", text, phrase)
		}
	})
}

// Remembered stems are those that a word has without a memory, also after
// the memory was full.
func TestStemsAreRememberedAsTheyAre(t *testing.T) {
	t.Parallel()
	var memory Stems
	for n := range stemsKept + 10 {
		memory.of("filler" + strconv.Itoa(n))
	}
	if kept := len(memory.known); kept > stemsKept {
		t.Errorf("%d stems are kept, at most %d may be", kept, stemsKept)
	}
	entry := seal.Entry{Title: "Running foxes", Body: "туман тумане RUNNING running 東京 " + strings.Repeat("щ", 50), Tags: []string{"dawn"}}
	want := SearchWords(entry, "agent_1", "en", time.Unix(0, 0))
	for range 2 {
		if got := memory.SearchWords(entry, "agent_1", "en", time.Unix(0, 0)); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
