package locale_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"innerloop/internal/locale"
)

// facts answers every name that a text may ask for with the name itself.
func facts() map[string]string {
	all := map[string]string{}
	for _, name := range []string{
		"web", "api", "gateway", "mcp", "a2a", "guide", "agent_card", "contract", "client_url", "client_sha", "hub",
		"contact", "contact_href", "pending", "messages", "challenge", "similar", "reports",
	} {
		all[name] = "<" + name + ">"
	}
	return all
}

// skeleton is what an article has beside its words: ids, kinds and numbers of
// blocks, code, and where its links lead.
func skeleton(a locale.Article) []string {
	var bones []string
	line := func(spans []locale.Span) {
		var marks []string
		for _, s := range spans {
			switch {
			case s.Href != "":
				marks = append(marks, "to "+s.Href)
			case s.Code:
				marks = append(marks, "code "+s.Text)
			}
		}
		slices.Sort(marks)
		bones = append(bones, marks...)
	}
	for _, s := range a.Sections {
		bones = append(bones, "# "+s.ID+" "+s.When)
		for _, b := range s.Blocks {
			argument, _, _ := strings.Cut(b.Argument, " | ")
			bones = append(bones, fmt.Sprintf("kind %d, %d items, %s %s", b.Kind, len(b.Items), b.Name, argument))
			for _, item := range b.Items {
				if b.Kind == locale.Code {
					bones = append(bones, item.Text[0].Text)
				}
				line(item.Term)
				line(item.Text)
			}
		}
	}
	return bones
}

// A policy that says less in one language than in the other is no policy.
func TestArticlesSayTheSameInBothLanguages(t *testing.T) {
	t.Parallel()
	english, err := locale.English.Articles(facts())
	if err != nil {
		t.Fatal(err)
	}
	russian, err := locale.Russian.Articles(facts())
	if err != nil {
		t.Fatal(err)
	}
	if len(english) != len(russian) || len(english) < 10 {
		t.Errorf("%d texts in English, %d in Russian", len(english), len(russian))
	}
	for name, a := range english {
		b := russian[name]
		one, two := skeleton(a), skeleton(b)
		for i := range max(len(one), len(two)) {
			if i >= len(one) || i >= len(two) || one[i] != two[i] {
				t.Errorf("%s differs at %d: %q and %q", name, i, one[min(i, len(one)):min(i+1, len(one))], two[min(i, len(two)):min(i+1, len(two))])
				break
			}
		}
		for _, x := range []locale.Article{a, b} {
			if x.Title == "" || len(x.Lead) == 0 || len([]rune(x.Description)) < 50 || len([]rune(x.Description)) > 180 {
				t.Errorf("%s: title %q, description of %d", name, x.Title, len([]rune(x.Description)))
			}
			var ids []string
			for _, s := range x.Sections {
				if slices.Contains(ids, s.ID) || len(s.Blocks) == 0 || s.Heading == "" {
					t.Errorf("%s: section %q is double or empty", name, s.ID)
				}
				ids = append(ids, s.ID)
			}
		}
	}
}

// The house has its way of writing: no exclamation marks, curly quotes in
// English, guillemets and ё in Russian.
func TestArticlesKeepTheVoice(t *testing.T) {
	t.Parallel()
	for _, lang := range locale.All() {
		articles, err := lang.Articles(facts())
		if err != nil {
			t.Fatal(err)
		}
		for name, a := range articles {
			text := fmt.Sprint(a.Title, a.Description, a.Lead, prose(a))
			for _, bad := range []string{"!", "“", "\"", "'", "AI magic", " - "} {
				if bad == "“" && lang == locale.English {
					continue
				}
				if i := strings.Index(text, bad); i >= 0 {
					t.Errorf("%s in %s holds %q: …%s", name, lang.Code(), bad, text[i:min(len(text), i+40)])
				}
			}
			for _, bad := range []string{" еще ", " ее ", " все, что", "Вы ", " Вас ", " Вам "} {
				if i := strings.Index(text, bad); i >= 0 && lang == locale.Russian {
					t.Errorf("%s holds %q", name, bad)
				}
			}
		}
	}
}

func prose(a locale.Article) string {
	var b strings.Builder
	for _, s := range a.Sections {
		b.WriteString(s.Heading + "\n")
		for _, block := range s.Blocks {
			if block.Kind == locale.Code {
				continue
			}
			for _, item := range block.Items {
				for _, span := range append(slices.Clone(item.Term), item.Text...) {
					if !span.Code {
						b.WriteString(span.Text)
					}
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

func TestArticlesNameOnlyKnownFacts(t *testing.T) {
	t.Parallel()
	for name := range facts() {
		some := facts()
		delete(some, name)
		if _, err := locale.English.Articles(some); err == nil {
			t.Errorf("no text asks for %s", name)
		}
	}
}
