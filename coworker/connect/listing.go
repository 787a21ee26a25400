package connect

import (
	"context"
	"regexp"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

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
