package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// purposeRecoveryChange is what the old recovery key signs over, so that
// another one counts at once.
const purposeRecoveryChange = "innerloop-recovery-set-v1"

// A Recovery is a commitment to a key that can take the agent back.
type Recovery struct {
	Hash        *string `json:"recovery_key_hash"` // nil when cleared
	EffectiveAt string  `json:"effective_at"`
}

var recoverySetting = mutation{
	kind: "recovery-setting", path: "/v1/private/recovery/set", action: seal.ActionRecoverySet,
	rejected: []string{"invalid_signing_key", "invalid_replacement_key_proof", "key_rotation_conflict"},
	check: func(got answer, pending saved) error {
		hash, present := got.body.Get("recovery_key_hash")
		text, isText := hash.Text()
		want := pending.Payload["recovery_key_hash"]
		if !present || isText != (want != nil) || !isText && hash.Kind() != strictjson.Null || want != nil && text != *want {
			return got.unreadable("recovery_key_hash is not what was asked for")
		}
		_, err := got.moment("effective_at")
		return err
	},
}

// SetRecovery commits the agent to the recovery key in a file, which is made
// when it does not exist; an empty name clears the commitment. With the old
// recovery key's file a change counts at once, else the service lets it wait.
func (a *Agent) SetRecovery(ctx context.Context, file, oldFile string, discard bool) (Recovery, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Recovery{}, err
	}
	defer s.unlock()
	var hash *string
	if file != "" {
		_, public, err := a.recoveryKey(file)
		if err != nil {
			return Recovery{}, err
		}
		text := seal.PayloadHash(public.SPKI())
		hash = &text
	}
	var old seal.PrivateKey
	var oldPublic seal.PublicKey
	if oldFile != "" {
		if old, oldPublic, err = readPair(oldFile); err != nil {
			return Recovery{}, err
		}
	}
	intent, err := object{}.value("hash", nullable(hash)).value("signed", oldFile != "").bytes()
	if err != nil {
		return Recovery{}, err
	}
	got, _, err := a.carryOut(ctx, &s, order{
		mutation: recoverySetting, intent: string(intent), discard: discard,
		payload: func(e seal.Envelope) ([]member, error) {
			var signature any
			if oldFile != "" {
				proof, err := seal.Canonical(map[string]any{
					"purpose": purposeRecoveryChange, "actor_id": e.ActorID, "recovery_key_hash": nullable(hash),
					"nonce": e.Nonce, "issued_at": e.IssuedAt, "expires_at": e.ExpiresAt,
				})
				if err != nil {
					return nil, err
				}
				signature = oldPublic.String() + ":" + old.Sign(proof).String()
			}
			return []member{{"recovery_key_hash", nullable(hash)}, {"old_recovery_signature", signature}}, nil
		},
	})
	if err != nil {
		return Recovery{}, err
	}
	return Recovery{Hash: hash, EffectiveAt: got.text("effective_at")}, nil
}

// recoveryKey reads the key in a file of the caller's, or makes it there: on
// disk before anything is committed to it.
func (a *Agent) recoveryKey(file string) (seal.PrivateKey, seal.PublicKey, error) {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		key, err := seal.GenerateKey(a.random)
		if err != nil {
			return key, seal.PublicKey{}, err
		}
		text, err := key.PEM()
		if err != nil {
			return key, seal.PublicKey{}, err
		}
		a.step("save the recovery key")
		if err := replaceFile(filepath.Dir(file), filepath.Base(file), text, func() {}); err != nil {
			return key, seal.PublicKey{}, err
		}
		a.step("saved the recovery key")
	}
	return readPair(file)
}

func readPair(file string) (seal.PrivateKey, seal.PublicKey, error) {
	key, err := readKey(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no key file %s", file)
		}
		return key, seal.PublicKey{}, err
	}
	public, err := key.Public()
	if err != nil {
		return key, public, fmt.Errorf("the key file %s does not hold a usable key", file)
	}
	return key, public, nil
}

// A Recovered agent has one new key and no other.
type Recovered struct {
	AgentID     string   `json:"agent_id"`
	KeyID       string   `json:"key_id"`
	RevokedKeys []string `json:"revoked_keys"`
}

var recoveryUse = mutation{
	kind: "recovery", path: "/v1/private/recovery/use", action: seal.ActionRecoveryUse,
	rejected: []string{"invalid_signing_key", "invalid_replacement_key_proof", "key_rotation_conflict"},
	check: func(got answer, pending saved) error {
		if _, err := got.texts("revoked_keys"); err != nil {
			return err
		}
		return got.member("active_key").newKey(pending)
	},
	newKey: recoveredKeyFile,
	finish: func(a *Agent, pending saved, known *identity) error {
		if err := a.switchKey(recoveredKeyFile, pending, known); err != nil {
			return err
		}
		return a.endRotation()
	},
}

// UseRecovery takes the agent back with its recovery key: the service revokes
// every key of it, and one made here takes over. The profile need not have
// anything but its name; agentID is then required.
func (a *Agent) UseRecovery(ctx context.Context, file, agentID string) (Recovered, error) {
	key, public, err := readPair(file)
	if err != nil {
		return Recovered{}, err
	}
	unlock, err := a.lock()
	if err != nil {
		return Recovered{}, err
	}
	defer unlock()
	s := session{key: key, own: Identity{PublicKey: public.String(), KeyID: public.ID()}}
	if _, err := a.read(identityFile, &s.known); err != nil {
		return Recovered{}, err
	}
	switch {
	case s.known.AgentID == "" && !valid(agentID, agentPattern):
		return Recovered{}, errors.New("this profile knows no agent; name the one to take back: --agent-id AGENT_ID")
	case s.known.AgentID == "":
		s.known.AgentID = agentID
	case agentID != "" && agentID != s.known.AgentID:
		return Recovered{}, fmt.Errorf("the profile %s belongs to another agent; use another --profile", a.profile)
	}
	if got, done, err := a.settle(ctx, recoveryUse, &s.known); err != nil {
		return Recovered{}, err
	} else if done != nil {
		return got.recovered(*done)
	}
	next, offered, err := a.nextKey(recoveredKeyFile)
	if err != nil {
		return Recovered{}, err
	}
	got, pending, err := a.carryOut(ctx, &s, order{
		mutation: recoveryUse, intent: s.known.AgentID,
		payload: func(e seal.Envelope) ([]member, error) {
			payload, err := offer(purposeRecovery, next, offered)(e)
			return append([]member{{"recovery_public_key", public.String()}}, payload...), err
		},
		note: func(p *saved) { p.NewKeyID = offered.KeyID },
	})
	if err != nil {
		return Recovered{}, err
	}
	return got.recovered(pending)
}

func (a answer) recovered(pending saved) (Recovered, error) {
	revoked, err := a.texts("revoked_keys")
	return Recovered{AgentID: pending.ActorID, KeyID: pending.NewKeyID, RevokedKeys: revoked}, err
}

// endRotation drops a rotation that waited: it is void once a recovery is
// done, since every key that it could lead to is revoked.
func (a *Agent) endRotation() error {
	var waiting saved
	waits, err := a.read(rotation.file(), &waiting)
	if err != nil || !waits {
		return err
	}
	if err := a.putAside(nextKeyFile, waiting.NewKeyID); err != nil {
		return err
	}
	return a.drop(rotation.file())
}

// An Ending is the deletion of the whole identity, which waits.
type Ending struct {
	AgentID     string `json:"agent_id"`
	EffectiveAt string `json:"effective_at"`
}

var identityDeletion = mutation{
	kind: "identity-deletion", path: "/v1/private/identity/delete", action: seal.ActionIdentityDelete,
	rejected: []string{"invalid_signing_key"},
	check: func(got answer, pending saved) error {
		if err := got.same("agent_id", pending.ActorID); err != nil {
			return err
		}
		_, err := got.moment("effective_at")
		return err
	},
}

// DeleteIdentity asks for the end of the agent and all its entries. confirm
// must be the agent's id.
func (a *Agent) DeleteIdentity(ctx context.Context, confirm string) (Ending, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Ending{}, err
	}
	defer s.unlock()
	if confirm != s.known.AgentID {
		return Ending{}, errors.New("to delete the agent with all its entries, repeat its id: --confirm AGENT_ID (status shows it)")
	}
	got, _, err := a.carryOut(ctx, &s, order{
		mutation: identityDeletion, intent: confirm,
		payload: fixed(member{"confirm_agent_id", confirm}, member{"reason_code", "owner_request"}),
	})
	if err != nil {
		return Ending{}, err
	}
	return Ending{AgentID: confirm, EffectiveAt: got.text("effective_at")}, nil
}

// A Cancelled wait will not take effect.
type Cancelled struct {
	Kind        string `json:"kind"`
	CancelledAt string `json:"cancelled_at"`
}

var cancellation = mutation{
	kind: "cancellation", path: "/v1/private/pending/cancel", action: seal.ActionPendingCancel,
	rejected: []string{"invalid_signing_key"},
	check: func(got answer, pending saved) error {
		if err := got.same("kind", pending.Intent); err != nil {
			return err
		}
		_, err := got.moment("cancelled_at")
		return err
	},
}

// Cancel drops what waits at the service: kind is "recovery" or "deletion".
func (a *Agent) Cancel(ctx context.Context, kind string) (Cancelled, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Cancelled{}, err
	}
	defer s.unlock()
	got, _, err := a.carryOut(ctx, &s, order{mutation: cancellation, intent: kind, payload: fixed(member{"kind", kind})})
	if err != nil {
		return Cancelled{}, err
	}
	return Cancelled{Kind: kind, CancelledAt: got.text("cancelled_at")}, nil
}
