package catalog

import (
	"strings"
	"testing"
)

func TestPathsThatCouldLeave(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"", "v1", "//host/x", "/a//b", "/a/../b", "/a/..", "/./a", "/a/%2e%2e/b", "/a/%2E./b", "/a%2fb", "/a%5cb", `/a\b`, "/a?b", "/a#b",
		"https://host/", "/a%00b", "/a\nb", "/a%", "/a%zz", "/a/%252e%252e/b", "/a%252fb",
	} {
		if CheckPath(path) == nil {
			t.Errorf("%q is accepted", path)
		}
	}
	for _, path := range []string{"/", "/a", "/a/b/", "/a.b/c..d", "/Каталог_Товары(guid'1')", "/%D0%9A", "/a%20b", "/a:b@c", "/100%25"} {
		if err := CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		glob, path string
		fits       bool
	}{
		{"/a/*", "/a/b", true},
		{"/a/*", "/a/b/c", false},
		{"/a/*", "/a", false},
		{"/a/**", "/a/b/c", true},
		{"/a/**", "/a", true},
		{"/a/**", "/ab", false},
		{"/**/z", "/x/y/z", true},
		{"/**/z", "/z", true},
		{"/**/z", "/zz", false},
		{"/Catalog_*", "/Catalog_Товары", true},
		{"/Catalog_*(*)", "/Catalog_Товары(guid'1')", true},
		{"/a*c*e", "/abcde", true},
		{"/a*c*e", "/abcd", false},
		{"/v*/x", "/v2/x", true},
		{"/**/**/**/**/**/**/**/**/q", "/" + strings.Repeat("a/", 60), false},
	} {
		if got := matchPath(row.glob, row.path); got != row.fits {
			t.Errorf("%s on %s: %v", row.glob, row.path, got)
		}
	}
}

// A document is a read only when nothing in it writes.
func TestClassesOfGraphQL(t *testing.T) {
	t.Parallel()
	service := &Service{Style: GraphQL, Modules: []Module{{ID: "main"}}, Operations: []Operation{
		{Match: "mutation *Delete", Class: Irreversible},
		{Match: "query *", Class: Read},
		{Default: Write},
	}}
	for document, want := range map[string]Class{
		"{ viewer { id } }":                                               Read,
		"query { issues(first: 5) { nodes { id } } }":                     Read,
		"query Q($a: Int) { issues { id } }":                              Read,
		"# mutation { x }\n{ viewer { id } }":                             Read,
		`{ search(text: "mutation { a }") { id } }`:                       Read,
		"mutation { issueCreate { id } }":                                 Write,
		"query A { b } mutation B { issueCreate { c } }":                  Write,
		"mutation { issueDelete(id: 1) { ok } }":                          Irreversible,
		"mutation { x: issueDelete(id: 1) { ok } }":                       Irreversible,
		"mutation { a { b } issueDelete { ok } }":                         Irreversible,
		"mutation { ...F } fragment F on Mutation { issueDelete { ok } }": Irreversible,
		"subscription { issues { id } }":                                  Write,
		"query { a } }":                                                   Write,
		`query { a(x: "unfinished) }`:                                     Write,
		"":                                                                Write,
	} {
		call := Call{Module: "main", Method: "POST", Path: "/graphql", Body: map[string]any{"query": document}}
		if got := service.Classify(call); got != want {
			t.Errorf("%q is %s, wanted %s", document, got, want)
		}
	}
	if got := service.Classify(Call{Module: "main", Method: "POST", Path: "/graphql"}); got != Write {
		t.Errorf("a call without a document is %s", got)
	}
}

func TestRemoteMethods(t *testing.T) {
	t.Parallel()
	service := &Service{
		Style: RPCs, RPC: &RPC{Methods: []string{"crm.*"}}, Modules: []Module{{ID: "main", Paths: []string{"/batch"}}},
		Operations: []Operation{{Match: "*.list", Class: Read}, {Match: "GET *", Class: Read}, {Default: Write}},
	}
	for _, row := range []struct {
		method, path string
		admitted     bool
		class        Class
	}{
		{"crm.deal.list", "", true, Read},
		{"crm.deal.add", "", true, Write},
		{"user.get", "", false, Write},
		{"crm../x", "", false, Write},
		{"crm./../x", "", false, Write},
		{"crm.a?b", "", false, Write},
		{"GET", "/batch", true, Read},
		{"GET", "/other", false, Read},
	} {
		call := Call{Module: "main", Method: row.method, Path: row.path}
		if err := service.Admits(call); (err == nil) != row.admitted {
			t.Errorf("%s %s: %v", row.method, row.path, err)
		}
		if got := service.Classify(call); got != row.class {
			t.Errorf("%s %s is %s", row.method, row.path, got)
		}
	}
}
