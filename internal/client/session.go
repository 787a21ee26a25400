package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"innerloop/seal"
)

// A session is a profile while one command has it: locked, with its key and
// the agent it belongs to.
type session struct {
	key    seal.PrivateKey
	own    Identity
	known  identity
	unlock func()
}

// begin takes the profile of a registered agent. A change of the signing key
// whose fate is unknown is finished first: nobody can tell which key signs
// until its answer is certain.
func (a *Agent) begin(ctx context.Context) (session, error) {
	unlock, err := a.take()
	if err != nil {
		return session{}, err
	}
	s, err := a.enter(ctx)
	if err != nil {
		unlock()
		return session{}, err
	}
	s.unlock = unlock
	return s, nil
}

// take locks a profile that exists.
func (a *Agent) take() (unlock func(), err error) {
	if _, err := os.Stat(a.folder); errors.Is(err, fs.ErrNotExist) {
		return nil, a.noProfile()
	}
	return a.lock()
}

func (a *Agent) enter(ctx context.Context) (session, error) {
	var s session
	if _, err := a.read(identityFile, &s.known); err != nil {
		return s, err
	}
	if err := a.settleKeys(ctx, &s.known); err != nil {
		return s, err
	}
	var err error
	if s.key, s.own, err = a.ownKey(); err != nil {
		return s, err
	}
	if s.known.AgentID == "" {
		return s, fmt.Errorf("the profile %s is not registered; run: innerloop agent register --profile %s --display-name NAME", a.profile, a.profile)
	}
	return s, nil
}

// settleKeys repeats a rotation or recovery that waits for its answer. One
// that the service rejected for good leaves the old key in place.
func (a *Agent) settleKeys(ctx context.Context, known *identity) error {
	for _, m := range []mutation{recoveryUse, rotation} {
		if _, _, err := a.settle(ctx, m, known); err != nil {
			return err
		}
	}
	return nil
}

// settle repeats one change of the key, if it waits. done is what came of it,
// nil when nothing waited or nothing came of it.
func (a *Agent) settle(ctx context.Context, m mutation, known *identity) (got answer, done *saved, err error) {
	var pending saved
	waits, err := a.read(m.file(), &pending)
	if err != nil || !waits {
		return got, nil, err
	}
	got, err = a.send(ctx, m, pending, known)
	f, _ := code(err)
	switch {
	case err == nil:
		return got, &pending, nil
	case f == nil:
		return got, nil, err
	case m.rejects(f):
		return got, nil, nil
	}
	f.Next = "a change of this profile's key waits for its answer, and nothing can be signed before; run the command again"
	return got, nil, err
}

func (a *Agent) noProfile() error {
	return fmt.Errorf("there is no profile %s; run: innerloop agent init --profile %s", a.profile, a.profile)
}

// envelope makes one for an action of the agent, without the payload's hash.
func (a *Agent) envelope(actor, action, keyID string) (seal.Envelope, error) {
	nonce, err := a.uuid()
	if err != nil {
		return seal.Envelope{}, err
	}
	now := a.now()
	return seal.Envelope{
		ActorID: actor, Action: action, Nonce: nonce, KeyID: keyID,
		IssuedAt: seal.FormatDateTime(now), ExpiresAt: seal.FormatDateTime(now.Add(windowLength)),
	}, nil
}

// A member is one key of a payload. Payloads are written in the order of the
// protocol's tables.
type member struct {
	name  string
	value any
}

// signed is the body of an owner request: the payload, hashed, and the
// envelope, signed.
func signed(e seal.Envelope, payload []member, key seal.PrivateKey) ([]byte, error) {
	fields := map[string]any{}
	text := object{}
	for _, m := range payload {
		fields[m.name] = m.value
		text = text.value(m.name, m.value)
	}
	canonical, err := seal.Canonical(fields)
	if err != nil {
		return nil, errNotUTF8
	}
	e.PayloadHash = seal.PayloadHash(canonical)
	body, err := text.bytes()
	if err != nil {
		return nil, errNotUTF8
	}
	envelope, err := envelopeText(e)
	if err != nil {
		return nil, errNotUTF8
	}
	return object{}.raw("payload", body, nil).raw("envelope", envelope, nil).
		text("signature", key.Sign(e.Canonical()).String()).bytes()
}

var errNotUTF8 = errors.New("the request is not valid UTF-8")

// nullable is a string as canonical JSON takes it.
func nullable(text *string) any {
	if text == nil {
		return nil
	}
	return *text
}

// live signs a fresh request, sends it and forgets it: an owner read is never
// saved and never repeated (protocol 6.5).
func (a *Agent) live(ctx context.Context, path, action string, payload ...member) (answer, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return answer{}, err
	}
	defer s.unlock()
	return a.liveIn(ctx, s, path, action, payload...)
}

func (a *Agent) liveIn(ctx context.Context, s session, path, action string, payload ...member) (answer, error) {
	e, err := a.envelope(s.known.AgentID, action, s.own.KeyID)
	if err != nil {
		return answer{}, err
	}
	body, err := signed(e, payload, s.key)
	if err != nil {
		return answer{}, err
	}
	got, err := a.post(ctx, saved{API: a.address(s.known), Path: path, Body: body})
	if err != nil {
		return got, readingFailed(err)
	}
	switch {
	case got.status != 200:
		return got, got.unreadable("its status is not 200")
	case got.idempotent:
		return got, got.unreadable("a reading carries idempotency-status")
	}
	return got, nil
}

// readingFailed says how to go on after a reading that was refused.
func readingFailed(err error) error {
	f, c := code(err)
	switch {
	case f == nil:
	case c == NoAnswer, f.Status >= 500:
		f.Next = "nothing was changed; run the same command again"
	case c == "invalid_signature_window":
		f.Next = "check this machine's clock"
	case c == "invalid_signing_key":
		f.Next = unknownAgent
	}
	return err
}

const unknownAgent = "this service does not know the profile's agent with this key; check --api and --profile"

// sibling is another profile of the same user.
func (a *Agent) sibling(profile string) (*Agent, error) {
	if !profilePattern.MatchString(profile) {
		return nil, errProfile
	}
	other := *a
	other.profile, other.folder = profile, filepath.Join(filepath.Dir(a.folder), profile)
	return &other, nil
}
