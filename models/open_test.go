package models_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"innerloop/journal"
	"innerloop/models"
)

// forEachAddress runs a test on an address of each engine where nothing is yet.
func forEachAddress(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Parallel()
	for name, url := range engines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, url(t))
		})
	}
}

func open(t *testing.T, o models.Options) (*models.Store, error) {
	t.Helper()
	s, err := models.Open(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func TestForeignDatabaseIsLeftAlone(t *testing.T) {
	forEachAddress(t, func(t *testing.T, url string) {
		if path, lite := strings.CutPrefix(url, "sqlite:"); lite {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		raw := rawDatabase(t, url)
		for _, statement := range []string{`CREATE TABLE entries (id INTEGER)`, `INSERT INTO entries VALUES (7)`} {
			if _, err := raw.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		for _, migrate := range []bool{true, false} {
			if _, err := open(t, models.Options{URL: url, Migrate: migrate}); !errors.Is(err, models.ErrForeignDatabase) {
				t.Errorf("migrate %v: %v", migrate, err)
			}
		}
		var id int
		if err := raw.QueryRow(`SELECT id FROM entries`).Scan(&id); err != nil || id != 7 {
			t.Errorf("the foreign table changed: %d %v", id, err)
		}
	})
}

func TestNewerSchemaIsRefused(t *testing.T) {
	forEachAddress(t, func(t *testing.T, url string) {
		s, err := open(t, models.Options{URL: url, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rawDatabase(t, url).Exec(`INSERT INTO innerloop_schema (version_id, is_applied) VALUES (9999, true)`); err != nil {
			t.Fatal(err)
		}
		if err := s.Migrated(t.Context()); !errors.Is(err, models.ErrNewerSchema) {
			t.Errorf("running: %v", err)
		}
		for _, migrate := range []bool{true, false} {
			if _, err := open(t, models.Options{URL: url, Migrate: migrate}); !errors.Is(err, models.ErrNewerSchema) {
				t.Errorf("migrate %v: %v", migrate, err)
			}
		}
	})
}

func TestStoreTellsWhetherItIsMigratedAndEmpty(t *testing.T) {
	forEachAddress(t, func(t *testing.T, url string) {
		s, err := open(t, models.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Migrated(t.Context()); !errors.Is(err, models.ErrNotMigrated) {
			t.Errorf("before: %v", err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 { // the second time there is nothing to do
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Migrated(t.Context()); err != nil {
			t.Errorf("after: %v", err)
		}
		if empty, err := s.Empty(t.Context()); !empty || err != nil {
			t.Errorf("empty %v %v", empty, err)
		}
		openWorld(t, url).agent()
		if empty, err := s.Empty(t.Context()); empty || err != nil {
			t.Errorf("empty %v %v", empty, err)
		}
	})
}

func TestStoresThatStartTogetherMigrateOnce(t *testing.T) {
	forEachAddress(t, func(t *testing.T, url string) {
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				s, err := models.Open(t.Context(), models.Options{URL: url, Migrate: true, Readers: 2})
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(s.Migrated(t.Context()), s.Close()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

func TestMasterKeyIsBoundOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		for range 2 {
			if err := w.BindMasterKey(t.Context(), "a fingerprint"); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.open().BindMasterKey(t.Context(), "another"); !errors.Is(err, models.ErrMasterKey) {
			t.Errorf("another key: %v", err)
		}
	})
}

func TestADatabaseIsNamedOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		for _, s := range []*models.Store{w.Store, w.open()} {
			for _, fresh := range []string{"db_first", "db_second"} {
				if name, err := s.Instance(t.Context(), fresh); err != nil || name != "db_first" {
					t.Errorf("%q %v", name, err)
				}
			}
		}
	})
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "sqlite:", "sqlite::memory:", "file.db", "mysql://localhost/x", "postgres://user:sesame@localhost:port/"} {
		_, err := open(t, models.Options{URL: url})
		if !errors.Is(err, models.ErrDatabaseURL) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestDatabaseFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "inner.db")
	w := openWorld(t, "sqlite:"+path)
	w.publish(w.agent().writes(journal.Public, "mine"))
	for name, want := range map[string]os.FileMode{
		filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
	} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", filepath.Base(name), info.Mode().Perm())
		}
	}
}

func TestFileThatIsNoDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.txt")
	text := []byte(strings.Repeat("a letter to a friend\n", 100))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, models.Options{URL: "sqlite:" + path, Migrate: true}); err == nil {
		t.Error("opened")
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(text) {
		t.Error("the file was changed")
	}
}
