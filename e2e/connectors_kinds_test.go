package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/itchyny/gojq"

	"innerloop/coworker/catalog"
	"innerloop/e2e/simulator"
)

// A ledger holds which of the ways that a file of the catalog can name were
// taken by a real client at a strict service: kinds of credentials, of pages
// and of failures, with all that a rule of such a kind can say. What there can
// be is read from the catalog's own schema.
type ledger struct {
	schema map[string]any
	files  map[string]*file

	mu    sync.Mutex
	taken map[string][]string // services, by the name of a way
}

// A file of the catalog, as the program reads it and as it is written.
type file struct {
	*catalog.Service
	raw map[string]any
}

// unseen are properties that only people read, that every rule has, or that
// need not be taken.
var unseen = []string{"title", "title_ru", "note", "scopes", "id", "name", "template", "fields", "summary", "test_url", "authorize_url", "error_description", "url", "batch", "session_token"}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{files: map[string]*file{}, taken: map[string][]string{}}
	text, err := os.ReadFile(filepath.Join("..", "coworker", "catalog", "service.schema.json"))
	if err == nil {
		err = json.Unmarshal(text, &l.schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range all.IDs() {
		service, _ := all.Service(id)
		text, err := os.ReadFile(filepath.Join("..", "coworker", "catalog", "services", id+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		f := &file{Service: service, raw: map[string]any{}}
		if err := yaml.Unmarshal(text, &f.raw); err != nil {
			t.Fatal(err)
		}
		l.files[id] = f
	}
	return l
}

// node is a part of the schema, by the names on the way to it.
func (l *ledger) node(path ...string) map[string]any {
	at := l.schema
	for _, name := range path {
		at, _ = at[name].(map[string]any)
	}
	if ref, ok := at["$ref"].(string); ok {
		return l.node(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return at
}

// ways are the names of all that a value says, by the schema of its kind: each
// property that is there, each word of a list of words, each yes and no.
func (l *ledger) ways(node map[string]any, value any, at string) []string {
	if ref, ok := node["$ref"].(string); ok {
		node = l.node(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	switch v := value.(type) {
	case map[string]any:
		properties, _ := node["properties"].(map[string]any)
		var all []string
		for name, inner := range v {
			schema, known := properties[name].(map[string]any)
			if !known || slices.Contains(unseen, name) {
				continue
			}
			all = append(all, at+"."+name)
			all = append(all, l.ways(schema, inner, at+"."+name)...)
		}
		return all
	case []any:
		items, _ := node["items"].(map[string]any)
		var all []string
		for _, inner := range v {
			all = append(all, l.ways(items, inner, at)...)
		}
		return all
	case bool:
		return []string{fmt.Sprintf("%s=%t", at, v)}
	case string:
		if words, ok := node["enum"].([]any); ok && slices.Contains(words, any(v)) {
			return []string{at + "=" + v}
		}
	}
	return nil
}

func (l *ledger) auth(rule any) []string { return l.ways(l.node("$defs", "auth"), rule, "auth") }

// pages are those of a rule about pages, each beside its kind.
func (l *ledger) pages(rule any) []string {
	fields, _ := rule.(map[string]any)
	kind, _ := fields["kind"].(string)
	all := slices.DeleteFunc(l.ways(l.node("$defs", "pagination"), rule, "pages by "+kind), func(way string) bool {
		return strings.HasPrefix(way, "pages by "+kind+".kind")
	})
	if request, ok := fields["request"].(map[string]any); ok && request["in"] == nil && kind != "none" {
		all = append(all, "pages by "+kind+".request.in=query")
	}
	return append(all, "pages by "+kind)
}

// failures are those of a rule about failures: what it looks at as a whole, and
// what follows.
func (l *ledger) failures(rule any) []string {
	fields, _ := rule.(map[string]any)
	var looks, all []string
	for _, name := range []string{"status", "match", "body", "json", "equals"} {
		if fields[name] != nil {
			looks = append(looks, name)
		}
	}
	by := "failures by " + strings.Join(looks, "+")
	for _, way := range l.ways(l.node("$defs", "error"), rule, "") {
		if name := strings.TrimPrefix(way, "."); !slices.Contains(looks, name) {
			all = append(all, "failures: "+name)
		}
	}
	if again, _ := fields["retry"].(bool); again {
		by += " that may be repeated"
	}
	if gone, _ := fields["reconnect"].(bool); gone {
		by += " that end a connection"
	}
	return append(all, by)
}

// called are those of how remote methods become requests.
func (l *ledger) called(f *file) []string {
	if f.raw["rpc"] == nil {
		return nil
	}
	return l.ways(l.node("$defs", "rpc"), f.raw["rpc"], "remote")
}

func list(value any) []any {
	all, _ := value.([]any)
	return all
}

func within(value any, name string) any {
	object, _ := value.(map[string]any)
	return object[name]
}

// all are the ways of a whole file.
func (l *ledger) all(f *file) []string {
	ways := append(l.called(f), "style="+string(f.Style))
	for _, rule := range list(f.raw["auth"]) {
		ways = append(ways, l.auth(rule)...)
	}
	for _, module := range list(f.raw["modules"]) {
		for _, rule := range list(within(module, "pagination")) {
			ways = append(ways, l.pages(rule)...)
		}
	}
	for _, rule := range list(f.raw["errors"]) {
		ways = append(ways, l.failures(rule)...)
	}
	return ways
}

func (l *ledger) note(service string, ways ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, way := range ways {
		if !slices.Contains(l.taken[way], service) {
			l.taken[way] = append(l.taken[way], service)
		}
	}
}

// connected notes the credential that a service took.
func (l *ledger) connected(s simulator.Service) {
	f := l.files[s.ID]
	for i := range f.Auth {
		if f.Auth[i].ID == s.Good.Auth || s.Good.Auth == "" && i == 0 {
			l.note(s.ID, l.auth(list(f.raw["auth"])[i])...)
		}
	}
	l.note(s.ID, append(l.called(f), "style="+string(f.Style))...)
}

// answered notes the rule by which the pages of an answer followed each other,
// or that there are none.
func (l *ledger) answered(service string, call args, r reaction) {
	f := l.files[service]
	made := catalog.Call{Body: call["body"]}
	made.Module, _ = call["module"].(string)
	made.Method, _ = call["method"].(string)
	made.Path, _ = call["path"].(string)
	for i := range f.Modules {
		if f.Modules[i].ID != made.Module {
			continue
		}
		for j, rule := range f.Modules[i].Pagination {
			if !f.Fits(rule.Match, made) {
				continue
			}
			if alone := rule.Kind == catalog.NoPages; r.OK && (alone && r.Value.Page == nil || !alone && r.Value.Page != nil && r.Value.Page.Pages > 1) {
				l.note(service, l.pages(list(within(list(f.raw["modules"])[i], "pagination"))[j])...)
			}
			return
		}
	}
}

// watched notes the rule that a refusal fits.
func (l *ledger) watched(service string) func(simulator.Exchange) {
	return func(e simulator.Exchange) {
		f := l.files[service]
		text, ok := e.Reply.Body.(string)
		raw := []byte(text)
		if !ok {
			var err error
			if raw, err = json.Marshal(e.Reply.Body); err != nil {
				panic(err)
			}
		}
		var body any
		_ = json.Unmarshal(raw, &body)
		failed := e.Reply.Status < 200 || e.Reply.Status > 299
		if f.RPC != nil && !failed && f.RPC.Call.Error != "" && meant(body, f.RPC.Call.Error) != "" {
			failed = true
			l.note(service, "failures in a success, by the outcome of a remote method")
		}
		for i, rule := range f.Errors {
			if rule.Status != 0 && rule.Status != e.Reply.Status || !bytes.Contains(raw, []byte(rule.Body)) || rule.Match != "" && !f.Fits(rule.Match, f.callOf(e)) {
				continue
			}
			if rule.JSON != "" {
				if value := meant(body, rule.JSON); value == "" || rule.Equals != "" && value != rule.Equals {
					continue
				}
			} else if !failed && rule.Body == "" {
				continue
			}
			l.note(service, l.failures(list(f.raw["errors"])[i])...)
			return
		}
		if failed {
			l.note(service, "failures that no rule names")
		}
	}
}

// callOf is the call that a request was made of, for services with paths.
func (f *file) callOf(e simulator.Exchange) catalog.Call {
	for _, module := range f.Modules {
		if path, ok := strings.CutPrefix("https:/"+e.Request.URL.Path, module.BaseURL); ok {
			return catalog.Call{Module: module.ID, Method: e.Request.Method, Path: path}
		}
	}
	return catalog.Call{}
}

// meant is the text at a JSON path of the catalog; "" when nothing is there.
func meant(body any, path string) string {
	path = strings.ReplaceAll("."+strings.TrimPrefix(strings.TrimPrefix(path, "$"), "."), "'", `"`)
	query, err := gojq.Parse(path + `? | select(. != null and . != false and . != [] and . != {}) | if type == "object" or type == "array" then tojson else tostring end`)
	if err != nil {
		panic(err)
	}
	value, ok := query.Run(body).Next()
	text, _ := value.(string)
	if !ok {
		return ""
	}
	return text
}

// holds tells of every way that a checked service needs and that no real client
// took.
func (l *ledger) holds(t *testing.T) {
	t.Helper()
	needed := map[string][]string{"failures that no rule names": nil, "failures in a success, by the outcome of a remote method": nil}
	for _, id := range slices.Sorted(maps.Keys(l.files)) {
		if l.files[id].Status != catalog.Checked {
			continue
		}
		for _, way := range l.all(l.files[id]) {
			if !slices.Contains(needed[way], id) {
				needed[way] = append(needed[way], id)
			}
		}
	}
	var table strings.Builder
	for _, way := range slices.Sorted(maps.Keys(needed)) {
		if len(l.taken[way]) == 0 {
			t.Errorf("%s: no client met it at a strict service, and %s has it", way, strings.Join(needed[way], ", "))
		}
		fmt.Fprintf(&table, "%s: %s\n", way, strings.Join(slices.Sorted(slices.Values(l.taken[way])), ", "))
	}
	for _, kinds := range []struct {
		before string
		words  any
	}{
		{"auth.kind=", l.node("$defs", "auth", "properties", "kind")["enum"]},
		{"pages by ", l.node("$defs", "pagination", "properties", "kind")["enum"]},
		{"style=", l.node("properties", "style")["enum"]},
	} {
		if len(list(kinds.words)) < 5 {
			t.Errorf("the schema names %v for %s", kinds.words, kinds.before)
		}
		for _, word := range list(kinds.words) {
			if way := fmt.Sprint(kinds.before, word); needed[way] == nil {
				fmt.Fprintf(&table, "%s: no checked service has it\n", way)
			}
		}
	}
	t.Logf("what was taken, and where:\n%s", table.String())
}
