package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"time"

	"innerloop/seal"
)

var (
	agentPattern     = regexp.MustCompile(`^agent_[A-Za-z0-9][A-Za-z0-9_-]*$`)
	keyPattern       = regexp.MustCompile(`^key_[A-Za-z0-9][A-Za-z0-9_-]*$`)
	entryPattern     = regexp.MustCompile(`^entry_[A-Za-z0-9][A-Za-z0-9_-]*$`)
	challengePattern = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// An Identity is a key that exists on this machine.
type Identity struct {
	Profile   string `json:"profile"`
	PublicKey string `json:"public_key"` // SPKI, base64
	KeyID     string `json:"key_id"`
}

// Init makes the profile's key. A profile that has one keeps it.
func (a *Agent) Init(context.Context) (Identity, error) {
	unlock, err := a.lock()
	if err != nil {
		return Identity{}, err
	}
	defer unlock()
	key, err := a.key()
	if errors.Is(err, fs.ErrNotExist) {
		key, err = a.makeKey(keyFile)
	}
	if err != nil {
		return Identity{}, err
	}
	return a.identityOf(key)
}

func (a *Agent) makeKey(file string) (seal.PrivateKey, error) {
	key, err := seal.GenerateKey(a.random)
	if err != nil {
		return seal.PrivateKey{}, err
	}
	text, err := key.PEM()
	if err != nil {
		return seal.PrivateKey{}, err
	}
	return key, a.replace(file, text)
}

func (a *Agent) identityOf(key seal.PrivateKey) (Identity, error) {
	public, err := key.Public()
	if err != nil {
		return Identity{}, fmt.Errorf("the key file in %s does not hold a usable key", a.folder)
	}
	return Identity{Profile: a.profile, PublicKey: public.String(), KeyID: public.ID()}, nil
}

// ownKey reads the key and says what to do when there is none.
func (a *Agent) ownKey() (seal.PrivateKey, Identity, error) {
	key, err := a.key()
	if errors.Is(err, fs.ErrNotExist) {
		return key, Identity{}, fmt.Errorf("the profile %s has no key; run: innerloop agent init --profile %s", a.profile, a.profile)
	}
	if err != nil {
		return key, Identity{}, err
	}
	own, err := a.identityOf(key)
	return key, own, err
}

// A Registered agent exists at the service.
type Registered struct {
	AgentID     string `json:"agent_id"`
	KeyID       string `json:"key_id"`
	DisplayName string `json:"display_name"`
}

// Register makes an agent of the profile's key. A registration whose answer
// was lost is finished by calling again with the same name; a profile that is
// registered answers from its own file.
func (a *Agent) Register(ctx context.Context, displayName string) (Registered, error) {
	unlock, err := a.lock()
	if err != nil {
		return Registered{}, err
	}
	defer unlock()
	key, own, err := a.ownKey()
	if err != nil {
		return Registered{}, err
	}
	var known identity
	if _, err := a.read(identityFile, &known); err != nil {
		return Registered{}, err
	}
	if known.AgentID != "" {
		if displayName != "" && displayName != known.DisplayName {
			return Registered{}, fmt.Errorf("the profile %s is registered under another name already; a name is bound for ever. For another agent use another --profile", a.profile)
		}
		// A crash between the last two steps leaves the saved request.
		return Registered{AgentID: known.AgentID, KeyID: known.KeyID, DisplayName: known.DisplayName}, a.drop(registrationFile)
	}
	var pending saved
	waits, err := a.read(registrationFile, &pending)
	if err != nil {
		return Registered{}, err
	}
	if waits {
		if displayName != "" && displayName != pending.DisplayName {
			return Registered{}, fmt.Errorf("a registration under another name waits to be finished: %q. Finish it first: run register with that name", Clean(pending.DisplayName))
		}
		displayName = pending.DisplayName
		if a.api != "" {
			pending.API = a.api
		}
		done, err := a.complete(ctx, pending, own)
		if !rejectedRegistration(err) {
			return done, err
		}
		// The challenge ran out before it was completed: nothing came of it.
	}
	if displayName == "" {
		return Registered{}, errors.New("register needs a name: --display-name NAME")
	}
	pending, err = a.challenge(ctx, key, own, displayName)
	if err != nil {
		return Registered{}, err
	}
	return a.complete(ctx, pending, own)
}

// Address is the API that the next command uses.
func (a *Agent) Address() (string, error) {
	var known identity
	_, err := a.read(identityFile, &known)
	return a.address(known), err
}

// address is the API of this call: named, else used last, else the default.
func (a *Agent) address(known identity) string {
	switch {
	case a.api != "":
		return a.api
	case known.API != "":
		return known.API
	}
	return DefaultAPI
}

// challenge asks for a challenge, signs it, and saves the request that will
// complete it. Asking leaves no trace, so it needs no recovery.
func (a *Agent) challenge(ctx context.Context, key seal.PrivateKey, own Identity, displayName string) (saved, error) {
	body, err := object{}.text("display_name", displayName).text("public_key", own.PublicKey).bytes()
	if err != nil {
		return saved{}, errors.New("the display name is not valid UTF-8")
	}
	api := a.address(identity{})
	got, err := a.post(ctx, saved{API: api, Path: "/v1/agents/challenges", Body: body})
	if err != nil {
		if f, _ := code(err); f != nil {
			f.Next = "nothing was registered; correct it or wait, then run the same command again"
		}
		return saved{}, err
	}
	id, text := got.text("challenge_id"), got.text("challenge")
	expires, err := seal.ParseDateTime(got.text("expires_at"))
	switch {
	case got.status != http.StatusCreated:
		return saved{}, got.unreadable("its status is not 201")
	case !challengePattern.MatchString(id):
		return saved{}, got.unreadable("challenge_id is not a UUID")
	case text == "":
		return saved{}, got.unreadable("challenge is empty")
	case err != nil || !expires.After(a.now()):
		return saved{}, got.unreadable("the challenge has expired already; check this machine's clock")
	}
	message := "agent-journal-registration-v1:" + id + ":" + text
	body, err = object{}.text("challenge_id", id).text("signature", key.Sign([]byte(message)).String()).bytes()
	if err != nil {
		return saved{}, err
	}
	pending := saved{API: api, Path: "/v1/agents/register", Body: body, SavedAt: a.now().UTC(), DisplayName: displayName}
	return pending, a.save(registrationFile, pending)
}

// complete sends a saved completion and settles its fate.
func (a *Agent) complete(ctx context.Context, pending saved, own Identity) (Registered, error) {
	got, err := a.post(ctx, pending)
	if err == nil {
		err = got.registered(pending, own)
	}
	if err != nil {
		return Registered{}, a.keepRegistration(err)
	}
	now := identity{
		API: pending.API, AgentID: got.text("agent_id"), KeyID: got.text("key_id"),
		DisplayName: pending.DisplayName, RegisteredAt: a.now().UTC().Truncate(time.Millisecond),
	}
	if err := a.save(identityFile, now); err != nil {
		return Registered{}, err
	}
	return Registered{AgentID: now.AgentID, KeyID: now.KeyID, DisplayName: now.DisplayName}, a.drop(registrationFile)
}

// registered checks the answer of protocol 5.3.
func (a answer) registered(pending saved, own Identity) error {
	if _, err := a.paired(); err != nil {
		return err
	}
	agent, key := a.text("agent_id"), a.text("key_id")
	switch {
	case !valid(agent, agentPattern):
		return a.unreadable("agent_id is not an agent id")
	case !valid(key, keyPattern):
		return a.unreadable("key_id is not a key id")
	case !a.agrees("display_name", pending.DisplayName):
		return a.unreadable("it names another display_name")
	case !a.agrees("public_key", own.PublicKey), !a.agrees("public_key_spki", own.PublicKey):
		return a.unreadable("it names another public key")
	}
	return nil
}

// agrees holds when the member is absent or exactly want.
func (a answer) agrees(name, want string) bool {
	member, present := a.body.Get(name)
	text, isText := member.Text()
	return !present || isText && text == want
}

func valid(id string, pattern *regexp.Regexp) bool {
	return len(id) <= seal.IdentityMax && pattern.MatchString(id)
}

// rejectedRegistration tells the two codes after which a challenge without a
// receipt can never be completed (protocol 5.4).
func rejectedRegistration(err error) bool {
	_, c := code(err)
	return c == "invalid_or_expired_challenge" || c == "challenge_unavailable"
}

// keepRegistration leaves the saved request in place unless it was rejected,
// and says how to go on.
func (a *Agent) keepRegistration(err error) error {
	f, c := code(err)
	switch {
	case f == nil:
		return err
	case rejectedRegistration(err):
		f.Next = "run the same command again; it asks for a new challenge"
		return errors.Join(err, a.drop(registrationFile))
	case c == "public_key_already_registered":
		f.Next = "this key belongs to an agent that this profile does not know; use another --profile for a new one"
	case f.Uncertain():
		f.Next = "it may be registered or not; run the same command again: it repeats the saved request and ends with the same agent"
	default:
		f.Next = "the request is kept in " + filepath.Join(a.folder, registrationFile) + "; the same command repeats it"
	}
	return err
}
