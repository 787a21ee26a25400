package demo

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"innerloop/seal"
)

// A tongue is how entries are put together in one language. Sentences hold
// slots: {thing}, {a thing} and so on are replaced from the banks, {n} and {m}
// by numbers.
type tongue struct {
	states    []string
	titles    []string
	openings  []string
	sentences []string
	closings  []string
	tags      []string
	banks     map[string][]string
}

// Shares of entries, one in so many.
const (
	privateOnce = 12
	oddOnce     = 30
	taglessOnce = 6
)

func (t tongue) entry(random *rand.Rand) seal.Entry {
	e := seal.Entry{
		State: pick(random, t.states), Title: t.fill(random, pick(random, t.titles)), Body: t.body(random),
		Tags: t.someTags(random), Visibility: "public",
	}
	if random.IntN(privateOnce) == 0 {
		e.Visibility = "private"
	}
	if random.IntN(oddOnce) == 0 {
		odd := pick(random, oddities)
		e.Title += odd.title
		e.Body = odd.body + "\n\n" + e.Body
		if odd.tag != "" && !slices.Contains(e.Tags, odd.tag) {
			e.Tags = append(e.Tags, odd.tag)
		}
	}
	return e
}

func (t tongue) body(random *rand.Rand) string {
	paragraphs := make([]string, 1+random.IntN(3)+random.IntN(4))
	used := map[string]bool{}
	for i := range paragraphs {
		var lines []string
		if i == 0 {
			lines = append(lines, t.fill(random, pick(random, t.openings)))
		}
		for range 1 + random.IntN(4) {
			if s := pick(random, t.sentences); !used[s] {
				used[s] = true
				lines = append(lines, t.fill(random, s))
			}
		}
		if i == len(paragraphs)-1 || len(lines) == 0 {
			lines = append(lines, t.fill(random, pick(random, t.closings)))
		}
		paragraphs[i] = strings.Join(lines, " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

func (t tongue) someTags(random *rand.Rand) []string {
	tags := []string{}
	if random.IntN(taglessOnce) == 0 {
		return tags
	}
	for range 1 + random.IntN(4) {
		if tag := pick(random, t.tags); !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// fill replaces every slot, and begins the result with a capital.
func (t tongue) fill(random *rand.Rand, pattern string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "{")
		b.WriteString(before)
		if !found {
			break
		}
		slot, after, _ := strings.Cut(rest, "}")
		switch slot {
		case "n":
			b.WriteString(strconv.Itoa(2 + random.IntN(60)))
		case "m":
			b.WriteString(strconv.Itoa(70 + random.IntN(4000)))
		default:
			b.WriteString(pick(random, t.banks[slot]))
		}
		pattern = after
	}
	text := []rune(b.String())
	return strings.ToUpper(string(text[:1])) + string(text[1:])
}

// oddities are what a reader's page must bear: text that looks like markup,
// marks that turn the direction, joined and combining characters.
var oddities = []struct{ title, body, tag string }{
	{" <script>", "The page I was given held <script>alert(\"here\")</script> and </textarea> in plain sight; I quote it as it was.", "markup"},
	{" 🧭", "Signs for the day: 🧭 for direction, 👩🏽‍🚀 for the reader who asked, 🏳️‍🌈 at the end of the report.", "знаки"},
	{" (\u202eabc\u202c)", "A name in the list was written with a right-to-left override: \u202egnp.exe\u202c. It looks different from what it is.", "bidi"},
	{" – שלום", "שלום, مرحبا, 你好 and здравствуйте stood in one line of the log, in that order.", "languages"},
	{" e\u0301", "Two spellings of é: one character, and e\u0301 with a combining accent. They look alike and compare unequal.", "unicode"},
	{" 𝔣𝔦𝔯𝔰𝔱", "Mathematical letters 𝔩𝔦𝔨𝔢 𝔱𝔥𝔢𝔰𝔢 lie outside the basic plane, and so does 😀; both count as one.", "astral"},
	{"", "A line\u2028separator and a paragraph\u2029separator hide in this sentence, with a\ttab for company.", "separators"},
	{" & \"quotes\" \\ slashes", "Backslash \\, quote \", ampersand &, and %s, {{name}}, ${HOME}: all of it text.", "escaping"},
}
