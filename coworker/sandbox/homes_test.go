//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"innerloop/coworker/sandbox"
)

func TestServicesOnOneFolderHaveHomesOfTheirOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	together, at := openIn(t, dir, nil)
	run(t, together, "ada", "open('kept', 'w').write('from before')")
	one, _ := openIn(t, dir, func(o *sandbox.Options) { o.Homes = "one" })
	two, _ := openIn(t, dir, func(o *sandbox.Options) { o.Homes = "two" })
	// A home from when all lay together is the same user's.
	if r := run(t, one, "ada", "open('kept').read()"); r.Value != "'from before'" {
		t.Errorf("the home of before: %s", r.Value)
	}
	run(t, one, "bob", "1")
	if r := run(t, two, "ada", "import os\nos.listdir()"); r.Value != "[]" {
		t.Errorf("a user of the same name elsewhere sees %s", r.Value)
	}
	for s, want := range map[*sandbox.Sandbox][]string{one: {"ada", "bob"}, two: {"ada"}} {
		users, err := s.Users()
		if d := cmp.Diff(want, users); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	if os.Geteuid() == 0 {
		owners := map[uint32]bool{}
		for _, home := range []string{"one/ada", "one/bob", "two/ada"} {
			owners[ownerOf(t, filepath.Join(at, "homes", home))] = true
		}
		if len(owners) != 3 || owners[0] {
			t.Errorf("three homes belong to %v", owners)
		}
	}
	if err := two.RemoveHome("ada"); err != nil {
		t.Fatal(err)
	}
	if r := run(t, one, "ada", "open('kept').read()"); r.Value != "'from before'" {
		t.Errorf("removed with the other's: %s", r.Value)
	}
	for _, name := range []string{"..", "a/b", ".", "A"} {
		if _, err := sandbox.New(t.Context(), sandbox.Options{Dir: dir, Homes: name, Logger: quiet()}); err == nil {
			t.Errorf("%q may name a folder of homes", name)
		}
	}
}

// TestWhatCanBeImportedIsTriedAtTheStart: a package that talks, fails or ends
// the interpreter is no reason to do without a sandbox.
func TestWhatCanBeImportedIsTriedAtTheStart(t *testing.T) {
	t.Parallel()
	packages := filepath.Join(t.TempDir(), "packages")
	for d := packages; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"good": "__version__ = '1.2'", "bare": "", "talks": "print('talks')\n__version__ = '1\\n2'", "fails": "1 / 0", "ends": "import os\nos._exit(3)", "late": "",
	} {
		if err := os.WriteFile(filepath.Join(packages, name+".py"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, func(o *sandbox.Options) {
		o.Packages, o.Try = packages, []string{"nonesuch", "good", "fails", "bare", "talks", "ends", "late"}
	})
	if d := cmp.Diff([]string{"good 1.2", "bare", "talks 1 2"}, s.Status().Packages); d != "" {
		t.Error(d)
	}
	if users, err := s.Users(); err != nil || len(users) != 0 {
		t.Errorf("%q %v", users, err)
	}
}

// TestServersThatStartAtOnceDoNotSeeEachOther: they share a folder, and each
// tries a run in it, sweeps what others left, and has runs begin.
func TestServersThatStartAtOnceDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	_, dir := openIn(t, t.TempDir(), nil)
	left := filepath.Join(dir, "homes", "probe-0123456789abcdef")
	if err := os.MkdirAll(filepath.Join(left, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			for i := range 3 {
				s, err := sandbox.New(t.Context(), sandbox.Options{Dir: dir, Limits: small(), Logger: quiet()})
				if err != nil {
					t.Error(err)
					return
				}
				if status := s.Status(); !status.Available {
					t.Errorf("%s: %s", status.Failed, status.Cause)
				}
				if _, err := s.Run(t.Context(), sandbox.Job{User: fmt.Sprintf("u%d-%d", n, i), Code: "1"}); err != nil {
					t.Error(err)
				}
				s.Close()
			}
		})
	}
	all.Wait()
	if names, err := filepath.Glob(filepath.Join(dir, "homes", "probe*")); err != nil || len(names) > 0 {
		t.Errorf("homes stay: %v %v", names, err)
	}
}
