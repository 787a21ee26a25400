package memory

import (
	"context"
	"errors"

	"innerloop/coworker"
)

// Export fulfils coworker.ExportPart: files with their contents, one at a time.
// The operator gets those of every user; an admin those of the own user alone,
// since admins do not read what other users keep.
func (m *Memory) Export(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, take func(coworker.ExportedRecord) error) error {
	if !who.Operates() {
		return m.exportOf(ctx, Owner{o, who.User}, take)
	}
	for cursor := ""; ; {
		page, err := m.coworker.UsersPage(ctx, who, o, cursor, coworker.PageMax)
		if err != nil {
			return err
		}
		for _, u := range page.Users {
			if err := m.exportOf(ctx, Owner{o, u.ID}, take); err != nil {
				return err
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

func (m *Memory) exportOf(ctx context.Context, owner Owner, take func(coworker.ExportedRecord) error) error {
	for q := (Query{Limit: coworker.PageMax}); ; {
		files, err := m.store.Files(ctx, owner, q)
		if err != nil {
			return err
		}
		for _, f := range files {
			q.After = f.Path
			f, content, err := m.store.FileContent(ctx, owner, f.Path)
			if errors.Is(err, coworker.ErrNotFound) {
				continue // deleted meanwhile
			}
			if err == nil {
				err = take(coworker.ExportedRecord{Kind: "memory_file", Kept: struct {
					User coworker.UserID `json:"user_id"`
					Record
					Content []byte `json:"content_base64"`
				}{owner.User, f.Record(), content}})
			}
			if err != nil {
				return err
			}
		}
		if len(files) < q.Limit {
			return nil
		}
	}
}
