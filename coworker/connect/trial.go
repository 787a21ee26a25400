package connect

import (
	"context"
	"time"

	"innerloop/coworker"
)

// A Trial is what came of the test of a connection.
type Trial struct {
	*Answer
	State State // as it is kept now
}

// recordTime is how long the row of a test may take to write.
const recordTime = 10 * time.Second

// triesOfTest bounds how often a connection is tested that changes meanwhile.
const triesOfTest = 3

// Test makes the call that a service's file names as harmless, remembers what
// came of it, and leaves a row in the audit: the credential goes out. A
// connection that was changed meanwhile is tested again, so that what is told
// is true of what is kept.
func (e *Engine) Test(ctx context.Context, k *Keeper, who coworker.Caller, o coworker.OrganizationID, id string) (*Trial, error) {
	if err := who.Administers(o); err != nil {
		return nil, err
	}
	for range triesOfTest {
		book := &onlyBook{Keeper: k, organization: o, id: id}
		answer, err := e.test(ctx, k, who, book)
		if _, refused := coworker.AsFault(err); err != nil && !refused {
			return nil, err
		}
		s, lookErr := k.store.ConnectionByID(ctx, o, id)
		if lookErr != nil {
			return nil, notFound(lookErr, "connection")
		}
		if s.Version != book.version && book.version != 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &Trial{answer, s.State}, nil
	}
	return nil, coworker.Paced(time.Second, triesOfTest, "tests of a connection that changes meanwhile")
}

// test makes the call once.
func (e *Engine) test(ctx context.Context, k *Keeper, who coworker.Caller, book *onlyBook) (*Answer, error) {
	s, err := k.store.ConnectionByID(ctx, book.organization, book.id)
	if err != nil {
		return nil, notFound(err, "connection")
	}
	service, ok := e.catalog.Service(s.Service)
	if !ok || service.Check == nil {
		return nil, &coworker.Fault{Code: coworker.NotFound, Message: "This service's file names no call to test with."}
	}
	row, err := k.coworker.Change(who, book.organization, "connection.test", book.id)
	if err != nil {
		return nil, err
	}
	c := service.Check
	tester := &Engine{
		catalog: e.catalog, clients: e.clients, cursors: e.cursors, random: e.random, now: e.now, sleep: e.sleep,
		tokens: e.tokens, paces: paces{of: map[string]*paceOf{}}, book: book, large: e.large, shares: e.shares,
	}
	began := e.now()
	answer, trace, err := tester.Execute(ctx, coworker.Caller{Organization: book.organization, Scopes: coworker.WriteTools, Class: coworker.ClassIrreversible},
		Call{Service: s.Service, Module: c.Module, Method: c.Method, Path: c.Path, Query: c.Query, Body: c.Body, MaxBytes: BytesMin})
	row.Service, row.Module, row.Method, row.Path, row.Class = s.Service, trace.Module, trace.Method, trace.Path, coworker.Class(trace.Class)
	row.Status, row.BytesIn, row.BytesOut, row.Retries = trace.Status, trace.BytesIn, trace.BytesOut, trace.Retries
	row.Took = e.now().Sub(began).Truncate(time.Millisecond)
	if f, refused := coworker.AsFault(err); refused {
		row.Error = f.Code
	} else if err != nil {
		row.Error = coworker.Internal
	}
	// Written also when the caller has gone meanwhile.
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if lost := k.coworker.Note(recording, row); lost != nil && err == nil {
		err = lost
	}
	return answer, err
}

// onlyBook opens one connection whatever its state, always as one in doubt: so
// a good answer is remembered of the version that the service took.
type onlyBook struct {
	*Keeper
	organization coworker.OrganizationID
	id           string
	version      int64 // that was sent last
}

func (b *onlyBook) Connection(ctx context.Context, _ coworker.Caller, _, _ string) (Connection, error) {
	s, err := b.store.ConnectionByID(ctx, b.organization, b.id)
	if err != nil {
		return Connection{}, notFound(err, "connection")
	}
	c, err := b.open(ctx, s)
	c.Doubted = true
	b.version = c.Version
	return c, err
}

// Renew fulfils Book.
func (b *onlyBook) Renew(ctx context.Context, id string, version int64, field, value string) (Connection, error) {
	c, err := b.Keeper.Renew(ctx, id, version, field, value)
	if err == nil {
		b.version = c.Version
	}
	return c, err
}
