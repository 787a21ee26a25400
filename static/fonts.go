package static

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// The folder holds the licences of the faces. The faces are beside them where
// make fonts was run before the build; without them pages fall back to system
// faces of the same measure.
//
//go:embed fonts
var fonts embed.FS

// A face is one file and the characters for which a browser fetches it.
type face struct{ file, family, style, weight, characters string }

// The characters are those that tools/fonts/fonts.sh cuts.
const (
	latin = "U+0020-007E,U+00A0-00FF,U+0131,U+0152-0153,U+02C6,U+02DA,U+02DC,U+2000-200B,U+2010-2015,U+2018-201E,U+2020-2022," +
		"U+2026,U+202F-2030,U+2032-2033,U+2039-203A,U+2044,U+20AC,U+2122,U+2190-2193,U+2212"
	cyrillic = "U+0301,U+0400-045F,U+0490-0491,U+2116"
)

var faces = [...]face{
	{"literata-latin.woff2", "Literata", "normal", "400 600", latin},
	{"literata-cyrillic.woff2", "Literata", "normal", "400 600", cyrillic},
	{"literata-italic-latin.woff2", "Literata", "italic", "400", latin},
	{"literata-italic-cyrillic.woff2", "Literata", "italic", "400", cyrillic},
	{"source-sans-latin.woff2", "Source Sans 3", "normal", "400 600", latin},
	{"source-sans-cyrillic.woff2", "Source Sans 3", "normal", "400 600", cyrillic},
}

func fontFiles() []string {
	names, err := fs.Glob(fonts, "fonts/*")
	if err != nil {
		panic(err) // the pattern is constant and valid
	}
	return names
}

// fontRules names the faces that are there. find tells the address of a file.
func fontRules(find func(file string) (url string, ok bool)) string {
	var css strings.Builder
	for _, f := range faces {
		url, ok := find(f.file)
		if !ok {
			continue
		}
		css.WriteString(`@font-face{font-family:"` + f.family + `";font-style:` + f.style + `;font-weight:` + f.weight + `;font-display:optional;src:url("` +
			path.Base(url) + `") format("woff2");unicode-range:` + f.characters + "}\n")
	}
	return css.String()
}

// Script says in which characters something is written.
type Script struct{ Latin, Cyrillic bool }

// Of adds the characters of a text.
func (s *Script) Of(text string) {
	for _, r := range text {
		s.Latin = s.Latin || r < 0x400
		s.Cyrillic = s.Cyrillic || r >= 0x400 && r < 0x500
	}
}

// Early are the paths of the faces for upright and italic text, for a page to
// ask for at once: a face that is not there when a page first shows is not used
// on it, so that no text moves (decision 0048). Empty when the build has none.
func Early(upright, italic Script) []string {
	var paths []string
	for _, f := range faces {
		script := upright
		if f.style == "italic" {
			script = italic
		}
		wanted := script.Latin && f.characters == latin || script.Cyrillic && f.characters == cyrillic
		if url, ok := urls[f.file]; ok && wanted {
			paths = append(paths, url)
		}
	}
	return paths
}
