package models_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"innerloop/coworker"
	"innerloop/coworker/coworkertest"
)

// toolbox is a coworker on a store of a world.
type toolbox struct {
	*coworker.Coworker
	t     *testing.T
	store coworker.Store
	now   time.Time
}

func newToolbox(t *testing.T, w *world) *toolbox {
	t.Helper()
	b := &toolbox{t: t, store: w.Store.Coworker(), now: w.now()}
	c, err := coworker.New(coworker.Options{Store: b.store, Now: func() time.Time { return b.now }, Random: draw(1)})
	if err != nil {
		t.Fatal(err)
	}
	b.Coworker = c
	return b
}

// A source is randomness that several goroutines may draw from.
type source struct {
	mu   sync.Mutex
	from *rand.ChaCha8
}

func draw(seed byte) *source { return &source{from: rand.NewChaCha8([32]byte{seed})} }

func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from.Read(p)
}

// later moves the clock by one millisecond, so that what comes next is newer.
func (b *toolbox) later() { b.now = b.now.Add(time.Millisecond) }

func (b *toolbox) found(name string) coworker.Founding {
	b.t.Helper()
	b.later()
	f, err := b.CreateOrganization(b.t.Context(), coworker.Operator(), name, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func (b *toolbox) key(f coworker.Founding, wish coworker.NewKey) (coworker.Key, coworker.Secret) {
	b.t.Helper()
	b.later()
	k, s, err := b.CreateKey(b.t.Context(), coworker.Operator(), f.Organization.ID, wish)
	if err != nil {
		b.t.Fatal(err)
	}
	return k, s
}

func (b *toolbox) caller(s coworker.Secret) coworker.Caller {
	b.t.Helper()
	who, err := b.Authenticate(b.t.Context(), "Bearer "+s.Reveal(), coworkertest.Home)
	if err != nil {
		b.t.Fatal(err)
	}
	return who
}

var sameAddress = cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}

func TestKeysReadBackAsTheyWereMade(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme, other := b.found("Acme"), b.found("Other")
		wishes := []coworker.NewKey{
			{Name: "plain"},
			{Name: "no connector", Connectors: []string{}, Scopes: coworker.ReadTools | coworker.Chat, Days: 365},
			{Name: "narrow", Connectors: []string{"ozon", "github"}, Class: coworker.ClassRead, Rate: 30, Days: 1, Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/32")}},
		}
		var made []coworker.Key
		for _, wish := range wishes {
			k, s := b.key(acme, wish)
			stored, err := b.store.KeyByPrefix(t.Context(), s.Prefix())
			if err != nil || stored.Sum != s.Sum() {
				t.Fatal(err)
			}
			if diff := cmp.Diff(k, stored.Key, sameAddress); diff != "" {
				t.Error(diff)
			}
			made = append([]coworker.Key{k}, made...)
		}
		if k := made[2]; k.Scopes != coworker.WriteTools || k.Class != coworker.ClassIrreversible || !k.ExpiresAt.Equal(k.CreatedAt.AddDate(0, 0, 90)) || k.User != acme.User.ID {
			t.Errorf("what is not given: %+v", k)
		}
		made = append(made, acme.Key)
		// Newest first, in pages.
		var listed []coworker.Key
		cursor := ""
		for pages := 1; ; pages++ {
			page, err := b.ListKeys(t.Context(), coworker.Operator(), acme.Organization.ID, cursor, 3)
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, page.Keys...)
			if cursor = page.Next; cursor == "" {
				if pages != 2 {
					t.Errorf("%d pages", pages)
				}
				break
			}
		}
		if diff := cmp.Diff(made, listed, sameAddress); diff != "" {
			t.Error(diff)
		}
		for name, err := range map[string]error{
			"a user of another organization": func() error {
				_, _, err := b.CreateKey(t.Context(), coworker.Operator(), acme.Organization.ID, coworker.NewKey{Name: "a", User: other.User.ID})
				return err
			}(),
			"no such organization": func() error {
				_, err := b.ListKeys(t.Context(), coworker.Operator(), "org_00000000000000000000000000000000", "", 0)
				return err
			}(),
			"a key of another organization": func() error {
				_, err := b.UpdateKey(t.Context(), coworker.Operator(), other.Organization.ID, made[0].ID, coworker.Change{})
				return err
			}(),
			"revoking a key of another organization": func() error {
				_, err := b.RevokeKey(t.Context(), coworker.Operator(), other.Organization.ID, made[0].ID)
				return err
			}(),
		} {
			t.Run(name, func(t *testing.T) { coworkertest.WantCode(t, err, coworker.NotFound) })
		}
		// A prefix that is taken is another's.
		a := coworker.Audit{ID: coworker.AuditFrom(b.now), At: b.now, Organization: acme.Organization.ID}
		twin := coworker.StoredKey{Key: made[0]}
		twin.ID = "apikey_00000000000000000000000000000000"
		if err := b.store.CreateKey(t.Context(), twin, a); !errors.Is(err, coworker.ErrDuplicate) {
			t.Errorf("a taken prefix: %v", err)
		}
	})
}

func TestAChangeOfAKeyHoldsAtOnceInEveryStore(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme := b.found("Acme")
		k, s := b.key(acme, coworker.NewKey{Name: "a", Scopes: coworker.ReadTools})
		elsewhere := newToolbox(t, &world{Store: w.open(), t: t})
		elsewhere.now = b.now
		if who := elsewhere.caller(s); who.Scopes != coworker.ReadTools || who.Key != k.ID || who.User != acme.User.ID || who.Organization != acme.Organization.ID {
			t.Errorf("%+v", who)
		}
		scopes, name, class := coworker.WriteTools|coworker.ReadData, "b", coworker.ClassRead
		connectors, networks := []string{"ozon"}, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		changed, err := b.UpdateKey(t.Context(), b.caller(acme.Secret), acme.Organization.ID, k.ID,
			coworker.Change{Scopes: &scopes, Name: &name, Class: &class, Connectors: &connectors, Networks: &networks})
		if err != nil || changed.Name != "b" {
			t.Fatal(err)
		}
		if who := elsewhere.caller(s); who.Scopes != scopes || who.Class != class || !slices.Equal(who.Connectors, connectors) {
			t.Errorf("%+v", who)
		}
		var none []string
		if _, err := b.UpdateKey(t.Context(), coworker.Operator(), acme.Organization.ID, k.ID, coworker.Change{Connectors: &none}); err != nil {
			t.Fatal(err)
		}
		if who := elsewhere.caller(s); who.Connectors != nil || who.Scopes != scopes {
			t.Errorf("%+v", who)
		}
		long := strings.Repeat("x", 81)
		_, err = b.UpdateKey(t.Context(), coworker.Operator(), acme.Organization.ID, k.ID, coworker.Change{Name: &long})
		coworkertest.WantCode(t, err, coworker.InvalidArg)
		b.later()
		first, err := b.RevokeKey(t.Context(), coworker.Operator(), acme.Organization.ID, k.ID)
		if err != nil || !first.RevokedAt.Equal(b.now) {
			t.Fatalf("%+v, %v", first, err)
		}
		_, err = elsewhere.Authenticate(t.Context(), "Bearer "+s.Reveal(), coworkertest.Home)
		coworkertest.WantReason(t, err, coworker.ReasonRevoked)
		b.later()
		again, err := b.RevokeKey(t.Context(), coworker.Operator(), acme.Organization.ID, k.ID)
		if err != nil || !again.RevokedAt.Equal(first.RevokedAt) {
			t.Errorf("revoked twice: %+v, %v", again, err)
		}
		_, err = b.UpdateKey(t.Context(), coworker.Operator(), acme.Organization.ID, k.ID, coworker.Change{Scopes: &scopes})
		coworkertest.WantCode(t, err, coworker.NotFound)
	})
}

func TestUsersAndOrganizationsComeAndGo(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme, other := b.found("Acme"), b.found("Other")
		admin := b.caller(acme.Secret)
		b.later()
		bob, err := b.AddUser(t.Context(), admin, acme.Organization.ID, "Bob")
		if err != nil {
			t.Fatal(err)
		}
		_, second := b.key(acme, coworker.NewKey{Name: "second admin", User: bob.ID, Scopes: coworker.Admin})
		if who := b.caller(second); who.User != bob.ID {
			t.Errorf("%+v", who)
		}
		_, token, err := b.OpenSession(t.Context(), second.Reveal(), coworkertest.Home)
		if err != nil {
			t.Fatal(err)
		}
		users, err := b.Users(t.Context(), admin, acme.Organization.ID, "", 0)
		if diff := cmp.Diff([]coworker.User{acme.User, bob}, users); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if u, err := b.User(t.Context(), admin, bob.ID); err != nil || u != bob {
			t.Error(u, err)
		}
		_, err = b.User(t.Context(), admin, other.User.ID)
		coworkertest.WantCode(t, err, coworker.NotFound)
		coworkertest.WantCode(t, b.RemoveUser(t.Context(), admin, acme.Organization.ID, other.User.ID), coworker.NotFound)
		coworkertest.WantCode(t, b.RemoveUser(t.Context(), admin, other.Organization.ID, other.User.ID), coworker.NotFound)
		coworkertest.WantCode(t, b.RemoveUser(t.Context(), coworker.Operator(), other.Organization.ID, other.User.ID), coworker.InvalidArg)
		if err := b.RemoveUser(t.Context(), admin, acme.Organization.ID, bob.ID); err != nil {
			t.Fatal(err)
		}
		_, err = b.Authenticate(t.Context(), "Bearer "+second.Reveal(), coworkertest.Home)
		coworkertest.WantReason(t, err, coworker.ReasonUnknown)
		_, _, err = b.Session(t.Context(), token, coworkertest.Home)
		coworkertest.WantReason(t, err, coworker.ReasonUnknown)

		list, err := b.Organizations(t.Context(), coworker.Operator(), "", 0)
		if diff := cmp.Diff([]coworker.Organization{acme.Organization, other.Organization}, list); diff != "" || err != nil {
			t.Error(diff, err)
		}
		for range 3 {
			b.later()
			if err := b.Record(t.Context(), admin, coworker.Audit{Tool: coworker.ToolListServices}); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.DeleteOrganization(t.Context(), admin, acme.Organization.ID); err != nil {
			t.Fatal(err)
		}
		coworkertest.WantCode(t, b.DeleteOrganization(t.Context(), coworker.Operator(), acme.Organization.ID), coworker.NotFound)
		_, err = b.Authenticate(t.Context(), "Bearer "+acme.Secret.Reveal(), coworkertest.Home)
		coworkertest.WantReason(t, err, coworker.ReasonUnknown)
		for _, table := range []string{"users", "api_keys", "audit", "sessions"} {
			var n int
			if err := w.raw().QueryRow(fmt.Sprintf(`SELECT count(*) FROM %s WHERE organization_id = '%s'`, table, acme.Organization.ID)).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s: %d rows stay, %v", table, n, err)
			}
		}
		b.caller(other.Secret)
	})
}

func TestSessionsEndWithTheirKey(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme := b.found("Acme")
		open := func(days int) (coworker.Key, coworker.Session, coworker.Token) {
			k, secret := b.key(acme, coworker.NewKey{Name: "admin", Scopes: coworker.Admin, Days: days})
			s, token, err := b.OpenSession(t.Context(), " "+secret.Reveal()+"\n", coworkertest.Home)
			if err != nil {
				t.Fatal(err)
			}
			return k, s, token
		}
		alive := func(token coworker.Token) bool {
			s, who, err := b.Session(t.Context(), token, coworkertest.Home)
			if err == nil && (who.Session != s.ID || !who.Scopes.Holds(coworker.Admin) || who.Key != s.Key) {
				t.Errorf("%+v, %+v", s, who)
			}
			if err != nil {
				coworkertest.WantReason(t, err, coworker.ReasonUnknown)
			}
			return err == nil
		}
		k, s, token := open(90)
		read, ok := coworker.ReadToken(token.Reveal())
		if !ok || !alive(token) || !alive(read) || read.CSRF() != token.CSRF() || !token.MatchesCSRF(read.CSRF()) || token.MatchesCSRF("") || strings.Contains(fmt.Sprintf("%v %+v", token, token), token.Reveal()) {
			t.Error("a token does not read back")
		}
		_, other, otherToken := open(90)
		if token.CSRF() == otherToken.CSRF() {
			t.Error("two sessions share their CSRF token")
		}
		admin := b.caller(acme.Secret)
		sessions, err := b.Sessions(t.Context(), admin)
		if diff := cmp.Diff([]coworker.Session{other, s}, sessions); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if err := b.EndSession(t.Context(), admin, other.ID); err != nil || alive(otherToken) || !alive(token) {
			t.Error(err)
		}
		coworkertest.WantCode(t, b.EndSession(t.Context(), admin, other.ID), coworker.NotFound)
		foreign := b.caller(b.found("Other").Secret)
		coworkertest.WantCode(t, b.EndSession(t.Context(), foreign, s.ID), coworker.NotFound)

		less := coworker.WriteTools
		if _, err := b.UpdateKey(t.Context(), admin, acme.Organization.ID, k.ID, coworker.Change{Scopes: &less}); err != nil || alive(token) {
			t.Error("a session outlives the scope admin", err)
		}
		k, _, token = open(90)
		if _, err := b.RevokeKey(t.Context(), admin, acme.Organization.ID, k.ID); err != nil || alive(token) {
			t.Error("a session outlives its key", err)
		}
		_, _, token = open(90)
		b.now = b.now.Add(coworker.SessionIdle - time.Minute)
		if !alive(token) {
			t.Error("a session ends before it is idle")
		}
		if list, err := b.Sessions(t.Context(), admin); err != nil || len(list) != 1 {
			t.Errorf("open: %d, %v", len(list), err)
		}
		b.now = b.now.Add(coworker.SessionIdle)
		if alive(token) {
			t.Error("a session does not end when idle")
		}
		if list, err := b.Sessions(t.Context(), admin); err != nil || len(list) != 0 {
			t.Errorf("an idle one is listed as open: %d, %v", len(list), err)
		}
		_, short := b.key(acme, coworker.NewKey{Name: "short", Scopes: coworker.Admin, Days: 1})
		b.now = b.now.Add(24*time.Hour - 20*time.Minute)
		if _, token, err = b.OpenSession(t.Context(), short.Reveal(), coworkertest.Home); err != nil || !alive(token) {
			t.Fatal(err)
		}
		b.now = b.now.Add(30 * time.Minute)
		if list, err := b.Sessions(t.Context(), admin); err != nil || len(list) != 0 || alive(token) {
			t.Errorf("one of an expired key is listed as open: %d, %v", len(list), err)
		}
		_, _, token = open(90)
		for range 30 {
			b.now = b.now.Add(30 * time.Minute)
			alive(token)
		}
		if alive(token) {
			t.Error("a session in use has no end")
		}
		_, weak := b.key(acme, coworker.NewKey{Name: "weak"})
		_, _, err = b.OpenSession(t.Context(), weak.Reveal(), coworkertest.Home)
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
		if err := b.Chores(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := w.raw().QueryRow(`SELECT count(*) FROM sessions`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d sessions stay, %v", n, err)
		}
	})
}

func TestAuditListsCountsAndForgets(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		acme, other := b.found("Acme"), b.found("Other")
		admin, foreign := b.caller(acme.Secret), b.caller(other.Secret)
		bob, err := b.AddUser(t.Context(), admin, acme.Organization.ID, "Bob")
		if err != nil {
			t.Fatal(err)
		}
		_, s := b.key(acme, coworker.NewKey{Name: "bob", User: bob.ID, Scopes: coworker.ReadData})
		reader := b.caller(s)
		_, s = b.key(acme, coworker.NewKey{Name: "blind", User: bob.ID, Scopes: coworker.ReadTools})
		blind := b.caller(s)
		record := func(who coworker.Caller, a coworker.Audit) {
			t.Helper()
			b.later()
			if err := b.Record(t.Context(), who, a); err != nil {
				t.Fatal(err)
			}
		}
		full := coworker.Audit{
			Tool: "connector_execute", Service: "ozon", Module: "seller", Method: "POST", Path: "/v3/{id}", Class: coworker.ClassWrite, Status: 503,
			BytesIn: 10, BytesOut: 20, Took: 1500 * time.Millisecond, Retries: 2, Hosts: []string{"a.example", "b.example"}, Error: coworker.UpstreamError,
		}
		record(admin, full)
		b.now = b.now.Add(24 * time.Hour)
		dayTwo := b.now
		for range 3 {
			record(reader, coworker.Audit{Tool: "list_services"})
		}
		record(reader, coworker.Audit{Tool: "describe_service", Error: coworker.UnknownService})
		record(foreign, coworker.Audit{Tool: "list_services"})
		page := func(who coworker.Caller, q coworker.AuditQuery) []string {
			t.Helper()
			var list []string
			for cursor := ""; ; {
				q.Limit = 2
				p, err := b.Audit(t.Context(), who, q, cursor)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range p.Items {
					list = append(list, strings.TrimPrefix(a.Action, "tool.")+" "+a.Tool)
				}
				if cursor = p.Next; cursor == "" {
					return list
				}
			}
		}
		calls := []string{"call describe_service", "call list_services", "call list_services", "call list_services", "call connector_execute"}
		for _, row := range []struct {
			name string
			who  coworker.Caller
			q    coworker.AuditQuery
			want []string
		}{
			{"an admin sees all of the organization", admin, coworker.AuditQuery{}, append(slices.Clone(calls), "key.create ", "key.create ", "user.add ", "organization.create ")},
			{"a reader sees own rows", reader, coworker.AuditQuery{}, calls[:4]},
			{"by user", admin, coworker.AuditQuery{User: bob.ID}, calls[:4]},
			{"by key", admin, coworker.AuditQuery{Key: admin.Key, Action: coworker.ActionCall}, calls[4:]},
			{"by tool", admin, coworker.AuditQuery{Tool: "list_services"}, calls[1:4]},
			{"by service", admin, coworker.AuditQuery{Service: "ozon"}, calls[4:]},
			{"by code", admin, coworker.AuditQuery{Error: coworker.UnknownService}, calls[:1]},
			{"errors", admin, coworker.AuditQuery{OnlyErrors: true}, []string{calls[0], calls[4]}},
			{"since", admin, coworker.AuditQuery{From: dayTwo}, calls[:4]},
			{"until", admin, coworker.AuditQuery{Until: dayTwo, Action: coworker.ActionCall}, calls[4:]},
			{"nothing", admin, coworker.AuditQuery{Service: "github"}, nil},
		} {
			if diff := cmp.Diff(row.want, page(row.who, row.q)); diff != "" {
				t.Errorf("%s: %s", row.name, diff)
			}
		}
		got, err := b.Audit(t.Context(), admin, coworker.AuditQuery{Service: "ozon"}, "")
		if err != nil || len(got.Items) != 1 {
			t.Fatal(err)
		}
		full.Organization, full.User, full.Key, full.Action = acme.Organization.ID, acme.User.ID, admin.Key, coworker.ActionCall
		if diff := cmp.Diff(full, got.Items[0], cmpopts.IgnoreFields(coworker.Audit{}, "ID", "At")); diff != "" {
			t.Error(diff)
		}
		days, err := b.AuditDays(t.Context(), admin, coworker.AuditQuery{})
		want := []coworker.AuditDay{{Day: w.now().Truncate(24 * time.Hour), Calls: 1, Errors: 1}, {Day: dayTwo.Truncate(24 * time.Hour), Calls: 4, Errors: 1}}
		if diff := cmp.Diff(want, days); diff != "" || err != nil {
			t.Error(diff, err)
		}
		_, err = b.Audit(t.Context(), blind, coworker.AuditQuery{}, "")
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
		_, err = b.Audit(t.Context(), reader, coworker.AuditQuery{User: acme.User.ID}, "")
		coworkertest.WantCode(t, err, coworker.PermissionDenied)
		_, err = b.Audit(t.Context(), admin, coworker.AuditQuery{Organization: other.Organization.ID}, "")
		coworkertest.WantCode(t, err, coworker.NotFound)
		_, err = b.Audit(t.Context(), admin, coworker.AuditQuery{}, "audit_1")
		coworkertest.WantCode(t, err, coworker.InvalidArg)
		_, err = b.Audit(t.Context(), admin, coworker.AuditQuery{Limit: 501}, "")
		coworkertest.WantCode(t, err, coworker.InvalidArg)

		b.now = dayTwo.Add(coworker.AuditLife)
		if err := b.Chores(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := page(coworker.Operator(), coworker.AuditQuery{Organization: acme.Organization.ID}); !slices.Equal(left, calls[:4]) {
			t.Errorf("left: %q", left)
		}
	})
}

// The one read of a keyed request goes by an index and is one statement.
func TestAKeyIsFoundByOneStatement(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		b := newToolbox(t, w)
		_, s := b.key(b.found("Acme"), coworker.NewKey{Name: "a"})
		b.caller(s) // remembers the minute
		w.queries.take()
		b.caller(s)
		if texts := w.queries.take(); len(texts) != 1 || !strings.Contains(texts[0], "k.prefix = ") {
			t.Errorf("%q", texts)
		}
	})
}
