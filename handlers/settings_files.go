package handlers

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/coworker/memory"
	"innerloop/web/prose"
	"innerloop/web/settings"
)

const (
	filesPage = 50       // files that a page lists
	shownText = 64 << 10 // bytes of a file that a page shows
)

// shelfRoutes are the pages of a user's files and an organisation's skills.
func (s *Server) shelfRoutes(prefix string) {
	page := func(path, section string, show func(*desk) error) { s.app.Get(prefix+path, s.atDesk(section, show)) }
	form := func(path, section string, act func(*desk, url.Values) error) {
		s.app.Post(prefix+path, s.byForm(section, act))
	}
	if s.memory != nil {
		page(settings.FilesPath, settings.FilesPath, s.filesPage)
		s.app.Post(prefix+settings.FilesPath, s.byUpload(settings.FilesPath, s.keepFileForm))
		page(settings.FilesPath+"/file", settings.FilesPath, s.filePage)
		page(settings.FilesPath+"/download", settings.FilesPath, s.downloadFile)
		page(settings.FilesPath+"/delete", settings.FilesPath, s.askDeleteFile)
		form(settings.FilesPath+"/delete", settings.FilesPath, s.deleteFileForm)
	}
	if s.shelf != nil {
		one := settings.SkillsPath + "/:skill"
		page(settings.SkillsPath, settings.SkillsPath, s.skillsPage)
		s.app.Post(prefix+settings.SkillsPath, s.byUpload(settings.SkillsPath, s.addSkillForm))
		page(one, settings.SkillsPath, s.skillPage)
		form(one+"/enable", settings.SkillsPath, s.switchSkillForm(true))
		form(one+"/disable", settings.SkillsPath, s.switchSkillForm(false))
		page(one+"/remove", settings.SkillsPath, s.askRemoveSkill)
		form(one+"/remove", settings.SkillsPath, s.removeSkillForm)
	}
}

// pathAsked is the file that an address names.
func (d *desk) pathAsked() string { return string(d.Context().QueryArgs().Peek("path")) }

// filesPage is GET /settings/memory: the files of the caller's own user. Nobody
// sees another user's, whatever they administer.
func (s *Server) filesPage(d *desk) error { return s.showFiles(d, "", false) }

func (s *Server) showFiles(d *desk, path string, replace bool) error {
	m := d.lang().ShelfMessages()
	d.frame.Title, d.frame.Path = m.File.Title, settings.FilesPath
	asked := strings.TrimSpace(string(d.Context().QueryArgs().Peek("q")))
	v := settings.Files{Query: strings.ToValidUTF8(asked, ""), Path: path, Replace: replace}
	page, err := s.memory.List(d.ctx, d.who, memory.Listing{Name: asked, Cursor: d.cursorOf(), Limit: filesPage})
	if err != nil {
		if err := d.misplaced(err, map[string]string{"name": "q"}, m.File.Search); err != nil {
			return err
		}
	}
	for _, f := range page.Files {
		v.Rows = append(v.Rows, fileView(d, f))
	}
	if page.Next != "" {
		v.Further = d.lang().Path(settings.FilesPath) + "?" + url.Values{"q": {asked}, "after": {page.Next}}.Encode()
	}
	v.Frame = d.frame
	return s.sheet(d.Ctx, settings.FilesPage(v))
}

func fileView(d *desk, f memory.File) settings.File {
	return settings.File{Path: f.Path, Shown: prose.Visible(f.Path), Size: d.lang().Size(f.Size), Changed: settings.At(d.lang(), f.UpdatedAt)}
}

// misplaced puts problems beside the fields of a page, which may be called
// otherwise than the room calls them. Other errors stay errors.
func (d *desk) misplaced(err error, fields map[string]string, label string) error {
	f, ok := coworker.AsFault(err)
	problems, listed := problemsOf(f)
	if !ok || f.Code != coworker.InvalidArg || !listed {
		return err
	}
	rules := d.lang().ShelfMessages().Rules
	for _, p := range problems {
		text := rules[""]
		for _, rule := range []string{p.Field, p.Problem} {
			if found, ok := rules[rule]; ok {
				text = found
			}
		}
		field, ok := fields[p.Field]
		if !ok {
			field = fields[""]
		}
		if field == "" {
			return err
		}
		d.frame.Faults = append(d.frame.Faults, settings.Fault{Field: field, Label: label, Text: text})
	}
	d.Status(fiber.StatusBadRequest)
	return nil
}

// keepFileForm is POST /settings/memory.
func (s *Server) keepFileForm(d *desk, values url.Values, file upload) error {
	if err := only(values, []string{"path", "replace"}); err != nil {
		return err
	}
	m := d.lang().ShelfMessages()
	typed, replace := values.Get("path"), values.Get("replace") == "yes"
	path := typed
	if path == "" || strings.HasSuffix(path, "/") {
		path += file.name
	}
	var err error
	label := m.File.Path
	switch {
	case file.name == "":
		label, err = m.File.Pick, coworker.InvalidArguments(coworker.Problem{Field: "file", Problem: "has to be chosen"})
	case len(file.content) > memory.FileMax:
		label, err = m.File.Pick, coworker.InvalidArguments(coworker.Problem{Field: "file", Problem: "is larger than the memory keeps"})
	default:
		_, _, err = s.memory.Put(d.ctx, d.who, path, file.content, memory.Condition{Absent: !replace})
	}
	if err == nil {
		return d.onward(settings.FilesPath, "kept")
	}
	if errors.Is(err, memory.ErrChanged) {
		err = coworker.InvalidArguments(coworker.Problem{Field: "path", Problem: "is there already"})
	}
	if err := d.misplaced(err, map[string]string{"file": "file", "path": "path"}, label); err != nil {
		return err
	}
	return s.showFiles(d, typed, replace)
}

// filePage is GET /settings/memory/file.
func (s *Server) filePage(d *desk) error {
	f, content, err := s.memory.Read(d.ctx, d.who, d.pathAsked())
	if err != nil {
		return absent(err)
	}
	d.frame.Title, d.frame.Path = prose.Visible(f.Path), settings.FilesPath+"/file?"+url.Values{"path": {f.Path}}.Encode()
	v := settings.FileDetail{Frame: d.frame, File: fileView(d, f), Digest: f.Tag()}
	v.Text, v.Cut, v.Binary = shownOf(content)
	return s.sheet(d.Ctx, settings.FilePage(v))
}

// absent makes of a path that no file can have one that no file has.
func absent(err error) error {
	if f, ok := coworker.AsFault(err); ok && f.Code == coworker.InvalidArg {
		return coworker.Missing("file")
	}
	return err
}

// shownOf is the beginning of a content as a page shows it, or that it is
// binary. What nobody would see in it is named.
func shownOf(content []byte) (text string, cut, binary bool) {
	if !utf8.Valid(content) || strings.ContainsRune(string(content), 0) {
		return "", false, true
	}
	if cut = len(content) > shownText; cut {
		content = content[:shownText]
		for !utf8.Valid(content) {
			content = content[:len(content)-1]
		}
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(string(content), "\r\n", "\n"))
	return prose.Visible(strings.TrimRightFunc(text, unicode.IsSpace)), cut, false
}

// downloadFile is GET /settings/memory/download. What somebody stored is never
// shown by a browser as a page of ours.
func (s *Server) downloadFile(d *desk) error {
	f, content, err := s.memory.Read(d.ctx, d.who, d.pathAsked())
	if err != nil {
		return absent(err)
	}
	name := f.Path[strings.LastIndexByte(f.Path, '/')+1:]
	d.Set(fiber.HeaderCacheControl, settingsCache)
	d.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	d.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	d.Set(fiber.HeaderContentDisposition, "attachment; filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(name), "+", "%20"))
	d.Context().Response.SetBodyRaw(content)
	return nil
}

// askDeleteFile is GET /settings/memory/delete.
func (s *Server) askDeleteFile(d *desk) error {
	f, _, err := s.memory.Read(d.ctx, d.who, d.pathAsked())
	if err != nil {
		return absent(err)
	}
	return s.sheet(d.Ctx, settings.AskPage(settings.DeleteFile(d.frame, f.Path, prose.Visible(f.Path))))
}

// deleteFileForm is POST /settings/memory/delete.
func (s *Server) deleteFileForm(d *desk, values url.Values) error {
	if err := only(values, nil); err != nil {
		return err
	}
	if err := s.memory.Delete(d.ctx, d.who, d.pathAsked(), memory.Condition{}); err != nil {
		return absent(err)
	}
	return d.onward(settings.FilesPath, "deleted")
}
