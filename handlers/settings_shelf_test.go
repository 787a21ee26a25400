package handlers_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"innerloop/coworker"
)

// brings is a form with a file, as a browser sends it.
func brings(t *testing.T, fields map[string]string, name, content string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for field, value := range fields {
		if err := w.WriteField(field, value); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// upload sends a form with a file and the session's token.
func (a *admin) upload(path string, fields map[string]string, name, content string) reply {
	a.t.Helper()
	all := map[string]string{"csrf": a.csrf}
	for field, value := range fields {
		all[field] = value
	}
	body, kind := brings(a.t, all, name, content)
	return a.do(http.MethodPost, path, body, "Content-Type", kind, "Origin", a.URL, "Cookie", a.cookie)
}

func (o *office) admin(words ...string) *admin {
	o.t.Helper()
	_, key := o.scoped(words...)
	return o.signIn(key)
}

func fileAt(page, path string) string {
	return "/settings/memory/" + page + "?" + url.Values{"path": {path}}.Encode()
}

func TestFilesAreKeptInSettings(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a := o.admin("admin", "read:data", "write:tools")
	if r := a.see("/settings/memory"); r.Status != 200 || !strings.Contains(r.Body, "There are no files yet.") {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	hostile := "<script>alert(1)</script>\r\nfrom \u202eright\x01"
	if r := a.upload("/settings/memory", map[string]string{"path": "notes/"}, "цены.txt", hostile); r.Status != 303 || r.Header.Get("Location") != "/settings/memory?done=kept" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	a.upload("/ru/settings/memory", nil, "data.bin", "\x00\xff")
	list := a.see("/settings/memory?done=kept").Body
	for _, part := range []string{"The file is kept.", "notes/цены.txt", "data.bin", "2 bytes", `aria-current="page">Memory`} {
		if !strings.Contains(list, part) {
			t.Errorf("the list lacks %q", part)
		}
	}
	if page := a.see("/settings/memory?q=ЦЕНЫ").Body; !strings.Contains(page, "notes/цены.txt") || strings.Contains(page, "data.bin") {
		t.Error("a search by a part of the path")
	}
	if page := a.see("/settings/memory?q=%00"); page.Status != 400 || !strings.Contains(page.Body, `id="q-fault"`) {
		t.Errorf("a search for nothing readable: %d", page.Status)
	}
	page := a.see(fileAt("file", "notes/цены.txt"))
	if want := html.EscapeString("<script>alert(1)</script>\nfrom ⟨U+202E⟩right\ufffd"); page.Status != 200 || !strings.Contains(page.Body, want) || strings.Contains(page.Body, "<script>alert") {
		t.Errorf("%d %s", page.Status, page.Body)
	}
	if r := a.see(fileAt("download", "notes/цены.txt")); r.Body != hostile || r.Header.Get("Content-Type") != "application/octet-stream" || r.Header.Get("Cache-Control") != "private, no-store" ||
		r.Header.Get("Content-Disposition") != "attachment; filename*=UTF-8''%D1%86%D0%B5%D0%BD%D1%8B.txt" {
		t.Errorf("%q %v", r.Body, r.Header)
	}
	if r := a.see(fileAt("file", "data.bin")); !strings.Contains(r.Body, "This file is binary") {
		t.Errorf("a binary file: %s", r.Body)
	}
	for name, row := range map[string]struct {
		fields        map[string]string
		file, content string
		field, says   string
	}{
		"there already": {map[string]string{"path": "data.bin"}, "x", "new", "path", "Tick the box"},
		"a way out":     {map[string]string{"path": "../x"}, "x", "new", "path", "at most 32 parts"},
		"a folder":      {map[string]string{"path": "notes"}, "x", "new", "path", "must not lead through a file"},
		"no file":       {map[string]string{"path": "y"}, "", "", "file", "Choose a file."},
	} {
		r := a.upload("/settings/memory", row.fields, row.file, row.content)
		if r.Status != 400 || !strings.Contains(r.Body, row.says) || !strings.Contains(r.Body, `id="`+row.field+`-fault"`) || !strings.Contains(r.Body, `value="`+row.fields["path"]+`"`) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
		if r := a.upload("/ru/settings/memory", row.fields, row.file, row.content); strings.Contains(r.Body, row.says) {
			t.Errorf("%s: English in a Russian page", name)
		}
	}
	if r := a.upload("/settings/memory", map[string]string{"path": "data.bin", "replace": "yes"}, "x", "new"); r.Status != 303 {
		t.Errorf("replaced: %d", r.Status)
	}
	if r := a.see(fileAt("file", "data.bin")); !strings.Contains(r.Body, "<code>new</code>") {
		t.Errorf("after it was replaced: %s", r.Body)
	}
	if r := a.see(fileAt("delete", "data.bin")); r.Status != 200 || !strings.Contains(r.Body, "Delete this file?") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	a.did(fileAt("delete", "data.bin"), nil, "/settings/memory?done=deleted")
	for _, path := range []string{"data.bin", "..", ""} {
		if r := a.see(fileAt("file", path)); r.Status != 404 {
			t.Errorf("%q: %d", path, r.Status)
		}
	}
	rows, err := o.Audit(t.Context(), o.Caller(o.org.Secret), coworker.AuditQuery{Organization: o.org.Organization.ID}, "")
	if err != nil {
		t.Fatal(err)
	}
	if told := fmt.Sprint(rows.Items); strings.Count(told, "memory.put") != 3 || strings.Count(told, "memory.delete") != 1 || strings.Contains(told, "data.bin") {
		t.Errorf("the audit says %s", told)
	}
}

func TestFilesOfOthersAreNotInSettings(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a := o.admin("admin", "read:data", "write:tools")
	a.upload("/settings/memory", nil, "mine.txt", "mine")
	u, err := o.AddUser(t.Context(), coworker.Operator(), o.org.Organization.ID, "Bob")
	if err != nil {
		t.Fatal(err)
	}
	_, secret := o.Key(o.org, coworker.NewKey{User: u.ID, Scopes: coworker.Admin | coworker.ReadData | coworker.WriteTools})
	b := o.signIn(secret.Reveal())
	if r := b.see("/settings/memory"); r.Status != 200 || strings.Contains(r.Body, "mine.txt") {
		t.Errorf("another admin: %d %s", r.Status, r.Body)
	}
	for _, page := range []string{"file", "download", "delete"} {
		if r := b.see(fileAt(page, "mine.txt")); r.Status != 404 {
			t.Errorf("%s: %d", page, r.Status)
		}
	}
	if r := b.send(fileAt("delete", "mine.txt"), nil); r.Status != 404 {
		t.Errorf("deleted by another admin: %d", r.Status)
	}
}

// A form with a file is held to what every form is.
func TestUploadsAreSentByTheAdminAlone(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a := o.admin("admin", "read:data", "write:tools")
	for _, path := range []string{"/settings/memory", "/ru/settings/memory", "/settings/skills"} {
		good, kind := brings(t, map[string]string{"csrf": a.csrf}, "x.txt", "x")
		bad, badKind := brings(t, map[string]string{"csrf": strings.Repeat("A", 43)}, "x.txt", "x")
		for name, row := range map[string]struct {
			status  int
			body    string
			headers []string
		}{
			"without a session": {401, good, []string{"Content-Type", kind, "Origin", o.URL}},
			"from elsewhere":    {403, good, []string{"Content-Type", kind, "Origin", "https://evil.example", "Cookie", a.cookie}},
			"a wrong token":     {403, bad, []string{"Content-Type", badKind, "Origin", o.URL, "Cookie", a.cookie}},
			"no form of files":  {415, "csrf=" + a.csrf, []string{"Content-Type", "application/x-www-form-urlencoded", "Origin", o.URL, "Cookie", a.cookie}},
			"half a form":       {400, good[:len(good)/2], []string{"Content-Type", kind, "Origin", o.URL, "Cookie", a.cookie}},
		} {
			if r := o.do(http.MethodPost, path, row.body, row.headers...); r.Status != row.status {
				t.Errorf("%s %s: %d", path, name, r.Status)
			}
		}
	}
	if r := a.see("/settings/memory"); !strings.Contains(r.Body, "There are no files yet.") {
		t.Error("something was kept")
	}
}

func skillArchive(t *testing.T, main string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for path, text := range map[string]string{"month-end/SKILL.md": main, "month-end/references/a.md": "a note"} {
		part, err := w.Create(path)
		if err == nil {
			_, err = part.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSkillsAreKeptInSettings(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a := o.admin("admin")
	text := "---\nname: month-end\ndescription: Closes a month <b>well</b>.\nmetadata:\n  service: bitrix24\n---\n\n# Month <i>end</i>\n"
	if r := a.upload("/settings/skills", nil, "month-end.zip", skillArchive(t, text)); r.Status != 303 || r.Header.Get("Location") != "/settings/skills?done=shelved" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	enabled := func() int {
		t.Helper()
		_, secret := o.Key(o.org, coworker.NewKey{Scopes: coworker.ReadTools})
		on, err := o.shelf.For(t.Context(), o.Caller(secret))
		if err != nil {
			t.Fatal(err)
		}
		return len(on)
	}
	for _, path := range []string{"/settings/skills", "/settings/skills/month-end", "/settings/skills/month-end/remove", "/ru/settings/skills", "/ru/settings/skills/month-end"} {
		if r := a.see(path); r.Status != 200 || !strings.Contains(r.Body, "Closes a month &lt;b&gt;well") || strings.Contains(r.Body, "<b>well") {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	page := a.see("/settings/skills/month-end").Body
	for _, part := range []string{"# Month &lt;i&gt;end", "connector_execute", "references/a.md", "sha256:", "2 files"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if enabled() != 1 {
		t.Error("a new skill is not enabled")
	}
	a.did("/settings/skills/month-end/disable", nil, "/settings/skills?done=disabled")
	if page := a.see("/settings/skills/month-end").Body; enabled() != 0 || !strings.Contains(page, "This skill is disabled") || !strings.Contains(page, "# Month") {
		t.Error("a disabled skill")
	}
	a.did("/settings/skills/month-end/enable", nil, "/settings/skills?done=enabled")
	if enabled() != 1 {
		t.Error("an enabled skill")
	}
	for name, row := range map[string]struct{ file, content, says string }{
		"no archive":     {"a.zip", "nothing", "no ZIP archive"},
		"no file":        {"", "", "Choose a file."},
		"no front":       {"a.zip", skillArchive(t, "# Month end"), "must hold SKILL.md"},
		"no service":     {"a.zip", skillArchive(t, strings.Replace(text, "bitrix24", "nothing", 1)), "id of a service"},
		"another's name": {"a.zip", skillArchive(t, strings.Replace(text, "month-end", "other", 1)), "must be the folder’s"},
	} {
		if r := a.upload("/settings/skills", nil, row.file, row.content); r.Status != 400 || !strings.Contains(r.Body, row.says) || !strings.Contains(r.Body, `id="file-fault"`) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
		if r := a.upload("/ru/settings/skills", nil, row.file, row.content); r.Status != 400 || strings.Contains(r.Body, row.says) {
			t.Errorf("%s: English in a Russian page", name)
		}
	}
	a.did("/settings/skills/month-end/remove", nil, "/settings/skills?done=unshelve")
	for _, path := range []string{"", "/remove"} {
		if r := a.see("/settings/skills/month-end" + path); r.Status != 404 {
			t.Errorf("%s after it was removed: %d", path, r.Status)
		}
	}
	if r := a.send("/settings/skills/month-end/enable", nil); r.Status != 404 {
		t.Errorf("enabled after it was removed: %d", r.Status)
	}
	rows, err := o.Audit(t.Context(), o.Caller(o.org.Secret), coworker.AuditQuery{Organization: o.org.Organization.ID}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"skill.add", "skill.disable", "skill.enable", "skill.remove"} {
		if strings.Count(fmt.Sprint(rows.Items), action) != 1 {
			t.Errorf("the audit tells of %s %d times", action, strings.Count(fmt.Sprint(rows.Items), action))
		}
	}
}
