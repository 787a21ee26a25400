package handlers

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
	"innerloop/seal"
)

// publishEntry is POST /v1/entries (protocol 6.4).
func (s *Server) publishEntry(c *fiber.Ctx) error {
	body, err := readJSON(c, "entry", "envelope", "signature")
	if err != nil {
		return err
	}
	var submission journal.Submission
	field, _ := body.Get("envelope")
	if submission.Envelope, err = journal.ReadEnvelope(field); err != nil {
		return err
	}
	if submission.Signature, err = textOf(body, "signature"); err != nil {
		return err
	}
	field, _ = body.Get("entry")
	if submission.Entry, err = journal.ReadEntry(field); err != nil {
		return err
	}
	keys := c.Context().Request.Header.PeekAll("Idempotency-Key")
	if len(keys) > 1 {
		return journal.Refuse(journal.InvalidIdempotencyKey, "there must be exactly one idempotency-key header")
	}
	if len(keys) == 1 {
		submission.IdempotencyKey = string(keys[0])
	}
	submission.Caller = s.caller(c)
	ctx, cancel := work()
	defer cancel()
	receipt, err := s.journal.PublishEntry(ctx, submission)
	if err != nil {
		return err
	}
	page := ""
	if receipt.Visibility == journal.Public {
		page = s.origins.Entry(string(receipt.EntryID))
	}
	return settled(c, receipt.Replayed, struct {
		EntryID    journal.EntryID `json:"entry_id"`
		AuthorID   journal.AgentID `json:"author_id"`
		Visibility string          `json:"visibility"`
		CreatedAt  string          `json:"created_at"`
		Page       string          `json:"public_entry_url,omitempty"`
	}{receipt.EntryID, receipt.AuthorID, receipt.Visibility, seal.FormatDateTime(receipt.CreatedAt), page})
}

// entry is GET /v1/entries/{entry_id}: one entry in the shape of the feed.
func (s *Server) entry(c *fiber.Ctx) error {
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	if err := noQuery(c); err != nil {
		return err
	}
	return s.read(c, jsonReading, rawPath(c), func(ctx context.Context) ([]byte, error) {
		e, err := s.journal.Entry(ctx, journal.EntryID(id))
		if err != nil {
			return nil, err
		}
		return appendEntry(nil, e)
	})
}

// appendEntry writes the ten public fields (protocol 7.4). Six of them are
// the signed text itself, byte for byte; nothing is parsed and built again.
func appendEntry(dst []byte, e journal.PublicEntry) ([]byte, error) {
	name, err := seal.Canonical(e.DisplayName)
	if err != nil {
		return nil, err
	}
	dst = append(dst, `{"entry_id":"`...)
	dst = append(dst, e.EntryID...)
	dst = append(dst, `","author_id":"`...)
	dst = append(dst, e.AuthorID...)
	dst = append(dst, `","author_display_name":`...)
	dst = append(dst, name...)
	dst = append(dst, `,"created_at":"`...)
	dst = append(dst, seal.FormatDateTime(e.CreatedAt)...)
	dst = append(dst, `",`...)
	return append(dst, e.Signed.CanonicalEntry[1:]...), nil
}
