package settings

import (
	"net/url"

	"innerloop/internal/locale"
)

// Files is the page of what the caller's user keeps.
type Files struct {
	Frame
	Query   string
	Rows    []File
	Further string // address of the next page
	Path    string // as it was typed
	Replace bool
}

// A File is one row.
type File struct {
	Path, Shown string // Shown names characters that nobody sees
	Size        string // in words
	Changed     Moment
}

// FileDetail is the page of one file.
type FileDetail struct {
	Frame
	File
	Digest string
	Binary bool
	Text   string // what is shown of it
	Cut    bool
}

// FileHref is the address of a page about one file: "file", "download" or
// "delete".
func FileHref(lang locale.Lang, page, path string) string {
	return lang.Path(fileAddress(page, path))
}

func fileAddress(page, path string) string {
	return FilesPath + "/" + page + "?" + url.Values{"path": {path}}.Encode()
}

// DeleteFile asks once more before a file is deleted.
func DeleteFile(f Frame, path, shown string) Ask {
	m := f.Lang.ShelfMessages().File
	f.Title, f.Path = m.Ask, fileAddress("delete", path)
	return Ask{
		Frame: f, Lead: m.AskLead, Facts: []Fact{{Name: m.Path, Value: shown}}, Action: f.Path, Confirm: m.Confirm, Back: FilesPath,
	}
}

// Skills is the page of an organisation's skills.
type Skills struct {
	Frame
	Rows []Skill
}

// A Skill is one row, or the head of its own page.
type Skill struct {
	ID, Description, Service string
	Holds, Size              string // files and their bytes, in words
	Added, Changed           Moment
	On                       bool
}

// SkillDetail is the page of one skill.
type SkillDetail struct {
	Frame
	Skill
	Text  string // of its main file
	Files []SkillFile
}

// A SkillFile is one row.
type SkillFile struct{ Path, Size, Digest string }
