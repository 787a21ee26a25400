package handlers

import (
	"bufio"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/internal/strictjson"
)

// organization is GET /api/v1/organizations/{org}.
func (s *Server) organization(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	o, err := s.coworker.Organization(ctx, who, org)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, o.Record())
}

// orgAlone is the organisation of a path that takes no query.
func (s *Server) orgAlone(c *fiber.Ctx) (coworker.OrganizationID, error) {
	if err := noQuery(c); err != nil {
		return "", err
	}
	id, err := segment(c, "org")
	return coworker.OrganizationID(id), err
}

// deleteOrganization is DELETE /api/v1/organizations/{org}: the body repeats
// the id, so that no stray call does it.
func (s *Server) deleteOrganization(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	body, err := readFields(c, []string{"confirm_organization_id"})
	if err != nil {
		return err
	}
	if confirmed, _ := body.text("confirm_organization_id"); confirmed != string(org) {
		body.refuse("confirm_organization_id", "must repeat the id in the path")
	}
	if err := body.fault(); err != nil {
		return err
	}
	if err := s.coworker.DeleteOrganization(ctx, who, org); err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, struct {
		ID      coworker.OrganizationID `json:"organization_id"`
		Deleted bool                    `json:"deleted"`
	}{org, true})
}

// exportTimeout ends an export whose reader does not read.
const exportTimeout = 5 * time.Minute

// exportOrganization is GET /api/v1/organizations/{org}/export: JSON Lines,
// written while they are read. A last line of the kind "end" tells that
// nothing is missing.
func (s *Server) exportOrganization(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	if _, err := s.coworker.Organization(ctx, who, org); err != nil {
		return err
	}
	id := requestID(c.Context())
	c.Set(fiber.HeaderContentType, "application/x-ndjson")
	if c.Context().IsHead() { // nobody reads it, and the audit tells of exports alone
		return nil
	}
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		writing, cancel := context.WithTimeout(context.Background(), exportTimeout)
		defer cancel()
		lines := json.NewEncoder(w)
		lines.SetEscapeHTML(false)
		records := 0
		err := s.coworker.ExportOrganization(writing, who, org, func(e coworker.ExportedRecord) error {
			records++
			return lines.Encode(e)
		}, s.exported()...)
		if err == nil {
			err = lines.Encode(struct {
				Kind    string `json:"kind"`
				Records int    `json:"records"`
			}{"end", records})
		}
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			s.logger.Error("export was cut", "request_id", id, "error", err.Error())
		}
	})
	return nil
}

// exported are the rooms that keep something of an organisation.
func (s *Server) exported() []coworker.ExportPart {
	var parts []coworker.ExportPart
	if s.keeper != nil {
		parts = append(parts, s.keeper.Export)
	}
	if s.shelf != nil {
		parts = append(parts, s.shelf.Export)
	}
	if s.memory != nil {
		parts = append(parts, s.memory.Export)
	}
	return parts
}

// listUsers is GET /api/v1/organizations/{org}/users.
func (s *Server) listUsers(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := segment(c, "org")
	if err != nil {
		return err
	}
	size, cursor, err := listQuery(c)
	if err != nil {
		return err
	}
	page, err := s.coworker.UsersPage(ctx, who, coworker.OrganizationID(org), cursor, size)
	if err != nil {
		return err
	}
	items := []coworker.UserRecord{}
	for _, u := range page.Users {
		items = append(items, u.Record())
	}
	return answer(c, fiber.StatusOK, inPage(items, page.Next))
}

// addUser is POST /api/v1/organizations/{org}/users.
func (s *Server) addUser(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	body, err := readFields(c, []string{"name"})
	if err != nil {
		return err
	}
	name, _ := body.text("name")
	if err := body.fault(); err != nil {
		return err
	}
	u, err := s.coworker.AddUser(ctx, who, org, name)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusCreated, u.Record())
}

// removeUser is DELETE /api/v1/organizations/{org}/users/{user}.
func (s *Server) removeUser(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	id, err := segment(c, "user")
	if err != nil {
		return err
	}
	if err := s.coworker.RemoveUser(ctx, who, org, coworker.UserID(id)); err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, struct {
		ID      string `json:"user_id"`
		Removed bool   `json:"removed"`
	}{id, true})
}

// A pageOf is a page of anything.
type pageOf[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next_cursor"`
}

func inPage[T any](items []T, next string) pageOf[T] {
	l := pageOf[T]{Items: items}
	if next != "" {
		l.Next = &next
	}
	return l
}

// listQuery reads limit and cursor, and more parameters by name.
func listQuery(c *fiber.Ctx) (size int, cursor string, err error) {
	values, err := query(c, "limit", "cursor")
	if err != nil {
		return 0, "", err
	}
	size, err = sizeOf(values)
	return size, values["cursor"], err
}

func sizeOf(values map[string]string) (int, error) {
	text, given := values["limit"]
	if !given {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '+' || text[0] == '0' {
		return 0, coworker.InvalidArguments(coworker.Problem{Field: "limit", Problem: "must be a whole number from 1 to 500"})
	}
	return int(n), nil
}

// fields are the members of a JSON body with everything that is wrong with
// them.
type fields struct {
	object   strictjson.Value
	problems []coworker.Problem
}

// readFields reads a body that must be one JSON object with the required and
// perhaps the optional keys.
func readFields(c *fiber.Ctx, required []string, optional ...string) (*fields, error) {
	object, err := readObject(c)
	if err != nil {
		return nil, err
	}
	f := &fields{object: object}
	if object.Kind() != strictjson.Object {
		f.refuse("body", "must be a JSON object")
		return nil, f.fault()
	}
	missing, unexpected := object.Keys(required, optional)
	for _, name := range missing {
		f.refuse(name, "is required")
	}
	if len(unexpected) > 0 {
		f.problems = append(f.problems, coworker.Problem{Field: "body", Problem: "holds keys that are not known here", Allowed: append(required, optional...)})
	}
	return f, nil
}

func (f *fields) refuse(field, problem string) {
	f.problems = append(f.problems, coworker.Problem{Field: field, Problem: problem})
}

func (f *fields) fault() error {
	if len(f.problems) == 0 {
		return nil
	}
	return coworker.InvalidArguments(f.problems...)
}

// text returns a string member; given is false when it is absent.
func (f *fields) text(name string) (text string, given bool) {
	field, sent := f.object.Get(name)
	if !sent {
		return "", false
	}
	text, ok := field.Text()
	if !ok {
		f.refuse(name, "must be a string")
	}
	return text, true
}

// number returns an integer member.
func (f *fields) number(name string) (n int, given bool) {
	field, sent := f.object.Get(name)
	if !sent {
		return 0, false
	}
	value, ok := field.Int()
	if !ok || value < 0 || value > 1<<31 {
		f.refuse(name, "must be a whole number")
		return 0, true
	}
	return int(value), true
}

// texts returns a member that is a list of strings, or nil for null where that
// may be.
func (f *fields) texts(name string, orNull bool) (texts []string, given bool) {
	field, sent := f.object.Get(name)
	if !sent || orNull && field.Kind() == strictjson.Null {
		return nil, sent
	}
	if field.Kind() != strictjson.Array {
		f.refuse(name, "must be a list of strings")
		return nil, true
	}
	texts = []string{}
	for _, item := range field.Items() {
		text, ok := item.Text()
		if !ok {
			f.refuse(name, "must be a list of strings")
			return nil, true
		}
		texts = append(texts, text)
	}
	return texts, true
}
