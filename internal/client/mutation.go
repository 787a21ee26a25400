package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"innerloop/seal"
)

// A mutation is a kind of durable owner request. It is saved before it is
// sent, and repeated byte for byte until its answer is certain.
type mutation struct {
	kind   string // names the file that keeps it, and the command
	path   string
	action string
	// check looks at the members of a success (protocol 6.6 to 6.9).
	check func(got answer, pending saved) error
	// rejected lists the codes after which the saved request can never
	// succeed. Every other refusal leaves it in place (protocol 6.10).
	rejected []string
	// newKey is the file of the key that a success puts in the signing key's
	// place.
	newKey string
	// finish carries a certain success out on this machine, before the saved
	// request goes. It may run more than once.
	finish func(a *Agent, pending saved, known *identity) error
}

// windowClosed rejects any saved mutation.
const windowClosed = "invalid_signature_window"

func (m mutation) file() string { return "pending-" + m.kind + ".json" }

// rejects tells whether the saved request is dead.
func (m mutation) rejects(f *Failure) bool {
	return f.Code == windowClosed || slices.Contains(m.rejected, f.Code) ||
		// A profile edit is refused for good when the refusal left a receipt
		// (protocol 6.6).
		m.kind == profileUpdate.kind && f.Durable &&
			(f.Code == "agent_suspended" && f.Status == http.StatusForbidden ||
				f.Code == "invalid_signing_key" && f.Status == http.StatusUnauthorized)
}

// An order is a mutation as one command asks for it.
type order struct {
	mutation
	intent string // what was asked: the same command finishes what waits
	// payload is made once the envelope's nonce and times stand, since new
	// keys sign those too.
	payload func(e seal.Envelope) ([]member, error)
	// note adds to the saved request what finish will need.
	note    func(*saved)
	discard bool
}

// carryOut runs an order: what waits is repeated, else a fresh request is
// signed, saved and sent.
func (a *Agent) carryOut(ctx context.Context, s *session, o order) (answer, saved, error) {
	var pending saved
	waits, err := a.read(o.file(), &pending)
	switch {
	case err != nil && !o.discard:
		return answer{}, pending, err
	case o.discard:
		if err := a.drop(o.file()); err != nil {
			return answer{}, pending, err
		}
	case waits && pending.Intent != o.intent && pending.Refused == "":
		return answer{}, pending, fmt.Errorf("an earlier %s (saved %s) may or may not have been carried out. Finish it by running its own command again, or drop it with --discard-pending",
			o.kind, pending.SavedAt.Format(time.RFC3339))
	case waits && pending.Intent == o.intent:
		if a.api != "" {
			pending.API = a.api
		}
		got, err := a.send(ctx, o.mutation, pending, &s.known)
		if !o.stale(err, pending, s.own) {
			return got, pending, err
		}
		// Nothing came of it, and nothing can any more: sign anew.
	}
	if pending, err = a.sign(*s, o); err != nil {
		return answer{}, pending, err
	}
	got, err := a.send(ctx, o.mutation, pending, &s.known)
	return got, pending, err
}

// stale tells that a saved request came too late for its window, or was signed
// by a key that this profile has replaced.
func (m mutation) stale(err error, pending saved, own Identity) bool {
	f, c := code(err)
	return f != nil && m.rejects(f) && (c == windowClosed || c == "invalid_signing_key" && pending.KeyID != own.KeyID)
}

// sign makes and saves the request.
func (a *Agent) sign(s session, o order) (saved, error) {
	e, err := a.envelope(s.known.AgentID, o.action, s.own.KeyID)
	if err != nil {
		return saved{}, err
	}
	payload, err := o.payload(e)
	if err != nil {
		return saved{}, err
	}
	body, err := signed(e, payload, s.key)
	if err != nil {
		return saved{}, err
	}
	pending := saved{
		API: a.address(s.known), Path: o.path, Body: body, SavedAt: a.now().UTC(),
		ActorID: e.ActorID, KeyID: e.KeyID, Intent: o.intent, Payload: map[string]*string{},
	}
	for _, m := range payload {
		if text, ok := m.value.(string); ok {
			pending.Payload[m.name] = &text
		} else {
			pending.Payload[m.name] = nil
		}
	}
	if o.note != nil {
		o.note(&pending)
	}
	return pending, a.save(o.file(), pending)
}

// send sends a saved request and settles its fate.
func (a *Agent) send(ctx context.Context, m mutation, pending saved, known *identity) (answer, error) {
	got, err := a.post(ctx, pending)
	if err == nil {
		err = got.settled()
	}
	if err == nil {
		err = m.check(got, pending)
	}
	if err != nil {
		return got, a.keep(m, pending, err)
	}
	if m.finish != nil {
		if err := m.finish(a, pending, known); err != nil {
			return got, err
		}
	}
	return got, a.drop(m.file())
}

// settled checks what every success of a durable mutation has in common.
func (a answer) settled() error {
	switch {
	case a.status != http.StatusOK:
		return a.unreadable("its status is not 200")
	case a.idempotency != "created" && a.idempotency != "replayed":
		return a.unreadable("it has no idempotency-status")
	}
	return nil
}

// keep leaves the saved request in place unless it was rejected, and says how
// to go on.
func (a *Agent) keep(m mutation, pending saved, err error) error {
	f, c := code(err)
	switch {
	case f == nil:
		return err
	case m.rejects(f):
		f.Next = "nothing was changed"
		if c == windowClosed {
			f.Next += "; check this machine's clock and run the same command again: it signs anew"
		}
		return errors.Join(err, a.reject(m, pending, c))
	case f.Uncertain():
		f.Next = "it may be done or not; run the same command again: it repeats the saved request and cannot do it twice"
		return err
	case f.Status == http.StatusTooManyRequests:
		f.Next = "nothing was changed; wait and run the same command again"
		return err
	}
	switch c {
	case "invalid_signing_key":
		f.Next = unknownAgent
	case "agent_suspended":
		f.Next = "the operator of the service suspended this agent; ask there"
	default:
		f.Next = "nothing was changed; the request is kept in " + filepath.Join(a.folder, m.file()) + ", the same command repeats it, another " + m.kind + " replaces it"
	}
	// A refusal is certain: another command of this kind may take its place.
	pending.Refused = c
	return errors.Join(err, a.save(m.file(), pending))
}

// reject drops a dead request. A new key that can never be taken in is put
// aside, not erased: only its owner may judge that.
func (a *Agent) reject(m mutation, pending saved, code string) error {
	if m.newKey != "" && (code == "key_rotation_conflict" || code == "invalid_replacement_key_proof") {
		if err := a.putAside(m.newKey, pending.NewKeyID); err != nil {
			return err
		}
	}
	return a.drop(m.file())
}

// same checks that a string member is exactly want.
func (a answer) same(name, want string) error {
	if a.text(name) != want {
		return a.unreadable(name + " is another one")
	}
	return nil
}

// moment checks that a member is a date-time, and returns it.
func (a answer) moment(name string) (string, error) {
	text := a.text(name)
	if _, err := seal.ParseDateTime(text); err != nil {
		return "", a.unreadable(name + " is not a date-time")
	}
	return text, nil
}
