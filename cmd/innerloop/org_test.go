package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"innerloop/coworker"
)

// The life of an organisation by the command line alone, with the shapes that
// others script against.
func TestOrganizationsByTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := surroundings{environ: make(t).environ}
			execute(t, s, "migrate")
			var said strings.Builder // everything but the lines that show a key
			run := func(want string, args ...string) map[string]any {
				t.Helper()
				told := execute(t, s, append(args, "--json")...)
				facts := decode(t, told.out)
				if got := keysOf(facts); got != want {
					t.Errorf("%s: keys %s, want %s", strings.Join(args, " "), got, want)
				}
				said.WriteString(told.err)
				if facts["key"] == nil {
					said.WriteString(told.out)
				}
				return facts
			}
			text := func(v any) string { s, _ := v.(string); return s }
			org := run("key key_id organization_id user_id", "org", "create", "Acme")
			id, admin := text(org["organization_id"]), text(org["key"])
			for field, pattern := range map[string]string{
				"organization_id": `^org_[0-9a-f]{32}$`, "user_id": `^user_[0-9a-f]{32}$`, "key_id": `^apikey_[0-9a-f]{32}$`, "key": "^" + coworker.SecretPattern + "$",
			} {
				if !regexp.MustCompile(pattern).MatchString(text(org[field])) {
					t.Errorf("%s has another form", field)
				}
			}
			user := run("created_at name organization_id user_id", "user", "add", "Bob", "--org", id)
			made := run("expires_at key key_id scopes", "key", "create", "--org", id, "--user", text(user["user_id"]), "--scopes", "read:tools,read:data",
				"--expires-in-days", "30", "--connectors", "ozon,github", "--class", "read")
			plain := run("expires_at key key_id scopes", "key", "create", "--org", id)
			if scopes, _ := plain["scopes"].([]any); len(scopes) != 1 || scopes[0] != "write:tools" {
				t.Errorf("scopes when none are given: %v", scopes)
			}
			run("class connectors created_at created_by expires_at key_id last_used_at last_used_ip name networks organization_id prefix rate_per_minute revoked_at scopes status user_id",
				"key", "update", text(made["key_id"]), "--connectors", "all", "--class", "write", "--networks", "192.0.2.0/24", "--rate", "5", "--name", "narrow")
			run("key_id revoked_at", "key", "revoke", text(plain["key_id"]))
			keys, _ := run("keys", "key", "list", "--org", id)["keys"].([]any)
			var shown []string
			for _, k := range keys {
				k := k.(map[string]any)
				shown = append(shown, text(k["status"])+" "+text(k["name"])+" "+text(k["class"]))
			}
			if want := []string{"revoked made at the command line irreversible", "active narrow write", "active first admin key irreversible"}; !slices.Equal(shown, want) {
				t.Errorf("keys: %q", shown)
			}
			// The admin key is lost.
			another := run("expires_at key key_id scopes", "key", "create", "--org", id, "--scopes", "admin")
			if users, _ := run("users", "user", "list", "--org", id)["users"].([]any); len(users) != 2 {
				t.Errorf("%d users", len(users))
			}
			run("removed user_id", "user", "remove", text(user["user_id"]))
			export := execute(t, s, "org", "export", id)
			kinds := map[string]int{}
			for lines := bufio.NewScanner(strings.NewReader(export.out)); lines.Scan(); {
				var record struct{ Kind string }
				if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
					t.Fatal(err)
				}
				kinds[record.Kind]++
			}
			if kinds["organization"] != 1 || kinds["user"] != 1 || kinds["key"] != 3 || kinds["audit"] != 9 {
				t.Errorf("exported: %v", kinds)
			}
			said.WriteString(export.out + export.err)
			if got := attempt(t, s, "org", "delete", id); got.code != 2 {
				t.Errorf("deleted without --yes: %d", got.code)
			}
			run("deleted organization_id", "org", "delete", id, "--yes")
			if list, _ := run("organizations", "org", "list")["organizations"].([]any); len(list) != 0 {
				t.Errorf("%d organizations", len(list))
			}
			for _, key := range []string{admin, text(made["key"]), text(plain["key"]), text(another["key"])} {
				if strings.Contains(said.String(), key[16:30]) {
					t.Error("a key was told a second time")
				}
			}
			for _, args := range [][]string{
				{"org"},
				{"org", "create"},
				{"org", "create", ""},
				{"org", "create", "A", "--expires-in-days", "366"},
				{"org", "create", "A", "--expires-in-days", "0"},
				{"key", "create"},
				{"key", "create", "--org", id, "--scopes", "all"},
				{"key", "create", "--org", id, "--scopes", ""},
				{"key", "create", "--org", id, "--class", "huge"},
				{"key", "create", "--org", id, "--class", ""}, // an empty variable of a script must not widen a key
				{"key", "create", "--org", id, "--user", ""},
				{"key", "update", "apikey_1"},
				{"user", "add", "A"},
				{"key", "create", "--org", id, "--networks", "home"},
			} {
				if got := attempt(t, s, args...); got.code != 2 {
					t.Errorf("%q: exit %d, %s", args, got.code, got.err)
				}
			}
			for _, args := range [][]string{
				{"org", "delete", id, "--yes"},
				{"org", "export", id},
				{"user", "add", "A", "--org", id},
				{"user", "remove", "user_1"},
				{"key", "list", "--org", id},
				{"key", "create", "--org", id},
				{"key", "revoke", "apikey_1"},
				{"key", "update", "apikey_1", "--name", "b"},
			} {
				if got := attempt(t, s, args...); got.code != 1 || got.out != "" {
					t.Errorf("%q: exit %d, %s", args, got.code, got.err)
				}
			}
		})
	}
}

// Of a key the embedded database holds a digest and the public prefix: neither
// file nor log can be searched for it.
func TestKeysAreNotReadableInTheDatabase(t *testing.T) {
	t.Parallel()
	p := places(t)["sqlite"](t)
	s := surroundings{environ: append(p.environ, "INNERLOOP_LOG_LEVEL=debug")}
	execute(t, s, "migrate")
	key, _ := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)["key"].(string)
	if len(key) != 65 {
		t.Fatal("no key")
	}
	folder := ""
	for _, line := range s.environ {
		if dir, ok := strings.CutPrefix(line, "INNERLOOP_DATA_DIR="); ok {
			folder = dir
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	seen := false
	for _, file := range files {
		bytes, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen = seen || strings.Contains(string(bytes), key[:15])
		if strings.Contains(string(bytes), key[16:30]) {
			t.Errorf("%s holds a key", filepath.Base(file))
		}
	}
	if !seen {
		t.Error("the prefix is nowhere: the wrong files were searched")
	}
}
