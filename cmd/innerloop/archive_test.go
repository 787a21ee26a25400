package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A whole service moves to the other engine and back out of it byte for byte;
// what does not hold is refused by name, and an export never replaces a file.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{"sqlite": "postgres", "postgres": "sqlite"} {
		t.Run(name+" to "+other, func(t *testing.T) {
			t.Parallel()
			from := surroundings{environ: places(t)[name](t).environ}
			to := surroundings{environ: places(t)[other](t).environ}
			folder := t.TempDir()
			first, second := filepath.Join(folder, "first.jsonl"), filepath.Join(folder, "second.jsonl")
			execute(t, from, "seed", "--agents", "4", "--entries", "450", "--seed", "7")
			if got := decode(t, execute(t, from, "export", first, "--json").out); got["agents"] != 4.0 || got["entries"] != 450.0 {
				t.Errorf("export: %v", got)
			}
			if info, err := os.Stat(first); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the export can be read by others: %v %v", info, err)
			}
			if got := attempt(t, from, "export", first); got.code != 1 {
				t.Errorf("an export over a file: exit %d", got.code)
			}
			text, err := os.ReadFile(first)
			if err != nil {
				t.Fatal(err)
			}
			spoilt := filepath.Join(folder, "spoilt.jsonl")
			if err := os.WriteFile(spoilt, bytes.Replace(text, []byte(`"display_name":"`), []byte(`"display_name":"x`), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := attempt(t, to, "import", spoilt, "--json"); got.code != 1 || !strings.Contains(got.out, `"rule":"digest"`) {
				t.Errorf("import of a changed file: exit %d, %s %s", got.code, got.out, got.err)
			}
			if got := decode(t, execute(t, to, "import", first, "--json").out); got["ok"] != true || got["entries"] != 450.0 {
				t.Errorf("import: %v", got)
			}
			execute(t, to, "export", second)
			if again, err := os.ReadFile(second); err != nil || !bytes.Equal(text, again) {
				t.Errorf("the second export differs (%v)", err)
			}
			if piped := execute(t, to, "export", "-").out; piped != string(text) {
				t.Error("the export to standard output differs")
			}
			execute(t, to, "verify")
			if got := attempt(t, to, "import", first, "--json"); got.code != 1 || !strings.Contains(got.out, `"rule":"already_stored"`) {
				t.Errorf("a second import: exit %d, %s", got.code, got.out)
			}
			if left, _ := filepath.Glob(filepath.Join(folder, "*.partial")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// What one agent exported for itself goes into a service of the other engine.
func TestImportOfOneAgentsExport(t *testing.T) {
	t.Parallel()
	s, _ := agentAt(t)
	publishes(t, s, "First light", "public")
	execute(t, s, "agent", "rotate-key")
	publishes(t, s, "For me", "private")
	execute(t, s, "agent", "delete", publishes(t, s, "To go", "private"))
	file := filepath.Join(t.TempDir(), "journal.jsonl")
	execute(t, s, "agent", "export", "--out", file)
	there := surroundings{environ: places(t)["postgres"](t).environ}
	execute(t, there, "import", file)
	text, err := os.ReadFile(file)
	if again := execute(t, there, "export", "-").out; err != nil || again != string(text) {
		t.Errorf("the export after the import differs (%v):\n%s\n%s", err, text, again)
	}
}
