package models_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/coworkertest"
	"innerloop/coworker/memory"
	"innerloop/internal/keyring"
)

func memoryOf(t *testing.T, b *toolbox, q memory.Quota) *memory.Memory {
	t.Helper()
	ring, err := keyring.New(bytes.Repeat([]byte{7}, keyring.MasterSize))
	if err != nil {
		t.Fatal(err)
	}
	cursors, err := ring.For("memory cursor")
	if err != nil {
		t.Fatal(err)
	}
	store, ok := b.store.(memory.Store)
	if !ok {
		t.Fatal("the store keeps no files")
	}
	m, err := memory.New(memory.Options{Store: store, Coworker: b.Coworker, Cursors: cursors, Quota: q})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const bothScopes = coworker.WriteTools | coworker.ReadData

// A shelf is a memory with three callers: two users of one organisation, and
// the admin of another.
type memoryShelf struct {
	*toolbox
	*memory.Memory
	ada, bob, stranger coworker.Caller
}

func openShelf(t *testing.T, w *world, q memory.Quota) *memoryShelf {
	t.Helper()
	b := newToolbox(t, w)
	acme, other := b.found("Acme"), b.found("Other")
	_, ada := b.key(acme, coworker.NewKey{Name: "ada", Scopes: bothScopes})
	user, err := b.AddUser(t.Context(), coworker.Operator(), acme.Organization.ID, "Bob")
	if err != nil {
		t.Fatal(err)
	}
	_, bob := b.key(acme, coworker.NewKey{Name: "bob", User: user.ID, Scopes: coworker.Admin})
	return &memoryShelf{b, memoryOf(t, b, q), b.caller(ada), b.caller(bob), b.caller(other.Secret)}
}

func (s *memoryShelf) put(t *testing.T, who coworker.Caller, path, content string) memory.File {
	t.Helper()
	s.later()
	f, _, err := s.Put(t.Context(), who, path, []byte(content), memory.Condition{})
	if err != nil {
		t.Fatalf("put %q: %v", path, err)
	}
	return f
}

func (s *memoryShelf) list(t *testing.T, who coworker.Caller, l memory.Listing) (paths []string) {
	t.Helper()
	for {
		page, err := s.List(t.Context(), who, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Files {
			paths = append(paths, f.Path)
		}
		if l.Cursor = page.Next; l.Cursor == "" {
			return paths
		}
	}
}

func TestFilesReadBackAndAreOnlyTheirUsers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		binary := string([]byte{0, 0xff, 0xfe, '\n'})
		for path, content := range map[string]string{"notes/a.md": "first", "empty": "", "bin": binary, "заметки/цены.txt": "1 ₽", "a b/c": "x"} {
			put := s.put(t, s.ada, path, content)
			f, back, err := s.Read(t.Context(), s.ada, path)
			if err != nil || string(back) != content || f != put || f.Size != int64(len(content)) {
				t.Errorf("%s: %+v, %q, %v", path, f, back, err)
			}
		}
		again, created, err := s.Put(t.Context(), s.ada, "notes/a.md", []byte("second"), memory.Condition{})
		if _, back, _ := s.Read(t.Context(), s.ada, "notes/a.md"); created || err != nil || string(back) != "second" || again.Size != 6 {
			t.Errorf("replaced: %q %v %v", back, created, err)
		}
		// An admin of the same organisation sees nothing of it, nor a stranger.
		for name, who := range map[string]coworker.Caller{"bob": s.bob, "stranger": s.stranger} {
			if _, _, err := s.Read(t.Context(), who, "notes/a.md"); faultOf(err) != coworker.NotFound {
				t.Errorf("%s reads: %v", name, err)
			}
			if paths := s.list(t, who, memory.Listing{}); len(paths) != 0 {
				t.Errorf("%s lists %q", name, paths)
			}
			if err := s.Memory.Delete(t.Context(), who, "notes/a.md", memory.Condition{}); faultOf(err) != coworker.NotFound {
				t.Errorf("%s deletes: %v", name, err)
			}
		}
		// The audit names no path.
		page, err := s.Audit(t.Context(), s.bob, coworker.AuditQuery{Action: "memory.put"}, "")
		if err != nil || len(page.Items) != 6 || strings.Contains(fmt.Sprintf("%+v", page.Items), "notes") {
			t.Errorf("%+v %v", page.Items, err)
		}
		if err := s.Memory.Delete(t.Context(), s.ada, "notes/a.md", memory.Condition{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Read(t.Context(), s.ada, "notes/a.md"); faultOf(err) != coworker.NotFound {
			t.Errorf("after deletion: %v", err)
		}
	})
}

func TestScopesOpenTheMemory(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		s.put(t, s.ada, "a", "x")
		writer, reader := s.ada, s.ada
		writer.Scopes, reader.Scopes = coworker.WriteTools, coworker.ReadData
		_, _, err := s.Read(t.Context(), writer, "a")
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
		_, err = s.List(t.Context(), writer, memory.Listing{})
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
		_, err = s.ReadMany(t.Context(), writer, []string{"a"})
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
		_, _, err = s.Put(t.Context(), reader, "a", nil, memory.Condition{})
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
		coworkertest.WantCode(t, s.Memory.Delete(t.Context(), reader, "a", memory.Condition{}), coworker.PermissionDenied)
		// What is missing tells no neighbours to a key that may not read.
		f := coworkertest.WantCode(t, s.Memory.Delete(t.Context(), writer, "b", memory.Condition{}), coworker.NotFound)
		if text := fmt.Sprintf("%+v", f.Details); text != "{Path:b Nearest:[]}" {
			t.Error(text)
		}
	})
}

func TestListsFollowTheirCursorAndNoOther(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		var want []string
		for _, path := range []string{"a", "b/100%", "b/1000", "b/A_b", "b/axb", "b\uf8ff", "c/Ёлка.txt", "c/ёж.txt", "\U0001F600/z"} {
			s.put(t, s.ada, path, path)
			want = append(want, path)
		}
		for _, row := range []struct {
			name string
			l    memory.Listing
			want []string
		}{
			{"all, in pages", memory.Listing{Limit: 2}, want},
			{"a folder", memory.Listing{Prefix: "b/", Limit: 1}, want[1:5]},
			{"a beginning", memory.Listing{Prefix: "b"}, want[1:6]},
			{"the highest letter", memory.Listing{Prefix: "b\uf8ff"}, want[5:6]},
			{"a percent sign is a letter", memory.Listing{Name: "0%"}, want[1:2]},
			{"so is an underscore", memory.Listing{Name: "a_B"}, want[3:4]},
			{"case does not count", memory.Listing{Name: "ёл"}, want[6:7]},
			{"prefix and name", memory.Listing{Prefix: "c/", Name: "TXT", Limit: 1}, want[6:8]},
			{"nothing", memory.Listing{Prefix: "d/"}, nil},
		} {
			if got := s.list(t, s.ada, row.l); !slices.Equal(got, row.want) {
				t.Errorf("%s: %q", row.name, got)
			}
		}
		page, err := s.List(t.Context(), s.ada, memory.Listing{Prefix: "b/", Limit: 2})
		if err != nil || page.Next == "" {
			t.Fatal(err)
		}
		s.put(t, s.bob, "b/x", "x")
		for name, row := range map[string]struct {
			who coworker.Caller
			l   memory.Listing
		}{
			"another prefix": {s.ada, memory.Listing{Prefix: "b", Cursor: page.Next}},
			"another name":   {s.ada, memory.Listing{Prefix: "b/", Name: "1", Cursor: page.Next}},
			"another user":   {s.bob, memory.Listing{Prefix: "b/", Cursor: page.Next}},
			"cut short":      {s.ada, memory.Listing{Prefix: "b/", Cursor: page.Next[:len(page.Next)-2]}},
			"moved":          {s.ada, memory.Listing{Prefix: "b/", Cursor: "YQ" + page.Next[strings.Index(page.Next, "."):]}},
			"no cursor":      {s.ada, memory.Listing{Prefix: "b/", Cursor: "x"}},
		} {
			if _, err := s.List(t.Context(), row.who, row.l); faultOf(err) != coworker.InvalidArg {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, limit := range []int{-1, 501} {
			_, err := s.List(t.Context(), s.ada, memory.Listing{Limit: limit})
			coworkertest.WantCode(t, err, coworker.InvalidArg)
		}
	})
}

func TestPathsAlwaysMakeATree(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		s.put(t, s.ada, "a/b/c", "x")
		s.put(t, s.ada, "d", "x")
		for _, path := range []string{"a", "a/b", "a/b/c/d", "d/e", "d/e/f"} {
			_, _, err := s.Put(t.Context(), s.ada, path, nil, memory.Condition{})
			coworkertest.WantCode(t, err, coworker.InvalidArg)
		}
		s.put(t, s.ada, "a/b-", "beside the folder")
		s.put(t, s.ada, "a/bc", "beside the folder")
		if err := s.Memory.Delete(t.Context(), s.ada, "d", memory.Condition{}); err != nil {
			t.Fatal(err)
		}
		s.put(t, s.ada, "d/e", "now it may")
	})
}

func TestQuotasHoldWhateverComesAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{Files: 5, Bytes: 100})
		var wait sync.WaitGroup
		var mu sync.Mutex
		stored, full := 0, 0
		for i := range 12 {
			wait.Go(func() {
				_, _, err := s.Put(t.Context(), s.ada, fmt.Sprintf("f%d", i), []byte("ten bytes!"), memory.Condition{})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					stored++
				case faultOf(err) == coworker.InvalidArg:
					full++
				default:
					t.Error(err)
				}
			})
		}
		wait.Wait()
		paths := s.list(t, s.ada, memory.Listing{})
		if stored != 5 || full != 7 || len(paths) != 5 {
			t.Fatalf("%d stored, %d refused, %q", stored, full, paths)
		}
		// Bytes: the old content of what is replaced does not count.
		_, _, err := s.Put(t.Context(), s.ada, paths[0], bytes.Repeat([]byte("x"), 61), memory.Condition{})
		coworkertest.WantCode(t, err, coworker.InvalidArg)
		if _, back, err := s.Read(t.Context(), s.ada, paths[0]); err != nil || string(back) != "ten bytes!" {
			t.Errorf("a refused write changed the file: %q %v", back, err)
		}
		s.put(t, s.ada, paths[0], strings.Repeat("x", 60))
		s.put(t, s.ada, paths[0], strings.Repeat("y", 60))
		s.put(t, s.ada, paths[1], "less")
		if err := s.Memory.Delete(t.Context(), s.ada, paths[2], memory.Condition{}); err != nil {
			t.Fatal(err)
		}
		s.put(t, s.ada, "new", "ten bytes!")
		s.put(t, s.bob, "his own quota", strings.Repeat("x", 100))
		var files, held int
		if err := w.raw().QueryRow(fmt.Sprintf(`SELECT files, bytes FROM memory_usage WHERE user_id = '%s'`, s.ada.User)).Scan(&files, &held); err != nil || files != 5 || held != 60+4+10+10+10 {
			t.Errorf("%d files, %d bytes, %v", files, held, err)
		}
	})
}

// Of writers who all saw the same content one wins.
func TestConditionsLetOneWriterWin(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		compete := func(c memory.Condition) int {
			var wait sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for i := range 8 {
				wait.Go(func() {
					_, _, err := s.Put(t.Context(), s.ada, "a", fmt.Append(nil, "writer ", i, c), c)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
					} else if !errors.Is(err, memory.ErrChanged) {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			return won
		}
		if won := compete(memory.Condition{Absent: true}); won != 1 {
			t.Errorf("%d made the file", won)
		}
		f, _, err := s.Read(t.Context(), s.ada, "a")
		if err != nil {
			t.Fatal(err)
		}
		if won := compete(memory.Condition{Tags: []string{f.Tag()}}); won != 1 {
			t.Errorf("%d changed the file", won)
		}
		if err := s.Memory.Delete(t.Context(), s.ada, "a", memory.Condition{Tags: []string{f.Tag()}}); !errors.Is(err, memory.ErrChanged) {
			t.Errorf("deleted what was changed: %v", err)
		}
		if _, _, err := s.Put(t.Context(), s.ada, "b", nil, memory.Condition{Any: true}); !errors.Is(err, memory.ErrChanged) {
			t.Errorf("made what must be there: %v", err)
		}
	})
}

func TestManyFilesAreReadWithErrorsOfTheirOwn(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		s.put(t, s.ada, "notes/prices.md", "ten")
		s.put(t, s.ada, "old/prices.md", "nine")
		s.put(t, s.ada, "large", strings.Repeat("x", memory.ManyData-2))
		s.put(t, s.ada, "binary", "\x00\x01")
		items, err := s.ReadMany(t.Context(), s.ada, []string{"notes/prices.md", "missing", "../etc/passwd", "large", "binary", "old/prices.md", "notes/price.md"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, item := range items {
			word := item.Path + ": "
			if item.Error != nil {
				got = append(got, word+item.Error.Code)
				continue
			}
			got = append(got, word+item.Encoding+" "+item.Content)
		}
		want := []string{"notes/prices.md: utf-8 ten", "missing: NOT_FOUND", "../etc/passwd: INVALID_ARG", "large: RESPONSE_TOO_LARGE", "binary: base64 AAE=", "old/prices.md: utf-8 nine", "notes/price.md: NOT_FOUND"}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		if near := fmt.Sprintf("%+v", items[6].Error.Details); near != "{Path:notes/price.md Nearest:[notes/prices.md]}" {
			t.Error(near)
		}
		// What lies near is looked for five times, however many are missing.
		var missing []string
		for i := range memory.ManyMax {
			missing = append(missing, fmt.Sprintf("notes/price%d.md", i))
		}
		w.queries.take()
		items, err = s.ReadMany(t.Context(), s.ada, missing)
		if n := len(w.queries.take()); err != nil || len(items) != len(missing) || n != len(missing)+2*5 {
			t.Fatalf("%d queries for %d, %v", n, len(items), err)
		}
		for i, item := range items {
			if told := strings.Contains(fmt.Sprintf("%+v", item.Error.Details), "notes/prices.md"); item.Error.Code != string(coworker.NotFound) || told != (i < 5) {
				t.Errorf("%d: %+v", i, item.Error)
			}
		}
		for _, n := range []int{0, 51} {
			_, err := s.ReadMany(t.Context(), s.ada, make([]string, n))
			coworkertest.WantCode(t, err, coworker.InvalidArg)
		}
		if items, err := s.ReadMany(t.Context(), s.ada, slices.Repeat([]string{"binary"}, 50)); err != nil || len(items) != 50 {
			t.Errorf("%d, %v", len(items), err)
		}
		s.put(t, s.ada, "huge", strings.Repeat("x", memory.ReadMax+1))
		_, err = s.ReadOne(t.Context(), s.ada, "huge")
		coworkertest.WantCode(t, err, coworker.ResponseTooLarge)
		_, _, err = s.Put(t.Context(), s.ada, "too large", make([]byte, memory.FileMax+1), memory.Condition{})
		coworkertest.WantCode(t, err, coworker.ResponseTooLarge)
		s.put(t, s.ada, "largest", strings.Repeat("x", memory.FileMax))
	})
}

func TestFilesGoWithTheirUserAndOrganization(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		s.put(t, s.ada, "a", "x")
		s.put(t, s.bob, "b", "x")
		s.put(t, s.stranger, "c", "x")
		count := func(want int) {
			t.Helper()
			for _, table := range []string{"memory_files", "memory_contents", "memory_usage"} {
				var n int
				if err := w.raw().QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != want {
					t.Errorf("%s: %d rows, %v", table, n, err)
				}
			}
		}
		count(3)
		if err := s.RemoveUser(t.Context(), s.bob, s.bob.Organization, s.ada.User); err != nil {
			t.Fatal(err)
		}
		count(2)
		if _, _, err := s.Put(t.Context(), s.ada, "late", nil, memory.Condition{}); faultOf(err) != coworker.NotFound {
			t.Errorf("a user who is gone writes: %v", err)
		}
		if err := s.DeleteOrganization(t.Context(), coworker.Operator(), s.bob.Organization); err != nil {
			t.Fatal(err)
		}
		count(1)
	})
}

// What a service answered is kept under a name of ours.
func TestDownloadsAreKeptUnderHarmlessNames(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		reader := s.ada
		reader.Scopes = coworker.ReadData
		for name, want := range map[string]string{
			"ozon-77":            "downloads/ozon-77-",
			"../../etc/passwd\n": "downloads/etc-passwd-",
			"///":                "downloads/answer-",
			strings.Repeat("я", 300) + strings.Repeat("x", 300): "downloads/answer-",
		} {
			path, err := s.Keep(t.Context(), reader, name, []byte("%PDF-1.7\n\x00"+name))
			if err != nil || !strings.HasPrefix(path, want) || !strings.HasSuffix(path, ".pdf") || memory.CheckPath(path) != nil {
				t.Errorf("%q: %q %v", name, path, err)
				continue
			}
			if _, back, err := s.Read(t.Context(), reader, path); err != nil || !bytes.HasSuffix(back, []byte(name)) {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

func TestAMemoryIsLaidOutNewestFirst(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		s := openShelf(t, w, memory.Quota{})
		for i := range 40 { // more than are read at a time
			s.later()
			if _, _, err := s.Put(t.Context(), s.ada, fmt.Sprintf("a/%02d", i), []byte{0xff, byte(i)}, memory.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		laid := map[string]string{}
		add := func(path string, body []byte) error {
			laid[path] = string(body)
			return nil
		}
		left, err := s.Lay(t.Context(), s.ada, add)
		if err != nil || left != 0 || len(laid) != 40 || laid["a/07"] != "\xff\x07" {
			t.Errorf("%d left out, %d laid, %v", left, len(laid), err)
		}
		clear(laid)
		if left, err := s.Lay(t.Context(), s.bob, add); err != nil || left != 0 || len(laid) != 0 {
			t.Errorf("of another user: %d %v %v", left, laid, err)
		}
		blind := s.ada
		blind.Scopes = coworker.WriteTools
		_, err = s.Lay(t.Context(), blind, add)
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
	})
}
