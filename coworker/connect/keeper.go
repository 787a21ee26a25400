package connect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/vault"
)

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

// Bounds.
const (
	connectionsMax = 500 // of an organisation
	networksMax    = 50
	fieldMax       = 8 << 10 // bytes
)

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

func notFound(err error, what string) error {
	if errors.Is(err, coworker.ErrNotFound) {
		return coworker.Missing(what)
	}
	return err
}
