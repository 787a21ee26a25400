package models_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"

	"innerloop/coworker"
	"innerloop/coworker/coworkertest"
	"innerloop/coworker/skills"
)

func skillOf(t *testing.T, name, service, body string) skills.Skill {
	t.Helper()
	text := "---\nname: " + name + "\ndescription: Does a thing.\n"
	if service != "" {
		text += "metadata:\n  service: " + service + "\n"
	}
	s, err := skills.ReadFolder(fstest.MapFS{
		"SKILL.md":       {Data: []byte(text + "---\n" + body), Mode: 0o644},
		"scripts/run.py": {Data: []byte("print(1)"), Mode: 0o755},
		"scripts/empty":  {Mode: 0o644},
	}, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSkillsAreTheirOrganizationsAlone(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme, other := b.found("Acme"), b.found("Other")
		_, secret := b.key(acme, coworker.NewKey{Name: "reader", Scopes: coworker.ReadTools})
		_, chat := b.key(acme, coworker.NewKey{Name: "chat", Scopes: coworker.Chat})
		admin, reader, stranger, blind := b.caller(acme.Secret), b.caller(secret), b.caller(other.Secret), b.caller(chat)
		services, err := services()
		if err != nil {
			t.Fatal(err)
		}
		store, ok := b.store.(skills.Store)
		if !ok {
			t.Fatal("the store keeps no skills")
		}
		shelf := skills.New(store, b.Coworker, services)
		o := acme.Organization.ID
		add := func(s skills.Skill) {
			t.Helper()
			b.later()
			if _, err := shelf.Add(t.Context(), admin, o, s); err != nil {
				t.Fatal(err)
			}
		}
		seen := func(who coworker.Caller, want ...string) {
			t.Helper()
			list, err := shelf.For(t.Context(), who)
			var ids []string
			for _, s := range list {
				ids = append(ids, s.ID)
			}
			if err != nil || fmt.Sprint(ids) != fmt.Sprint(want) {
				t.Errorf("%q, want %q, %v", ids, want, err)
			}
		}
		add(skillOf(t, "two", "ozon", "first words"))
		add(skillOf(t, "one", "", "words"))
		seen(reader, "one", "two")
		seen(stranger)
		seen(blind)
		f, err := shelf.File(t.Context(), reader, "two", "scripts/run.py")
		if err != nil || string(f.Content) != "print(1)" {
			t.Errorf("%+v %v", f, err)
		}
		scripts, err := shelf.Scripts(t.Context(), reader, "two")
		if err != nil || len(scripts) != 2 || scripts[0].Path != "empty" || string(scripts[1].Content) != "print(1)" {
			t.Errorf("%+v %v", scripts, err)
		}
		plain, err := skills.ReadFolder(fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: zero\ndescription: Does a thing.\n---\nwords"), Mode: 0o644}}, "zero")
		if err != nil {
			t.Fatal(err)
		}
		add(plain)
		if scripts, err := shelf.Scripts(t.Context(), reader, "zero"); err != nil || len(scripts) != 0 {
			t.Errorf("without scripts: %+v %v", scripts, err)
		}
		if err := shelf.Remove(t.Context(), admin, o, "zero"); err != nil {
			t.Fatal(err)
		}
		gone := func(who coworker.Caller, id string, code coworker.Code) {
			t.Helper()
			_, err := shelf.File(t.Context(), who, id, skills.Main)
			coworkertest.WantCode(t, err, code)
			_, err = shelf.Scripts(t.Context(), who, id)
			coworkertest.WantCode(t, err, code)
		}
		gone(stranger, "two", coworker.NotFound)
		gone(blind, "two", coworker.PermissionDenied)
		gone(reader, "three", coworker.NotFound)
		// Disabled: not there, and still so when it is replaced.
		if err := shelf.Switch(t.Context(), admin, o, "two", false); err != nil {
			t.Fatal(err)
		}
		gone(reader, "two", coworker.NotFound)
		seen(reader, "one")
		add(skillOf(t, "two", "ozon", "second words"))
		seen(reader, "one")
		if all, err := shelf.All(t.Context(), admin, o); err != nil || len(all) != 2 || all[1].Enabled || all[1].Service != "ozon" || len(all[1].Files) != 3 || !all[1].AddedAt.Before(all[1].ChangedAt) {
			t.Errorf("%+v %v", all, err)
		}
		if err := shelf.Switch(t.Context(), admin, o, "two", true); err != nil {
			t.Fatal(err)
		}
		seen(reader, "one", "two")
		for name, err := range map[string]error{
			"a stranger switches": shelf.Switch(t.Context(), stranger, o, "two", false),
			"a stranger removes":  shelf.Remove(t.Context(), stranger, o, "two"),
			"nothing to switch":   shelf.Switch(t.Context(), admin, o, "three", false),
			"nothing to remove":   shelf.Remove(t.Context(), admin, o, "three"),
		} {
			if faultOf(err) != coworker.NotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err = shelf.Add(t.Context(), reader, o, skillOf(t, "x", "", "words"))
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
		_, err = shelf.Add(t.Context(), admin, o, skillOf(t, "x", "no-such-service", "words"))
		coworkertest.WantCode(t, err, coworker.InvalidArg)
		if err := shelf.Remove(t.Context(), admin, o, "one"); err != nil {
			t.Fatal(err)
		}
		seen(reader, "two")
		if err := b.DeleteOrganization(t.Context(), admin, o); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"skills", "skill_files"} {
			var n int
			if err := w.raw().QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s: %d rows stay, %v", table, n, err)
			}
		}
	})
}

func TestSkillsAddedAtOnceStayWithinTheirNumber(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme := b.found("Acme")
		store, ok := b.store.(skills.Store)
		if !ok {
			t.Fatal("the store keeps no skills")
		}
		var wait sync.WaitGroup
		for i := range 8 {
			s := skillOf(t, fmt.Sprint("skill-", i), "", "words")
			s.Organization, s.Enabled, s.AddedAt, s.ChangedAt = acme.Organization.ID, true, b.now, b.now
			a, err := b.Change(coworker.Operator(), acme.Organization.ID, "skill.add", s.ID)
			if err != nil {
				t.Fatal(err)
			}
			wait.Go(func() {
				if err := store.SaveSkill(t.Context(), s, 3, a); err != nil && !errors.Is(err, skills.ErrFull) {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if list, err := store.Skills(t.Context(), acme.Organization.ID); err != nil || len(list) != 3 {
			t.Errorf("%d, %v", len(list), err)
		}
	})
}
