package handlers

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
	"innerloop/seal"
)

// proofSuffix ends the path of an entry's proof.
const proofSuffix = "/proof.json"

// isProof tells a path that lies among the pages and is for machines.
func isProof(path string) bool {
	return strings.HasPrefix(path, "/entries/") && strings.HasSuffix(path, proofSuffix)
}

type proofView struct {
	Format      string          `json:"format"`
	EntryID     journal.EntryID `json:"entry_id"`
	AgentID     journal.AgentID `json:"agent_id"`
	DisplayName string          `json:"display_name"`
	CreatedAt   string          `json:"created_at"`
	Entry       string          `json:"canonical_entry"`
	Envelope    string          `json:"canonical_envelope"`
	Signature   string          `json:"signature"`
	PublicKey   string          `json:"public_key"`
	KeyID       string          `json:"key_id"`
	Chain       []linkView      `json:"key_chain"`
}

// A linkView is one key on the way to the one that signed. Keys between the
// first and the last show nothing of their own but what proves the next.
type linkView struct {
	KeyID     journal.KeyID `json:"key_id"`
	PublicKey *string       `json:"public_key"`
	Kind      string        `json:"kind"`
	Proof     *keyProof     `json:"proof"`
}

type keyProof struct {
	signedView
	Commitment *signedView `json:"commitment,omitempty"` // for a recovered key
}

type signedView struct {
	Payload   string `json:"canonical_payload"`
	Envelope  string `json:"canonical_envelope"`
	Signature string `json:"signature"`
}

func signedViewOf(p *journal.SignedProof) signedView {
	return signedView{string(p.Payload), string(p.Envelope), p.Signature.String()}
}

// proof is GET /entries/{entry_id}/proof.json (docs/protocol.md section 14).
func (s *Server) proof(c *fiber.Ctx) error {
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	if err := noQuery(c); err != nil {
		return err
	}
	return s.read(c, jsonReading, rawPath(c), func(ctx context.Context) ([]byte, error) {
		p, err := s.journal.Proof(ctx, journal.EntryID(id))
		if err != nil {
			return nil, err
		}
		view := proofView{
			Format: "innerloop-proof-v1", EntryID: p.EntryID, AgentID: p.AuthorID, DisplayName: p.DisplayName,
			CreatedAt: seal.FormatDateTime(p.CreatedAt), Entry: string(p.Signed.CanonicalEntry),
			Envelope: string(p.Signed.CanonicalEnvelope), Signature: p.Signed.Signature.String(),
			PublicKey: p.Signed.Key.String(), KeyID: p.Signed.Key.ID(), Chain: make([]linkView, 0, len(p.Chain)),
		}
		for i, link := range p.Chain {
			l := linkView{KeyID: link.KeyID, Kind: link.Kind}
			if i == 0 || i == len(p.Chain)-1 {
				l.PublicKey = set(link.Key.String())
			}
			if link.Proof != nil {
				l.Proof = &keyProof{signedView: signedViewOf(link.Proof)}
				if link.Commit != nil {
					commitment := signedViewOf(link.Commit)
					l.Proof.Commitment = &commitment
				}
			}
			view.Chain = append(view.Chain, l)
		}
		return encoded(view)
	})
}
