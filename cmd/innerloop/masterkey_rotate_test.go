package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAMasterKeyIsRotated on an embedded store, cut at each of its steps, and
// with keys that the settings give.
func TestAMasterKeyIsRotated(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	secret := filepath.Join(folder, "token")
	if err := os.WriteFile(secret, []byte("planted-credential-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, surroundings{}, "seed", "--data-dir", folder, "--agents", "1", "--entries", "1")
	var org struct {
		ID string `json:"organization_id"`
	}
	readJSON(t, execute(t, surroundings{}, "org", "create", "Acme", "--data-dir", folder, "--json").out, &org)
	execute(t, surroundings{}, "connect", "wildberries", "--org", org.ID, "--field", "api_key=@"+secret, "--data-dir", folder)
	key, previous := filepath.Join(folder, masterKeyName), filepath.Join(folder, previousKeysName)
	first := readText(t, key)

	rotate := func(env ...string) (done rotation) {
		t.Helper()
		readJSON(t, execute(t, surroundings{environ: env}, "masterkey", "rotate", "--data-dir", folder, "--json").out, &done)
		return done
	}
	opens := func(env ...string) told {
		t.Helper()
		return attempt(t, surroundings{environ: env}, "connect", "wildberries", "--org", org.ID, "--name", "again", "--field", "api_key=@"+secret, "--data-dir", folder)
	}
	done := rotate()
	if second := readText(t, key); second == first || readText(t, previous) != first || done.DataKeys != 1 || len(done.Earlier) != 1 || done.KeyID == done.Earlier[0] {
		t.Errorf("%+v", done)
	}
	if got := opens(); got.code != 0 {
		t.Errorf("after the rotation: %s", got.err)
	}
	for _, name := range []string{key, previous} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}

	// Cut after the files were turned: everything still opens, and the next run
	// only finishes.
	if err := turnKeyFiles(folder, strings.NewReader(strings.Repeat("k", 64))); err != nil {
		t.Fatal(err)
	}
	third := readText(t, key)
	if got := opens(); got.code != 0 {
		t.Errorf("between files and database: %s", got.err)
	}
	if done = rotate(); done.DataKeys != 1 || len(done.Earlier) != 2 || readText(t, key) != third {
		t.Errorf("%+v", done)
	}
	// Cut before the new key was put in place: the one that was made is used.
	if err := makeMasterKey(filepath.Join(folder, nextKeyName), strings.NewReader(strings.Repeat("n", 64))); err != nil {
		t.Fatal(err)
	}
	fourth := readText(t, filepath.Join(folder, nextKeyName))
	if err := replaceFile(previous, third+readText(t, previous)); err != nil {
		t.Fatal(err)
	}
	if done = rotate(); readText(t, key) != fourth || len(done.Earlier) != 3 || strings.Count(readText(t, previous), "\n") != 3 {
		t.Errorf("%+v", done)
	}

	// Keys of the settings: without the earlier one the database stays closed.
	given := "INNERLOOP_MASTER_KEY=" + someKey
	if got := opens(given); got.code != 1 || !strings.Contains(got.err, "another master key") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	earlier := "INNERLOOP_PREVIOUS_MASTER_KEY=" + strings.TrimSpace(fourth)
	if got := opens(given, earlier); got.code != 0 {
		t.Errorf("before the rotation: %s", got.err)
	}
	if done = rotate(given, earlier); done.DataKeys != 1 {
		t.Errorf("%+v", done)
	}
	if got := opens(given); got.code != 0 {
		t.Errorf("the new key alone: %s", got.err)
	}
	if got := attempt(t, surroundings{environ: []string{given}}, "masterkey", "rotate", "--data-dir", folder); got.code != 1 || !strings.Contains(got.err, "nothing to rotate") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	if got := opens(); got.code != 1 || !strings.Contains(got.err, "another master key") {
		t.Errorf("the old key: exit %d: %s", got.code, got.err)
	}
}

// TestAVaultThatNeedsAnEarlierKeySaysSo: bound to the new key, cut before the
// data keys followed.
func TestAVaultThatNeedsAnEarlierKeySaysSo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	secret := filepath.Join(folder, "token")
	if err := os.WriteFile(secret, []byte("planted-credential-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, surroundings{}, "seed", "--data-dir", folder, "--agents", "1", "--entries", "1")
	var org struct {
		ID string `json:"organization_id"`
	}
	readJSON(t, execute(t, surroundings{}, "org", "create", "Acme", "--data-dir", folder, "--json").out, &org)
	execute(t, surroundings{}, "connect", "wildberries", "--org", org.ID, "--field", "api_key=@"+secret, "--data-dir", folder)
	config := embedded(folder)
	if err := turnKeyFiles(folder, strings.NewReader(strings.Repeat("k", 64))); err != nil {
		t.Fatal(err)
	}
	ring, _, err := openRing(config)
	if err != nil {
		t.Fatal(err)
	}
	store, err := connectStore(t.Context(), config, newLog(os.Stderr, config))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.RebindMasterKey(t.Context(), ring.Fingerprint(), ring.Previous()...); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(folder, previousKeysName)
	kept := readText(t, away)
	if err := os.Remove(away); err != nil {
		t.Fatal(err)
	}
	if got := attempt(t, surroundings{}, "connection", "list", "--org", org.ID, "--data-dir", folder); got.code != 1 || !strings.Contains(got.err, "needs an earlier master key") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	if err := replaceFile(away, kept); err != nil {
		t.Fatal(err)
	}
	var done rotation
	if readJSON(t, execute(t, surroundings{}, "masterkey", "rotate", "--data-dir", folder, "--json").out, &done); done.DataKeys != 1 {
		t.Errorf("%+v", done)
	}
}

func readJSON(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
