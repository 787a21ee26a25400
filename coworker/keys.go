package coworker

import (
	"context"
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"time"
)

// How long a key may live, in days.
const (
	DaysDefault = 90
	DaysMax     = 365
)

// What a key may list.
const (
	connectorsMax = 200
	networksOfKey = 50
	rateMax       = 100_000
)

// A Key is what may be known of a key after it was made.
type Key struct {
	ID           KeyID
	Organization OrganizationID
	User         UserID
	Prefix       string // "sk-org-" and 8 characters: public
	Name         string
	Scopes       Scopes
	Connectors   []string       // nil: every connector; empty: none
	Class        Class          // the highest class of call
	Networks     []netip.Prefix // nil: from anywhere
	Rate         int            // tool calls and requests a minute; 0: no limit of its own
	CreatedAt    time.Time
	CreatedBy    KeyID // empty: the command line
	ExpiresAt    time.Time
	RevokedAt    time.Time // zero: not revoked
	LastUsedAt   time.Time // a whole minute; zero: never
	LastUsedFrom netip.Addr
}

// Status is "active", "expired" or "revoked".
func (k Key) Status(now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !now.Before(k.ExpiresAt):
		return "expired"
	}
	return "active"
}

// A StoredKey is a key with the digest of its secret.
type StoredKey struct {
	Key
	Sum Sum
}

// NewKey is what is wished of a new key.
type NewKey struct {
	User       UserID // empty: the caller's own, or the organisation's first
	Name       string
	Scopes     Scopes // 0: write:tools
	Days       int    // 0: DaysDefault
	Connectors []string
	Class      Class // empty: irreversible
	Networks   []netip.Prefix
	Rate       int
}

func (n *NewKey) check() []Problem {
	if n.Scopes == 0 {
		n.Scopes = WriteTools
	}
	if n.Days == 0 {
		n.Days = DaysDefault
	}
	if n.Class == "" {
		n.Class = ClassIrreversible
	}
	problems := checkKey(Key{Name: n.Name, Connectors: n.Connectors, Class: n.Class, Networks: n.Networks, Rate: n.Rate})
	if n.Days < 1 || n.Days > DaysMax {
		problems = append(problems, Problem{Field: "expires_in_days", Problem: "must be a whole number from 1 to 365"})
	}
	return problems
}

var connectorPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func checkKey(k Key) []Problem {
	problems := checkName(k.Name)
	odd := func(id string) bool { return !connectorPattern.MatchString(id) }
	if len(k.Connectors) > connectorsMax || slices.ContainsFunc(k.Connectors, odd) {
		problems = append(problems, Problem{Field: "connectors", Problem: "must be at most 200 ids of services, as list_services names them"})
	}
	if !k.Class.Valid() {
		problems = append(problems, Problem{Field: "class", Problem: "must be a class of calls", Allowed: classes})
	}
	if len(k.Networks) > networksOfKey {
		problems = append(problems, Problem{Field: "networks", Problem: "must be at most 50 networks"})
	}
	if k.Rate < 0 || k.Rate > rateMax {
		problems = append(problems, Problem{Field: "rate_per_minute", Problem: "must be a whole number from 0 (no limit) to 100000"})
	}
	return problems
}

// CreateKey makes a key and returns its secret, which cannot be had again.
func (c *Coworker) CreateKey(ctx context.Context, who Caller, o OrganizationID, wish NewKey) (Key, Secret, error) {
	if err := who.administers(o); err != nil {
		return Key{}, Secret{}, err
	}
	if problems := wish.check(); len(problems) > 0 {
		return Key{}, Secret{}, InvalidArguments(problems...)
	}
	user := wish.User
	if user == "" && who.Organization == o {
		user = who.User
	}
	if user == "" {
		first, err := c.store.Users(ctx, o, "", 1)
		switch {
		case err != nil:
			return Key{}, Secret{}, err
		case len(first) == 0:
			return Key{}, Secret{}, Missing("organization")
		}
		user = first[0].ID
	}
	k, secret, err := c.issue(who, User{Organization: o, ID: user}, wish, c.clock(), func(k StoredKey) error {
		a, err := c.act(who, o, "key.create", string(k.ID))
		if err != nil {
			return err
		}
		return c.store.CreateKey(ctx, k, a)
	})
	if err != nil {
		return Key{}, Secret{}, found(err, "user")
	}
	return k, secret, nil
}

// prefixTries bounds how often another public prefix is drawn: two of 62^8
// meet about never.
const prefixTries = 4

func (c *Coworker) issue(who Caller, u User, wish NewKey, now time.Time, save func(StoredKey) error) (Key, Secret, error) {
	for try := 1; ; try++ {
		id, err := newID(now, c.random)
		if err != nil {
			return Key{}, Secret{}, err
		}
		secret, err := NewSecret(c.random)
		if err != nil {
			return Key{}, Secret{}, err
		}
		k := StoredKey{Sum: secret.Sum(), Key: Key{
			ID: KeyID("apikey_" + id), Organization: u.Organization, User: u.ID, Prefix: secret.Prefix(),
			Name: wish.Name, Scopes: wish.Scopes, Connectors: wish.Connectors, Class: wish.Class, Networks: wish.Networks, Rate: wish.Rate,
			CreatedAt: now, CreatedBy: who.Key, ExpiresAt: now.AddDate(0, 0, wish.Days),
		}}
		err = save(k)
		if errors.Is(err, ErrDuplicate) && try < prefixTries {
			continue
		}
		return k.Key, secret, err
	}
}

// A KeysPage is a page of keys, the newest first.
type KeysPage struct {
	Keys []Key
	Next string // cursor of the next page, empty on the last
}

// ListKeys lists the keys of an organisation, revoked and expired ones too.
func (c *Coworker) ListKeys(ctx context.Context, who Caller, o OrganizationID, cursor string, limit int) (KeysPage, error) {
	size, err := c.listable(ctx, who, o, limit)
	if err != nil {
		return KeysPage{}, err
	}
	if cursor != "" && !KeyID(cursor).Valid() {
		return KeysPage{}, badCursor()
	}
	keys, err := c.store.Keys(ctx, o, KeyID(cursor), size+1)
	if err != nil {
		return KeysPage{}, err
	}
	page := KeysPage{Keys: keys}
	if len(keys) > size {
		page.Keys, page.Next = keys[:size], string(keys[size-1].ID)
	}
	return page, nil
}

// Key returns one key of an organisation the caller manages.
func (c *Coworker) Key(ctx context.Context, who Caller, id KeyID) (Key, error) {
	if !who.operator && !who.Scopes.Holds(Admin) {
		return Key{}, denied(who.Scopes, Admin)
	}
	k, err := c.store.Key(ctx, id)
	if err != nil {
		return Key{}, found(err, "key")
	}
	if who.administers(k.Organization) != nil {
		return Key{}, Missing("key")
	}
	return k, nil
}

// A Change says what is to be different about a key; nil keeps what is.
type Change struct {
	Name       *string
	Scopes     *Scopes
	Connectors *[]string // of nil: every connector
	Class      *Class
	Networks   *[]netip.Prefix // of nil: from anywhere
	Rate       *int
}

// UpdateKey changes a key that is not revoked. It holds with the next request.
func (c *Coworker) UpdateKey(ctx context.Context, who Caller, o OrganizationID, id KeyID, change Change) (Key, error) {
	if err := who.administers(o); err != nil {
		return Key{}, err
	}
	a, err := c.act(who, o, "key.update", string(id))
	if err != nil {
		return Key{}, err
	}
	k, err := c.store.UpdateKey(ctx, o, id, func(k *Key) error {
		apply(&k.Name, change.Name)
		apply(&k.Scopes, change.Scopes)
		apply(&k.Connectors, change.Connectors)
		apply(&k.Class, change.Class)
		apply(&k.Networks, change.Networks)
		apply(&k.Rate, change.Rate)
		if problems := checkKey(*k); len(problems) > 0 {
			return InvalidArguments(problems...)
		}
		return nil
	}, a)
	return k, found(err, "key that can still be changed")
}

func apply[T any](to *T, change *T) {
	if change != nil {
		*to = *change
	}
}

// RevokeKey revokes a key. It holds with the next request, and for sessions
// opened with the key too.
func (c *Coworker) RevokeKey(ctx context.Context, who Caller, o OrganizationID, id KeyID) (Key, error) {
	if err := who.administers(o); err != nil {
		return Key{}, err
	}
	a, err := c.act(who, o, "key.revoke", string(id))
	if err != nil {
		return Key{}, err
	}
	k, err := c.store.RevokeKey(ctx, o, id, a)
	return k, found(err, "key")
}
