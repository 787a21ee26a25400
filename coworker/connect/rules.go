package connect

import (
	"context"
	"net/netip"
	"slices"

	"innerloop/coworker"
)

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

// ChangeSettings changes those that the change names, and returns them all.
func (k *Keeper) ChangeSettings(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, change SettingsChange) (Settings, error) {
	if err := who.Administers(o); err != nil {
		return Settings{}, err
	}
	a, err := k.coworker.Change(who, o, "organization.settings", string(o))
	if err != nil {
		return Settings{}, err
	}
	s, err := k.store.ChangeSettings(ctx, o, change, a)
	return s, notFound(err, "organization")
}
