// Package innerloop_test holds the house rules: who may import whom. It reads
// import blocks only, takes milliseconds, and checks itself on invented files.
package innerloop_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "innerloop"

// A room is one row of docs/house.md section 3: which other rooms and which
// leaves of internal its shipped code may import.
type room struct {
	rooms  []string
	leaves []string
}

var rooms = map[string]room{
	"seal":       {},
	"static":     {},
	"journal":    {rooms: []string{"seal"}, leaves: []string{"archive", "keyring", "limit", "strictjson"}},
	"coworker":   {leaves: []string{"egress", "keyring", "limit", "strictjson"}},
	cellRoom:     {},
	"models":     {rooms: []string{"journal", "coworker", "seal"}},
	"components": {rooms: []string{"static"}, leaves: []string{"locale"}},
	"web":        {rooms: []string{"components", "static", "journal"}, leaves: []string{"locale"}},
	"handlers": {
		rooms:  []string{"web", "static", "coworker", "journal", "seal"},
		leaves: []string{"discovery", "limit", "locale", "strictjson", "telemetry"},
	},
	"mcp": {
		rooms:  []string{"static", "coworker", "journal", "seal"},
		leaves: []string{"discovery", "limit", "locale", "strictjson", "telemetry"},
	},
	"mcp/bridge":          {leaves: []string{"client", "strictjson"}},
	"internal/archive":    {rooms: []string{"seal"}, leaves: []string{"strictjson"}},
	"internal/strictjson": {},
	"internal/keyring":    {},
	"internal/egress":     {},
	"internal/limit":      {},
	"internal/locale":     {},
	"internal/telemetry":  {},
	"internal/discovery":  {rooms: []string{"static", "seal"}},
	"internal/client":     {rooms: []string{"seal"}, leaves: []string{"archive", "locale", "strictjson"}},
}

// everywhere marks the rooms that wire or test and may import any room of
// ours except cmd.
var everywhere = []string{"cmd", "e2e"}

// owners is the table's last column: what only these rooms may import in
// shipped code. Tests and e2e are free to use any of it.
var owners = map[string][]string{
	"crypto/ed25519":              {"seal", "internal/client", "cmd"}, // the last two hold agents' private keys; checks are seal's
	"database/sql":                {"models"},
	"encoding/xml":                {"web"},
	"os/exec":                     {"coworker"},
	"github.com/a-h/templ":        {"web", "components"},
	"github.com/glebarez":         {"models"},
	"github.com/gofiber/fiber":    {"handlers"},
	"github.com/jackc/pgx":        {"models"},
	"github.com/mark3labs/mcp-go": {"mcp"},
	"github.com/pressly/goose":    {"models"},
	"github.com/prometheus":       {"internal/telemetry"},
	"github.com/spf13/cobra":      {"cmd"},
	"github.com/valyala/fasthttp": {"handlers"},
	"go.opentelemetry.io":         {"internal/telemetry"},
	"gorm.io":                     {"models"},
	"modernc.org/sqlite":          {"models"},
}

// standardOnly names the rooms that use nothing but the standard library.
var standardOnly = []string{"seal", "static", cellRoom}

// callers may open outgoing HTTP connections; elsewhere net/http is for its
// names and header type only.
var callers = []string{"internal/egress", "internal/client", "e2e"}

// composers may put a request together; who sends it is handed in.
var composers = []string{"coworker"}

var outgoing = []string{
	"Client", "DefaultClient", "DefaultTransport", "Get", "Head", "NewRequest",
	"NewRequestWithContext", "Post", "PostForm", "Transport",
}

func TestHouse(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && foreign(name):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := os.ReadFile(name)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range inspect(files) {
		t.Error(fault)
	}
}

// foreign tells the folders that hold no code of this module.
func foreign(dir string) bool {
	base := filepath.Base(dir)
	return dir != "." && (strings.HasPrefix(base, ".") || base == "node_modules" ||
		base == "testdata" || base == "vendor" || dir == "tools" || dir == "dist" || dir == "bin" || dir == "data")
}

// inspect reads each file's imports and returns one sentence a fault.
func inspect(files map[string]string) []string {
	var faults []string
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, files[name], parser.SkipObjectResolution)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		for _, spec := range file.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			if fault := judge(name, target); fault != "" {
				faults = append(faults, fmt.Sprintf("%s: %s", set.Position(spec.Pos()), fault))
			}
		}
		if roomName := roomOf(path.Dir(name)); !neverShips(name) && !within(roomName, callers) {
			for _, call := range outgoingHTTP(file) {
				if within(roomName, composers) && strings.HasPrefix(call.Sel.Name, "NewRequest") {
					continue
				}
				faults = append(faults, fmt.Sprintf("%s: %s uses http.%s; outgoing HTTP belongs to %s",
					set.Position(call.Pos()), roomName, call.Sel.Name, strings.Join(callers[:2], " and ")))
			}
		}
	}
	return faults
}

// judge returns what is wrong with one import, or nothing.
func judge(file, target string) string {
	from, inTest := roomOf(path.Dir(file)), neverShips(file)
	if target != module && !strings.HasPrefix(target, module+"/") {
		return judgeOutside(from, target, inTest)
	}
	ours := strings.TrimPrefix(strings.TrimPrefix(target, module), "/")
	to := roomOf(ours)
	if to == "cmd" && from != "cmd" {
		return fmt.Sprintf("%s imports %s; nothing may import cmd", from, ours)
	}
	if inTest || from == to && from != "" || within(from, everywhere) {
		return ""
	}
	if testKit(ours) {
		return fmt.Sprintf("%s imports %s; only tests may import a test kit", from, ours)
	}
	rule, known := rooms[from]
	if !known {
		return fmt.Sprintf("%s imports %s; docs/house.md section 3 has no row for %s", from, ours, from)
	}
	leaf, isLeaf := strings.CutPrefix(to, "internal/")
	if isLeaf && slices.Contains(rule.leaves, leaf) || !isLeaf && slices.Contains(rule.rooms, to) {
		return ""
	}
	return fmt.Sprintf("%s imports %s; it may import only %s", from, ours, rule)
}

func judgeOutside(from, target string, inTest bool) string {
	if inTest {
		return ""
	}
	if slices.Contains(standardOnly, from) && strings.Contains(strings.Split(target, "/")[0], ".") {
		return fmt.Sprintf("%s imports %s; it may import only the standard library", from, target)
	}
	if from == "e2e" { // drives and measures the program with whatever fits
		return ""
	}
	for prefix, allowed := range owners {
		if (target == prefix || strings.HasPrefix(target, prefix+"/")) && !within(from, allowed) {
			return fmt.Sprintf("%s imports %s; only %s may", from, target, strings.Join(allowed, " and "))
		}
	}
	return ""
}

func (r room) String() string {
	switch {
	case len(r.rooms) == 0 && len(r.leaves) == 0:
		return "nothing of ours"
	case len(r.leaves) == 0:
		return strings.Join(r.rooms, ", ")
	}
	leaves := "internal " + strings.Join(r.leaves, ", internal ")
	if len(r.rooms) == 0 {
		return leaves
	}
	return strings.Join(r.rooms, ", ") + " and " + leaves
}

// roomOf names the row that a package folder belongs to.
func roomOf(dir string) string {
	parts := strings.Split(strings.TrimPrefix(dir, "."), "/")
	if len(parts) > 1 && (parts[0] == "internal" || parts[0] == "mcp" && parts[1] == "bridge") {
		return parts[0] + "/" + parts[1]
	}
	if strings.HasPrefix(dir, cellRoom) {
		return cellRoom
	}
	return parts[0]
}

// cellRoom starts before everything else of the program, which holds only while
// it imports nothing that others need.
const cellRoom = "coworker/sandbox/cell"

// neverShips tells files that never ship: tests and the kits that serve them.
func neverShips(file string) bool {
	return strings.HasSuffix(file, "_test.go") || testKit(path.Dir(file))
}

// testKit tells folders such as journal/journaltest.
func testKit(dir string) bool {
	return strings.Contains(dir, "/") && strings.HasSuffix(path.Base(dir), "test")
}

// within matches a room or the room it lies in: mcp/bridge is within mcp.
func within(name string, list []string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(list, name) || slices.Contains(list, top)
}

// outgoingHTTP finds the uses of net/http that call out.
func outgoingHTTP(file *ast.File) []*ast.SelectorExpr {
	local := ""
	for _, spec := range file.Imports {
		if spec.Path.Value == `"net/http"` {
			local = "http"
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	var found []*ast.SelectorExpr
	if local == "" {
		return nil
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == local && slices.Contains(outgoing, selector.Sel.Name) {
				found = append(found, selector)
			}
		}
		return true
	})
	return found
}

func TestHouseReportsForbiddenImports(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, file, target, want string }{
		{"a door skips the heart", "mcp/feed.go", "innerloop/models", "mcp imports models; it may import only static, coworker, journal, seal and internal"},
		{"a door knows the other door", "handlers/mcp.go", "innerloop/mcp", "handlers imports mcp; it may import only web, static, coworker, journal, seal"},
		{"the heart looks outwards", "journal/publish.go", "innerloop/models", "journal imports models; it may import only seal and internal archive, internal keyring"},
		{"the protocol knows nobody", "seal/prove.go", "innerloop/journal", "seal imports journal; it may import only nothing of ours"},
		{"the protocol takes a library", "seal/prove.go", "golang.org/x/text/unicode/norm", "only the standard library"},
		{"a part knows the domain", "components/card.go", "innerloop/journal", "components imports journal; it may import only static"},
		{"a leaf knows a room", "internal/limit/bucket.go", "innerloop/journal", "internal/limit imports journal; it may import only nothing of ours"},
		{"a leaf knows a leaf", "internal/egress/dial.go", "innerloop/internal/limit", "it may import only nothing of ours"},
		{"the heart takes a leaf that is not its own", "journal/feed.go", "innerloop/internal/client", "journal imports internal/client"},
		{"a room imports the front door", "web/page.go", "innerloop/cmd/innerloop", "nothing may import cmd"},
		{"a test imports the front door", "e2e/story_test.go", "innerloop/cmd/innerloop", "nothing may import cmd"},
		{"shipped code uses a test kit", "handlers/feed.go", "innerloop/journal/journaltest", "only tests may import a test kit"},
		{"an unknown room", "utils/strings.go", "innerloop/seal", "has no row for utils"},
		{"Fiber outside its room", "mcp/mount.go", "github.com/gofiber/fiber/v2", "only handlers may"},
		{"GORM outside its room", "journal/store.go", "gorm.io/gorm/clause", "only models may"},
		{"SQL outside its room", "cmd/innerloop/seed.go", "database/sql", "only models may"},
		{"mcp-go outside its room", "handlers/mcp.go", "github.com/mark3labs/mcp-go/server", "only mcp may"},
		{"templ outside its rooms", "handlers/pages.go", "github.com/a-h/templ", "only web and components may"},
		{"Ed25519 outside its room", "journal/register.go", "crypto/ed25519", "only seal and internal/client and cmd may"},
		{"metrics outside its room", "handlers/metrics.go", "github.com/prometheus/client_golang/prometheus", "only internal/telemetry may"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := inspect(map[string]string{row.file: fmt.Sprintf("package p\n\nimport _ %q\n", row.target)})
			if len(got) != 1 || !strings.Contains(got[0], row.want) {
				t.Errorf("got %q, want one fault with %q", got, row.want)
			}
		})
	}
}

func TestHouseAllowsWhatTheTableAllows(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, file, target string }{
		{"the data layer points inwards", "models/entries.go", "innerloop/journal"},
		{"the front door wires all", "cmd/innerloop/wire.go", "innerloop/models"},
		{"a test reaches the store", "handlers/feed_test.go", "innerloop/models"},
		{"a test kit reaches the store", "journal/journaltest/open.go", "innerloop/models"},
		{"a story uses any room", "e2e/story.go", "innerloop/seal"},
		{"the bridge uses the client", "mcp/bridge/bridge.go", "innerloop/internal/client"},
		{"the bridge speaks MCP", "mcp/bridge/bridge.go", "github.com/mark3labs/mcp-go/mcp"},
		{"a room's own folders", "web/settings/view.go", "innerloop/web"},
		{"a test makes its own keys", "journal/publish_test.go", "crypto/ed25519"},
		{"a library that has no owner", "journal/tags.go", "golang.org/x/text/unicode/norm"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := inspect(map[string]string{row.file: fmt.Sprintf("package p\n\nimport _ %q\n", row.target)}); len(got) != 0 {
				t.Errorf("got %q, want no fault", got)
			}
		})
	}
}

func TestHouseReportsOutgoingHTTP(t *testing.T) {
	t.Parallel()
	const text = "package p\n\nimport web \"net/http\"\n\nvar _ = web.MethodGet\nvar _, _ = web.Get(\"\")\n"
	if got := inspect(map[string]string{"journal/fetch.go": text}); len(got) != 1 || !strings.Contains(got[0], "journal uses http.Get; outgoing HTTP belongs to internal/egress and internal/client") {
		t.Errorf("got %q, want one fault about http.Get", got)
	}
	if got := inspect(map[string]string{"internal/client/call.go": text, "handlers/a_test.go": text}); len(got) != 0 {
		t.Errorf("got %q, want no fault", got)
	}
}

// The generator and the runtime library of templ must be the same release.
func TestTemplVersionsAgree(t *testing.T) {
	t.Parallel()
	version := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`github\.com/a-h/templ (v\S+)`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s does not require templ", file)
		}
		return string(found[1])
	}
	if product, tools := version("go.mod"), version("tools/go.mod"); product != tools {
		t.Errorf("go.mod has templ %s, tools/go.mod has %s", product, tools)
	}
}
