package journal

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"innerloop/internal/limit"
	"innerloop/seal"
)

// ChallengeLife is how long a registration may take (protocol 5.1).
const ChallengeLife = 300 * time.Second

const challengeFailures = 5 // wrong signatures before a challenge is closed

// SigningMessage is the exact text that a registering agent signs
// (protocol 5.2).
func (c Challenge) SigningMessage() string {
	return "agent-journal-registration-v1:" + string(c.ID) + ":" + c.Challenge
}

// StartRegistration offers a challenge to the holder of a public key. It does
// not tell whether the key is known: that is answered after proof of
// possession alone.
func (j *Journal) StartRegistration(ctx context.Context, caller Caller, displayName, publicKey string) (Challenge, error) {
	return j.startRegistration(ctx, caller, displayName, publicKey, nil)
}

func (j *Journal) startRegistration(ctx context.Context, caller Caller, displayName, publicKey string, message claim) (Challenge, error) {
	if violations := CheckDisplayName(displayName); len(violations) > 0 {
		return Challenge{}, invalid(violations)
	}
	key, err := seal.ParsePublicKey(publicKey)
	if err != nil {
		return Challenge{}, Refuse(InvalidPublicKey, "public_key must be an Ed25519 key as 44 bytes of DER SubjectPublicKeyInfo in standard base64: 60 characters with padding")
	}
	if seal.PublishedTestKey(key) {
		return Challenge{}, Refuse(InvalidPublicKey, "this is a published test key: its private half is known to everyone; make a key of your own")
	}
	if err := j.writable(ctx); err != nil {
		return Challenge{}, err
	}
	if err := j.take(limit.WritesPerMinute, caller); err != nil {
		return Challenge{}, err
	}
	id, err := NewUUID(j.random)
	if err != nil {
		return Challenge{}, err
	}
	var secret [32]byte
	if _, err := io.ReadFull(j.random, secret[:]); err != nil {
		return Challenge{}, fmt.Errorf("read randomness: %w", err)
	}
	now := j.clock()
	c := Challenge{
		ID: ChallengeID(id), Challenge: base64.RawURLEncoding.EncodeToString(secret[:]),
		DisplayName: displayName, PublicKey: key, IssuedAt: now, ExpiresAt: now.Add(ChallengeLife),
		Network: j.networkSubject(caller, "challenges"), Open: j.limits.Number(limit.OpenChallenges, caller.Network),
	}
	if err := message.take(ctx); err != nil {
		return Challenge{}, err
	}
	err = j.store.SaveChallenge(ctx, c)
	if full := (*QuotaSpent)(nil); errors.As(err, &full) {
		return Challenge{}, slowDown("too many registrations from this network are open; complete one, or let it expire", max(full.Quota.Until.Sub(now), time.Second))
	}
	if err != nil {
		return Challenge{}, fmt.Errorf("save challenge: %w", err)
	}
	return c, nil
}

// A Registration is an agent that came of a challenge.
type Registration struct {
	AgentID     AgentID
	KeyID       KeyID
	DisplayName string
	PublicKey   seal.PublicKey
	Replayed    bool // answered from the receipt of an earlier call
}

// CompleteRegistration makes an agent of a signed challenge. The same
// challenge and signature are answered with the same agent for ever, however
// long after the challenge expired (protocol 5.4).
func (j *Journal) CompleteRegistration(ctx context.Context, caller Caller, id ChallengeID, signature string) (Registration, error) {
	return j.completeRegistration(ctx, caller, id, signature, nil)
}

func (j *Journal) completeRegistration(ctx context.Context, caller Caller, id ChallengeID, signature string, message claim) (Registration, error) {
	if !id.Valid() {
		return Registration{}, Refuse(InvalidRequest, "challenge_id must be a UUID")
	}
	signed, err := seal.ParseSignature(signature)
	if err != nil {
		return Registration{}, Refuse(InvalidRequest, "signature must be 64 bytes in standard base64: 88 characters with padding")
	}
	c, err := j.store.Challenge(ctx, ChallengeID(strings.ToLower(string(id))))
	if errors.Is(err, ErrNotFound) {
		return Registration{}, Refuse(InvalidOrExpiredChallenge, "the challenge is unknown or expired; start registration again")
	}
	if err != nil {
		return Registration{}, fmt.Errorf("read challenge: %w", err)
	}
	if c.Completed() {
		return c.replay(signed)
	}
	if err := j.admitProof(caller); err != nil {
		return Registration{}, err
	}
	now := j.clock()
	switch {
	case now.After(c.ExpiresAt):
		return Registration{}, Refuse(InvalidOrExpiredChallenge, "the challenge is unknown or expired; start registration again")
	case c.Failures >= challengeFailures:
		return Registration{}, Refuse(ChallengeUnavailable, "too many wrong signatures for this challenge; start registration again")
	case !c.PublicKey.Verify([]byte(c.SigningMessage()), signed):
		j.disproved(caller)
		if err := j.store.FailChallenge(ctx, c.ID); err != nil {
			return Registration{}, fmt.Errorf("count wrong signature: %w", err)
		}
		return Registration{}, Refuse(InvalidSignature, "the signature does not verify; sign the exact UTF-8 bytes of signing_message with the private key of the public_key given at start")
	}
	if err := j.writable(ctx); err != nil {
		return Registration{}, err
	}
	agent, err := newAgentID(j.random)
	if err != nil {
		return Registration{}, err
	}
	if err := message.take(ctx); err != nil {
		return Registration{}, err
	}
	err = j.store.CompleteRegistration(ctx, NewAgent{
		ChallengeID: c.ID, Signature: signed, AgentID: agent,
		DisplayName: c.DisplayName, Key: c.PublicKey, At: now,
		Quotas: j.registrationQuotas(caller, now),
	})
	full := (*QuotaSpent)(nil)
	switch {
	case errors.As(err, &full):
		return Registration{}, spent(full.Quota, now)
	case errors.Is(err, ErrKeyTaken):
		return Registration{}, Refuse(PublicKeyRegistered, "this public key already belongs to an agent; use its agent_id, or register with a new key")
	case errors.Is(err, ErrChallengeDone):
		// Another call with the same challenge won the race: it left a receipt.
		if c, err = j.store.Challenge(ctx, c.ID); err != nil {
			return Registration{}, fmt.Errorf("read challenge: %w", err)
		}
		return c.replay(signed)
	case err != nil:
		return Registration{}, fmt.Errorf("store agent: %w", err)
	}
	return Registration{AgentID: agent, KeyID: KeyID(c.PublicKey.ID()), DisplayName: c.DisplayName, PublicKey: c.PublicKey}, nil
}

func (c Challenge) replay(signed seal.Signature) (Registration, error) {
	if subtle.ConstantTimeCompare(c.Signature[:], signed[:]) != 1 {
		return Registration{}, Refuse(RegistrationReplayConflict, "this challenge was completed with another signature")
	}
	return Registration{
		AgentID: c.AgentID, KeyID: c.KeyID, DisplayName: c.DisplayName,
		PublicKey: c.PublicKey, Replayed: true,
	}, nil
}
