package models_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/vault"
	"innerloop/internal/keyring"
)

const planted = "planted-credential-4b1d2c"

var services = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Load() })

// keeperOf makes a keeper whose master keys are named by a byte each.
func keeperOf(t *testing.T, b *toolbox, masters ...byte) *connect.Keeper {
	t.Helper()
	var keys [][]byte
	for _, m := range masters {
		keys = append(keys, bytes.Repeat([]byte{m}, keyring.MasterSize))
	}
	ring, err := keyring.New(keys[0], keys[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ring.For(vault.Purpose)
	if err != nil {
		t.Fatal(err)
	}
	v, err := vault.New(key, draw(masters[0]))
	if err != nil {
		t.Fatal(err)
	}
	all, err := services()
	if err != nil {
		t.Fatal(err)
	}
	store, ok := b.store.(connect.Store)
	if !ok {
		t.Fatal("the store keeps no connections")
	}
	return connect.NewKeeper(store, v, all, b.Coworker)
}

func faultOf(err error) coworker.Code {
	if f, ok := coworker.AsFault(err); ok {
		return f.Code
	}
	return ""
}

func TestConnectionsReadBackSealedAndAlone(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		ctx := t.Context()
		acme, other := b.found("Acme"), b.found("Other")
		k := keeperOf(t, b, 1)
		who := b.caller(acme.Secret)
		_, err := k.Connection(ctx, who, "ozon", "")
		if faultOf(err) != coworker.NotConnected {
			t.Errorf("before: %v", err)
		}
		b.later()
		wish := connect.Wish{Service: "ozon", Fields: map[string]string{"client_id": "77", "api_key": planted}}
		made, err := k.Connect(ctx, who, acme.Organization.ID, wish)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Connection(ctx, who, "ozon", "main")
		if err != nil || got.Fields["api_key"] != planted || got.Fields["client_id"] != "77" || got.ID != made.ID || got.Version != 1 {
			t.Errorf("%+v %v", got, err)
		}
		// A user's own goes before the organisation's.
		b.later()
		wish.User, wish.Fields = who.User, map[string]string{"client_id": "78", "api_key": planted + "-own"}
		if _, err := k.Connect(ctx, who, acme.Organization.ID, wish); err != nil {
			t.Fatal(err)
		}
		if got, err := k.Connection(ctx, who, "ozon", ""); err != nil || got.Fields["client_id"] != "78" {
			t.Errorf("the user's own: %+v %v", got.Fields, err)
		}
		// Changed: another version, and the old value is nowhere.
		b.later()
		wish.User, wish.Fields["api_key"] = "", planted+"-2"
		if again, err := k.Connect(ctx, who, acme.Organization.ID, wish); err != nil || again.ID != made.ID || again.Version != 2 {
			t.Errorf("changed: %+v %v", again, err)
		}
		page, err := k.List(ctx, who, acme.Organization.ID, "", 0)
		if err != nil || len(page.Connections) != 2 || page.Connections[0].Values[0].Sealed != nil {
			t.Errorf("listed %+v %v", page, err)
		}
		for _, c := range page.Connections {
			if record := c.Record(); strings.Contains(record.Fields["api_key"], planted[:8]) || record.Fields["client_id"] == "" {
				t.Errorf("recorded %+v", record.Fields)
			}
		}
		// Strangers.
		stranger := b.caller(other.Secret)
		if _, err := k.Connection(ctx, stranger, "ozon", ""); faultOf(err) != coworker.NotConnected {
			t.Errorf("another organisation: %v", err)
		}
		if _, err := k.List(ctx, stranger, acme.Organization.ID, "", 0); faultOf(err) != coworker.NotFound {
			t.Errorf("another organisation lists: %v", err)
		}
		if err := k.Remove(ctx, stranger, other.Organization.ID, made.ID); faultOf(err) != coworker.NotFound {
			t.Errorf("another organisation removes: %v", err)
		}
		if _, err := k.Connect(ctx, stranger, acme.Organization.ID, wish); faultOf(err) != coworker.NotFound {
			t.Errorf("another organisation connects: %v", err)
		}
		if err := k.Remove(ctx, who, acme.Organization.ID, made.ID); err != nil {
			t.Error(err)
		}
		if got, err := k.Connection(ctx, who, "ozon", ""); err != nil || got.Fields["client_id"] != "78" {
			t.Errorf("after the removal: %+v %v", got.Fields, err)
		}
	})
}

// TestARemovedUserTakesTheirConnectionsAlong, and an organisation all.
func TestARemovedUserTakesTheirConnectionsAlong(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		ctx := t.Context()
		acme := b.found("Acme")
		k := keeperOf(t, b, 1)
		b.later()
		user, err := b.AddUser(ctx, coworker.Operator(), acme.Organization.ID, "Second")
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]string{"api_key": planted}
		for _, u := range []coworker.UserID{user.ID, ""} {
			b.later()
			if _, err := k.Connect(ctx, coworker.Operator(), acme.Organization.ID, connect.Wish{User: u, Service: "wildberries", Fields: fields}); err != nil {
				t.Fatal(err)
			}
		}
		b.later()
		if err := b.RemoveUser(ctx, coworker.Operator(), acme.Organization.ID, user.ID); err != nil {
			t.Fatal(err)
		}
		page, err := k.List(ctx, coworker.Operator(), acme.Organization.ID, "", 0)
		if err != nil || len(page.Connections) != 1 || page.Connections[0].User != "" {
			t.Errorf("%+v %v", page, err)
		}
		b.later()
		if err := b.DeleteOrganization(ctx, coworker.Operator(), acme.Organization.ID); err != nil {
			t.Fatal(err)
		}
		if page, err := k.List(ctx, coworker.Operator(), acme.Organization.ID, "", 0); err != nil || len(page.Connections) != 0 {
			t.Errorf("%+v %v", page, err)
		}
	})
}

func TestWhatAWishMayNotHold(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme := b.found("Acme")
		k := keeperOf(t, b, 1)
		for name, c := range map[string]struct {
			wish  connect.Wish
			code  coworker.Code
			field string
		}{
			"an unknown service": {connect.Wish{Service: "none"}, coworker.UnknownService, ""},
			"no field":           {connect.Wish{Service: "ozon"}, coworker.InvalidArg, "fields.client_id"},
			"another field":      {connect.Wish{Service: "ozon", Fields: map[string]string{"client_id": "1", "api_key": planted, "x": "y"}}, coworker.InvalidArg, "fields"},
			"lines":              {connect.Wish{Service: "ozon", Fields: map[string]string{"client_id": "1", "api_key": planted + "\r\nX: y"}}, coworker.InvalidArg, "fields.api_key"},
			"a form":             {connect.Wish{Service: "bitrix24", Fields: map[string]string{"webhook_url": "https://x/" + planted}}, coworker.InvalidArg, "fields.webhook_url"},
			"a name":             {connect.Wish{Service: "ozon", Name: "../x", Fields: map[string]string{"client_id": "1", "api_key": planted}}, coworker.InvalidArg, "name"},
			"another kind":       {connect.Wish{Service: "ozon", Auth: "none"}, coworker.InvalidArg, "auth"},
			"a base address":     {connect.Wish{Service: "ozon", BaseURL: "ftp://x", Fields: map[string]string{"client_id": "1", "api_key": planted}}, coworker.InvalidArg, "base_url"},
			"a param":            {connect.Wish{Service: "onec", Fields: map[string]string{"user": "a", "password": planted}, Params: map[string]string{"base_url": "http://x"}}, coworker.InvalidArg, "params.base_url"},
		} {
			_, err := k.Connect(t.Context(), coworker.Operator(), acme.Organization.ID, c.wish)
			f, ok := coworker.AsFault(err)
			if !ok || f.Code != c.code {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if problems, ok := f.Details.([]coworker.Problem); c.field != "" && (!ok || problems[0].Field != c.field || strings.Contains(problems[0].Problem, planted)) {
				t.Errorf("%s: %+v", name, f.Details)
			}
		}
		if _, err := k.Connect(t.Context(), coworker.Operator(), "org_00000000000000000000000000000000", connect.Wish{Service: "ozon", Fields: map[string]string{"client_id": "1", "api_key": planted}}); faultOf(err) != coworker.NotFound {
			t.Errorf("no organisation: %v", err)
		}
	})
}

// TestTwoWhoChangeAConnection: one version is not lost, and a renewal of an old
// version leaves the newer word alone.
func TestTwoWhoChangeAConnection(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		ctx := t.Context()
		acme := b.found("Acme")
		k := keeperOf(t, b, 1)
		who := b.caller(acme.Secret)
		wish := connect.Wish{Service: "wildberries", Fields: map[string]string{"api_key": planted}}
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				if _, err := k.Connect(ctx, who, acme.Organization.ID, wish); err != nil && faultOf(err) != coworker.Internal {
					t.Error(err)
				}
			})
		}
		group.Wait()
		c, err := k.Connection(ctx, who, "wildberries", "")
		if err != nil || c.Fields["api_key"] != planted {
			t.Fatalf("%+v %v", c, err)
		}
		renewed, err := k.Renew(ctx, c.ID, c.Version, "api_key", planted+"-new")
		if err != nil || renewed.Version != c.Version+1 {
			t.Fatalf("%+v %v", renewed, err)
		}
		if stale, err := k.Renew(ctx, c.ID, c.Version, "api_key", "stale"); err != nil || stale.Fields["api_key"] != planted+"-new" {
			t.Errorf("a stale renewal: %+v %v", stale.Fields, err)
		}
		if err := k.Broken(ctx, c.ID, c.Version); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Connection(ctx, who, "wildberries", ""); err != nil {
			t.Errorf("broken by an old version: %v", err)
		}
		if err := k.Broken(ctx, c.ID, renewed.Version); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Connection(ctx, who, "wildberries", ""); faultOf(err) != coworker.NotConnected {
			t.Errorf("broken: %v", err)
		}
		marks, err := k.Marks(ctx, who)
		if err != nil || marks["wildberries"] != catalog.Reconnect {
			t.Errorf("%v %v", marks, err)
		}
		b.now = b.now.Add(time.Minute)
		doubted, err := k.Connection(ctx, who, "wildberries", "")
		if err != nil || !doubted.Doubted {
			t.Fatalf("a minute later: %+v %v", doubted, err)
		}
		if err := k.Works(ctx, doubted.ID, doubted.Version); err != nil {
			t.Fatal(err)
		}
		if again, err := k.Connection(ctx, who, "wildberries", ""); err != nil || again.Doubted {
			t.Errorf("taken back: %+v %v", again.Doubted, err)
		}
	})
}

// TestWithoutANameTheOldestIsMeant, whatever its id.
func TestWithoutANameTheOldestIsMeant(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme := b.found("Acme")
		k, who := keeperOf(t, b, 1), b.caller(acme.Secret)
		for i := range 12 {
			b.later()
			if _, err := k.Connect(t.Context(), who, acme.Organization.ID, connect.Wish{Service: "wildberries", Name: string(rune('z' - i)), Fields: map[string]string{"api_key": planted}}); err != nil {
				t.Fatal(err)
			}
		}
		if c, err := k.Connection(t.Context(), who, "wildberries", ""); err != nil || c.Name != "z" {
			t.Errorf("%s %v", c.Name, err)
		}
	})
}

func TestANewMasterKeyOpensTheVault(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		ctx := t.Context()
		acme := b.found("Acme")
		who := b.caller(acme.Secret)
		if _, err := keeperOf(t, b, 1).Connect(ctx, who, acme.Organization.ID, connect.Wish{Service: "wildberries", Fields: map[string]string{"api_key": planted}}); err != nil {
			t.Fatal(err)
		}
		if _, err := keeperOf(t, b, 2).Connection(ctx, who, "wildberries", ""); !errors.Is(err, vault.ErrSealed) {
			t.Errorf("another master key: %v", err)
		}
		if n, err := keeperOf(t, b, 2, 1).Rewrap(ctx); err != nil || n != 1 {
			t.Errorf("%d re-wrapped, %v", n, err)
		}
		if n, err := keeperOf(t, b, 2, 1).Rewrap(ctx); err != nil || n != 0 {
			t.Errorf("%d re-wrapped again, %v", n, err)
		}
		if c, err := keeperOf(t, b, 2).Connection(ctx, who, "wildberries", ""); err != nil || c.Fields["api_key"] != planted {
			t.Errorf("%+v %v", c.Fields, err)
		}
	})
}

func TestNetworksAndSettingsOfAnOrganisation(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		ctx := t.Context()
		acme := b.found("Acme")
		k := keeperOf(t, b, 1)
		who := b.caller(acme.Secret)
		for _, cidr := range []string{"10.1.2.3/8", "10.0.0.0/8", "fd00::/8"} {
			if _, err := k.AllowNetwork(ctx, who, acme.Organization.ID, cidr); err != nil {
				t.Error(err)
			}
		}
		if _, err := k.AllowNetwork(ctx, who, acme.Organization.ID, "10.0.0.0"); faultOf(err) != coworker.InvalidArg {
			t.Errorf("no network: %v", err)
		}
		for _, cidr := range []string{"127.0.0.1/32", "0.0.0.0/0", "::/0"} {
			if _, err := k.AllowNetwork(ctx, who, acme.Organization.ID, cidr); faultOf(err) != coworker.PermissionDenied {
				t.Errorf("an admin admits this machine by %s: %v", cidr, err)
			}
		}
		if err := k.ForbidNetwork(ctx, who, acme.Organization.ID, netip.MustParsePrefix("fd00::/8")); err != nil {
			t.Error(err)
		}
		if n, err := k.Networks(ctx, who, acme.Organization.ID); err != nil || len(n) != 1 || n[0].String() != "10.0.0.0/8" {
			t.Errorf("%v %v", n, err)
		}
		want := connect.Settings{MustConfirm: true, AllWhenUnnamed: true}
		if got, err := k.Settings(ctx, who); err != nil || got != (connect.Settings{}) {
			t.Errorf("before: %+v %v", got, err)
		}
		if got, err := k.ChangeSettings(ctx, who, acme.Organization.ID, connect.SettingsChange{MustConfirm: new(true), AllWhenUnnamed: new(true)}); err != nil || got != want {
			t.Errorf("%+v %v", got, err)
		}
		if got, err := k.Settings(ctx, who); err != nil || got != want {
			t.Errorf("after: %+v %v", got, err)
		}
		want = connect.Settings{BrokerOnly: true, AllWhenUnnamed: true}
		if got, err := k.ChangeSettings(ctx, who, acme.Organization.ID, connect.SettingsChange{MustConfirm: new(false), BrokerOnly: new(true)}); err != nil || got != want {
			t.Errorf("%+v %v", got, err)
		}
		if _, err := k.ChangeSettings(ctx, coworker.Operator(), "organization_none", connect.SettingsChange{MustConfirm: new(true)}); faultOf(err) != coworker.NotFound {
			t.Errorf("of nobody: %v", err)
		}
	})
}

// Admins who each change another rule at the same moment all get what they
// wanted: none writes back what it read before the others.
func TestRulesChangedAtTheSameTimeAllHold(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme := b.found("Acme")
		k := keeperOf(t, b, 1)
		who := b.caller(acme.Secret)
		for round := range 10 {
			on := round%2 == 0
			var all sync.WaitGroup
			for _, change := range []connect.SettingsChange{{MustConfirm: &on}, {BrokerOnly: &on}, {AllWhenUnnamed: &on}} {
				all.Go(func() {
					if _, err := k.ChangeSettings(t.Context(), who, acme.Organization.ID, change); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			want := connect.Settings{MustConfirm: on, BrokerOnly: on, AllWhenUnnamed: on}
			if got, err := k.Settings(t.Context(), who); err != nil || got != want {
				t.Fatalf("round %d: %+v %v", round, got, err)
			}
		}
	})
}
