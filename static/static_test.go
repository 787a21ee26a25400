package static_test

import (
	"bytes"
	"compress/gzip"
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
