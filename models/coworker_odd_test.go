package models_test

import (
	"errors"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/skills"
	"innerloop/models"
)

// PostgreSQL holds no NUL and nothing but UTF-8, and says so in an error. What
// is asked for in such words is what nobody has, in either engine alike.
func TestNothingIsCalledLikeAText(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme := b.found("Acme")
		admin := b.caller(acme.Secret)
		org, ctx := acme.Organization.ID, t.Context()
		store, ok := b.store.(models.Coworker)
		if !ok {
			t.Fatal("another store")
		}
		services, err := services()
		if err != nil {
			t.Fatal(err)
		}
		shelf := skills.New(store, b.Coworker, services)
		for _, odd := range []string{"a\x00b", "a\xffb"} {
			for name, do := range map[string]func() error{
				"a user":           func() error { _, err := b.User(ctx, admin, coworker.UserID(odd)); return err },
				"a user to remove": func() error { return b.RemoveUser(ctx, admin, org, coworker.UserID(odd)) },
				"a key":            func() error { _, err := b.Key(ctx, admin, coworker.KeyID(odd)); return err },
				"a key to change": func() error {
					_, err := b.UpdateKey(ctx, admin, org, coworker.KeyID(odd), coworker.Change{})
					return err
				},
				"a key to revoke": func() error { _, err := b.RevokeKey(ctx, admin, org, coworker.KeyID(odd)); return err },
				"an owner of a key": func() error {
					_, _, err := b.CreateKey(ctx, admin, org, coworker.NewKey{Name: "k", User: coworker.UserID(odd)})
					return err
				},
				"a session": func() error { return b.EndSession(ctx, admin, coworker.SessionID(odd)) },
				"an organization": func() error {
					_, err := b.Organization(ctx, coworker.Operator(), coworker.OrganizationID(odd))
					return err
				},
				"a skill to switch": func() error { return shelf.Switch(ctx, admin, org, odd, true) },
				"a skill to remove": func() error { return shelf.Remove(ctx, admin, org, odd) },
				"a file of a skill": func() error { _, err := shelf.File(ctx, admin, odd, "SKILL.md"); return err },
				"scripts":           func() error { _, err := shelf.Scripts(ctx, admin, odd); return err },
			} {
				if f, ok := coworker.AsFault(do()); !ok || f.Code != coworker.NotFound {
					t.Errorf("%s %q: %v", name, odd, do())
				}
			}
			if err := store.RemoveConnection(ctx, org, odd, coworker.Audit{}); !errors.Is(err, coworker.ErrNotFound) {
				t.Errorf("a connection %q: %v", odd, err)
			}
			for name, q := range map[string]coworker.AuditQuery{
				"user": {User: coworker.UserID(odd)}, "key": {Key: coworker.KeyID(odd)}, "tool": {Tool: odd}, "service": {Service: odd}, "action": {Action: odd}, "error": {Error: coworker.Code(odd)},
			} {
				page, err := b.Audit(ctx, admin, q, "")
				if days, also := b.AuditDays(ctx, admin, q); err != nil || also != nil || len(page.Items)+len(days) > 0 {
					t.Errorf("audit by %s %q: %v %v %v", name, odd, page.Items, err, also)
				}
			}
		}
		if page, err := b.Audit(ctx, admin, coworker.AuditQuery{}, ""); err != nil || len(page.Items) == 0 {
			t.Errorf("nothing is left to be found: %v", err)
		}
	})
}
