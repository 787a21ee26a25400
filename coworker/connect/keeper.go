package connect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/vault"
)

// A Stored connection is one as it lies in the database: values of fields
// sealed, the others plain.
type Stored struct {
	ID           string // "connection_" and 32 hex digits
	Organization coworker.OrganizationID
	User         coworker.UserID // empty: every user's of the organisation
	Service      string
	Name         string
	Auth         string
	BaseURL      string
	Test         bool
	State        State
	Version      int64
	CreatedAt    time.Time
	ChangedAt    time.Time
	CheckedAt    time.Time // zero: never
	Values       []Value
}

// A Value belongs to a stored connection.
type Value struct {
	Kind   string // "field" or "param"
	Name   string
	Sealed []byte // of a field
	Plain  string // of a param
	Tail   string // what a list shows of a field; "" for nothing
}

// State of a connection, as far as we know.
type State string

// The states.
const (
	Connected State = "connected"
	Reconnect State = "reconnect" // the service refused the credential
)

// Settings are an organisation's rules for calls.
type Settings struct {
	// MustConfirm asks for a confirmation of every call that cannot be undone.
	MustConfirm bool `json:"must_confirm"`
	// BrokerOnly gives code in the sandbox no credential, only the broker.
	BrokerOnly bool `json:"broker_only"`
	// AllWhenUnnamed gives code that names no service the credentials of all.
	AllWhenUnnamed bool `json:"all_when_unnamed"`
}

// A Store keeps connections. Each method is one transaction, durable when it
// returns nil, and safe for concurrent use. coworker.ErrNotFound and
// ErrDuplicate mean what they say there.
type Store interface {
	// VaultKey returns an organisation's wrapped data key.
	VaultKey(ctx context.Context, o coworker.OrganizationID) (vault.Wrapped, error)
	// AddVaultKey keeps the key unless there is one, and returns the one that
	// is kept.
	AddVaultKey(ctx context.Context, o coworker.OrganizationID, w vault.Wrapped) (vault.Wrapped, error)
	// VaultKeys lists those of all organisations by rising id, after one.
	VaultKeys(ctx context.Context, after coworker.OrganizationID, limit int) (map[coworker.OrganizationID]vault.Wrapped, error)
	// ReplaceVaultKey puts another wrapping in the place of one.
	ReplaceVaultKey(ctx context.Context, o coworker.OrganizationID, old, w vault.Wrapped) error

	// SaveConnection writes a new connection (of version 1), or changes the one
	// that has its id and the version before. ErrDuplicate when the name is
	// taken, or when the version is another; ErrNotFound without its owner.
	SaveConnection(ctx context.Context, s Stored, a *coworker.Audit) error
	// Connection returns a user's own by service and name, or else the
	// organisation's; any name when it is empty.
	FindConnection(ctx context.Context, o coworker.OrganizationID, u coworker.UserID, service, name string) (Stored, error)
	ConnectionByID(ctx context.Context, o coworker.OrganizationID, id string) (Stored, error)
	// Connections lists by rising id after one, without sealed values; with a
	// user, that user's and the organisation's only.
	Connections(ctx context.Context, o coworker.OrganizationID, u coworker.UserID, after string, limit int) ([]Stored, error)
	// CountConnections counts an organisation's, up to limit.
	CountConnections(ctx context.Context, o coworker.OrganizationID, limit int) (int, error)
	// SetState remembers what a service said to a version of a connection.
	SetState(ctx context.Context, id string, version int64, state State, checked time.Time) error
	RemoveConnection(ctx context.Context, o coworker.OrganizationID, id string, a coworker.Audit) error

	Networks(ctx context.Context, o coworker.OrganizationID) ([]netip.Prefix, error)
	AddNetwork(ctx context.Context, o coworker.OrganizationID, n netip.Prefix, a coworker.Audit) error
	RemoveNetwork(ctx context.Context, o coworker.OrganizationID, n netip.Prefix, a coworker.Audit) error

	Settings(ctx context.Context, o coworker.OrganizationID) (Settings, error)
	SaveSettings(ctx context.Context, o coworker.OrganizationID, s Settings, a coworker.Audit) error
}

// A Keeper keeps connections in a store, sealed by a vault. It is an Engine's
// Book, and safe for concurrent use.
type Keeper struct {
	store    Store
	vault    *vault.Vault
	catalog  *catalog.Catalog
	coworker *coworker.Coworker

	renewing sync.Mutex
}

// NewKeeper makes a Keeper.
func NewKeeper(store Store, v *vault.Vault, services *catalog.Catalog, c *coworker.Coworker) *Keeper {
	return &Keeper{store: store, vault: v, catalog: services, coworker: c}
}

// A Wish is a connection to be made, or changed when there is one of its name.
type Wish struct {
	User    coworker.UserID // empty: for the organisation
	Service string
	Name    string // "" means "main"
	Auth    string // "" means the service's first
	Fields  map[string]string
	Params  map[string]string
	BaseURL string
	Test    bool
}

// Bounds.
const (
	connectionsMax = 500 // of an organisation
	networksMax    = 50
	fieldMax       = 8 << 10 // bytes
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// check holds a wish to the service's file. No value is repeated.
func (k *Keeper) check(w *Wish) (*catalog.Service, *catalog.Auth, error) {
	service, ok := k.catalog.Service(w.Service)
	if !ok {
		return nil, nil, &coworker.Fault{Code: coworker.UnknownService, Hint: "nearest: " + strings.Join(k.catalog.Nearest(w.Service, 3), ", ")}
	}
	var problems []coworker.Problem
	problem := func(field, rule string, allowed any) {
		problems = append(problems, coworker.Problem{Field: field, Problem: rule, Allowed: allowed})
	}
	if w.Name == "" {
		w.Name = "main"
	}
	if !nameForm.MatchString(w.Name) {
		problem("name", "must have 1 to 40 of a-z, 0-9, _ and -", nil)
	}
	at := slices.IndexFunc(service.Auth, func(a catalog.Auth) bool { return a.ID == w.Auth || w.Auth == "" })
	if at < 0 {
		ids := []string{}
		for _, a := range service.Auth {
			ids = append(ids, a.ID)
		}
		problem("auth", "is no kind of credential of this service", ids)
		return nil, nil, coworker.InvalidArguments(problems...)
	}
	auth := &service.Auth[at]
	w.Auth = auth.ID
	known := map[string]bool{}
	for _, f := range auth.Fields {
		known[f.Name] = true
		value := w.Fields[f.Name]
		switch {
		case value == "" && !f.Optional:
			problem("fields."+f.Name, "is needed", nil)
		case len(value) > fieldMax || !utf8.ValidString(value) || strings.ContainsAny(value, "\r\n\x00"):
			problem("fields."+f.Name, "must be one line of at most 8192 bytes", nil)
		case value != "" && f.Pattern != "":
			if whole, err := regexp.Compile(`^(?:` + f.Pattern + `)$`); err != nil || !whole.MatchString(value) {
				problem("fields."+f.Name, "does not have the form that the service gives it", nil)
			}
		}
	}
	if strange(w.Fields, known) {
		problem("fields", "holds a name that is no field of this kind of credential", slices.Sorted(maps.Keys(known)))
	}
	known = map[string]bool{}
	for i := range service.Params {
		p := &service.Params[i]
		known[p.Name] = true
		value := w.Params[p.Name]
		if value == "" {
			if !p.Optional && p.Default == "" && p.From == "" && w.BaseURL == "" {
				problem("params."+p.Name, "is needed", nil)
			}
			continue
		}
		if err := p.Accepts(value); err != nil {
			problem("params."+p.Name, err.Error(), nil)
		}
	}
	if strange(w.Params, known) {
		problem("params", "holds a name that is no value of this service", slices.Sorted(maps.Keys(known)))
	}
	if w.BaseURL != "" && !baseURL(w.BaseURL) {
		problem("base_url", "must be an http or https address without user, query, fragment and final slash", nil)
	}
	if len(problems) > 0 {
		return nil, nil, coworker.InvalidArguments(problems...)
	}
	return service, auth, nil
}

// strange tells of a name that is not known. It is not repeated: a secret in
// the wrong place may be one.
func strange(given map[string]string, known map[string]bool) bool {
	for name := range given {
		if !known[name] {
			return true
		}
	}
	return false
}

func baseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" &&
		u.Fragment == "" && !strings.HasSuffix(text, "/") && len(text) <= 300 && (u.Path == "" || catalog.CheckPath(u.EscapedPath()) == nil)
}

// Connect stores a credential. A connection of the same owner, service and name
// is changed; what was stored before cannot be read again.
func (k *Keeper) Connect(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, w Wish) (Stored, error) {
	if err := who.Administers(o); err != nil {
		return Stored{}, err
	}
	_, auth, err := k.check(&w)
	if err != nil {
		return Stored{}, err
	}
	n, err := k.store.CountConnections(ctx, o, connectionsMax)
	if err != nil {
		return Stored{}, err
	}
	key, err := k.key(ctx, o)
	if err != nil {
		return Stored{}, notFound(err, "organization")
	}
	for range 3 { // somebody else may change it at the same time
		s, err := k.draft(ctx, o, w)
		if err != nil {
			return Stored{}, err
		}
		if s.Version == 1 && n >= connectionsMax {
			return Stored{}, coworker.InvalidArguments(coworker.Problem{Field: "service", Problem: "is one too many: an organization has at most 500 connections"})
		}
		if err := k.seal(key, &s, auth, w); err != nil {
			return Stored{}, err
		}
		a, err := k.coworker.Change(who, o, "connection.save", s.ID)
		if err != nil {
			return Stored{}, err
		}
		a.Service = s.Service
		err = k.store.SaveConnection(ctx, s, &a)
		if errors.Is(err, coworker.ErrDuplicate) {
			continue
		}
		return s, notFound(err, "user")
	}
	return Stored{}, &coworker.Fault{Code: coworker.Internal}
}

// draft is the connection that a wish makes: new, or the next version.
func (k *Keeper) draft(ctx context.Context, o coworker.OrganizationID, w Wish) (Stored, error) {
	now := k.coworker.Now()
	s, err := k.store.FindConnection(ctx, o, w.User, w.Service, w.Name)
	switch {
	case errors.Is(err, coworker.ErrNotFound) || err == nil && s.User != w.User:
		id, err := k.coworker.NewID("connection")
		if err != nil {
			return Stored{}, err
		}
		s = Stored{ID: id, Organization: o, User: w.User, Service: w.Service, Name: w.Name, CreatedAt: now}
	case err != nil:
		return Stored{}, err
	}
	s.Version++
	s.Auth, s.BaseURL, s.Test, s.State, s.ChangedAt, s.CheckedAt, s.Values = w.Auth, w.BaseURL, w.Test, Connected, now, time.Time{}, nil
	return s, nil
}

func (k *Keeper) seal(key vault.Key, s *Stored, auth *catalog.Auth, w Wish) error {
	for _, f := range auth.Fields {
		value := w.Fields[f.Name]
		if value == "" {
			continue
		}
		sealed, err := key.Seal(s.place(f.Name), value)
		if err != nil {
			return err
		}
		tail := value
		if f.Secret {
			tail = vault.Tail(value)
		}
		s.Values = append(s.Values, Value{Kind: "field", Name: f.Name, Sealed: sealed, Tail: tail})
	}
	for _, name := range slices.Sorted(maps.Keys(w.Params)) {
		if w.Params[name] != "" {
			s.Values = append(s.Values, Value{Kind: "param", Name: name, Plain: w.Params[name]})
		}
	}
	return nil
}

func (s *Stored) place(field string) vault.Place {
	return vault.Place{User: string(s.User), Service: s.Service, Connection: s.ID, Field: field, Version: s.Version}
}

// key returns an organisation's data key, made when it is first needed.
func (k *Keeper) key(ctx context.Context, o coworker.OrganizationID) (vault.Key, error) {
	w, err := k.store.VaultKey(ctx, o)
	if errors.Is(err, coworker.ErrNotFound) {
		if w, err = k.vault.NewKey(string(o)); err != nil {
			return vault.Key{}, err
		}
		w, err = k.store.AddVaultKey(ctx, o, w)
	}
	if err != nil {
		return vault.Key{}, err
	}
	return k.vault.Unwrap(string(o), w)
}

// open reads a stored connection's values.
func (k *Keeper) open(ctx context.Context, s Stored) (Connection, error) {
	c := Connection{
		ID: s.ID, Name: s.Name, Service: s.Service, Auth: s.Auth, BaseURL: s.BaseURL, Test: s.Test, Version: s.Version,
		Fields: map[string]string{}, Params: map[string]string{},
	}
	key, err := k.key(ctx, s.Organization)
	if err != nil {
		return c, fmt.Errorf("open the vault: %w", err)
	}
	for _, v := range s.Values {
		if v.Kind == "param" {
			c.Params[v.Name] = v.Plain
			continue
		}
		if c.Fields[v.Name], err = key.Open(s.place(v.Name), v.Sealed); err != nil {
			return c, fmt.Errorf("open a credential of %s: %w", s.Service, err)
		}
	}
	c.Networks, err = k.store.Networks(ctx, s.Organization)
	return c, err
}

// Connection fulfils Book.
func (k *Keeper) Connection(ctx context.Context, who coworker.Caller, service, name string) (Connection, error) {
	s, err := k.store.FindConnection(ctx, who.Organization, who.User, service, name)
	if errors.Is(err, coworker.ErrNotFound) {
		return Connection{}, k.notConnected(service, name)
	}
	if err != nil {
		return Connection{}, err
	}
	doubted := s.State == Reconnect
	if doubted && k.coworker.Now().Sub(s.CheckedAt) < doubtTime {
		return Connection{}, &coworker.Fault{
			Code: coworker.NotConnected, Message: "The service no longer takes this credential.",
			Hint: "ask an admin of the organization to connect the service again", Details: reason{"revoked"},
		}
	}
	c, err := k.open(ctx, s)
	c.Doubted = doubted
	return c, err
}

// doubtTime is how long a refused credential is not tried. Some services answer
// the same to a bad credential and to one that lacks a right, so a refusal of
// one call must not end all others for good; nor may a bad one be tried so
// often that the service locks its owner out.
const doubtTime = time.Minute

// Works fulfils Book.
func (k *Keeper) Works(ctx context.Context, id string, version int64) error {
	return k.store.SetState(ctx, id, version, Connected, k.coworker.Now())
}

func (k *Keeper) notConnected(service, name string) error {
	if name != "" {
		return coworker.Missing("connection")
	}
	details := struct {
		Reason string   `json:"reason"`
		Fields []string `json:"fields"`
	}{Reason: "none", Fields: []string{}}
	if s, ok := k.catalog.Service(service); ok && len(s.Auth) > 0 {
		for _, f := range s.Auth[0].Fields {
			details.Fields = append(details.Fields, f.Name)
		}
	}
	return &coworker.Fault{Code: coworker.NotConnected, Hint: "an admin of the organization connects the service in the settings, or with innerloop connect", Details: details}
}

// Broken fulfils Book.
func (k *Keeper) Broken(ctx context.Context, id string, version int64) error {
	return k.store.SetState(ctx, id, version, Reconnect, k.coworker.Now())
}

// Renew fulfils Book. Values are bound to the version, so all are sealed anew.
func (k *Keeper) Renew(ctx context.Context, id string, version int64, field, value string) (Connection, error) {
	k.renewing.Lock()
	defer k.renewing.Unlock()
	s, err := k.store.ConnectionByID(ctx, "", id)
	if err != nil {
		return Connection{}, err
	}
	c, err := k.open(ctx, s)
	if err != nil || s.Version != version {
		return c, err // somebody else changed it: theirs is the newer word
	}
	key, err := k.key(ctx, s.Organization)
	if err != nil {
		return c, err
	}
	c.Fields[field] = value
	s.Version++
	s.ChangedAt = k.coworker.Now()
	values := s.Values[:0:0]
	for _, v := range s.Values {
		if v.Kind == "field" {
			if v.Sealed, err = key.Seal(s.place(v.Name), c.Fields[v.Name]); err != nil {
				return c, err
			}
			if v.Name == field {
				v.Tail = vault.Tail(value)
			}
		}
		values = append(values, v)
	}
	s.Values, c.Version = values, s.Version
	err = k.store.SaveConnection(ctx, s, nil)
	if !errors.Is(err, coworker.ErrDuplicate) {
		return c, err
	}
	if s, err = k.store.ConnectionByID(ctx, "", id); err != nil { // changed by another process
		return Connection{}, err
	}
	return k.open(ctx, s)
}

// A Page of connections, without their secrets.
type Page struct {
	Connections []Stored
	Next        string
}

// List lists an organisation's connections.
func (k *Keeper) List(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, cursor string, limit int) (Page, error) {
	if err := who.Administers(o); err != nil {
		return Page{}, err
	}
	size, err := coworker.PageSize(limit)
	if err != nil {
		return Page{}, err
	}
	if cursor != "" && !idForm.MatchString(cursor) {
		return Page{}, coworker.BadCursor()
	}
	list, err := k.store.Connections(ctx, o, "", cursor, size+1)
	if err != nil {
		return Page{}, err
	}
	p := Page{Connections: list}
	if len(list) > size {
		p.Connections, p.Next = list[:size], list[size-1].ID
	}
	return p, nil
}

var idForm = regexp.MustCompile(`^connection_[0-9a-f]{32}$`)

// Remove removes a connection; its values are gone with it.
func (k *Keeper) Remove(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, id string) error {
	if err := who.Administers(o); err != nil {
		return err
	}
	a, err := k.coworker.Change(who, o, "connection.remove", id)
	if err != nil {
		return err
	}
	return notFound(k.store.RemoveConnection(ctx, o, id, a), "connection")
}

// Marks tell for each service that the caller has a connection of, whether it
// works as far as we know.
func (k *Keeper) Marks(ctx context.Context, who coworker.Caller) (map[string]catalog.Mark, error) {
	marks := map[string]catalog.Mark{}
	list, err := k.store.Connections(ctx, who.Organization, who.User, "", connectionsMax)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		mark := catalog.Connected
		if s.State == Reconnect {
			mark = catalog.Reconnect
		}
		if marks[s.Service] != catalog.Connected {
			marks[s.Service] = mark
		}
	}
	return marks, nil
}

// AllowNetwork admits a network for connections whose base address leads into
// it. One that holds this machine itself is for the operator alone to admit.
func (k *Keeper) AllowNetwork(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, cidr string) (netip.Prefix, error) {
	if err := who.Administers(o); err != nil {
		return netip.Prefix{}, err
	}
	n, err := netip.ParsePrefix(cidr)
	if err != nil {
		return n, coworker.InvalidArguments(coworker.Problem{Field: "cidr", Problem: "must be a network such as 10.0.0.0/8"})
	}
	if n = n.Masked(); !who.IsOperator() && slices.ContainsFunc(loopback, n.Overlaps) {
		return n, &coworker.Fault{Code: coworker.PermissionDenied, Hint: "this server's own addresses are admitted by its operator alone: innerloop org allow-network"}
	}
	there, err := k.store.Networks(ctx, o)
	if err != nil {
		return n, err
	}
	if slices.Contains(there, n) {
		return n, nil
	}
	if len(there) >= networksMax {
		return n, coworker.InvalidArguments(coworker.Problem{Field: "cidr", Problem: "is one too many: an organization admits at most 50 networks"})
	}
	a, err := k.coworker.Change(who, o, "network.allow", n.String())
	if err != nil {
		return n, err
	}
	return n, notFound(k.store.AddNetwork(ctx, o, n, a), "organization")
}

// loopback is where services of the server's own machine listen that were not
// meant for its tenants.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("0.0.0.0/32"), netip.MustParsePrefix("::/127")}

// Networks lists what AllowNetwork admitted.
func (k *Keeper) Networks(ctx context.Context, who coworker.Caller, o coworker.OrganizationID) ([]netip.Prefix, error) {
	if err := who.Administers(o); err != nil {
		return nil, err
	}
	return k.store.Networks(ctx, o)
}

// ForbidNetwork takes a network back.
func (k *Keeper) ForbidNetwork(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, n netip.Prefix) error {
	if err := who.Administers(o); err != nil {
		return err
	}
	a, err := k.coworker.Change(who, o, "network.forbid", n.String())
	if err != nil {
		return err
	}
	return notFound(k.store.RemoveNetwork(ctx, o, n, a), "network")
}

// Settings returns an organisation's rules for calls; any caller of it may know
// them.
func (k *Keeper) Settings(ctx context.Context, who coworker.Caller) (Settings, error) {
	return k.store.Settings(ctx, who.Organization)
}

// SaveSettings changes them.
func (k *Keeper) SaveSettings(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, s Settings) error {
	if err := who.Administers(o); err != nil {
		return err
	}
	a, err := k.coworker.Change(who, o, "organization.settings", string(o))
	if err != nil {
		return err
	}
	return notFound(k.store.SaveSettings(ctx, o, s, a), "organization")
}

// Rewrap puts every data key under the current master key, in steps, and
// returns how many were changed. It can be stopped and begun again.
func (k *Keeper) Rewrap(ctx context.Context) (int, error) {
	const step = 100
	changed := 0
	for after := coworker.OrganizationID(""); ; {
		keys, err := k.store.VaultKeys(ctx, after, step)
		if err != nil {
			return changed, err
		}
		for _, o := range slices.Sorted(maps.Keys(keys)) {
			after = o
			if k.vault.Current(keys[o]) {
				continue
			}
			w, err := k.vault.Rewrap(string(o), keys[o])
			if err != nil {
				return changed, fmt.Errorf("re-wrap the data key of %s: %w", o, err)
			}
			if err := k.store.ReplaceVaultKey(ctx, o, keys[o], w); err != nil {
				return changed, err
			}
			changed++
		}
		if len(keys) < step {
			return changed, nil
		}
	}
}

// Test makes the call that a service's file names as harmless, and remembers
// what came of it.
func (e *Engine) Test(ctx context.Context, k *Keeper, who coworker.Caller, o coworker.OrganizationID, id string) (*Answer, error) {
	if err := who.Administers(o); err != nil {
		return nil, err
	}
	s, err := k.store.ConnectionByID(ctx, o, id)
	if err != nil {
		return nil, notFound(err, "connection")
	}
	service, ok := e.catalog.Service(s.Service)
	if !ok || service.Check == nil {
		return nil, &coworker.Fault{Code: coworker.NotFound, Message: "This service's file names no call to test with."}
	}
	c := service.Check
	tester := &Engine{
		catalog: e.catalog, clients: e.clients, cursors: e.cursors, now: e.now, sleep: e.sleep,
		tokens: tokens{of: map[string]*tokenOf{}}, paces: paces{of: map[string]*paceOf{}}, book: onlyBook{k, s},
	}
	answer, _, err := tester.Execute(ctx, coworker.Caller{Organization: o, Scopes: coworker.WriteTools, Class: coworker.ClassIrreversible},
		Call{Service: s.Service, Module: c.Module, Method: c.Method, Path: c.Path, Query: c.Query, Body: c.Body, MaxBytes: BytesMin})
	if err != nil {
		return nil, err
	}
	return answer, k.store.SetState(ctx, s.ID, s.Version, Connected, k.coworker.Now())
}

// onlyBook opens one connection whatever its state.
type onlyBook struct {
	*Keeper
	s Stored
}

func (b onlyBook) Connection(ctx context.Context, _ coworker.Caller, _, _ string) (Connection, error) {
	return b.open(ctx, b.s)
}

func notFound(err error, what string) error {
	if errors.Is(err, coworker.ErrNotFound) {
		return coworker.Missing(what)
	}
	return err
}
