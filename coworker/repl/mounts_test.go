//go:build linux && (amd64 || arm64)

package repl_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/repl"
)

// tried reports what an attempt to change each place came to.
const tried = `
import os, errno
def attempt(what, *args):
    try: what(*args)
    except OSError as e: return errno.errorcode[e.errno]
    return 'done'
`

func TestScriptsOfSkillsCanBeRunAndNotChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	o := w.acme.Organization.ID
	w.learn(o, "month-end", map[string]string{"scripts/run.py": "def close(): return 'closed'", "scripts/lib/deep.txt": "deep", "references/note.md": "not a script"})
	w.learn(o, "plain", nil)
	who := w.with(coworker.NewKey{})
	a := w.ran(who, repl.Request{Skills: []string{"month-end", "plain"}, Code: tried + `
import sys
sys.path.insert(0, '/mnt/skills/month-end/scripts')
import run
at = '/mnt/skills/month-end/scripts/'
print(run.close(), open(at + 'lib/deep.txt').read())
print(sorted(os.path.join(d, f) for d, _, fs in os.walk('/mnt') for f in fs), os.listdir('/mnt/skills/plain/scripts'))
print(attempt(open, at + 'run.py', 'w'), attempt(os.remove, at + 'run.py'), attempt(os.mkdir, at + 'x'), attempt(os.chmod, at + 'run.py', 0o777),
      attempt(os.symlink, '/etc/passwd', at + 'y'), attempt(os.mkdir, '/mnt/skills/other'))`})
	want := "closed deep\n['/mnt/skills/month-end/scripts/lib/deep.txt', '/mnt/skills/month-end/scripts/run.py'] []\nEROFS EROFS EROFS EROFS EROFS EROFS\n"
	if a.ExitCode != 0 || a.Stdout != want {
		t.Errorf("%s%s", a.Stdout, a.Stderr)
	}
	// What was not asked for is not there, and nothing stays behind.
	if a := w.ran(who, repl.Request{Code: "import os\nos.path.exists('/mnt/skills')"}); *a.Result != "False" {
		t.Errorf("%+v", a)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, "runs")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// Attack: a skill of another organisation, one that is disabled, one that never
// was, a path in place of an id. Expectation: all are told apart by nothing.
func TestSkillsThatAreNotTheCallersAreNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	o := w.acme.Organization.ID
	who := w.with(coworker.NewKey{})
	none := w.refused(who, repl.Request{Skills: []string{"nonesuch"}, Code: "1"}, coworker.NotFound)
	if none.Message != "There is no such skill." || none.Hint != "the organization has no skill that is enabled" {
		t.Errorf("%+v", none)
	}
	w.learn(o, "month-end", map[string]string{"scripts/run.py": "1"})
	w.learn(o, "off", map[string]string{"scripts/run.py": "1"})
	if err := w.shelf.Switch(t.Context(), coworker.Operator(), o, "off", false); err != nil {
		t.Fatal(err)
	}
	w.learn(w.Found("Other").Organization.ID, "theirs", map[string]string{"scripts/run.py": "1"})
	for _, id := range []string{"nonesuch", "off", "theirs", "../../homes", "month-end/scripts", ""} {
		f := w.refused(who, repl.Request{Skills: []string{"month-end", id}, Code: "1"}, coworker.NotFound)
		if f.Message != "There is no such skill." || f.Hint != "there are month-end" {
			t.Errorf("%s: %+v", id, f)
		}
	}
}

func TestScriptsOfOneRunAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	who := w.with(coworker.NewKey{})
	half := strings.Repeat("#", 4<<20)
	var ids []string
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		w.learn(w.acme.Organization.ID, id, map[string]string{"scripts/one.py": half, "scripts/two.py": half})
		ids = append(ids, id)
	}
	f := w.refused(who, repl.Request{Skills: ids, Code: "1"}, coworker.InvalidArg)
	if problems, _ := f.Details.([]coworker.Problem); len(problems) != 1 || problems[0].Field != "skills" {
		t.Errorf("%+v", f)
	}
	if a := w.ran(who, repl.Request{Skills: ids[:4], Code: "import os\nos.path.getsize('/mnt/skills/d/scripts/two.py')"}); *a.Result != "4194304" {
		t.Errorf("%+v", a)
	}
}
