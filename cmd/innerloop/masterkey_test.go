package main

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func embedded(folder string) Config {
	return Config{DataDir: folder, DatabaseURL: "sqlite:" + filepath.Join(folder, "innerloop.db")}
}

func TestMasterKeyIsMadeOnceForTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	keys := make([][]byte, 8)
	made := make([]string, len(keys))
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], made[i], err = masterKey(embedded(folder), rand.Reader); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	makers := 0
	for i := range keys {
		if !bytes.Equal(keys[i], keys[0]) {
			t.Error("two starts at once have different keys")
		}
		if made[i] != "" {
			makers++
		}
	}
	if makers != 1 {
		t.Errorf("%d starts say that they made the key", makers)
	}
	names, err := os.ReadDir(folder)
	if err != nil || len(names) != 1 || names[0].Name() != "master.key" {
		t.Errorf("the folder holds %v (%v)", names, err)
	}
	info, err := os.Stat(filepath.Join(folder, "master.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v (%v)", info.Mode(), err)
	}
}

func TestMasterKeySources(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	good, bad := filepath.Join(folder, "good"), filepath.Join(folder, "bad")
	for name, text := range map[string]string{good: someKey + "\n", bad: "c2hvcnQ="} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rows := []struct {
		name, want string
		config     Config
	}{
		{"from the variable", "", Config{MasterKey: someKey, DatabaseURL: "postgres://h/d"}},
		{"from a file", "", Config{MasterKeyFile: good, DatabaseURL: "postgres://h/d"}},
		{"from a file of another length", "must hold base64 of 32 bytes", Config{MasterKeyFile: bad}},
		{"from a file that is not there", "read the master key", Config{MasterKeyFile: filepath.Join(folder, "none")}},
		{"PostgreSQL without a key", "PostgreSQL needs an explicit master key", Config{DatabaseURL: "postgres://h/d"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			key, made, err := masterKey(row.config, rand.Reader)
			if row.want == "" {
				if err != nil || len(key) != 32 || made != "" {
					t.Errorf("got %d bytes, %q, %v", len(key), made, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestLostMasterKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	execute(t, surroundings{}, "seed", "--data-dir", folder, "--agents", "1", "--entries", "1")
	file := filepath.Join(folder, "master.key")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second start says the same as the first
		got := attempt(t, surroundings{}, "seed", "--data-dir", folder, "--force")
		if got.code != 1 || !strings.Contains(got.err, "master key that is missing") {
			t.Errorf("exit %d: %s", got.code, got.err)
		}
	}
	other := attempt(t, surroundings{environ: []string{"INNERLOOP_MASTER_KEY=" + someKey}}, "serve", "--listen", "127.0.0.1:0", "--data-dir", folder)
	if other.code != 1 || !strings.Contains(other.err, "another master key") || strings.Contains(other.err, "listening on") {
		t.Errorf("exit %d: %s", other.code, other.err)
	}
}
