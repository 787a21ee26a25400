package skills

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"innerloop/coworker"
)

const prompt = "---\nname: month-end\ndescription: Closes a month. Use when the month ends.\nmetadata:\n  service: bitrix24\n  version: \"1\"\n---\n\n# Month end\n\nDo it.\n"

func folder(change func(fstest.MapFS)) fstest.MapFS {
	f := fstest.MapFS{
		"SKILL.md":           {Data: []byte(prompt), Mode: 0o644},
		"scripts/run.py":     {Data: []byte("print(1)"), Mode: 0o755},
		"references/note.md": {Data: []byte("a note"), Mode: 0o644},
	}
	change(f)
	return f
}

func TestAFolderIsReadWhole(t *testing.T) {
	t.Parallel()
	s, err := ReadFolder(folder(func(fstest.MapFS) {}), "month-end")
	if err != nil || s.Service != "bitrix24" || s.Description != "Closes a month. Use when the month ends." || len(s.Files) != 3 {
		t.Fatalf("%+v %v", s, err)
	}
	if string(s.Front) != `{"description":"Closes a month. Use when the month ends.","metadata":{"service":"bitrix24","version":"1"},"name":"month-end"}` {
		t.Errorf("%s", s.Front)
	}
	for _, f := range s.Files {
		if f.Sum != sha256.Sum256(f.Content) || f.Size != int64(len(f.Content)) {
			t.Errorf("%s does not hold", f.Path)
		}
		if f.Path == Main && (!strings.HasPrefix(string(f.Content), strings.TrimRight(prompt, "\n")) || !strings.Contains(string(f.Content), "connector_execute with `\"service\": \"bitrix24\"`")) {
			t.Errorf("%s", f.Content)
		}
	}
	plain, err := ReadFolder(folder(func(f fstest.MapFS) {
		f["SKILL.md"].Data = []byte("---\nname: month-end\ndescription: d\n---\nbody")
	}), "month-end")
	if err != nil || plain.Service != "" || strings.Contains(string(plain.Files[0].Content), "connector_execute") {
		t.Errorf("without a service: %+v %v", plain, err)
	}
}

// What is served and hashed is what was put in, also where an editor of Windows
// wrote it; only who reads the front matter takes its lines for lines.
func TestLinesMayEndAsWindowsEndsThem(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"all":                   "---\r\nname: month-end\r\ndescription: |\r\n  Two\r\n  lines.\r\nmetadata:\r\n  version: \"1\"\r\n---\r\n\r\n# Month end\r\n",
		"the front matter only": "---\r\nname: month-end\r\ndescription: |\r\n  Two\r\n  lines.\r\nmetadata:\r\n  version: \"1\"\r\n---\r\n# Month end\n",
		"one":                   "---\r\nname: month-end\ndescription: |\n  Two\n  lines.\nmetadata:\n  version: \"1\"\n---\n# Month end\n",
	} {
		s, err := ReadFolder(folder(func(f fstest.MapFS) { f["SKILL.md"].Data = []byte(text) }), "month-end")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Description != "Two\nlines.\n" || string(s.Front) != `{"description":"Two\nlines.\n","metadata":{"version":"1"},"name":"month-end"}` {
			t.Errorf("%s: %q %s", name, s.Description, s.Front)
		}
		if f := s.Files[0]; f.Path != Main || string(f.Content) != text || f.Sum != sha256.Sum256([]byte(text)) {
			t.Errorf("%s: %s %q", name, f.Path, f.Content)
		}
	}
}

func TestHostileFoldersAreRefused(t *testing.T) {
	t.Parallel()
	main := func(text string) func(fstest.MapFS) {
		return func(f fstest.MapFS) { f["SKILL.md"].Data = []byte(text) }
	}
	put := func(path string, size int, mode fs.FileMode) func(fstest.MapFS) {
		return func(f fstest.MapFS) { f[path] = &fstest.MapFile{Data: make([]byte, size), Mode: mode} }
	}
	for name, row := range map[string]struct {
		name   string
		field  string
		change func(fstest.MapFS)
	}{
		"another name":          {"month", "name", put("a", 0, 0o644)},
		"a name of ours":        {"innerloop-onboard", "folder", put("a", 0, 0o644)},
		"a name with a slash":   {"a/b", "folder", put("a", 0, 0o644)},
		"a name with capitals":  {"Month", "folder", put("a", 0, 0o644)},
		"no SKILL.md":           {"", "SKILL.md", func(f fstest.MapFS) { delete(f, "SKILL.md") }},
		"no front matter":       {"", "SKILL.md", main("# Month end")},
		"an open front matter":  {"", "SKILL.md", main("---\nname: month-end\n")},
		"lines of a lone CR":    {"", "SKILL.md", main(strings.ReplaceAll(prompt, "\n", "\r"))},
		"a CR in a description": {"", "description", main("---\r\nname: month-end\r\ndescription: \"a\\rb\"\r\n---\r\nbody")},
		"no body":               {"", "SKILL.md", main("---\nname: month-end\ndescription: d\n---\n \n")},
		"no text":               {"", "SKILL.md", main("---\nname: month-end\ndescription: d\n---\n\xff")},
		"only comments":         {"", "SKILL.md", main("---\n# name: month-end\n---\nbody")},
		"nothing twice":         {"", "SKILL.md", main("---\n---\n---\nbody")},
		"lists in lists":        {"", "SKILL.md", main("---\nname: month-end\ndescription: d\nx: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "\n---\nbody")},
		"maps in maps":          {"", "SKILL.md", main("---\nname: month-end\ndescription: d\nx: " + strings.Repeat("{a: ", 17) + "1" + strings.Repeat("}", 17) + "\n---\nbody")},
		"a list for a map":      {"", "SKILL.md", main("---\n- name\n---\nbody")},
		"an alias":              {"", "SKILL.md", main("---\nname: &a month-end\ndescription: *a\n---\nbody")},
		"a tag":                 {"", "SKILL.md", main("---\nname: !!str month-end\ndescription: d\n---\nbody")},
		"two documents":         {"", "SKILL.md", main("---\nname: month-end\ndescription: d\n...\n--- \nname: x\n---\nbody")},
		"a number no JSON has":  {"", "SKILL.md", main("---\nname: month-end\ndescription: d\nx: .inf\n---\nbody")},
		"no description":        {"", "description", main("---\nname: month-end\n---\nbody")},
		"a long description":    {"", "description", main("---\nname: month-end\ndescription: " + strings.Repeat("d", 1025) + "\n---\nbody")},
		"a control character":   {"", "description", main("---\nname: month-end\ndescription: \"a\\0b\"\n---\nbody")},
		"metadata of text":      {"", "metadata", main("---\nname: month-end\ndescription: d\nmetadata: x\n---\nbody")},
		"a service of no text":  {"", "metadata.service", main("---\nname: month-end\ndescription: d\nmetadata:\n  service: [a]\n---\nbody")},
		"a long prompt":         {"", "SKILL.md", main(prompt + strings.Repeat("x", promptMax))},
		"a link":                {"", "files", put("scripts/link", 0, fs.ModeSymlink|0o777)},
		"a pipe":                {"", "files", put("scripts/pipe", 0, fs.ModeNamedPipe|0o644)},
		"an executable":         {"", "files", put("references/run", 1, 0o755)},
		"hidden files":          {"", "files", put(".git/config", 1, 0o644)},
		"a name with a space":   {"", "files", put("scripts/a b", 1, 0o644)},
		"a name with a newline": {"", "files", put("scripts/a\nb", 1, 0o644)},
		"a foreign letter":      {"", "files", put("scripts/ц", 1, 0o644)},
		"one that is too large": {"", "files", put("assets/a", fileMax+1, 0o644)},
		"together too large":    {"", "files", func(f fstest.MapFS) { put("a", fileMax, 0o644)(f); put("b", fileMax, 0o644)(f) }},
		"too many": {"", "files", func(f fstest.MapFS) {
			for i := range 100 {
				put(fmt.Sprint("f", i), 0, 0o644)(f)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := row.name
			if id == "" {
				id = "month-end"
			}
			_, err := ReadFolder(folder(row.change), id)
			f, ok := coworker.AsFault(err)
			if !ok || f.Code != coworker.InvalidArg {
				t.Fatalf("%v", err)
			}
			if problems, _ := f.Details.([]coworker.Problem); len(problems) != 1 || problems[0].Field != row.field {
				t.Errorf("%+v", problems)
			}
		})
	}
}

func TestAddressesAreReadStrictly(t *testing.T) {
	t.Parallel()
	if id, path, ok := ParseURI("skill://month-end/scripts/run.py"); !ok || id != "month-end" || path != "scripts/run.py" {
		t.Error(id, path, ok)
	}
	for _, bad := range []string{"", "skill://", "skill://month-end", "skill://month-end/", "skill://Month/SKILL.md", "skill://a/../b", "skill://a//b", "skill://a/%2e%2e/b", "file://a/b", "skill://a/.git", "skill://" + strings.Repeat("a", 65) + "/b"} {
		if _, _, ok := ParseURI(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}
