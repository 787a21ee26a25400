package static_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"innerloop/static"
)

func asset(t *testing.T, name string) (string, string) {
	t.Helper()
	body, contentType, ok := static.File(static.URL(name))
	if !ok {
		t.Fatalf("%s is not embedded", name)
	}
	return string(body), contentType
}

func TestAssetsAreServedUnderHashedNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"innerloop.css": "text/css; charset=utf-8",
		"innerloop.js":  "text/javascript; charset=utf-8",
		"favicon.svg":   "image/svg+xml",
	} {
		if url := static.URL(name); !regexp.MustCompile(`^/static/[a-z]+\.[0-9a-f]{12}\.[a-z]+$`).MatchString(url) {
			t.Errorf("%s is served as %s", name, url)
		}
		if _, contentType := asset(t, name); contentType != want {
			t.Errorf("%s has the type %s", name, contentType)
		}
	}
	for _, path := range []string{"", "/static/", "/static/innerloop.css", "/static/../static.go", static.URL("none.css")} {
		if _, _, ok := static.File(path); ok {
			t.Errorf("%q is served", path)
		}
	}
}

// gzip stands in for Brotli, which packs tighter still.
func TestAssetsStayLight(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"innerloop.css": 8 << 10, "innerloop.js": 4 << 10} {
		body, _ := asset(t, name)
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write([]byte(body))
		_ = w.Close()
		if packed.Len() > limit {
			t.Errorf("%s packs to %d bytes of %d", name, packed.Len(), limit)
		}
	}
}

func TestAssetsAskNobodyElse(t *testing.T) {
	t.Parallel()
	css, _ := asset(t, "innerloop.css")
	js, _ := asset(t, "innerloop.js")
	css = regexp.MustCompile(`url\("[a-z-]+\.[0-9a-f]{12}\.woff2"\)`).ReplaceAllString(css, "")
	for _, banned := range []string{"url(", "@import", "http://", "https://"} {
		if strings.Contains(css, banned) {
			t.Errorf("the stylesheet holds %s", banned)
		}
	}
	for _, banned := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch(", "import(", "XMLHttpRequest", "//cdn"} {
		if strings.Contains(js, banned) {
			t.Errorf("the script holds %s, which the content policy refuses", banned)
		}
	}
}

// The budget of an English page is three files, of a Russian one all six.
func TestFacesStayLightAndAreFoundFromTheSheet(t *testing.T) {
	t.Parallel()
	css, _ := asset(t, "innerloop.css")
	found := regexp.MustCompile(`url\("([a-z-]+)(\.[0-9a-f]{12}\.woff2)"\)`).FindAllStringSubmatch(css, -1)
	if early := static.Early(static.Script{Latin: true}, static.Script{}); (len(early) > 0) != (len(found) > 0) {
		t.Fatalf("%d faces in the sheet and %q to be fetched early", len(found), early)
	}
	english, all := 0, 0
	for _, f := range found {
		body, contentType, ok := static.File(static.Prefix + f[1] + f[2])
		if !ok || contentType != "font/woff2" {
			t.Errorf("%s is served as %q", f[1], contentType)
		}
		all += len(body)
		if strings.HasSuffix(f[1], "latin") {
			english += len(body)
		}
	}
	if english > 85<<10 || all > 135<<10 {
		t.Errorf("faces weigh %d bytes in English, %d in all", english, all)
	}
	for _, licence := range []string{"OFL-literata.txt", "OFL-source-sans-3.txt"} {
		if text, _ := asset(t, licence); !strings.Contains(text, "SIL OPEN FONT LICENSE") {
			t.Errorf("%s is not the licence", licence)
		}
	}
}

// What is cut and what the sheet promises are the same characters.
func TestFacesHoldWhatTheSheetSays(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../tools/fonts/fonts.sh")
	if err != nil {
		t.Fatal(err)
	}
	rules := static.FontRules(func(file string) (string, bool) { return file, true })
	for _, name := range []string{"latin", "cyrillic"} {
		cut := regexp.MustCompile(`(?m)^` + name + `='(.*)'$`).FindSubmatch(script)
		if cut == nil || strings.Count(rules, "unicode-range:"+string(cut[1])+"}") != 3 {
			t.Errorf("%s is cut otherwise than the sheet says", name)
		}
	}
	files := regexp.MustCompile(`(?m)^cut \S+ \S+ (\S+) "\$\w+" ([0-9:]+)$`).FindAllStringSubmatch(string(script), -1)
	if n := strings.Count(rules, "@font-face"); n == 0 || len(files) != n {
		t.Errorf("%d files are cut for %d rules", len(files), n)
	}
	for _, f := range files {
		weights := "font-weight:" + strings.ReplaceAll(f[2], ":", " ") + ";"
		if !regexp.MustCompile(weights + `[^}]*url\("` + f[1] + `\.woff2"\)`).MatchString(rules) {
			t.Errorf("%s is not named with %s", f[1], weights)
		}
	}
}

// A face that came after the first paint would move lines that are being read.
func TestFacesMoveNoText(t *testing.T) {
	t.Parallel()
	rules := static.FontRules(func(file string) (string, bool) { return file, true })
	if faces := strings.Count(rules, "@font-face"); faces == 0 || strings.Count(rules, "font-display:optional;") != faces {
		t.Errorf("not all of %d faces are optional:\n%s", faces, rules)
	}
}

func TestTheSheetIsServedWithoutItsComments(t *testing.T) {
	t.Parallel()
	css, _ := asset(t, "innerloop.css")
	if strings.Contains(css, "/*") || strings.Contains(css, "\n") || strings.Contains(css, "; ") {
		t.Error("comments or white space go over the wire")
	}
	for _, rule := range []string{"}body{display:flex;", "@media (max-width:44rem){:root{--margin:0px;}", `content:" (" attr(href) ")"`} {
		if !strings.Contains(css, rule) {
			t.Errorf("%s is missing", rule)
		}
	}
	parts, err := filepath.Glob("css/*.css")
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		for _, quoted := range regexp.MustCompile(`"[^"\n]*"`).FindAll(text, -1) {
			if bytes.ContainsAny(quoted, "{};,:") {
				t.Errorf("%s: %s would be changed", part, quoted)
			}
		}
	}
}
