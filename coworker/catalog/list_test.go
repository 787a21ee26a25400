package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	yes, no := true, false
	marks := map[string]Mark{"github": Connected, "slack": Reconnect}
	for name, row := range map[string]struct {
		query   Query
		has     []string
		hasNot  []string
		bracket bool
	}{
		"by a word of the summary":   {Query{Text: "pull requests"}, []string{"github: "}, []string{"slack: "}, false},
		"by a Russian word":          {Query{Text: "Склад"}, []string{"moysklad: "}, []string{"github: "}, false},
		"by category":                {Query{Category: "messenger"}, []string{"slack: ", "telegram_bot: "}, []string{"github: "}, false},
		"connected":                  {Query{Connected: &yes, Marks: marks}, []string{"github: Repos, issues, pull requests [", "[connected]", "[reconnect]"}, []string{"jira: "}, true},
		"not connected":              {Query{Connected: &no, Marks: marks}, []string{"jira: "}, []string{"\ngithub: ", "\nslack: "}, false},
		"only what the key may use":  {Query{Only: []string{"jira"}}, []string{"1 service. Next", "jira: "}, []string{"github: "}, false},
		"a key that may use nothing": {Query{Only: []string{}}, []string{"No service fits", "messenger"}, []string{"github: "}, false},
		"nothing fits":               {Query{Text: "no such thing"}, []string{"No service fits"}, nil, false},
		"a draft":                    {Query{Text: "gigachat"}, []string{"gigachat: Sber language models [draft]\n"}, nil, true},
	} {
		text := catalog.List(row.query)
		for _, part := range row.has {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing in\n%s", name, part, text)
			}
		}
		for _, part := range row.hasNot {
			if strings.Contains(text, part) {
				t.Errorf("%s: %q is in\n%s", name, part, text)
			}
		}
	}
}

// With more services than fit, the last line counts the rest.
func TestAListThatCannotFit(t *testing.T) {
	t.Parallel()
	files, good := fstest.MapFS{}, goodFile(t)
	for i := range 150 {
		id := fmt.Sprintf("service_with_a_long_name_%03d", i)
		text := strings.Replace(good, "id: good", "id: "+id, 1)
		files[id+".yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(text, "Obeys every rule", "Obeys every rule of the catalog", 1))}
	}
	catalog, err := read(files)
	if err != nil {
		t.Fatal(err)
	}
	text := catalog.List(Query{})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var rest int
	if _, err := fmt.Sscanf(lines[len(lines)-1], "%d more", &rest); err != nil || rest+len(lines)-3 != 150 || len(text) > ListLimit {
		t.Errorf("%d bytes, %d lines, last %q", len(text), len(lines), lines[len(lines)-1])
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	for wrong, want := range map[string]string{
		"wildberies": "wildberries", "GitHub": "github", "bitrix": "bitrix24", "metrika": "yandex_metrika", "telegram": "telegram_bot", "jirra": "jira",
	} {
		if got := catalog.Nearest(wrong, 3); !slices.Contains(got, want) || len(got) != 3 {
			t.Errorf("nearest to %s: %v", wrong, got)
		}
	}
	if got := catalog.Nearest(strings.Repeat("x", 100_000), 200); len(got) != 107 {
		t.Errorf("%d ids", len(got))
	}
	if _, ok := catalog.Describe("nothing"); ok {
		t.Error("an unknown service is described")
	}
}
