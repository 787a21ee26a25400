package skills

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"innerloop/coworker"
)

type packed struct {
	path, text string
	mode       fs.FileMode
}

func archive(t *testing.T, files ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate}
		h.SetMode(f.mode | 0o644)
		part, err := w.CreateHeader(h)
		if err == nil {
			_, err = part.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAnArchiveIsReadAsItsFolder(t *testing.T) {
	t.Parallel()
	inside := archive(t, packed{"month-end/SKILL.md", prompt, 0}, packed{"month-end/scripts/run.py", "print(1)", 0o111})
	flat := archive(t, packed{"SKILL.md", prompt, 0}, packed{"scripts/run.py", "print(1)", 0})
	for name, row := range map[string]struct {
		content []byte
		name    string
	}{"a folder": {inside, "whatever.zip"}, "files at the top": {flat, "month-end.zip"}} {
		s, err := ReadZip(row.content, row.name)
		if err != nil || s.ID != "month-end" || len(s.Files) != 2 || s.Service != "bitrix24" {
			t.Errorf("%s: %+v %v", name, s, err)
		}
	}
}

func TestHostileArchivesAreRefused(t *testing.T) {
	t.Parallel()
	main := packed{"month-end/SKILL.md", prompt, 0}
	many := []packed{main}
	for range entriesMax {
		many = append(many, packed{"month-end/d/", "", fs.ModeDir})
	}
	whole := archive(t, main)
	for name, row := range map[string]struct {
		content []byte
		field   string
	}{
		"no archive":              {[]byte("---\nname: x\n"), "zip"},
		"half of one":             {whole[:len(whole)/2], "zip"},
		"a wrong sum":             {damaged(whole), "zip"},
		"two files of a name":     {archive(t, main, main), "zip"},
		"a way out":               {archive(t, packed{"month-end/../../SKILL.md", prompt, 0}), "folder"},
		"an absolute path":        {archive(t, packed{"/month-end/SKILL.md", prompt, 0}), "folder"},
		"a link":                  {archive(t, main, packed{"month-end/l", "/etc/passwd", fs.ModeSymlink}), "files"},
		"two folders":             {archive(t, main, packed{"other/SKILL.md", prompt, 0}), "folder"},
		"many entries":            {archive(t, many...), "files"},
		"a megabyte out of a few": {archive(t, main, packed{"month-end/zeros", strings.Repeat("0", fileMax+1), 0}), "files"},
	} {
		_, err := ReadZip(row.content, "an archive.zip")
		f, ok := coworker.AsFault(err)
		if !ok || f.Code != coworker.InvalidArg {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if problems, _ := f.Details.([]coworker.Problem); len(problems) != 1 || problems[0].Field != row.field {
			t.Errorf("%s: %+v, want %s", name, problems, row.field)
		}
	}
}

// damaged changes a byte of the first file's data.
func damaged(whole []byte) []byte {
	changed := slices.Clone(whole)
	changed[len("month-end/SKILL.md")+40] ^= 0xff
	return changed
}
