package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMemoryByTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := surroundings{environ: make(t).environ}
			execute(t, s, "migrate")
			org, _ := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)["organization_id"].(string)
			other, _ := decode(t, execute(t, s, "org", "create", "Other", "--json").out)["organization_id"].(string)
			user, _ := decode(t, execute(t, s, "user", "add", "Bob", "--org", org, "--json").out)["user_id"].(string)
			file := filepath.Join(t.TempDir(), "prices.md")
			if err := os.WriteFile(file, []byte("ten"), 0o600); err != nil {
				t.Fatal(err)
			}
			put := decode(t, execute(t, s, "memory", "put", "--org", org, "notes/prices.md", file, "--json").out)
			if keysOf(put) != "path sha256 size updated_at" || put["path"] != "notes/prices.md" || put["size"] != float64(3) {
				t.Errorf("%v", put)
			}
			execute(t, s, "memory", "put", "--org", org, "--user", user, "bob.md", file)
			list := execute(t, s, "memory", "list", "--org", org, "--prefix", "notes/").out
			if !strings.Contains(list, "notes/prices.md") || strings.Contains(list, "bob.md") {
				t.Errorf("%s", list)
			}
			if facts := decode(t, execute(t, s, "memory", "list", "--org", org, "--user", user, "--limit", "1", "--json").out); keysOf(facts) != "items next_cursor" || len(facts["items"].([]any)) != 1 {
				t.Errorf("%v", facts)
			}
			for _, row := range []struct {
				want string
				args []string
			}{
				{"There is no such user", []string{"memory", "list", "--org", other, "--user", user}},
				{"There is no such organization", []string{"memory", "list", "--org", "org_" + strings.Repeat("0", 32)}},
				{"needs --org", []string{"memory", "list"}},
				{"path must be a relative path", []string{"memory", "put", "--org", org, "../a", file}},
				{"There is no such file", []string{"memory", "delete", "--org", org, "bob.md"}},
				{"read the file", []string{"memory", "put", "--org", org, "a", file + ".none"}},
			} {
				if told := attempt(t, s, row.args...); told.code == 0 || !strings.Contains(told.err, row.want) {
					t.Errorf("%q: %d %s", row.args, told.code, told.err)
				}
			}
			execute(t, s, "memory", "delete", "--org", org, "notes/prices.md")
			if list := execute(t, s, "memory", "list", "--org", org).out; !strings.Contains(list, "no files") {
				t.Errorf("%s", list)
			}
		})
	}
}
