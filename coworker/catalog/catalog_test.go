package catalog

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = os.Getenv("INNERLOOP_UPDATE_GOLDEN") == "1"

// A catalog never changes, so the tests share one.
var loaded = sync.OnceValues(func() (*Catalog, error) { return Load() })

func load(t testing.TB) *Catalog {
	t.Helper()
	catalog, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// The catalog holds exactly the services it set out to hold.
func TestEveryServiceIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/ids.txt")
	if err != nil {
		t.Fatal(err)
	}
	catalog := load(t)
	wanted := strings.Fields(string(text))
	if len(wanted) != 107 {
		t.Fatalf("testdata/ids.txt has %d ids", len(wanted))
	}
	for _, id := range wanted {
		if _, ok := catalog.Service(id); !ok {
			t.Errorf("%s is missing", id)
		}
	}
	if got := catalog.IDs(); len(got) != len(wanted) || !slices.IsSorted(got) {
		t.Errorf("%d services, %d wanted", len(got), len(wanted))
	}
}

var versionLine = regexp.MustCompile(`(?m)^version: *(\S+)\n`)

// fingerprint is what the version of a file ends in: a hash of all of the
// file but its version.
func fingerprint(text []byte) string {
	sum := sha256.Sum256(versionLine.ReplaceAll(text, nil))
	return fmt.Sprintf("%x", sum[:4])
}

// A version is another one whenever the file is: it ends in a hash of the
// rest. INNERLOOP_UPDATE_GOLDEN=1 writes the hashes.
func TestVersionsChangeWithTheirFiles(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("services/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal("no service files", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		version := versionLine.FindSubmatch(text)
		if version == nil {
			t.Errorf("%s has no version line", name)
			continue
		}
		date, hash, _ := strings.Cut(string(version[1]), "+")
		if hash == fingerprint(text) {
			continue
		}
		if !update {
			t.Errorf("%s has changed and its version has not: it ends in +%s (make golden)", name, fingerprint(text))
			continue
		}
		fresh := versionLine.ReplaceAll(text, []byte("version: "+date+"+"+fingerprint(text)+"\n"))
		if err := os.WriteFile(name, fresh, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The list of everything fits its limit with every mark set, and names every
// service on a line of its own.
func TestTheListFits(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	for _, mark := range []Mark{NotConnected, Connected, Reconnect} {
		marks := map[string]Mark{}
		for _, id := range catalog.IDs() {
			marks[id] = mark
		}
		text := catalog.List(Query{Marks: marks})
		t.Logf("list with mark %d: %d bytes", mark, len(text))
		if len(text) > ListLimit {
			t.Errorf("with mark %d the list has %d bytes, at most %d are allowed", mark, len(text), ListLimit)
		}
		for _, id := range catalog.IDs() {
			if !strings.Contains(text, "\n"+id+": ") {
				t.Errorf("with mark %d the list has no line for %s", mark, id)
			}
		}
	}
}

// Every passport is one JSON object within its limit, has the parts that
// clients look for, and says when nobody has checked it.
func TestPassports(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	var sizes []int
	largest := ""
	for _, id := range catalog.IDs() {
		text, ok := catalog.Describe(id)
		if !ok {
			t.Fatalf("%s has no passport", id)
		}
		if len(text) > PassportLimit {
			t.Errorf("the passport of %s has %d bytes, at most %d are allowed", id, len(text), PassportLimit)
		}
		if len(sizes) == 0 || len(text) > slices.Max(sizes) {
			largest = id
		}
		sizes = append(sizes, len(text))
		var passport struct {
			ID, Status, Version, Warning string
			TTL                          int
			Auth                         []struct{ Fields []struct{ Name, Env string } }
			Modules                      []struct{ ID string }
			Recipes                      []struct{ Call map[string]any }
		}
		if err := json.Unmarshal(text, &passport); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if passport.ID != id || passport.TTL == 0 || passport.Version == "" || len(passport.Modules) == 0 ||
			len(passport.Auth) == 0 || passport.Auth[0].Fields[0].Name == "" || passport.Auth[0].Fields[0].Env == "" {
			t.Errorf("the passport of %s lacks a part", id)
		}
		if (passport.Status == "draft") != strings.HasPrefix(passport.Warning, "draft:") {
			t.Errorf("the passport of %s has status %s and warning %q", id, passport.Status, passport.Warning)
		}
		for _, recipe := range passport.Recipes {
			for _, key := range []string{"module", "method", "path"} {
				if _, ok := recipe.Call[key].(string); !ok {
					t.Errorf("a recipe of %s has no %s", id, key)
				}
			}
		}
	}
	slices.Sort(sizes)
	t.Logf("%d passports: median %d bytes, largest %d (%s)", len(sizes), sizes[len(sizes)/2], sizes[len(sizes)-1], largest)
}

// The schema and the types have the same names: what one admits the other reads.
func TestSchemaAndTypesAgree(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties map[string]json.RawMessage
		Defs       map[string]struct{ Properties map[string]json.RawMessage } `json:"$defs"`
	}
	if err := json.Unmarshal(schemaText, &schema); err != nil {
		t.Fatal(err)
	}
	nested := func(properties map[string]json.RawMessage, name string) map[string]json.RawMessage {
		var inner struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(properties[name], &inner); err != nil {
			t.Fatal(err)
		}
		return inner.Properties
	}
	auth, module := schema.Defs["auth"].Properties, schema.Defs["pagination"].Properties
	for _, pair := range []struct {
		kind       any
		properties map[string]json.RawMessage
	}{
		{Service{}, schema.Properties},
		{ErrorFields{}, nested(schema.Properties, "error_fields")},
		{Idempotency{}, nested(schema.Properties, "idempotency")},
		{Shape{}, nested(schema.Properties, "shape")},
		{Auth{}, auth},
		{Token{}, nested(auth, "token")},
		{AWS{}, nested(auth, "aws")},
		{Sign{}, nested(auth, "sign")},
		{Field{}, schema.Defs["field"].Properties},
		{Placement{}, schema.Defs["placement"].Properties},
		{Param{}, schema.Defs["param"].Properties},
		{Module{}, schema.Defs["module"].Properties},
		{Rate{}, schema.Defs["rate"].Properties},
		{Pagination{}, module},
		{PageRequest{}, nested(module, "request")},
		{RPC{}, schema.Defs["rpc"].Properties},
		{RPCCall{}, schema.Defs["rpc_call"].Properties},
		{Batch{}, nested(schema.Defs["rpc"].Properties, "batch")},
		{Operation{}, schema.Defs["operation"].Properties},
		{ErrorRule{}, schema.Defs["error"].Properties},
		{Recipe{}, schema.Defs["recipe"].Properties},
		{Call{}, schema.Defs["call"].Properties},
	} {
		var names, wanted []string
		kind := reflect.TypeOf(pair.kind)
		for i := range kind.NumField() {
			names = append(names, kind.Field(i).Tag.Get("yaml"))
		}
		for name := range pair.properties {
			wanted = append(wanted, name)
		}
		slices.Sort(names)
		slices.Sort(wanted)
		if !slices.Equal(names, wanted) {
			t.Errorf("%s has %v, the schema %v", kind.Name(), names, wanted)
		}
	}
}

// docs/connectors.md is written from the files. INNERLOOP_UPDATE_GOLDEN=1
// writes it again.
func TestTheTableInTheDocumentation(t *testing.T) {
	t.Parallel()
	catalog := load(t)
	const name = "../../docs/connectors.md"
	wanted := table(catalog)
	if update {
		if err := os.WriteFile(name, []byte(wanted), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != wanted {
		t.Error("docs/connectors.md is out of date (make golden)")
	}
}

func table(c *Catalog) string {
	var rows strings.Builder
	checked := 0
	for _, id := range c.IDs() {
		service, _ := c.Service(id)
		sources := make([]string, len(service.Sources))
		for i, address := range service.Sources {
			sources[i] = fmt.Sprintf("[%d](%s)", i+1, address)
		}
		if service.Status == Checked {
			checked++
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s | %s |\n", id, service.Title, service.Category, service.Status, strings.Join(sources, " "))
	}
	return fmt.Sprintf(`# Connectors

Written by `+"`make golden`"+` from the files in `+"`coworker/catalog/services`"+`; do not edit.

%d services. *checked* (%d): someone held the file against the pages named as its sources, and the passport lists what stayed unchecked. *draft* (%d): the facts are general knowledge that nobody has checked; they are shown so wherever they appear.

To write a service: copy the file of one like it, keep to [the types](../coworker/catalog/service.go) and [the schema](../coworker/catalog/service.schema.json), name as sources the pages you read, list under `+"`unchecked`"+` what they did not say, and run `+"`make golden`"+` (twice: the first run writes the version, which the second reads). `+"`go test ./coworker/catalog`"+` tells every rule that a file breaks.

| id | service | category | status | sources |
| --- | --- | --- | --- | --- |
%s`, len(c.ids), checked, len(c.ids)-checked, rows.String())
}

// subFS is a folder of the operator with the given files.
func subFS(t *testing.T, files map[string]string) fs.FS {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return os.DirFS(dir)
}
