package catalog

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A param is user input that ends up in an address: its spelling must not be
// able to change whose host is called, or where on it.
func TestParams(t *testing.T) {
	t.Parallel()
	label, host := Param{Name: "shop", Kind: "label"}, Param{Name: "portal", Kind: "host"}
	address, suffixed := Param{Name: "base_url", Kind: "url"}, Param{Name: "instance", Kind: "url", Suffix: ".my.salesforce.com"}
	segment, text := Param{Name: "version", Kind: "segment"}, Param{Name: "login", Kind: "text"}
	pattern := Param{Name: "login", Kind: "text", Pattern: "[a-z]+|[0-9]+"}
	for _, row := range []struct {
		param Param
		good  []string
		bad   []string
	}{
		{label, []string{"demo", "a", "a-1", "1c"}, []string{"", "a.b", "-a", "a-", "A", "a/b", "a@b", "a:1", "a b", "дом", strings.Repeat("a", 64), "a\n"}},
		{host, []string{"demo.bitrix24.ru", "a.b.co"}, []string{"", "localhost", "127.0.0.1", "[::1]", "a.b:8080", "a.b/c", "a..b", "A.b.co", "user@a.b", "2130706433", "a.b.co."}},
		{address, []string{"https://a.example", "https://a.example:8443/base", "https://192.168.0.1/ut"}, []string{
			"", "http://a.example", "https://a.example/", "https://u:p@a.example", "https://a.example?x", "https://a.example#x",
			"https://a.example/..", "https://a.example/a%2f..", "//a.example", "ftp://a.example", "https://", "https://a.example/a//b",
		}},
		{suffixed, []string{"https://x.my.salesforce.com"}, []string{"https://x.salesforce.com", "https://evil.example/.my.salesforce.com"}},
		{segment, []string{"2025-10", "v1"}, []string{"", "..", ".", "a/b", "a%2fb", `a\b`, "a?b", "a#b"}},
		{text, []string{"agency-client", "Привет"}, []string{"", "a\r\nHost: b", "a\x00", strings.Repeat("a", 301)}},
		{pattern, []string{"abc", "123"}, []string{"abc1", "1a"}},
	} {
		for _, value := range row.good {
			if err := row.param.Accepts(value); err != nil {
				t.Errorf("%s of kind %s: %q: %v", row.param.Name, row.param.Kind, value, err)
			}
		}
		for _, value := range row.bad {
			err := row.param.Accepts(value)
			if err == nil {
				t.Errorf("%s of kind %s accepts %q", row.param.Name, row.param.Kind, value)
			} else if len(value) > 4 && strings.Contains(err.Error(), value) {
				t.Errorf("the error repeats the value: %v", err)
			}
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]string{
		24 * time.Hour: "24h", 90 * time.Minute: "90m", time.Minute: "1m", 90 * time.Second: "90s", time.Second: "1s", 1500 * time.Millisecond: "1.5s", 200 * time.Millisecond: "200ms",
	} {
		if got, err := json.Marshal(Duration(length)); err != nil || string(got) != `"`+want+`"` {
			t.Errorf("%s is spelled %s, %v", length, got, err)
		}
	}
}

// No accepted path, put behind a base address, is read by another parser as
// another host or as a place outside of the base.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/a/b", "/a/%2e%2e/b", "//evil.example", "/a%5c..%5cb", "/%2525", "/Каталог(guid'1')", "/a;b=c", "/\u2025/x", "/a%E2%80%A8"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if CheckPath(path) != nil {
			return
		}
		address, err := url.Parse("https://host.example/base" + path)
		if err != nil {
			return
		}
		clean := address.JoinPath()
		if address.Host != "host.example" || address.RawQuery != "" || address.Fragment != "" || !strings.HasPrefix(clean.Path, "/base/") {
			t.Fatalf("%q becomes %s", path, address)
		}
	})
}

// A document in which nothing but a query can be found by a plain search is
// the only kind that may be a read.
func FuzzGraphQL(f *testing.F) {
	for _, seed := range []string{"{ a }", "mutation { a }", "query { a } mutation { b }", `{ a(x: "}") }`, "#\n{a}", `"""x""" {a}`, "subscription {a}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document string) {
		kind, _ := graphqlOperation(map[string]any{"query": document})
		if kind == "query" && !strings.Contains(document, `"`) && !strings.Contains(document, "#") {
			for _, start := range []string{"mutation{", "mutation {", "}mutation", "} mutation"} {
				if strings.HasPrefix(strings.TrimSpace(document), start) {
					t.Fatalf("%q counts as a query", document)
				}
			}
		}
	})
}
