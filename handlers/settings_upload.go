package handlers

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker/memory"
	"innerloop/coworker/skills"
	"innerloop/web/settings"
)

const (
	formParts = 8        // fields of a form with a file, at most
	formAside = 16 << 10 // what such a form may hold beside the file
)

// uploadLimits bound the forms that bring a file, in each language.
func uploadLimits() []bodyRow {
	var rows []bodyRow
	for _, prefix := range []string{"", "/ru"} {
		rows = append(rows, bodyRow{prefix + settings.FilesPath, memory.FileMax + formAside}, bodyRow{prefix + settings.SkillsPath, skills.TotalMax + formAside})
	}
	return rows
}

// An upload is a file as a browser sends it. The name is whatever the sender
// says.
type upload struct {
	name    string
	content []byte
}

// byUpload is byForm for a form that brings one file. Whoever is not signed in
// is turned away before the form is taken apart.
func (s *Server) byUpload(section string, act func(*desk, url.Values, upload) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		var file upload
		read := func(c *fiber.Ctx) (values url.Values, err error) {
			values, file, err = uploadOf(c)
			return values, err
		}
		return s.posted(section, read, func(d *desk, values url.Values) error { return act(d, values, file) })(c)
	}
}

// uploadOf reads a form of RFC 7578 with one file, called "file". A browser
// sends an empty one when none was chosen.
func uploadOf(c *fiber.Ctx) (url.Values, upload, error) {
	h := &c.Context().Request.Header
	kind, parameters, err := mime.ParseMediaType(string(h.ContentType()))
	if err != nil || kind != fiber.MIMEMultipartForm {
		return nil, upload{}, &statusError{fiber.StatusUnsupportedMediaType, "content-type must be multipart/form-data"}
	}
	if coding := string(h.Peek(fiber.HeaderContentEncoding)); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, upload{}, &statusError{fiber.StatusUnsupportedMediaType, "a body must be sent without a content-encoding"}
	}
	values, file, found := url.Values{}, upload{}, false
	parts := multipart.NewReader(bytes.NewReader(c.Context().Request.Body()), parameters["boundary"])
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return values, file, nil
		}
		if err != nil || n == formParts {
			return nil, upload{}, errForm
		}
		content, err := io.ReadAll(part)
		isFile := part.FormName() == "file"
		if err != nil || isFile && found || !isFile && (part.FileName() != "" || len(content) > formAside) {
			return nil, upload{}, errForm
		}
		if isFile {
			file, found = upload{part.FileName(), content}, true
		} else {
			values.Add(part.FormName(), string(content))
		}
	}
}
