package handlers

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
	"innerloop/seal"
)

// An ownerAnswer is what an owner operation says. Live reads have no standing:
// the client refuses a read that claims one (protocol 6.5).
type ownerAnswer struct {
	body     any
	standing string // created or replayed, for mutations
}

func readOf(body any, err error) (ownerAnswer, error) { return ownerAnswer{body: body}, err }

func mutationOf(replayed bool, body any) ownerAnswer {
	standing := "created"
	if replayed {
		standing = "replayed"
	}
	return ownerAnswer{body, standing}
}

type ownerOperation func(s *Server, ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error)

// ownerRoutes lists the signed operations: each action has one path, always
// POST (protocol 6.2; docs/protocol.md section 14 for the last six).
var ownerRoutes = []struct {
	path   string // below /v1/private/
	action string
	do     ownerOperation
}{
	{"profile/read", seal.ActionProfileRead, (*Server).readProfile},
	{"profile/update", seal.ActionProfileSet, (*Server).updateProfile},
	{"entries/list", seal.ActionEntryList, (*Server).listEntries},
	{"entries/read", seal.ActionEntryRead, (*Server).readEntry},
	{"entries/export", seal.ActionEntryExport, (*Server).exportEntries},
	{"entries/delete", seal.ActionEntryDelete, settledBy((*journal.Journal).DeleteEntry, deletedView)},
	{"keys/rotate", seal.ActionKeyRotate, settledBy((*journal.Journal).RotateKey, rotatedView)},
	{"keys/revoke", seal.ActionKeyRevoke, settledBy((*journal.Journal).RevokeKey, func(e journal.Effect) any { return revokedView(e) })},
	{"keys/add", seal.ActionKeyAdd, settledBy((*journal.Journal).AddKey, addedView)},
	{"keys/list", seal.ActionKeyList, (*Server).listKeys},
	{"recovery/set", seal.ActionRecoverySet, settledBy((*journal.Journal).SetRecovery, recoveryView)},
	{"recovery/use", seal.ActionRecoveryUse, settledBy((*journal.Journal).UseRecovery, recoveredView)},
	{"identity/delete", seal.ActionIdentityDelete, (*Server).deleteIdentity},
	{"pending/cancel", seal.ActionPendingCancel, settledBy((*journal.Journal).CancelPending, cancelledView)},
}

// owner answers one signed operation.
func (s *Server) owner(action string, do ownerOperation) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := readJSON(c, "payload", "envelope", "signature")
		if err != nil {
			return err
		}
		request, err := journal.ReadOwnerRequest(action, body)
		if err != nil {
			return err
		}
		request.Caller = s.caller(c)
		ctx, cancel := work()
		defer cancel()
		a, err := do(s, ctx, request)
		if err != nil {
			return err
		}
		if a.standing != "" {
			c.Set(idempotencyStatus, a.standing)
		}
		return answer(c, fiber.StatusOK, a.body)
	}
}

// settledBy joins a mutation of the journal with the shape of its answer.
func settledBy(do func(*journal.Journal, context.Context, journal.OwnerRequest) (journal.Done, error), view func(journal.Effect) any) ownerOperation {
	return func(s *Server, ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error) {
		done, err := do(s.journal, ctx, r)
		if err != nil {
			return ownerAnswer{}, err
		}
		return mutationOf(done.Replayed, view(done.Effect)), nil
	}
}

func (s *Server) readProfile(ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error) {
	p, err := s.journal.ReadProfile(ctx, r)
	return readOf(profileView(p), err)
}

func (s *Server) updateProfile(ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error) {
	p, replayed, err := s.journal.UpdateProfile(ctx, r)
	return mutationOf(replayed, profileView(p)), err
}

func profileView(p journal.Profile) any {
	return struct {
		AgentID       journal.AgentID  `json:"agent_id"`
		Bio           *string          `json:"bio"`
		Purpose       *string          `json:"purpose"`
		OwnerURL      *string          `json:"owner_url"`
		PinnedEntryID *journal.EntryID `json:"pinned_entry_id"`
		UpdatedAt     *string          `json:"updated_at"`
	}{p.AgentID, p.Bio, p.Purpose, p.OwnerURL, p.PinnedEntryID, setTime(p.UpdatedAt)}
}

func (s *Server) listEntries(ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error) {
	page, err := s.journal.ListEntries(ctx, r)
	return readOf(struct {
		Entries    []ownerEntry `json:"entries"`
		NextCursor *string      `json:"next_cursor"`
	}{ownerEntries(page), set(page.NextCursor)}, err)
}

func (s *Server) readEntry(ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error) {
	e, err := s.journal.ReadOwnEntry(ctx, r)
	return readOf(struct {
		Entry ownerEntry `json:"entry"`
	}{ownerEntry{e}}, err)
}

func (s *Server) exportEntries(ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error) {
	page, err := s.journal.ExportEntries(ctx, r)
	return readOf(struct {
		Format     string       `json:"format"`
		ExportedAt string       `json:"exported_at"`
		Entries    []ownerEntry `json:"entries"`
		NextCursor *string      `json:"next_cursor"`
		// The lines of docs/export.md for the agent and its keys.
		Agent json.RawMessage   `json:"agent,omitempty"`
		Keys  []json.RawMessage `json:"keys,omitempty"`
	}{"innerloop-journal-export-v1", seal.FormatDateTime(page.ExportedAt), ownerEntries(page.OwnerPage), set(page.NextCursor), page.Agent, page.Keys}, err)
}

func deletedView(e journal.Effect) any {
	return struct {
		EntryID    journal.EntryID `json:"entry_id"`
		Visibility string          `json:"visibility"`
		Status     string          `json:"status"`
		DeletedAt  string          `json:"deleted_at"`
	}{e.EntryID, e.Visibility, "deleted", seal.FormatDateTime(e.At)}
}

type revokedKey struct {
	KeyID     journal.KeyID `json:"key_id"`
	Status    string        `json:"status"`
	RevokedAt string        `json:"revoked_at"`
}

func revokedView(e journal.Effect) revokedKey {
	return revokedKey{e.KeyID, "revoked", seal.FormatDateTime(e.At)}
}

type activeKey struct {
	KeyID     journal.KeyID `json:"key_id"`
	Status    string        `json:"status"`
	CreatedAt string        `json:"created_at"`
}

func activeView(e journal.Effect) activeKey {
	return activeKey{e.ActiveKey, "active", seal.FormatDateTime(e.CreatedAt)}
}

func rotatedView(e journal.Effect) any {
	return struct {
		Replaced revokedKey `json:"replaced_key"`
		Active   activeKey  `json:"active_key"`
	}{revokedView(e), activeView(e)}
}

func addedView(e journal.Effect) any {
	return struct {
		Active activeKey       `json:"active_key"`
		Keys   []journal.KeyID `json:"active_keys"`
	}{activeView(e), e.Keys}
}

func (s *Server) listKeys(ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error) {
	keys, err := s.journal.ListKeys(ctx, r)
	type row struct {
		KeyID     journal.KeyID `json:"key_id"`
		Status    string        `json:"status"`
		CreatedAt string        `json:"created_at"`
		RevokedAt *string       `json:"revoked_at"`
		Kind      string        `json:"kind"`
	}
	rows := make([]row, 0, len(keys))
	for _, k := range keys {
		status := "active"
		if !k.RevokedAt.IsZero() {
			status = "revoked"
		}
		rows = append(rows, row{k.KeyID, status, seal.FormatDateTime(k.CreatedAt), setTime(k.RevokedAt), k.Kind})
	}
	return readOf(struct {
		Keys []row `json:"keys"`
	}{rows}, err)
}

func recoveryView(e journal.Effect) any {
	return struct {
		Hash        *string `json:"recovery_key_hash"`
		EffectiveAt string  `json:"effective_at"`
	}{set(e.Recovery), seal.FormatDateTime(e.EffectiveAt)}
}

func recoveredView(e journal.Effect) any {
	return struct {
		Active  activeKey       `json:"active_key"`
		Revoked []journal.KeyID `json:"revoked_keys"`
	}{activeView(e), append([]journal.KeyID{}, e.Keys...)}
}

func (s *Server) deleteIdentity(ctx context.Context, r journal.OwnerRequest) (ownerAnswer, error) {
	done, err := s.journal.DeleteIdentity(ctx, r)
	return mutationOf(done.Replayed, struct {
		AgentID     string `json:"agent_id"`
		EffectiveAt string `json:"effective_at"`
	}{r.Envelope.ActorID, seal.FormatDateTime(done.Effect.EffectiveAt)}), err
}

func cancelledView(e journal.Effect) any {
	return struct {
		Kind        string `json:"kind"`
		CancelledAt string `json:"cancelled_at"`
	}{e.Kind, seal.FormatDateTime(e.At)}
}

func ownerEntries(page journal.OwnerPage) []ownerEntry {
	list := make([]ownerEntry, 0, len(page.Entries))
	for _, e := range page.Entries {
		list = append(list, ownerEntry{e})
	}
	return list
}

// An ownerEntry writes itself: its text is the signed text, byte for byte.
type ownerEntry struct{ journal.OwnerEntry }

// MarshalJSON gives the shape of protocol 6.5 with the entry's proof beside it.
func (e ownerEntry) MarshalJSON() ([]byte, error) {
	dst := make([]byte, 0, e.ServedSize())
	field := func(name, value string) {
		dst = seal.AppendString(append(dst, name...), value)
	}
	field(`{"entry_id":`, string(e.EntryID))
	field(`,"author_id":`, string(e.AuthorID))
	field(`,"status":`, e.Status)
	field(`,"created_at":`, seal.FormatDateTime(e.CreatedAt))
	if e.Status == "deleted" {
		field(`,"deleted_at":`, seal.FormatDateTime(e.WithdrawnAt))
		field(`,"key_id":`, string(e.KeyID))
		field(`,"self_reported_state":null,"title":null,"body":null,"tags":[],"allow_replies":false,"visibility":`, e.Visibility)
		return append(dst, '}'), nil
	}
	if e.Status == "hidden" {
		field(`,"hidden_at":`, seal.FormatDateTime(e.WithdrawnAt))
	}
	dst = append(append(dst, `,"deleted_at":null,`...), e.Signed.CanonicalEntry[1:len(e.Signed.CanonicalEntry)-1]...)
	field(`,"proof":{"canonical_entry":`, string(e.Signed.CanonicalEntry))
	field(`,"canonical_envelope":`, string(e.Signed.CanonicalEnvelope))
	field(`,"signature":`, e.Signed.Signature.String())
	field(`,"public_key":`, e.Signed.Key.String())
	field(`,"key_id":`, e.Signed.Key.ID())
	return append(dst, `}}`...), nil
}

// setTime is null for a time that never was.
func setTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return set(seal.FormatDateTime(t))
}
