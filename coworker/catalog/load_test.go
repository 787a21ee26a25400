package catalog

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func goodFile(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var compiledOnce = sync.OnceValues(compileSchema)

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	compiled, err := compiledOnce()
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// Each row spoils one place of a good file; the error names the file, the
// field and the rule.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ old, fresh, want string }{
		"an unknown key":                     {"ttl: 3600", "ttl: 3600\ncolour: red", "good.yaml: additional properties 'colour' not allowed"},
		"an unknown key in a module":         {"  - id: main", "  - id: main\n    speed: 1", "good.yaml: modules.0: additional properties 'speed' not allowed"},
		"a key twice":                        {"ttl: 3600", "ttl: 3600\nttl: 60", "already defined"},
		"an anchor":                          {"ttl: 3600", "ttl: &t 3600", "anchors"},
		"two documents":                      {"id: good", "---\nid: good", "several documents"},
		"no YAML":                            {"id: good", "id: [good", "good.yaml: "},
		"another name than the file's":       {"id: good", "id: better", "good.yaml: id: must be the file's name, good"},
		"no id at all":                       {"id: good\n", "", "good.yaml: missing property 'id'"},
		"a short text that is too long":      {"short: Obeys every rule", "short: Obeys every rule of this whole catalog", "good.yaml: short: maxLength: got 38, want 32"},
		"a short text beyond ASCII":          {"short: Obeys every rule", "short: Правила", "good.yaml: short: does not match"},
		"a summary that is too long":         {"for the tests", strings.Repeat("for the tests ", 8), "good.yaml: summary: maxLength"},
		"a summary of too many bytes":        {"A service that obeys every rule, for the tests", strings.Repeat("сервис ", 9), "good.yaml: summary: has 116 bytes, at most 90"},
		"no Russian title":                   {"title_ru: Хороший сервис\n", "", "missing property 'title_ru'"},
		"a status nobody knows":              {"status: checked", "status: maybe", "good.yaml: status: value must be one of"},
		"checked without sources":            {"sources: [https://docs.example.com/api]", "sources: []", "good.yaml: sources: a checked service names the pages"},
		"checked without a test call":        {"check: {module: main, method: GET, path: /v1/me}\n", "", "good.yaml: check: a checked service has a call"},
		"checked with two recipes":           {"  - {id: list, title: List things, title_ru: Список, call: {module: main, method: GET, path: /v1/things, query: {limit: 10}}}\n", "", "good.yaml: recipes: a checked service has at least 3"},
		"a source over http":                 {"https://docs.example.com/api", "http://docs.example.com/api", "good.yaml: sources.0: does not match"},
		"a test call that writes":            {"check: {module: main, method: GET, path: /v1/me}", "check: {module: main, method: POST, path: /v1/me}", "good.yaml: check: must be of class read, it is write"},
		"a kind of auth nobody knows":        {"kind: header", "kind: magic", "good.yaml: auth.0.kind: value must be one of"},
		"a header without a name":            {"    name: Authorization\n", "", "good.yaml: auth.0: header needs name and template"},
		"basic without a colon":              {"kind: header", "kind: basic", ""},
		"a template that names nothing":      {"Token {api_key}", "Token {key}", "good.yaml: auth.0.template: {key} is no field and no param"},
		"a template with half a brace":       {"Token {api_key}", "Token {api_key}{", "has a brace that names nothing"},
		"an exchange without token":          {"kind: header", "kind: oauth2_cc", "good.yaml: auth.0.token: goes with oauth2_cc"},
		"a variable that steers programs":    {"GOOD_API_KEY", "LD_PRELOAD", "good.yaml: auth.0.fields.0.env: is a variable that steers programs"},
		"a variable of the interpreter":      {"GOOD_API_KEY", "PYTHON_PATH", "steers programs"},
		"a variable that is none":            {"GOOD_API_KEY", "good_key", "good.yaml: auth.0.fields.0.env: does not match"},
		"one variable for two":               {"kind: label,", "kind: label, env: GOOD_API_KEY,", "good.yaml: params.0.env: is already the variable of api_key"},
		"a pattern that is none":             {"secret: true,", "secret: true, pattern: '(',", "good.yaml: auth.0.fields.0.pattern: is no regular expression"},
		"a param of a bad default":           {"default: demo", "default: a.b", "good.yaml: params.0.default: shop is one lower-case label"},
		"a param from nowhere":               {"default: demo", "from: api_key", "good.yaml: params.0.from: the pattern of api_key has no group"},
		"net of a label":                     {"default: demo", "net: own", "good.yaml: params.0.net: is for kind host and url"},
		"a base address over http":           {"https://{shop}", "http://{shop}", "good.yaml: modules.0.base_url: begins with https://"},
		"a base address with a user":         {"https://{shop}.example.com", "https://me@{shop}.example.com", "is no lower-case host name"},
		"a base address with a query":        {"{shop}.example.com/api", "{shop}.example.com/api?x=1", "good.yaml: modules.0.base_url: a path holds no ?"},
		"a base address that ends in /":      {"{shop}.example.com/api", "{shop}.example.com/api/", "good.yaml: modules.0.base_url: does not end in /"},
		"a base address by number":           {"{shop}.example.com", "127.0.0.1", "is no lower-case host name"},
		"a param that decides whose host":    {"{shop}.example.com", "{shop}.com", "may not stand in the last two labels"},
		"a whole host of a label":            {"{shop}.example.com", "{shop}", "is a whole host and no param of kind host"},
		"a text inside a host":               {"kind: label, default: demo", "kind: text", "is part of a host and no param of kind label"},
		"a field inside a host":              {"{shop}.example.com", "{api_key}.example.com", "is part of a host and no param of kind label"},
		"a glob with a half **":              {"/v1/**", "/v1/a**", "good.yaml: modules.0.paths.0: ** in a path glob is a whole segment"},
		"a glob that does not begin with /":  {`"/v1/**"`, `"v1/**"`, "good.yaml: modules.0.paths.0: a path glob begins with /"},
		"a glob that climbs":                 {`"/v1/**"`, `"/v1/../**"`, "holds no . or .. segment"},
		"a path for a method nobody knows":   {`"/v1/**"`, `"FETCH /v1/**"`, "good.yaml: modules.0.paths.0: no method before the path: one of GET"},
		"a glob with a query":                {`"/v1/**"`, `"/v1/**?x"`, "good.yaml: modules.0.paths.0:"},
		"a recipe outside its allow-list":    {"path: /v1/things, query", "path: /v2/things, query", "good.yaml: recipes.0.call: path: not admitted by module main: /v1/**"},
		"a recipe of another module":         {"call: {module: main, method: POST", "call: {module: side, method: POST", "good.yaml: recipes.2.call: module: not one of main"},
		"a recipe of a method that is none":  {"method: POST, path: /v1/things", "method: FETCH, path: /v1/things", "good.yaml: recipes.2.call: method: not one of GET"},
		"a recipe twice":                     {"id: one", "id: list", "good.yaml: recipes.1.id: is there twice"},
		"a recipe that climbs":               {"path: /v1/things, query", "path: /v1/%2e%2e/things, query", "holds no empty, . or .. segment"},
		"a list in a query":                  {"limit: 10", "limit: [10]", "good.yaml: recipes.0.call.query.limit: is one text, number or boolean"},
		"no default class":                   {"  - {default: write}\n", "", "good.yaml: operations.2: the last operation, and no other, is the default"},
		"a default in the middle":            {`  - {match: "POST /v1/search", class: read}`, "  - {default: read}", "good.yaml: operations.1: the last operation"},
		"a match of no method":               {`"POST /v1/search"`, `"LOOK /v1/search"`, "good.yaml: operations.1.match: begins with an HTTP method or *"},
		"a match of a remote method":         {`"POST /v1/search"`, `"*.list"`, "this service has no rpc"},
		"a class nobody knows":               {"class: irreversible", "class: final", "good.yaml: operations.2"},
		"a cursor without a path":            {"response: $.next, ", "", "good.yaml: modules.0.pagination.0: cursor needs request.name and response"},
		"a JSON path that is none":           {"$.items", "$items", "good.yaml: modules.0.pagination.0.items: is no JSON path"},
		"stop: more without more":            {"stop: absent", "stop: more", "good.yaml: modules.0.pagination.0.more: goes with stop: more"},
		"a rate of a number only":            {"requests: 2, per: 1s, burst: 5", "requests: 2", "good.yaml: modules.0.rate: properties 'per' required"},
		"a duration that is none":            {"per: 1s", "per: soon", "good.yaml: modules.0.rate.per: does not match"},
		"an endless duration":                {"per: 1s", "per: 9999999999999999999h", "positive number"},
		"waiting for what cannot be retried": {"retry: true", "retry: false", "good.yaml: errors.0: after is for errors that can be retried"},
		"a failure of success alone":         {"errors:\n", "errors:\n  - {status: 202, retry: false}\n", "good.yaml: errors.0: a status of success alone is no failure"},
		"a rule behind a wider one":          {"errors:\n", "errors:\n  - {status: 418, retry: false}\n  - {status: 418, json: $.code, equals: tea, retry: false}\n", "good.yaml: errors.1: is never reached: errors.0"},
		"two places for idempotency":         {"header: Idempotency-Key", "header: Idempotency-Key, query: key", "good.yaml: idempotency: has exactly one"},
		"a header of the transport":          {"ttl: 3600", "ttl: 3600\nheaders: {Host: example.org}", "good.yaml: headers.Host: belongs to the transport or to auth"},
		"a header with a line break":         {"ttl: 3600", "ttl: 3600\nheaders: {Accept: \"a\\nb\"}", "line break"},
		"a host that is none":                {"ttl: 3600", "ttl: 3600\nhosts_allowed: [localhost]", "good.yaml: hosts_allowed.0:"},
		"a credential in an example":         {"name: Lamp", "name: ghp_abcdefgh12345678", "looks like a credential"},
		"rpc of a REST service":              {"ttl: 3600", "ttl: 3600\nrpc: {call: {http: POST, path: /x}}", "good.yaml: rpc: goes with style rpc"},
		"style rpc without rpc":              {"style: rest", "style: rpc", "good.yaml: rpc: goes with style rpc"},
		"a passport that is too large":       {"name: Lamp", "name: \"" + strings.Repeat("long lamp ", 900) + "\"", "good.yaml: the passport has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := goodFile(t)
			text := strings.Replace(good, row.old, row.fresh, 1)
			if text == good {
				t.Fatalf("%q is not in the good file", row.old)
			}
			_, _, err := parse(schema(t), "good.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("error is %v, wanted %q", err, row.want)
			}
			if !strings.HasPrefix(err.Error(), "good.yaml: ") {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

// A path would be another way to a remote method, past the list of methods and
// the classes of their names.
func TestPathsThatReachRemoteMethods(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		rpc, paths string
		refused    bool
	}{
		"every path":                    {`{call: {http: POST, path: "/{method}"}}`, `["/**"]`, true},
		"one name":                      {`{call: {http: POST, path: "/{method}.json"}}`, `[/v1/x, /a.delete.json]`, true},
		"another ending":                {`{call: {http: POST, path: "/{method}.json"}}`, `[/a.delete]`, false},
		"a name that is not on a list":  {`{call: {http: POST, path: "/{method}"}, methods: ["files.*"]}`, `["/files-of/**"]`, false},
		"a name with a slash":           {`{call: {http: POST, path: "/{method}"}, methods: ["files*"]}`, `["/files-of/**"]`, true},
		"the part before the dot":       {`{call: {http: POST, path: "/{service}"}, methods: ["ads.*"]}`, `[/ads]`, true},
		"no part of any name":           {`{call: {http: POST, path: "/{service}"}, methods: ["ads.*"]}`, `[/reports]`, false},
		"the one address":               {`{call: {http: POST, path: /service, envelope: {method: "{method}"}}}`, `["/s*"]`, true},
		"of an action":                  {`{call: {http: POST, path: "/{method}"}, actions: {get: {path: "/one/{service}"}}, methods: ["ads.*"]}`, `["/one/*"]`, true},
		"of a module without methods":   {`{call: {http: POST, path: "/{method}"}, modules: [other]}`, `["/**"]`, false},
		"methods of a module not there": {`{call: {http: POST, path: "/{method}"}, modules: [nobody]}`, `["/**"]`, true},
	} {
		service := &Service{Style: RPCs, RPC: &RPC{}, Modules: []Module{{ID: "main"}, {ID: "other"}}}
		if err := yaml.Unmarshal([]byte(row.rpc), service.RPC); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(row.paths), &service.Modules[0].Paths); err != nil {
			t.Fatal(err)
		}
		f := &faults{file: "good.yaml"}
		c := &checker{Service: service, faults: f, names: map[string]string{}}
		c.checkRPC()
		if err := f.err(); (err != nil) != row.refused || err != nil && !strings.HasPrefix(err.Error(), "good.yaml: modules.0.paths.") && !strings.HasPrefix(err.Error(), "good.yaml: rpc.modules.0: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A later file system replaces a service by its id and adds new ones; all
// mistakes of all files come at once.
func TestOverrides(t *testing.T) {
	t.Parallel()
	ours := goodFile(t)
	catalog, err := Load(subFS(t, map[string]string{"good.yaml": ours, "README.txt": "not a service"}),
		subFS(t, map[string]string{"good.yaml": strings.Replace(ours, "Good Service", "Better Service", 1)}))
	if err != nil {
		t.Fatal(err)
	}
	service, ok := catalog.Service("good")
	if !ok || service.Title != "Better Service" || len(catalog.IDs()) != 108 {
		t.Errorf("%d services, good is %+v", len(catalog.IDs()), service)
	}
	if text := catalog.List(Query{}); len(text) > ListLimit || !strings.Contains(text, "\ngood: Obeys every rule\n") {
		t.Errorf("the list has %d bytes, or no line for the added service", len(text))
	}
	_, err = Load(subFS(t, map[string]string{"a.yaml": "id: a", "b.yaml": strings.Repeat("#", FileLimit+1)}))
	if err == nil || !strings.Contains(err.Error(), "a.yaml: ") || !strings.Contains(err.Error(), "b.yaml: a service file has at most") {
		t.Errorf("not all mistakes are told: %v", err)
	}
}

// Whatever a file holds, reading it does not panic, and what is read obeys
// the limits and has a class for each of its calls.
func FuzzFile(f *testing.F) {
	compiled := schema(f)
	good := goodFile(f)
	f.Add(good)
	f.Add(strings.Replace(good, "/v1/**", "/**/x/**", 1))
	for _, id := range []string{"vk", "linear", "onec", "bitrix24", "s3"} {
		text, err := os.ReadFile("services/" + id + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(strings.Replace(string(text), "id: "+id, "id: good", 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		service, passport, err := parse(compiled, "good.yaml", []byte(text))
		if err != nil {
			if len(err.Error()) == 0 {
				t.Fatal("an error says nothing")
			}
			return
		}
		if len(passport) > PassportLimit || len(service.Short) > 32 || len(service.Summary) > 90 {
			t.Fatal("a limit does not hold")
		}
		for _, recipe := range service.Recipes {
			if class := service.Classify(recipe.Call); class != Read && class != Write && class != Irreversible {
				t.Fatalf("class %q", class)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(); err != nil {
			b.Fatal(err)
		}
	}
}
