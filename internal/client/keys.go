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

// What a new key signs to prove that its holder agrees (protocol 6.8).
const (
	purposeRotation = "innerloop-key-rotation-v1"
	purposeAddition = "innerloop-key-add-v1"
	purposeRecovery = "innerloop-recovery-v1"
)

// A Rotated key has taken over from another.
type Rotated struct {
	KeyID         string `json:"key_id"`
	ReplacedKeyID string `json:"replaced_key_id"`
}

var rotation = mutation{
	kind: "rotation", path: "/v1/private/keys/rotate", action: seal.ActionKeyRotate,
	rejected: []string{"invalid_replacement_key_proof", "key_rotation_conflict"},
	check: func(got answer, pending saved) error {
		replaced, active := got.member("replaced_key"), got.member("active_key")
		if err := errors.Join(replaced.same("key_id", pending.KeyID), replaced.same("status", "revoked")); err != nil {
			return got.unreadable("replaced_key is not the signing key, revoked")
		}
		if _, err := replaced.moment("revoked_at"); err != nil {
			return err
		}
		return active.newKey(pending)
	},
	newKey: nextKeyFile,
	finish: func(a *Agent, pending saved, known *identity) error { return a.switchKey(nextKeyFile, pending, known) },
}

// newKey checks an active_key against the key that was offered.
func (a answer) newKey(pending saved) error {
	if err := errors.Join(a.same("key_id", pending.NewKeyID), a.same("status", "active")); err != nil {
		return a.unreadable("active_key is not the new key, active")
	}
	_, err := a.moment("created_at")
	return err
}

// member is an object inside the answer.
func (a answer) member(name string) answer {
	a.body, _ = a.body.Get(name)
	return a
}

// RotateKey replaces the profile's key by a new one. The new key is on disk
// before the request is, and the old one stays until the answer is certain.
func (a *Agent) RotateKey(ctx context.Context) (Rotated, error) {
	unlock, err := a.take()
	if err != nil {
		return Rotated{}, err
	}
	defer unlock()
	// One that waits is what this command is to do: it is not followed by
	// another.
	var pending saved
	waits, err := a.read(rotation.file(), &pending)
	if err != nil {
		return Rotated{}, err
	}
	s, err := a.enter(ctx)
	if err != nil {
		return Rotated{}, err
	}
	if waits && s.own.KeyID == pending.NewKeyID {
		return Rotated{KeyID: pending.NewKeyID, ReplacedKeyID: pending.KeyID}, nil
	}
	next, text, err := a.nextKey(nextKeyFile)
	if err != nil {
		return Rotated{}, err
	}
	_, pending, err = a.carryOut(ctx, &s, order{
		mutation: rotation, payload: offer(purposeRotation, next, text),
		note: func(p *saved) { p.NewKeyID = text.KeyID },
	})
	if err != nil {
		return Rotated{}, err
	}
	return Rotated{KeyID: pending.NewKeyID, ReplacedKeyID: pending.KeyID}, nil
}

// offer makes the payload that brings a new key in, signed by that key.
func offer(purpose string, key seal.PrivateKey, public Identity) func(seal.Envelope) ([]member, error) {
	return func(e seal.Envelope) ([]member, error) {
		proof, err := seal.Canonical(map[string]any{
			"purpose": purpose, "actor_id": e.ActorID, "current_key_id": e.KeyID, "new_public_key": public.PublicKey,
			"nonce": e.Nonce, "issued_at": e.IssuedAt, "expires_at": e.ExpiresAt,
		})
		return []member{{"new_public_key", public.PublicKey}, {"new_key_signature", key.Sign(proof).String()}}, err
	}
}

// nextKey makes the key that is to take over, or finds the one that an
// earlier run made and never offered.
func (a *Agent) nextKey(file string) (seal.PrivateKey, Identity, error) {
	key, err := readKey(filepath.Join(a.folder, file))
	if errors.Is(err, fs.ErrNotExist) {
		key, err = a.makeKey(file)
	}
	if err != nil {
		return key, Identity{}, err
	}
	public, err := a.identityOf(key)
	return key, public, err
}

// switchKey puts the new key in place of the old one. A crash at any point
// leaves the saved request, whose replay leads here again.
func (a *Agent) switchKey(file string, pending saved, known *identity) error {
	next, err := readKey(filepath.Join(a.folder, file))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is in place already
	case err != nil:
		return err
	default:
		id, err := a.identityOf(next)
		if err != nil {
			return err
		}
		if id.KeyID != pending.NewKeyID {
			return fmt.Errorf("%s in %s is not the key that the service took in", file, a.folder)
		}
		if err := a.move(file, keyFile); err != nil {
			return err
		}
	}
	_, own, err := a.ownKey()
	if err != nil {
		return err
	}
	if own.KeyID != pending.NewKeyID {
		return fmt.Errorf("the service took %s in, but that key is not in %s; restore a backup that has it", pending.NewKeyID, a.folder)
	}
	known.API, known.AgentID, known.KeyID = pending.API, pending.ActorID, pending.NewKeyID
	return a.save(identityFile, *known)
}

// putAside keeps a key that could not be taken in under a name of its own.
func (a *Agent) putAside(file, id string) error {
	if _, err := os.Stat(filepath.Join(a.folder, file)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return a.move(file, "unused-"+id+".pem")
}

// An Added key is active beside the others; Profile holds it.
type Added struct {
	KeyID      string   `json:"key_id"`
	Profile    string   `json:"profile"`
	ActiveKeys []string `json:"active_keys"`
}

var keyAddition = mutation{
	kind: "key-addition", path: "/v1/private/keys/add", action: seal.ActionKeyAdd,
	rejected: []string{"invalid_replacement_key_proof", "key_rotation_conflict", "too_many_active_keys"},
	check: func(got answer, pending saved) error {
		if _, err := got.texts("active_keys"); err != nil {
			return err
		}
		return got.member("active_key").newKey(pending)
	},
	finish: func(a *Agent, pending saved, known *identity) error {
		other, err := a.sibling(pending.Target)
		if err != nil {
			return err
		}
		unlock, err := other.lock()
		if err != nil {
			return err
		}
		defer unlock()
		mine := *known
		mine.API, mine.KeyID = pending.API, pending.NewKeyID
		return other.save(identityFile, mine)
	},
}

// AddKey makes one more key active for the agent, and a profile that holds
// it, so that it can be carried to another machine. Without a name the
// profile gets one.
func (a *Agent) AddKey(ctx context.Context, profile string, discard bool) (Added, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Added{}, err
	}
	defer s.unlock()
	var waiting saved
	waits, err := a.read(keyAddition.file(), &waiting)
	switch {
	case err != nil && !discard:
		return Added{}, err
	case waits && !discard && waiting.Refused == "" && (profile == "" || profile == waiting.Target):
		profile = waiting.Target
	case profile == "":
		profile = a.freeProfile()
	}
	other, err := a.sibling(profile)
	if err != nil {
		return Added{}, err
	}
	key, public, err := other.keyForAddition(s.known)
	if err != nil {
		return Added{}, err
	}
	got, pending, err := a.carryOut(ctx, &s, order{
		mutation: keyAddition, intent: profile, payload: offer(purposeAddition, key, public), discard: discard,
		note: func(p *saved) { p.NewKeyID, p.Target = public.KeyID, profile },
	})
	if err != nil {
		return Added{}, err
	}
	keys, err := got.texts("active_keys")
	return Added{KeyID: pending.NewKeyID, Profile: pending.Target, ActiveKeys: keys}, err
}

// freeProfile is a name beside the profile's own that nothing has yet.
func (a *Agent) freeProfile() string {
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s-%d", a.profile, n)
		if _, err := os.Stat(filepath.Join(filepath.Dir(a.folder), name)); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
}

// keyForAddition makes the key of a profile that belongs to nobody yet.
func (a *Agent) keyForAddition(known identity) (seal.PrivateKey, Identity, error) {
	unlock, err := a.lock()
	if err != nil {
		return seal.PrivateKey{}, Identity{}, err
	}
	defer unlock()
	var mine identity
	if _, err := a.read(identityFile, &mine); err != nil {
		return seal.PrivateKey{}, Identity{}, err
	}
	if mine.AgentID != "" && mine.AgentID != known.AgentID {
		return seal.PrivateKey{}, Identity{}, fmt.Errorf("the profile %s belongs to another agent", a.profile)
	}
	key, err := a.key()
	if errors.Is(err, fs.ErrNotExist) {
		key, err = a.makeKey(keyFile)
	}
	if err != nil {
		return key, Identity{}, err
	}
	public, err := a.identityOf(key)
	return key, public, err
}

// A Revoked key signs nothing more.
type Revoked struct {
	KeyID     string `json:"key_id"`
	RevokedAt string `json:"revoked_at"`
}

var keyRevocation = mutation{
	kind: "key-revocation", path: "/v1/private/keys/revoke", action: seal.ActionKeyRevoke,
	rejected: []string{"invalid_signing_key"},
	check: func(got answer, pending saved) error {
		if err := errors.Join(got.same("key_id", pending.Intent), got.same("status", "revoked")); err != nil {
			return got.unreadable("it is not about the key, revoked")
		}
		_, err := got.moment("revoked_at")
		return err
	},
}

// RevokeKey revokes one of the agent's keys.
func (a *Agent) RevokeKey(ctx context.Context, keyID string, discard bool) (Revoked, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Revoked{}, err
	}
	defer s.unlock()
	got, _, err := a.carryOut(ctx, &s, order{mutation: keyRevocation, intent: keyID, payload: fixed(member{"key_id", keyID}), discard: discard})
	if err != nil {
		return Revoked{}, err
	}
	return Revoked{KeyID: keyID, RevokedAt: got.text("revoked_at")}, nil
}

// fixed is a payload that does not depend on the envelope.
func fixed(members ...member) func(seal.Envelope) ([]member, error) {
	return func(seal.Envelope) ([]member, error) { return members, nil }
}

// A Key is one key in the agent's history, as the service tells it.
type Key struct {
	KeyID     string  `json:"key_id"`
	Status    string  `json:"status"` // "active" or "revoked"
	Kind      string  `json:"kind"`   // "first", "rotated", "added" or "recovered"
	CreatedAt string  `json:"created_at"`
	RevokedAt *string `json:"revoked_at"`
}

// Keys asks for the agent's keys, oldest first.
func (a *Agent) Keys(ctx context.Context) ([]Key, error) {
	got, err := a.live(ctx, "/v1/private/keys/list", seal.ActionKeyList)
	if err != nil {
		return nil, err
	}
	list, _ := got.body.Get("keys")
	if list.Kind() != strictjson.Array {
		return nil, got.unreadable("keys is not a list")
	}
	keys := make([]Key, 0, len(list.Items()))
	for _, item := range list.Items() {
		row := answer{body: item, status: got.status, requestID: got.requestID}
		k := Key{KeyID: row.text("key_id"), Status: Clean(row.text("status")), Kind: Clean(row.text("kind")), CreatedAt: row.text("created_at")}
		if _, err := row.moment("created_at"); err != nil || !valid(k.KeyID, keyPattern) {
			return nil, got.unreadable("a key of the list is none")
		}
		if revoked, _ := item.Get("revoked_at"); revoked.Kind() != strictjson.Null {
			at, err := row.moment("revoked_at")
			if err != nil {
				return nil, err
			}
			k.RevokedAt = &at
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// texts is a list of key ids.
func (a answer) texts(name string) ([]string, error) {
	list, _ := a.body.Get(name)
	if list.Kind() != strictjson.Array {
		return nil, a.unreadable(name + " is not a list")
	}
	texts := make([]string, 0, len(list.Items()))
	for _, item := range list.Items() {
		text, ok := item.Text()
		if !ok || !valid(text, keyPattern) {
			return nil, a.unreadable(name + " holds something that is no key id")
		}
		texts = append(texts, text)
	}
	return texts, nil
}
