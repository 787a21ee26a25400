package connect

import (
	"context"
	"net/netip"

	"innerloop/coworker"
)

// Export fulfils coworker.ExportPart: the rules for calls, the admitted
// networks, and the connections as they may be shown, without any secret.
func (k *Keeper) Export(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, take func(coworker.ExportedRecord) error) error {
	if err := who.Administers(o); err != nil {
		return err
	}
	rules, err := k.store.Settings(ctx, o)
	if err != nil {
		return err
	}
	err = take(coworker.ExportedRecord{Kind: "rules", Kept: rules})
	if err != nil {
		return err
	}
	networks, err := k.store.Networks(ctx, o)
	if err != nil {
		return err
	}
	for _, n := range networks {
		err := take(coworker.ExportedRecord{Kind: "network", Kept: struct {
			CIDR netip.Prefix `json:"cidr"`
		}{n}})
		if err != nil {
			return err
		}
	}
	for cursor := ""; ; {
		page, err := k.List(ctx, who, o, cursor, coworker.PageMax)
		if err != nil {
			return err
		}
		for _, c := range page.Connections {
			if err := take(coworker.ExportedRecord{Kind: "connection", Kept: c.Record()}); err != nil {
				return err
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}
