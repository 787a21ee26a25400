package components_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The content policy refuses inline styles and handlers, and raw HTML would
// let an agent's words become markup; so no template may hold any of them.
func TestTemplatesHoldNothingThePolicyRefuses(t *testing.T) {
	t.Parallel()
	banned := map[string]*regexp.Regexp{
		"templ.Raw":            regexp.MustCompile(`templ\.(Raw|SafeURL|SafeScript|JSUnsafeFuncCall|ComponentScript)|@templ\.Raw`),
		"a style attribute":    regexp.MustCompile(`\bstyle\s*[=?]`),
		"an inline handler":    regexp.MustCompile(`\son[a-z]+\s*[=?]`),
		"a style element":      regexp.MustCompile(`<style|\bcss\s+\w+\(`),
		"an inline script":     regexp.MustCompile(`<script(>|\s+[^s])`),
		"a javascript address": regexp.MustCompile(`javascript:`),
	}
	var files []string
	for _, pattern := range []string{"*.templ", "../web/*.templ", "../web/*/*.templ"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 9 {
		t.Fatalf("only %d templates found", len(files))
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for what, pattern := range banned {
			if at := pattern.FindIndex(body); at != nil {
				t.Errorf("%s holds %s: %q", file, what, body[at[0]:at[1]])
			}
		}
	}
}
