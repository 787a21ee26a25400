package memory

import (
	"path"
	"strings"
	"testing"
)

func TestPathsAreHeldToTheirForm(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"a", "a/b.txt", ".hidden", "a..b/c", "...", "a b/ c", "цены/йод.txt", "\U0001F600", "-rf", "a/%2e%2e/b", "a?b#c", "CON", "x:y",
		strings.Repeat("a/", 31) + "b", strings.Repeat("a", 255) + "/" + strings.Repeat("b", 255),
	} {
		if p := CheckPath(good); p != nil {
			t.Errorf("%q: %s", good, p.Problem)
		}
	}
	for _, bad := range []string{
		"", ".", "..", "/", "/a", "a/", "a//b", "./a", "a/./b", "a/..", "../a", "a/../b", "a/../../b", `a\b`, `..\a`, "a\x00b", "a\nb", "a\x7f", "\xff", "a\xed\xa0\x80",
		"e\u0301", "a\u202eb", "a\u200bb", "\ufeffa", "a\u2028b", "\ufffd", "a\ufdd0", strings.Repeat("a/", 32) + "b", strings.Repeat("a", 256), strings.Repeat("aaaaaaa/", 64) + "b",
	} {
		if p := CheckPath(bad); p == nil || strings.Contains(p.Problem, bad) && len(bad) > 3 {
			t.Errorf("%q: %+v", bad, p)
		}
	}
	for _, good := range []string{"", "a", "a/", "a/b", "no", ".h", "a/."} {
		if p := checkPrefix(good); p != nil {
			t.Errorf("prefix %q: %s", good, p.Problem)
		}
	}
	for _, bad := range []string{"/", "/a", "../", "a//", "a/../", "a\x00", "\xff", strings.Repeat("a", 513)} {
		if p := checkPrefix(bad); p == nil {
			t.Errorf("prefix %q is taken", bad)
		}
	}
}

// Whatever is taken stays below its folder and is the only way to write itself.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a/b", "../x", "a/./b", "e\u0301", "a\u202eb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if CheckPath(p) != nil {
			return
		}
		joined := path.Join("/mnt/memory", p)
		if joined != "/mnt/memory/"+p || len(p) > PathMax || checkPrefix(p) != nil {
			t.Errorf("%q becomes %q", p, joined)
		}
		if end := After(p); end != "" && (end <= p || end <= p+"\U0010ffff") {
			t.Errorf("%q ends at %q", p, end)
		}
	})
}
