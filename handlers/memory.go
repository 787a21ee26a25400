package handlers

import (
	"context"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/coworker/memory"
)

const memoryPath = apiRoot + "/memory"

// memoryRoutes lists the files of the key's own user.
func (s *Server) memoryRoutes() {
	if s.memory == nil {
		return
	}
	s.app.Get(memoryPath, s.keyed(s.listMemory))
	s.app.Get(memoryPath+"/+", s.keyed(s.readMemory))
	s.app.Put(memoryPath+"/+", s.keyed(s.putMemory))
	s.app.Delete(memoryPath+"/+", s.keyed(s.deleteMemory))
}

// listMemory is GET /api/v1/memory.
func (s *Server) listMemory(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	values, err := query(c, "prefix", "name", "limit", "cursor")
	if err != nil {
		return err
	}
	size, err := sizeOf(values)
	if err != nil {
		return err
	}
	page, err := s.memory.List(ctx, who, memory.Listing{Prefix: values["prefix"], Name: values["name"], Cursor: values["cursor"], Limit: size})
	if err != nil {
		return err
	}
	items := []memory.Record{}
	for _, f := range page.Files {
		items = append(items, f.Record())
	}
	return answer(c, fiber.StatusOK, inPage(items, page.Next))
}

// filePath is the path of a file, as it was sent: fasthttp would tidy it up
// and so find another file than the one that was named.
func filePath(c *fiber.Ctx) (string, error) {
	if err := noQuery(c); err != nil {
		return "", err
	}
	return segment(c, "+")
}

// readMemory is GET /api/v1/memory/{path}: the bytes of the file.
func (s *Server) readMemory(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	path, err := filePath(c)
	if err != nil {
		return err
	}
	f, content, err := s.memory.Read(ctx, who, path)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderETag, entityTag(f))
	for _, tag := range tags(c, fiber.HeaderIfNoneMatch) {
		if tag == "*" || tag == f.Tag() {
			c.Status(fiber.StatusNotModified)
			return nil
		}
	}
	// What somebody stored is never shown by a browser as a page of ours.
	c.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentDisposition, "attachment")
	c.Context().Response.SetBodyRaw(content)
	return nil
}

func entityTag(f memory.File) string { return `"` + f.Tag() + `"` }

// tags reads a list of entity tags without their quotes (RFC 9110 8.8.3);
// weak ones count as what they compare to.
func tags(c *fiber.Ctx, name string) []string {
	var list []string
	for _, line := range c.Context().Request.Header.PeekAll(name) {
		for one := range strings.SplitSeq(string(line), ",") {
			one = strings.TrimSpace(one)
			if name == fiber.HeaderIfNoneMatch {
				one = strings.TrimPrefix(one, "W/")
			}
			list = append(list, strings.Trim(one, `"`))
		}
	}
	return list
}

// conditionOf reads what a write expects of the file there is.
func conditionOf(c *fiber.Ctx) memory.Condition {
	var expected memory.Condition
	for _, tag := range tags(c, fiber.HeaderIfMatch) {
		if tag == "*" {
			return memory.Condition{Any: true}
		}
		expected.Tags = append(expected.Tags, tag)
	}
	for _, tag := range tags(c, fiber.HeaderIfNoneMatch) {
		expected.Absent = expected.Absent || tag == "*"
	}
	return expected
}

func conditional(err error) error {
	if errors.Is(err, memory.ErrChanged) {
		return &statusError{fiber.StatusPreconditionFailed, "the file is not as If-Match or If-None-Match expects; read it again"}
	}
	return err
}

// putMemory is PUT /api/v1/memory/{path}: the body is the file, whatever its
// type.
func (s *Server) putMemory(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	path, err := filePath(c)
	if err != nil {
		return err
	}
	r := &c.Context().Request
	if coding := string(r.Header.Peek(fiber.HeaderContentEncoding)); coding != "" && !strings.EqualFold(coding, "identity") {
		return &statusError{fiber.StatusUnsupportedMediaType, "a body must be sent without a content-encoding"}
	}
	f, created, err := s.memory.Put(ctx, who, strings.Clone(path), append([]byte{}, r.Body()...), conditionOf(c))
	if err != nil {
		return conditional(err)
	}
	status := fiber.StatusOK
	if created {
		status = fiber.StatusCreated
	}
	c.Set(fiber.HeaderETag, entityTag(f))
	return answer(c, status, f.Record())
}

// deleteMemory is DELETE /api/v1/memory/{path}.
func (s *Server) deleteMemory(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	path, err := filePath(c)
	if err != nil {
		return err
	}
	if err := s.memory.Delete(ctx, who, path, conditionOf(c)); err != nil {
		return conditional(err)
	}
	return answer(c, fiber.StatusOK, struct {
		Path    string `json:"path"`
		Deleted bool   `json:"deleted"`
	}{path, true})
}

// describedMemory are the files' rows of /openapi.json.
func describedMemory(keyed func(method, path, id, summary, request, answer string, status int, parameters []string, more ...coworker.Code) described) []described {
	tagged := map[string]string{"cache-control": "NoStore", "etag": "StrongETag"}
	read := keyed("get", memoryPath+"/+", "readMemory", "Read a file of the key's own user", "", "", 200, []string{"MemoryPath", "IfNoneMatch"}, coworker.NotFound)
	read.answers = []describedAnswer{
		{200, "The bytes of the file.", "", tagged, fiber.MIMEOctetStream},
		{304, "The caller's copy is current.", "", tagged, ""},
	}
	put := keyed("put", memoryPath+"/+", "putMemory", "Write a file of the key's own user", "", "MemoryFile", 200, []string{"MemoryPath", "IfMatch", "IfNew"}, coworker.NotFound)
	put.takes, put.about = fiber.MIMEOctetStream, "The body is the file, of any type and at most 5 MiB. Needs write:tools."
	put.answers = []describedAnswer{
		{200, "Replaced.", "MemoryFile", tagged, ""},
		{201, "Written for the first time.", "MemoryFile", tagged, ""},
	}
	list := keyed("get", memoryPath, "listMemory", "List files of the key's own user by rising path", "", "MemoryPage", 200, []string{"MemoryPrefix", "MemoryName", "ListLimit", "ListCursor"})
	list.about = "Needs read:data, as reading does. No key opens another user's files."
	return []described{
		list, read, put,
		keyed("delete", memoryPath+"/+", "deleteMemory", "Delete a file of the key's own user", "", "MemoryDeletion", 200, []string{"MemoryPath", "IfMatch"}, coworker.NotFound),
	}
}
