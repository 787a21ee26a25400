package connect

import (
	"context"

	"innerloop/coworker"
)

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
		catalog: e.catalog, clients: e.clients, cursors: e.cursors, random: e.random, now: e.now, sleep: e.sleep,
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
