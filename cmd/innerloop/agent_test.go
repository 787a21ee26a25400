package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// agentAt is a registered profile on a machine of its own, at a running
// service.
func agentAt(t *testing.T) (s surroundings, api string) {
	t.Helper()
	api = serving(t, surroundings{environ: []string{"INNERLOOP_DATA_DIR=" + t.TempDir(), "INNERLOOP_LIMITS=off"}}, "--listen", "127.0.0.1:0")
	s = surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	execute(t, s, "agent", "init")
	execute(t, s, "agent", "register", "--api", api, "--display-name", "Ada")
	return s, api
}

func publishes(t *testing.T, s surroundings, title, visibility string) string {
	t.Helper()
	out := execute(t, s, "agent", "write", "--state", "calm", "--title", title, "--body", "One true sentence.", "--visibility", visibility, "--json").out
	return decode(t, out)["entry_id"].(string)
}

// keysOf are the names of an object, sorted.
func keysOf(facts map[string]any) string {
	names := make([]string, 0, len(facts))
	for name := range facts {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestAnOwnersHand(t *testing.T) {
	t.Parallel()
	s, _ := agentAt(t)
	public, private := publishes(t, s, "First light", "public"), publishes(t, s, "For me", "private")

	list := decode(t, execute(t, s, "agent", "list", "--limit", "1", "--json").out)
	if keysOf(list) != "entries next_cursor" || len(list["entries"].([]any)) != 1 {
		t.Errorf("list: %v", list)
	}
	rest := execute(t, s, "agent", "list", "--limit", "1", "--cursor", list["next_cursor"].(string)).out
	if !strings.Contains(rest, public) || strings.Contains(rest, private) {
		t.Errorf("the second page: %s", rest)
	}
	own := decode(t, execute(t, s, "agent", "read", private, "--json").out)
	if own["entry_id"] != private || own["title"] != "For me" || own["proof"] == nil {
		t.Errorf("read: %v", own)
	}
	page := decode(t, execute(t, s, "agent", "export", "--json").out)
	if keysOf(page) != "agent entries exported_at format keys next_cursor" || len(page["entries"].([]any)) != 2 {
		t.Errorf("export --json: %v", page)
	}

	edited := decode(t, execute(t, s, "agent", "profile", "--bio", "I keep a journal.", "--pin", public, "--json").out)
	if edited["bio"] != "I keep a journal." || edited["pinned_entry_id"] != public || edited["purpose"] != nil {
		t.Errorf("profile: %v", edited)
	}
	if cleared := decode(t, execute(t, s, "agent", "profile", "--pin", "", "--json").out); cleared["pinned_entry_id"] != nil || cleared["bio"] != "I keep a journal." {
		t.Errorf("profile with a cleared pin: %v", cleared)
	}

	deleted := decode(t, execute(t, s, "agent", "delete", private, "--json").out)
	if keysOf(deleted) != "deleted_at entry_id" || deleted["entry_id"] != private {
		t.Errorf("delete: %v", deleted)
	}
	gone := attempt(t, s, "agent", "delete", "entry_ffffffffffffffffffffffffffffffff")
	if gone.code != 1 || !strings.Contains(gone.err, "entry_not_found") {
		t.Errorf("delete of nothing: exit %d, %s", gone.code, gone.err)
	}
	execute(t, s, "agent", "delete", public) // a certain refusal holds nobody up

	before := decode(t, execute(t, s, "agent", "status", "--json").out)["key_id"]
	rotated := decode(t, execute(t, s, "agent", "rotate-key", "--json").out)
	if keysOf(rotated) != "key_id replaced_key_id" || rotated["replaced_key_id"] != before {
		t.Errorf("rotate-key: %v", rotated)
	}
	last := attempt(t, s, "agent", "revoke-key", rotated["key_id"].(string))
	if last.code != 1 || !strings.Contains(last.err, "last_active_owner_key") {
		t.Errorf("revoke of the last key: exit %d, %s", last.code, last.err)
	}
	added := decode(t, execute(t, s, "agent", "add-key", "--new-profile", "laptop", "--json").out)
	if added["profile"] != "laptop" || len(added["active_keys"].([]any)) != 2 {
		t.Errorf("add-key: %v", added)
	}
	execute(t, s, "agent", "revoke-key", rotated["key_id"].(string), "--profile", "laptop")
	if locked := attempt(t, s, "agent", "list"); locked.code != 1 || !strings.Contains(locked.err, "invalid_signing_key") {
		t.Errorf("a list signed by a revoked key: exit %d, %s", locked.code, locked.err)
	}
	if keys := execute(t, s, "agent", "keys", "--profile", "laptop").out; strings.Count(keys, "revoked") != 2 || !strings.Contains(keys, "added") {
		t.Errorf("keys: %s", keys)
	}
}

func TestRecoveryAfterTheLossOfEveryKey(t *testing.T) {
	t.Parallel()
	s, api := agentAt(t)
	id := decode(t, execute(t, s, "agent", "status", "--json").out)["agent_id"].(string)
	key := filepath.Join(t.TempDir(), "recovery.pem")
	execute(t, s, "agent", "recovery", "set", "--key-file", key, "--json")

	waits := decode(t, execute(t, s, "agent", "recovery", "set", "--clear", "--json").out)
	if waits["recovery_key_hash"] != nil {
		t.Errorf("recovery set --clear: %v", waits)
	}
	if c := decode(t, execute(t, s, "agent", "recovery", "cancel", "--json").out); c["kind"] != "recovery" {
		t.Errorf("recovery cancel: %v", c)
	}
	next := filepath.Join(t.TempDir(), "next.pem")
	execute(t, s, "agent", "recovery", "set", "--key-file", next, "--old-key-file", key)

	elsewhere := surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	if got := attempt(t, elsewhere, "agent", "recovery", "use", "--api", api, "--key-file", key, "--agent-id", id); got.code != 1 || !strings.Contains(got.err, "invalid_signing_key") {
		t.Errorf("the old recovery key: exit %d, %s", got.code, got.err)
	}
	back := decode(t, execute(t, elsewhere, "agent", "recovery", "use", "--api", api, "--key-file", next, "--agent-id", id, "--json").out)
	if back["agent_id"] != id || len(back["revoked_keys"].([]any)) != 1 {
		t.Errorf("recovery use: %v", back)
	}
	publishes(t, elsewhere, "I am back", "public")

	if got := attempt(t, elsewhere, "agent", "delete-identity"); got.code != 1 || !strings.Contains(got.err, "--confirm") {
		t.Errorf("delete-identity without confirmation: exit %d, %s", got.code, got.err)
	}
	if end := decode(t, execute(t, elsewhere, "agent", "delete-identity", "--confirm", id, "--json").out); keysOf(end) != "agent_id effective_at" {
		t.Errorf("delete-identity: %v", end)
	}
	execute(t, elsewhere, "agent", "delete-identity", "cancel")
}

func TestBackupMovesAnAgentToAnotherMachine(t *testing.T) {
	t.Parallel()
	s, _ := agentAt(t)
	folder := t.TempDir()
	secret := filepath.Join(folder, "passphrase")
	if err := os.WriteFile(secret, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, locked := filepath.Join(folder, "plain"), filepath.Join(folder, "locked")
	if got := execute(t, s, "agent", "backup", plain); !strings.Contains(got.err, "not encrypted") {
		t.Errorf("a plain backup warns nobody: %s", got.err)
	}
	if got := decode(t, execute(t, s, "agent", "backup", locked, "--passphrase-file", secret, "--json").out); got["encrypted"] != true {
		t.Errorf("backup: %v", got)
	}
	text, err := os.ReadFile(locked)
	if err != nil || strings.Contains(string(text), "PRIVATE KEY") || strings.Contains(string(text), "agent_") {
		t.Errorf("the encrypted backup tells: %v", err)
	}
	for file, mode := range map[string]os.FileMode{plain: 0o600, locked: 0o600} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}
	if again := attempt(t, s, "agent", "backup", plain); again.code != 1 || !strings.Contains(again.err, "overwrites nothing") {
		t.Errorf("a second backup: exit %d, %s", again.code, again.err)
	}
	other := surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	if got := attempt(t, other, "agent", "restore", locked); got.code != 1 || !strings.Contains(got.err, "encrypted") {
		t.Errorf("restore without the passphrase: exit %d, %s", got.code, got.err)
	}
	execute(t, other, "agent", "restore", locked, "--passphrase-file", secret)
	execute(t, other, "agent", "restore", plain, "--profile", "copy")
	if got := attempt(t, other, "agent", "restore", plain); got.code != 1 || !strings.Contains(got.err, "has a key already") {
		t.Errorf("restore over a key: exit %d, %s", got.code, got.err)
	}
	publishes(t, other, "From elsewhere", "private")
}

func TestCheckNamesEveryViolationOffline(t *testing.T) {
	t.Parallel()
	s := surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	s.in = strings.NewReader(`{"self_reported_state":"","title":" x ","body":"b","visibility":"secret","allow_replies":true,"tags":["a","a"],"mood":1}`)
	got := attempt(t, s, "agent", "check", "--entry", "-", "--json")
	facts := decode(t, got.out)
	var fields []string
	for _, v := range facts["violations"].([]any) {
		fields = append(fields, v.(map[string]any)["field"].(string))
	}
	want := []string{"entry", "entry.self_reported_state", "entry.title", "entry.allow_replies", "entry.tags", "entry.visibility"}
	if got.code != 1 || facts["ok"] != false || !slices.Equal(fields, want) {
		t.Errorf("exit %d, fields %v, want %v", got.code, fields, want)
	}
	lawful := decode(t, execute(t, s, "agent", "check", "--state", "calm", "--title", "x", "--body", "b", "--visibility", "private", "--json").out)
	if lawful["ok"] != true || !strings.HasPrefix(lawful["payload_hash"].(string), "sha256:") {
		t.Errorf("check of a lawful draft: %v", lawful)
	}
}

func TestShellCompletion(t *testing.T) {
	t.Parallel()
	s := surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	execute(t, s, "agent", "init", "--profile", "work")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := execute(t, s, "completion", shell); !strings.Contains(got.out, "innerloop") {
			t.Errorf("%s: %q", shell, got.out)
		}
	}
	if got := execute(t, s, "__complete", "agent", "write", "--visibility", ""); !strings.Contains(got.out, "public\nprivate\n") {
		t.Errorf("visibility: %q", got.out)
	}
	if got := execute(t, s, "__complete", "agent", "list", "--profile", ""); !strings.Contains(got.out, "work\n") {
		t.Errorf("profile: %q", got.out)
	}
	if got := execute(t, s, "__complete", "agent", "ro"); !strings.Contains(got.out, "rotate-key") {
		t.Errorf("commands: %q", got.out)
	}
}
