//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"innerloop/coworker/sandbox"
)

// Attack: a tree whose paths lead out of its folder, through a file, or onto
// another. Expectation: there is no run, nothing is written elsewhere, and
// nothing stays.
func TestATreeStaysInItsFolder(t *testing.T) {
	t.Parallel()
	s, dir := openIn(t, t.TempDir(), nil)
	for _, path := range []string{"../planted", "../../planted", "/planted", "a/../../planted", "file/planted", ".", ""} {
		_, err := s.Run(t.Context(), sandbox.Job{User: "u", Code: "1", Trees: []sandbox.Tree{{Target: "/mnt/t", Fill: func(add func(string, []byte) error) error {
			if err := add("file", nil); err != nil {
				return err
			}
			return add(path, []byte("x"))
		}}}})
		if err == nil {
			t.Errorf("%q was taken", path)
		}
	}
	err := filepath.WalkDir(filepath.Dir(dir), func(name string, _ fs.DirEntry, err error) error {
		if filepath.Base(name) == "planted" {
			t.Errorf("%s was written", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "runs")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
