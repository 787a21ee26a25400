package skills

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"path"
	"strings"

	"innerloop/coworker"
)

// entriesMax bounds what is looked at in an archive: files and their folders.
const entriesMax = 4 * filesMax

// ReadZip reads a skill from an archive of its folder. Where the files lie at
// the top of the archive, the folder has the archive's name.
func ReadZip(content []byte, name string) (Skill, error) {
	broken := wrong("zip", "must be a ZIP archive of a folder that can be read whole")
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return Skill{}, broken
	}
	if len(archive.File) > entriesMax {
		return Skill{}, wrong("files", "are too many: a skill has at most 100")
	}
	var folder fs.FS = archive
	if top, ok := topOf(archive.File); ok {
		if folder, err = fs.Sub(archive, top); err != nil {
			return Skill{}, broken
		}
		name = top
	} else {
		name = strings.TrimSuffix(path.Base(name), ".zip")
	}
	s, err := ReadFolder(folder, name)
	if _, fault := coworker.AsFault(err); err != nil && !fault {
		// The reader met two files of a name, a wrong sum or more than was
		// announced. What it says may quote the archive.
		err = broken
	}
	return s, err
}

// topOf is the one folder in which everything lies.
func topOf(files []*zip.File) (string, bool) {
	top := ""
	for _, f := range files {
		first, _, inside := strings.Cut(f.Name, "/")
		if !inside || first == "" || top != "" && first != top || !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) {
			return "", false
		}
		top = first
	}
	return top, top != ""
}
