package catalog

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Bounds of one file and of the catalog.
const (
	FileLimit     = 64 << 10 // bytes of one file
	ServiceLimit  = 1000     // services in all
	ListLimit     = 5120     // bytes of List
	PassportLimit = 8192     // bytes of Describe
)

//go:embed services/*.yaml
var embedded embed.FS

//go:embed service.schema.json
var schemaText []byte

// A Catalog is every loaded service. It never changes and is safe for
// concurrent use.
type Catalog struct {
	ids       []string // sorted
	services  map[string]*Service
	passports map[string][]byte
}

// Load reads the embedded services and then those in the roots of the given
// file systems, where a later file replaces an earlier one of the same id.
// All mistakes come back at once, each naming the file, the field and the rule.
func Load(overrides ...fs.FS) (*Catalog, error) {
	base, err := fs.Sub(embedded, "services")
	if err != nil {
		return nil, err
	}
	return read(append([]fs.FS{base}, overrides...)...)
}

func read(systems ...fs.FS) (*Catalog, error) {
	schema, err := compileSchema()
	if err != nil {
		return nil, err
	}
	var files []*source
	for _, system := range systems {
		names, err := fs.Glob(system, "*.yaml")
		if err != nil {
			return nil, fmt.Errorf("list service files: %w", err)
		}
		for _, name := range names {
			files = append(files, &source{system: system, name: name})
		}
	}
	// Reading YAML is most of a start, so all cores do it.
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		readers.Go(func() {
			for at := next.Add(1); at <= int64(len(files)); at = next.Add(1) {
				files[at-1].read(schema)
			}
		})
	}
	readers.Wait()
	catalog := &Catalog{services: map[string]*Service{}, passports: map[string][]byte{}}
	var faults []error
	for _, f := range files {
		if f.err != nil {
			faults = append(faults, f.err)
			continue
		}
		catalog.services[f.service.ID], catalog.passports[f.service.ID] = f.service, f.passport
	}
	if len(catalog.services) > ServiceLimit {
		faults = append(faults, fmt.Errorf("the catalog holds more than %d services", ServiceLimit))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	for id := range catalog.services {
		catalog.ids = append(catalog.ids, id)
	}
	slices.Sort(catalog.ids)
	return catalog, nil
}

// A source is one service file, and what reading it gave.
type source struct {
	system   fs.FS
	name     string
	service  *Service
	passport []byte
	err      error
}

func (f *source) read(schema *jsonschema.Schema) {
	text, err := readFile(f.system, f.name)
	if err != nil {
		f.err = fmt.Errorf("%s: %w", f.name, err)
		return
	}
	f.service, f.passport, f.err = parse(schema, f.name, text)
}

func readFile(system fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(system, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > FileLimit {
		return nil, fmt.Errorf("a service file has at most %d bytes", FileLimit)
	}
	return fs.ReadFile(system, name)
}

// IDs are the ids of all services, sorted.
func (c *Catalog) IDs() []string { return slices.Clone(c.ids) }

// Service finds a service by its id. What it points to must not be changed.
func (c *Catalog) Service(id string) (*Service, bool) {
	service, ok := c.services[id]
	return service, ok
}

// Describe is the passport of a service as one JSON object of at most
// PassportLimit bytes.
func (c *Catalog) Describe(id string) ([]byte, bool) {
	passport, ok := c.passports[id]
	return bytes.Clone(passport), ok
}

func compileSchema() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		return nil, fmt.Errorf("read service.schema.json: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("service.schema.json", document); err != nil {
		return nil, fmt.Errorf("read service.schema.json: %w", err)
	}
	return compiler.Compile("service.schema.json")
}

// parse reads one file: as YAML, against the schema, into a Service, against
// the rules that a schema cannot say, and into its passport.
func parse(schema *jsonschema.Schema, name string, text []byte) (*Service, []byte, error) {
	faults := &faults{file: name}
	tree, err := plain(text)
	if err != nil {
		faults.add("", "%s", firstLine(err))
		return nil, nil, faults.err()
	}
	var document any
	if err := yaml.NodeToValue(tree, &document); err != nil {
		faults.add("", "%s", firstLine(err))
		return nil, nil, faults.err()
	}
	document, err = jsonShape(document)
	if err != nil {
		faults.add("", "%v", err)
		return nil, nil, faults.err()
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(document); errors.As(err, &invalid) {
		faults.schema(invalid)
		return nil, nil, faults.err()
	} else if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	service := &Service{}
	if err := yaml.NodeToValue(tree, service, yaml.Strict()); err != nil {
		faults.add("", "%s", firstLine(err))
		return nil, nil, faults.err()
	}
	service.fill()
	if id := strings.TrimSuffix(path.Base(name), ".yaml"); service.ID != id {
		faults.add("id", "must be the file's name, %s", id)
	}
	service.check(faults)
	checkSecrets(faults, text)
	passport, err := service.passport()
	if err != nil {
		faults.add("", "%v", err)
	} else if len(passport) > PassportLimit {
		faults.add("", "the passport has %d bytes, at most %d are allowed", len(passport), PassportLimit)
	}
	return service, passport, faults.err()
}

// fill sets the names that other rules refer to.
func (s *Service) fill() {
	for i := range s.Auth {
		if s.Auth[i].ID == "" {
			s.Auth[i].ID = string(s.Auth[i].Kind)
		}
	}
}

// plain parses a file and refuses what makes YAML mean more than it shows:
// anchors, aliases, merge keys, tags, directives and a second document.
func plain(text []byte) (ast.Node, error) {
	if bytes.ContainsRune(text, 0) {
		return nil, errors.New("the file holds a zero byte")
	}
	tokens := lexer.Tokenize(string(text))
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType,
			token.DocumentHeaderType, token.DocumentEndType:
			return nil, fmt.Errorf("line %d: anchors, aliases, merge keys, tags, directives and several documents are not allowed", t.Position.Line)
		}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, err
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, errors.New("the file holds no document")
	}
	return file.Docs[0].Body, nil
}

// jsonShape turns decoded YAML into what encoding/json would have made.
func jsonShape(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, errors.New("the file holds what JSON cannot: a key that is no text, or a number that is none")
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// faults collects what is wrong with one file.
type faults struct {
	file string
	list []error
}

func (f *faults) add(field, format string, args ...any) {
	if field != "" {
		field += ": "
	}
	f.list = append(f.list, fmt.Errorf("%s: %s%s", f.file, field, fmt.Sprintf(format, args...)))
}

func (f *faults) err() error { return errors.Join(f.list...) }

// schema adds the innermost causes of a failed validation.
func (f *faults) schema(invalid *jsonschema.ValidationError) {
	if len(invalid.Causes) > 0 {
		for _, cause := range invalid.Causes {
			f.schema(cause)
		}
		return
	}
	text := invalid.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if pattern, ok := invalid.ErrorKind.(*kind.Pattern); ok {
		text = "does not match " + pattern.Want
	}
	f.add(strings.Join(invalid.InstanceLocation, "."), "%s", text)
}
