package skills

import (
	"context"
	"encoding/json"
	"errors"

	"innerloop/coworker"
)

// Export fulfils coworker.ExportPart: each skill, and each of its files, one at
// a time. What was removed meanwhile is left out.
func (h *Shelf) Export(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, take func(coworker.ExportedRecord) error) error {
	all, err := h.All(ctx, who, o)
	if err != nil {
		return err
	}
	for _, s := range all {
		err := take(coworker.ExportedRecord{Kind: "skill", Kept: struct {
			Record
			Front json.RawMessage `json:"front_matter"`
		}{s.Record(), s.Front}})
		if err != nil {
			return err
		}
		for _, f := range s.Files {
			f, err := h.store.KeptFile(ctx, o, s.ID, f.Path)
			if errors.Is(err, coworker.ErrNotFound) {
				continue
			}
			if err == nil {
				err = take(coworker.ExportedRecord{Kind: "skill_file", Kept: struct {
					Skill   string `json:"skill_id"`
					Path    string `json:"path"`
					Digest  string `json:"digest"`
					Content []byte `json:"content_base64"`
				}{s.ID, f.Path, f.Digest(), f.Content}})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
