package handlers

import (
	"context"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/internal/limit"
)

// listAPIKeys is GET /api/v1/organizations/{org}/api-keys.
func (s *Server) listAPIKeys(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := segment(c, "org")
	if err != nil {
		return err
	}
	size, cursor, err := listQuery(c)
	if err != nil {
		return err
	}
	page, err := s.coworker.ListKeys(ctx, who, coworker.OrganizationID(org), cursor, size)
	if err != nil {
		return err
	}
	items := []coworker.KeyRecord{}
	for _, k := range page.Keys {
		items = append(items, k.Record(s.now()))
	}
	return answer(c, fiber.StatusOK, inPage(items, page.Next))
}

// keyFields are what may be said of a key, beside what only a new one has.
var keyFields = []string{"scopes", "connectors", "class", "networks", "rate_per_minute"}

// createAPIKey is POST /api/v1/organizations/{org}/api-keys. The whole key is in
// this answer and in no other.
func (s *Server) createAPIKey(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, err := s.orgAlone(c)
	if err != nil {
		return err
	}
	body, err := readFields(c, []string{"name"}, append([]string{"expires_in_days", "user_id"}, keyFields...)...)
	if err != nil {
		return err
	}
	var wish coworker.NewKey
	wish.Name, _ = body.text("name")
	if user, given := body.text("user_id"); given {
		if wish.User = coworker.UserID(user); user == "" {
			body.refuse("user_id", "must be the id of a user")
		}
	}
	if days, given := body.number("expires_in_days"); given {
		if wish.Days = days; days == 0 {
			body.refuse("expires_in_days", "must be a whole number from 1 to 365")
		}
	}
	change := body.change()
	if err := body.fault(); err != nil {
		return err
	}
	if change.Scopes != nil {
		wish.Scopes = *change.Scopes
	}
	if change.Connectors != nil {
		wish.Connectors = *change.Connectors
	}
	if change.Class != nil {
		wish.Class = *change.Class
	}
	if change.Networks != nil {
		wish.Networks = *change.Networks
	}
	if change.Rate != nil {
		wish.Rate = *change.Rate
	}
	k, secret, err := s.coworker.CreateKey(ctx, who, org, wish)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusCreated, struct {
		Secret string `json:"key"`
		coworker.KeyRecord
	}{secret.Reveal(), k.Record(s.now())})
}

// change reads the members that describe a key. Null takes a list away.
func (f *fields) change() coworker.Change {
	var change coworker.Change
	if words, given := f.texts("scopes", false); given {
		scopes, ok := coworker.ParseScopes(words)
		if !ok {
			f.problems = append(f.problems, coworker.Problem{Field: "scopes", Problem: "must be one or more scopes", Allowed: coworker.AllScopes()})
		}
		change.Scopes = &scopes
	}
	if list, given := f.texts("connectors", true); given {
		change.Connectors = &list
	}
	if text, given := f.text("class"); given {
		class := coworker.Class(text)
		if !class.Valid() {
			f.problems = append(f.problems, coworker.Problem{Field: "class", Problem: "must be a class of calls", Allowed: coworker.AllClasses()})
		}
		change.Class = &class
	}
	if list, given := f.texts("networks", true); given {
		var networks []netip.Prefix
		if list != nil {
			var err error
			if networks, err = limit.ParsePrefixes(strings.Join(list, ",")); err != nil || len(networks) != len(list) || len(list) == 0 {
				f.refuse("networks", "must be networks in CIDR form or addresses, or null for anywhere")
			}
		}
		change.Networks = &networks
	}
	if n, given := f.number("rate_per_minute"); given {
		change.Rate = &n
	}
	return change
}

// keyOf is the key of a path, which must be of the path's organisation.
func (s *Server) keyOf(c *fiber.Ctx) (coworker.OrganizationID, coworker.KeyID, error) {
	org, err := s.orgAlone(c)
	if err != nil {
		return "", "", err
	}
	id, err := segment(c, "key")
	return org, coworker.KeyID(id), err
}

// readAPIKey is GET /api/v1/organizations/{org}/api-keys/{key_id}.
func (s *Server) readAPIKey(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, id, err := s.keyOf(c)
	if err != nil {
		return err
	}
	k, err := s.coworker.Key(ctx, who, id)
	if err == nil && k.Organization != org {
		err = coworker.Missing("key")
	}
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, k.Record(s.now()))
}

// updateAPIKey is PATCH /api/v1/organizations/{org}/api-keys/{key_id}.
func (s *Server) updateAPIKey(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, id, err := s.keyOf(c)
	if err != nil {
		return err
	}
	body, err := readFields(c, nil, append([]string{"name"}, keyFields...)...)
	if err != nil {
		return err
	}
	change := body.change()
	if name, given := body.text("name"); given {
		change.Name = &name
	}
	if change == (coworker.Change{}) {
		body.refuse("body", "must name what is to change")
	}
	if err := body.fault(); err != nil {
		return err
	}
	k, err := s.coworker.UpdateKey(ctx, who, org, id, change)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, k.Record(s.now()))
}

// revokeAPIKey is DELETE /api/v1/organizations/{org}/api-keys/{key_id}.
func (s *Server) revokeAPIKey(ctx context.Context, c *fiber.Ctx, who coworker.Caller) error {
	org, id, err := s.keyOf(c)
	if err != nil {
		return err
	}
	k, err := s.coworker.RevokeKey(ctx, who, org, id)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusOK, k.Record(s.now()))
}
