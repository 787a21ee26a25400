//go:build linux && (amd64 || arm64)

package repl_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/memory"
	"innerloop/coworker/repl"
)

// tried reports what an attempt to change each place came to.
const tried = `
import os
def attempt(what, *args):
    try: what(*args)
    except OSError as e: return 'no'
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
	want := "closed deep\n['/mnt/skills/month-end/scripts/lib/deep.txt', '/mnt/skills/month-end/scripts/run.py'] []\nno no no no no no\n"
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

// seen lists what a run finds below /mnt/memory.
const seen = `
import os
sorted(os.path.join(d, f)[12:] for d, _, fs in os.walk('/mnt/memory') for f in fs)`

func TestMemoryIsShownToKeysThatMayReadIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	reads := w.with(coworker.NewKey{Scopes: coworker.WriteTools | coworker.ReadData})
	only := w.with(coworker.NewKey{Scopes: coworker.WriteTools})
	if a := w.ran(reads, repl.Request{Code: "import os\nos.listdir('/mnt/memory')"}); a.Result == nil || *a.Result != "[]" {
		t.Errorf("an empty memory: %+v", a)
	}
	w.keep(reads, "notes/prices.md", "цены")
	w.keep(reads, "notes/2026/empty", "")
	w.keep(reads, "bytes.bin", "\x00\xff\xfe\r\n\x00")
	w.keep(reads, "Name with space & 'quote'.txt", "named")
	a := w.ran(reads, repl.Request{Code: tried + `
at = '/mnt/memory/'
print(open(at + 'notes/prices.md').read(), open(at + 'bytes.bin', 'rb').read(), os.path.getsize(at + 'notes/2026/empty'), open(at + "Name with space & 'quote'.txt").read())
print(attempt(open, at + 'new', 'w'), attempt(open, at + 'notes/prices.md', 'a'), attempt(os.remove, at + 'bytes.bin'), attempt(os.rename, at + 'notes', at + 'x'),
      attempt(os.chmod, at + 'notes', 0o777), attempt(os.symlink, '/', at + 'notes/up'), attempt(os.link, at + 'bytes.bin', '/home/user/linked'), attempt(os.rmdir, '/mnt/memory'))`})
	want := "цены b'\\x00\\xff\\xfe\\r\\n\\x00' 0 named\nno no no no no no no no\n"
	if a.ExitCode != 0 || a.Stdout != want || a.MemoryLeft != 0 || len(a.Files) != 0 {
		t.Errorf("%+v", a)
	}
	// A key of the same user that may not read it.
	if a := w.ran(only, repl.Request{Code: "import os\nos.path.exists('/mnt/memory')"}); *a.Result != "False" {
		t.Errorf("without read:data: %+v", a)
	}
	// What is written or deleted since is seen by the next run.
	w.keep(reads, "notes/prices.md", "new")
	if err := w.files.Delete(t.Context(), reads, "bytes.bin", memory.Condition{}); err != nil {
		t.Fatal(err)
	}
	if a := w.ran(reads, repl.Request{Code: seen + "[1:], open('/mnt/memory/notes/prices.md').read()"}); *a.Result != "(['notes/2026/empty', 'notes/prices.md'], 'new')" {
		t.Errorf("the next run: %s", *a.Result)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, "runs")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// Attack: code looks for the memory of another user of the same organisation,
// of another organisation, and of a run beside it.
func TestMemoryIsItsUsersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).connected()
	begun := make(chan struct{})
	w.serve = func(http.ResponseWriter, *http.Request) { close(begun) }
	const beside = "import coworker, time\ntry: coworker.call('wildberries', 'GET', '/ping', module='common')\nexcept coworker.Error: pass\nwhile True: time.sleep(1)"
	both := coworker.WriteTools | coworker.ReadData
	second, err := w.AddUser(t.Context(), coworker.Operator(), w.acme.Organization.ID, "second")
	if err != nil {
		t.Fatal(err)
	}
	first := w.with(coworker.NewKey{Scopes: both})
	other := w.with(coworker.NewKey{Scopes: both, User: second.ID})
	stranger := w.Caller(w.Found("Other").Secret) // an admin, who may read their own
	w.keep(first, "mine.txt", "mark-7f3a91-first")
	w.keep(stranger, "theirs.txt", "mark-7f3a91-stranger")
	for name, row := range map[string]struct {
		who  coworker.Caller
		want string
	}{"first": {first, "['mine.txt']"}, "another user": {other, "[]"}, "a stranger": {stranger, "['theirs.txt']"}} {
		if a := w.ran(row.who, repl.Request{Code: seen}); *a.Result != row.want {
			t.Errorf("%s: %s", name, *a.Result)
		}
	}
	// While a run of the first goes on, one of the other reads the whole tree.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := w.Run(ctx, first, repl.Request{Timeout: 30 * time.Second, Services: []string{"wildberries"}, Code: beside})
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	a := w.ran(other, repl.Request{Code: `
import os
hits = []
for d, _, fs in os.walk('/'):
    if d.startswith(('/usr', '/proc', '/etc/alternatives')): continue
    for f in fs:
        try: raw = open(os.path.join(d, f), 'rb').read(1 << 20) if os.path.isfile(os.path.join(d, f)) else b''
        except OSError: continue
        if b'mark-' b'7f3a91' in raw: hits.append(os.path.join(d, f))
hits`})
	if a.Result == nil || *a.Result != "[]" {
		t.Errorf("found %v %s", *a.Result, a.Stderr)
	}
}

// A forged store holds paths that cannot be written: its table was changed by
// hand, or by a version with a fault.
type forged struct {
	memory.Store
	files map[string]string
}

func (f forged) Files(context.Context, memory.Owner, memory.Query) ([]memory.File, error) {
	var list []memory.File
	for path, text := range f.files {
		list = append(list, memory.File{Path: path, Size: int64(len(text))})
	}
	return list, nil
}

func (f forged) Contents(_ context.Context, _ memory.Owner, paths []string) ([]memory.Content, error) {
	var list []memory.Content
	for _, path := range paths {
		list = append(list, memory.Content{File: memory.File{Path: path}, Body: []byte(f.files[path])})
	}
	return list, nil
}

// Attack: paths that lead out of the folder. Expectation: they are left out and
// counted, the others are shown, and nothing is written anywhere else.
func TestPathsOfAMemoryLeadNowhereElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	who := w.with(coworker.NewKey{Scopes: coworker.WriteTools | coworker.ReadData})
	hostile := []string{"../x", "a/../../x", "/etc/cron.d/x", "..", ".", "", "a//b", "a/./b", "a\x00b", "a\\..\\b", "../../homes/x", strings.Repeat("a/", 40) + "b", strings.Repeat("a", 300)}
	files := map[string]string{"good.txt": "good", "a/good.txt": "good"}
	for _, path := range hostile {
		files[path] = "bad"
		if _, _, err := w.files.Put(t.Context(), who, path, []byte("bad"), memory.Condition{}); err == nil {
			t.Errorf("%q can be written", path)
		}
	}
	w.reopen(memory.Options{Store: forged{files: files}})
	a := w.ran(who, repl.Request{Code: seen})
	if *a.Result != "['a/good.txt', 'good.txt']" || a.MemoryLeft != len(hostile) {
		t.Errorf("%s, %d left out", *a.Result, a.MemoryLeft)
	}
	err := filepath.WalkDir(filepath.Dir(w.dir), func(name string, _ fs.DirEntry, err error) error {
		if filepath.Base(name) == "x" {
			t.Errorf("%s was written", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsShownOfAMemoryIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	who := w.with(coworker.NewKey{Scopes: coworker.WriteTools | coworker.ReadData})
	w.reopen(memory.Options{Store: w.J.Store.Coworker(), Shown: memory.Quota{Files: 20, Bytes: 1000}})
	for i := range 30 {
		w.keep(who, fmt.Sprintf("f%02d", i), "0123456789")
	}
	a := w.ran(who, repl.Request{Code: seen + "[0], len(os.listdir('/mnt/memory'))"})
	if *a.Result != "('f10', 20)" || a.MemoryLeft != 10 {
		t.Errorf("files: %s, %d left out", *a.Result, a.MemoryLeft)
	}
	// The newest is too large for itself, the one before fills the room.
	w.keep(who, "large", strings.Repeat("x", 995))
	w.keep(who, "larger", strings.Repeat("x", 1001))
	if a := w.ran(who, repl.Request{Code: seen}); *a.Result != "['large']" || a.MemoryLeft != 31 {
		t.Errorf("bytes: %s, %d left out", *a.Result, a.MemoryLeft)
	}
}

// Attack: a key loses read:data while a session of it is shown the memory.
// Expectation: the next call finds a new process, which is shown none.
func TestASessionLosesTheMemoryWithTheRightToReadIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	k, secret := w.Key(w.acme, coworker.NewKey{Scopes: coworker.WriteTools | coworker.ReadData})
	who := w.Caller(secret)
	w.keep(who, "note", "of then")
	const look = "import os\nos.path.exists('/mnt/memory') and open('/mnt/memory/note').read()"
	inSession := func(who coworker.Caller, want, state string) {
		t.Helper()
		if a := w.ran(who, repl.Request{Session: "a", Code: look}); a.Result == nil || *a.Result != want || a.State != state {
			t.Errorf("%+v", a)
		}
	}
	inSession(who, "'of then'", "fresh")
	// A session keeps what it was shown when it began.
	w.keep(who, "note", "of now")
	inSession(who, "'of then'", "kept")
	if a := w.ran(who, repl.Request{Code: look}); *a.Result != "'of now'" {
		t.Errorf("beside the session: %+v", a)
	}
	scopes := coworker.WriteTools
	if _, err := w.UpdateKey(t.Context(), coworker.Operator(), w.acme.Organization.ID, k.ID, coworker.Change{Scopes: &scopes}); err != nil {
		t.Fatal(err)
	}
	inSession(w.Caller(secret), "False", "lost")
}
