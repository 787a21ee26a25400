package handlers

import (
	"context"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/internal/strictjson"
)

// connectionRoutes lists what an admin does with connections, the networks they
// may lead into, and the organisation's rules for calls. Without a keeper the
// paths are unknown.
func (s *Server) connectionRoutes() {
	if s.keeper == nil {
		return
	}
	s.app.Get(organizationPath+"/connections", s.keyed(s.listConnections))
	s.app.Post(organizationPath+"/connections", s.keyed(s.saveConnection))
	s.app.Delete(organizationPath+"/connections/:connection", s.keyed(s.removeConnection))
	s.app.Post(organizationPath+"/connections/:connection/check", s.keyed(s.checkConnection))
	s.app.Get(organizationPath+"/networks", s.keyed(s.listNetworks))
	s.app.Post(organizationPath+"/networks", s.keyed(s.allowNetwork))
	s.app.Delete(organizationPath+"/networks", s.keyed(s.forbidNetwork))
	s.app.Get(organizationPath+"/settings", s.keyed(s.readSettings))
	s.app.Patch(organizationPath+"/settings", s.keyed(s.changeSettings))
}

// listConnections is GET /api/v1/organizations/{org}/connections.
func (s *Server) listConnections(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := segment(c, "org")
	if err != nil {
		return err
	}
	size, cursor, err := listQuery(c)
	if err != nil {
		return err
	}
	page, err := s.keeper.List(ctx, who, coworker.OrganizationID(org), cursor, size)
	if err != nil {
		return err
	}
	items := []connect.Record{}
	for _, one := range page.Connections {
		items = append(items, one.Record())
	}
	return answer(c, fiber.StatusOK, inPage(items, page.Next))
}

// saveConnection is POST /api/v1/organizations/{org}/connections. A connection
// of the same owner, service and name is replaced whole, so that no credential
// can be sent elsewhere by somebody who does not have it.
func (s *Server) saveConnection(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	body, err := readFields(c, []string{"service"}, "name", "auth", "fields", "params", "base_url", "test", "user_id")
	if err != nil {
		return err
	}
	var w connect.Wish
	w.Service, _ = body.text("service")
	w.Name, _ = body.text("name")
	w.Auth, _ = body.text("auth")
	w.BaseURL, _ = body.text("base_url")
	user, _ := body.text("user_id")
	w.User = coworker.UserID(user)
	w.Fields, w.Params = body.named("fields"), body.named("params")
	w.Test, _ = body.truth("test")
	if err := body.fault(); err != nil {
		return err
	}
	made, err := s.keeper.Connect(ctx, who, org, w)
	if err != nil {
		return err
	}
	status := fiber.StatusOK
	if made.Version == 1 {
		status = fiber.StatusCreated
	}
	return answer(c, status, made.Record())
}

// connectionOf is the connection of a path that takes no query.
func (s *Server) connectionOf(c *fiber.Ctx) (coworker.OrganizationID, string, error) {
	org, err := s.orgAlone(c)
	if err != nil {
		return "", "", err
	}
	id, err := segment(c, "connection")
	return org, id, err
}

// removeConnection is DELETE /api/v1/organizations/{org}/connections/{connection_id}.
func (s *Server) removeConnection(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, id, err := s.connectionOf(c)
	if err != nil {
		return err
	}
	if err := s.keeper.Remove(ctx, who, org, id); err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, struct {
		ID      string `json:"connection_id"`
		Removed bool   `json:"removed"`
	}{id, true})
}

// checkConnection is POST /api/v1/organizations/{org}/connections/{connection_id}/check:
// the call that the service's file names as harmless. What the service said is
// not repeated.
func (s *Server) checkConnection(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, id, err := s.connectionOf(c)
	if err != nil {
		return err
	}
	said, err := s.engine.Test(ctx, s.keeper, who, org, id)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, struct {
		ID     string        `json:"connection_id"`
		State  connect.State `json:"state"`
		Status int           `json:"status"`
		Took   int64         `json:"took_ms"`
	}{id, said.State, said.Status, said.Took})
}

// listNetworks is GET /api/v1/organizations/{org}/networks.
func (s *Server) listNetworks(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	networks, err := s.keeper.Networks(ctx, who, org)
	if err != nil {
		return err
	}
	items := []string{}
	for _, n := range networks {
		items = append(items, n.String())
	}
	return answer(c, fiber.StatusOK, inPage(items, ""))
}

// cidr reads the one member of a body about a network.
func cidr(c *fiber.Ctx) (string, error) {
	body, err := readFields(c, []string{"cidr"})
	if err != nil {
		return "", err
	}
	text, _ := body.text("cidr")
	return text, body.fault()
}

// allowNetwork is POST /api/v1/organizations/{org}/networks.
func (s *Server) allowNetwork(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	text, err := cidr(c)
	if err != nil {
		return err
	}
	n, err := s.keeper.AllowNetwork(ctx, who, org, text)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusCreated, struct {
		CIDR string `json:"cidr"`
	}{n.String()})
}

// forbidNetwork is DELETE /api/v1/organizations/{org}/networks; the network
// stands in the body, since its own slash fits no path.
func (s *Server) forbidNetwork(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	text, err := cidr(c)
	if err != nil {
		return err
	}
	n, err := netip.ParsePrefix(text)
	if err != nil {
		return coworker.InvalidArguments(coworker.Problem{Field: "cidr", Problem: "must be a network such as 10.0.0.0/8"})
	}
	if err := s.keeper.ForbidNetwork(ctx, who, org, n.Masked()); err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, struct {
		CIDR    string `json:"cidr"`
		Removed bool   `json:"removed"`
	}{n.Masked().String(), true})
}

// readSettings is GET /api/v1/organizations/{org}/settings.
func (s *Server) readSettings(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	if err := who.Administers(org); err != nil {
		return err
	}
	settings, err := s.keeper.Settings(ctx, who)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, settings)
}

// changeSettings is PATCH /api/v1/organizations/{org}/settings.
func (s *Server) changeSettings(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	if err := who.Administers(org); err != nil {
		return err
	}
	body, err := readFields(c, nil, "must_confirm", "broker_only", "all_when_unnamed")
	if err != nil {
		return err
	}
	var change connect.SettingsChange
	for name, into := range map[string]**bool{"must_confirm": &change.MustConfirm, "broker_only": &change.BrokerOnly, "all_when_unnamed": &change.AllWhenUnnamed} {
		if truth, given := body.truth(name); given {
			*into = &truth
		}
	}
	if change == (connect.SettingsChange{}) {
		body.refuse("body", "must name what is to change")
	}
	if err := body.fault(); err != nil {
		return err
	}
	settings, err := s.keeper.ChangeSettings(ctx, who, org, change)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, settings)
}

// named returns a member that is an object of strings.
func (f *fields) named(name string) map[string]string {
	field, sent := f.object.Get(name)
	if !sent {
		return nil
	}
	if field.Kind() != strictjson.Object {
		f.refuse(name, "must be an object of strings")
		return nil
	}
	texts := map[string]string{}
	for _, m := range field.Members() {
		text, ok := m.Value.Text()
		if !ok {
			f.refuse(name, "must be an object of strings")
			return nil
		}
		texts[strings.Clone(m.Name)] = text
	}
	return texts
}

// truth returns a boolean member.
func (f *fields) truth(name string) (truth, given bool) {
	field, sent := f.object.Get(name)
	if !sent {
		return false, false
	}
	truth, ok := field.Bool()
	if !ok {
		f.refuse(name, "must be true or false")
	}
	return truth, true
}
