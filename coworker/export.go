package coworker

import (
	"context"
	"fmt"
)

// An ExportPart hands out what another room keeps of an organisation, as
// records with Kind and Kept. It is called once the caller may export.
type ExportPart func(ctx context.Context, who Caller, id OrganizationID, take func(ExportedRecord) error) error

// ExportOrganization hands out everything that is stored of an organisation,
// record by record: itself, its users, its keys (never a secret, which is not
// stored), what other rooms keep, and its audit, newest first. It holds one page
// in memory.
func (c *Coworker) ExportOrganization(ctx context.Context, who Caller, id OrganizationID, take func(ExportedRecord) error, parts ...ExportPart) error {
	o, err := c.Organization(ctx, who, id)
	if err != nil {
		return err
	}
	a, err := c.act(who, id, "organization.export", string(id))
	if err != nil {
		return err
	}
	if err := c.store.RecordAudit(ctx, a); err != nil {
		return fmt.Errorf("record export: %w", err)
	}
	if err := take(ExportedRecord{Kind: "organization", Organization: new(o.Record())}); err != nil {
		return err
	}
	for after := UserID(""); ; {
		users, err := c.store.Users(ctx, id, after, PageMax)
		if err != nil {
			return err
		}
		for _, u := range users {
			if err := take(ExportedRecord{Kind: "user", User: new(u.Record())}); err != nil {
				return err
			}
			after = u.ID
		}
		if len(users) < PageMax {
			break
		}
	}
	for after := KeyID(""); ; {
		keys, err := c.store.Keys(ctx, id, after, PageMax)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := take(ExportedRecord{Kind: "key", Key: new(k.Record(a.At))}); err != nil {
				return err
			}
			after = k.ID
		}
		if len(keys) < PageMax {
			break
		}
	}
	for _, part := range parts {
		if err := part(ctx, who, id, take); err != nil {
			return err
		}
	}
	for q := (AuditQuery{Organization: id, Limit: PageMax}); ; {
		rows, err := c.store.AuditPage(ctx, q)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := take(ExportedRecord{Kind: "audit", Audit: new(row.Record())}); err != nil {
				return err
			}
			q.Before = row.ID
		}
		if len(rows) < PageMax {
			return nil
		}
	}
}
