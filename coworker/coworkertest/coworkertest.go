// Package coworkertest speaks the domain in tests: organisations and keys on
// the store of a journal under test, whose clock and randomness it shares.
package coworkertest

import (
	"net/netip"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/memory"
	"innerloop/coworker/skills"
	"innerloop/internal/keyring"
	"innerloop/internal/limit"
	"innerloop/journal/journaltest"
)

// A C is a coworker under test.
type C struct {
	*coworker.Coworker
	J     *journaltest.J
	Store coworker.Store

	t testing.TB
}

// InfoURL stands in hints.
const InfoURL = "https://journal.example/api/v1/mcp/info"

// On makes a coworker on a journal's store.
func On(t testing.TB, j *journaltest.J) *C {
	t.Helper()
	return Around(t, j, j.Store.Coworker())
}

// Around makes a coworker over a store that may be wrapped.
func Around(t testing.TB, j *journaltest.J, store coworker.Store) *C {
	t.Helper()
	c, err := coworker.New(coworker.Options{Store: store, Now: j.Clock.Now, Random: j.Random, InfoURL: InfoURL})
	if err != nil {
		t.Fatal(err)
	}
	return &C{Coworker: c, J: j, Store: store, t: t}
}

// Memory opens the files of its users.
func (c *C) Memory() *memory.Memory {
	c.t.Helper()
	ring, err := keyring.New(make([]byte, keyring.MasterSize))
	if err != nil {
		c.t.Fatal(err)
	}
	cursors, err := ring.For("memory cursor")
	if err != nil {
		c.t.Fatal(err)
	}
	store, ok := c.Store.(memory.Store)
	if !ok {
		c.t.Fatal("the store keeps no files")
	}
	m, err := memory.New(memory.Options{Store: store, Coworker: c.Coworker, Cursors: cursors})
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// Skills opens the skills of its organisations.
func (c *C) Skills(services *catalog.Catalog) *skills.Shelf {
	c.t.Helper()
	store, ok := c.Store.(skills.Store)
	if !ok {
		c.t.Fatal("the store keeps no skills")
	}
	return skills.New(store, c.Coworker, services)
}

// Found makes an organisation.
func (c *C) Found(name string) coworker.Founding {
	c.t.Helper()
	f, err := c.CreateOrganization(c.t.Context(), coworker.Operator(), name, 0)
	if err != nil {
		c.t.Fatalf("create organization: %v", err)
	}
	return f
}

// Key makes a key of an organisation.
func (c *C) Key(f coworker.Founding, wish coworker.NewKey) (coworker.Key, coworker.Secret) {
	c.t.Helper()
	if wish.Name == "" {
		wish.Name = "a key"
	}
	k, secret, err := c.CreateKey(c.t.Context(), coworker.Operator(), f.Organization.ID, wish)
	if err != nil {
		c.t.Fatalf("create key: %v", err)
	}
	return k, secret
}

// Caller authenticates a key from Home.
func (c *C) Caller(secret coworker.Secret) coworker.Caller {
	c.t.Helper()
	who, err := c.Authenticate(c.t.Context(), "Bearer "+secret.Reveal(), Home)
	if err != nil {
		c.t.Fatalf("authenticate: %v", err)
	}
	return who
}

// Home is an address of the outer world.
var Home = At("192.0.2.7")

// At is a place of the world.
func At(address string) coworker.From {
	a := netip.MustParseAddr(address)
	return coworker.From{Network: limit.NetworkOf(a), Address: a}
}

// WantCode fails unless err is a fault of the code, and returns it.
func WantCode(t testing.TB, err error, code coworker.Code) *coworker.Fault {
	t.Helper()
	f, ok := coworker.AsFault(err)
	if !ok || f.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return f
}

// WantReason fails unless err says that there is no caller for this reason.
func WantReason(t testing.TB, err error, reason string) coworker.Refused {
	t.Helper()
	f := WantCode(t, err, coworker.Unauthenticated)
	r, _ := f.Details.(coworker.Refused)
	if r.Reason != reason {
		t.Fatalf("reason %q, want %q", r.Reason, reason)
	}
	return r
}
