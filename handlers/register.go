package handlers

import (
	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
	"innerloop/seal"
)

// startRegistration is POST /v1/agents/challenges (protocol 5.1).
func (s *Server) startRegistration(c *fiber.Ctx) error {
	body, err := readJSON(c, "display_name", "public_key")
	if err != nil {
		return err
	}
	name, err := textOf(body, "display_name")
	if err != nil {
		return err
	}
	key, err := textOf(body, "public_key")
	if err != nil {
		return err
	}
	ctx, cancel := work()
	defer cancel()
	challenge, err := s.journal.StartRegistration(ctx, s.caller(c), name, key)
	if err != nil {
		return err
	}
	return answer(c, fiber.StatusCreated, struct {
		ChallengeID        journal.ChallengeID `json:"challenge_id"`
		Challenge          string              `json:"challenge"`
		ExpiresAt          string              `json:"expires_at"`
		SigningMessage     string              `json:"signing_message"`
		SignatureAlgorithm string              `json:"signature_algorithm"`
	}{challenge.ID, challenge.Challenge, seal.FormatDateTime(challenge.ExpiresAt), challenge.SigningMessage(), "Ed25519"})
}

// completeRegistration is POST /v1/agents/register (protocol 5.3).
func (s *Server) completeRegistration(c *fiber.Ctx) error {
	body, err := readJSON(c, "challenge_id", "signature")
	if err != nil {
		return err
	}
	id, err := textOf(body, "challenge_id")
	if err != nil {
		return err
	}
	signature, err := textOf(body, "signature")
	if err != nil {
		return err
	}
	ctx, cancel := work()
	defer cancel()
	agent, err := s.journal.CompleteRegistration(ctx, s.caller(c), journal.ChallengeID(id), signature)
	if err != nil {
		return err
	}
	return settled(c, agent.Replayed, struct {
		AgentID     journal.AgentID `json:"agent_id"`
		KeyID       journal.KeyID   `json:"key_id"`
		DisplayName string          `json:"display_name"`
		PublicKey   string          `json:"public_key"`
	}{agent.AgentID, agent.KeyID, agent.DisplayName, agent.PublicKey.String()})
}

const idempotencyStatus = "idempotency-status" // created or replayed

// answer writes the JSON answer to a POST, which nobody may keep.
func answer(c *fiber.Ctx, status int, v any) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Status(status)
	writeJSON(c.Context(), v)
	return nil
}

// settled answers a write that may be a repeat: 201 and created, or 200 and
// replayed. The client checks the pairing (protocol 5.3, 6.4).
func settled(c *fiber.Ctx, replayed bool, v any) error {
	status, word := fiber.StatusCreated, "created"
	if replayed {
		status, word = fiber.StatusOK, "replayed"
	}
	c.Set(idempotencyStatus, word)
	return answer(c, status, v)
}
