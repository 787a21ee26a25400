//go:build linux && (amd64 || arm64)

package repl_test

import (
	"os"
	"path/filepath"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/repl"
	"innerloop/coworker/sandbox"
)

// TestADataFolderServesTwoDatabases: what one database does not know belongs to
// the other, and stays when homes are cleaned; a user who is removed takes
// along the own home and no other.
func TestADataFolderServesTwoDatabases(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sandbox")
	in := func(homes string) *world {
		return newWorld(t, func(o *sandbox.Options) { o.Dir, o.Homes = dir, homes })
	}
	first, second := in("db_1"), in("db_2")
	leaver, err := first.AddUser(t.Context(), coworker.Operator(), first.acme.Organization.ID, "leaver")
	if err != nil {
		t.Fatal(err)
	}
	stays, goes, other := first.with(coworker.NewKey{}), first.with(coworker.NewKey{User: leaver.ID}), second.with(coworker.NewKey{})
	const write, read = "open('kept', 'w').write('x')", "open('kept').read()"
	for _, who := range []coworker.Caller{stays, goes} {
		first.ran(who, repl.Request{Code: write})
	}
	second.ran(other, repl.Request{Code: write})
	clean := func() {
		t.Helper()
		for _, w := range []*world{first, second} {
			if err := w.Chores(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	there := func(homes string, who coworker.Caller) bool {
		_, err := os.Stat(filepath.Join(dir, "homes", homes, string(who.User), "kept"))
		return err == nil
	}
	clean()
	if !there("db_1", stays) || !there("db_1", goes) || !there("db_2", other) {
		t.Error("a home is gone whose user is there")
	}
	if err := first.RemoveUser(t.Context(), coworker.Operator(), first.acme.Organization.ID, leaver.ID); err != nil {
		t.Fatal(err)
	}
	clean()
	if !there("db_1", stays) || there("db_1", goes) || !there("db_2", other) {
		t.Error("the wrong homes were cleaned")
	}
	if a := second.ran(other, repl.Request{Code: read}); *a.Result != "'x'" {
		t.Errorf("%+v", a)
	}
}
