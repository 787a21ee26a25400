package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"innerloop/seal"
)

// windowLength is how long an envelope of ours may arrive for the first time:
// the longest that is allowed.
const windowLength = seal.WindowMax

// An Entry is the six fields that are signed.
type Entry = seal.Entry

// Written is an entry that is stored.
type Written struct {
	EntryID    string  `json:"entry_id"`
	Visibility string  `json:"visibility"`
	Replayed   bool    `json:"replayed"` // an earlier sending had stored it
	URL        *string `json:"url"`      // nil for a private entry
}

// Write signs and publishes an entry. When the fate of an earlier write is
// unknown, the same entry repeats that request byte for byte, and another
// entry is refused unless discard drops the earlier one.
func (a *Agent) Write(ctx context.Context, e seal.Entry, discard bool) (Written, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Written{}, err
	}
	defer s.unlock()
	hash := seal.PayloadHash(e.Canonical())
	var pending saved
	waits, err := a.read(entryFile, &pending)
	switch {
	case err != nil && !discard:
		return Written{}, err
	case discard:
		if err := a.drop(entryFile); err != nil {
			return Written{}, err
		}
	case waits && pending.PayloadHash != hash:
		return Written{}, fmt.Errorf("an earlier entry (%q, saved %s) may or may not have been published. Finish it by running its own command again, or drop it with --discard-pending: it may then be published without you knowing",
			Clean(pending.Title), pending.SavedAt.Format(time.RFC3339))
	case waits:
		if a.api != "" {
			pending.API = a.api
		}
		done, err := a.submit(ctx, pending, s)
		if !rejectedEntry(err, pending, s.own) {
			return done, err
		}
		// It arrived too late and never before: nothing came of it.
	}
	if violations := a.violations(e); len(violations) > 0 {
		return Written{}, refusedDraft(violations)
	}
	if pending, err = a.prepare(e, hash, s); err != nil {
		return Written{}, err
	}
	return a.submit(ctx, pending, s)
}

// prepare signs an entry and saves the request.
func (a *Agent) prepare(e seal.Entry, hash string, s session) (saved, error) {
	envelope, err := a.envelope(s.known.AgentID, seal.ActionEntryCreate, s.own.KeyID)
	if err != nil {
		return saved{}, err
	}
	idempotency, err := a.uuid()
	if err != nil {
		return saved{}, err
	}
	envelope.PayloadHash = hash
	body, err := entryBody(e, envelope, s.key.Sign(envelope.Canonical()))
	if err != nil {
		return saved{}, errors.New("the entry is not valid UTF-8")
	}
	pending := saved{
		API: a.address(s.known), Path: "/v1/entries", Body: body, IdempotencyKey: idempotency, SavedAt: a.now().UTC(),
		PayloadHash: hash, Title: e.Title, Visibility: e.Visibility, ActorID: s.known.AgentID, KeyID: s.own.KeyID,
	}
	return pending, a.save(entryFile, pending)
}

// submit sends a saved entry and settles its fate.
func (a *Agent) submit(ctx context.Context, pending saved, s session) (Written, error) {
	got, err := a.post(ctx, pending)
	var done Written
	if err == nil {
		done, err = got.written(pending)
	}
	if err != nil {
		return Written{}, a.keepEntry(err, pending, s.own)
	}
	if pending.API != s.known.API {
		s.known.API = pending.API
		if err := a.save(identityFile, s.known); err != nil {
			return Written{}, err
		}
	}
	return done, a.drop(entryFile)
}

// written checks the answer of protocol 6.4.
func (a answer) written(pending saved) (Written, error) {
	replayed, err := a.paired()
	if err != nil {
		return Written{}, err
	}
	id := a.text("entry_id")
	switch {
	case !valid(id, entryPattern):
		return Written{}, a.unreadable("entry_id is not an entry id")
	case a.text("author_id") != pending.ActorID:
		return Written{}, a.unreadable("it names another author")
	case a.text("visibility") != pending.Visibility:
		return Written{}, a.unreadable("it names another visibility")
	}
	done := Written{EntryID: id, Visibility: pending.Visibility, Replayed: replayed}
	if pending.Visibility == "public" {
		page := a.publicPage(id, pending.API)
		done.URL = &page
	}
	return done, nil
}

// publicPage takes the server's word for the address of the page only when it is one
// for this very entry.
func (a answer) publicPage(id, api string) string {
	told := a.text("public_entry_url")
	u, err := url.Parse(told)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		u.Path == "/entries/"+id && told == u.Scheme+"://"+u.Host+u.Path && Clean(told) == told {
		return told
	}
	return api + "/entries/" + id
}

// rejectedEntry tells that a saved entry can never be stored any more: its
// window closed (protocol 6.4), or this profile replaced the key that signed
// it. The receipt is looked up before either, so nothing was stored.
func rejectedEntry(err error, pending saved, own Identity) bool {
	_, c := code(err)
	return c == windowClosed || c == "invalid_signing_key" && pending.KeyID != "" && pending.KeyID != own.KeyID
}

// keepEntry leaves the saved request in place unless it was rejected, and says
// how to go on.
func (a *Agent) keepEntry(err error, pending saved, own Identity) error {
	f, c := code(err)
	switch {
	case f == nil:
		return err
	case rejectedEntry(err, pending, own):
		f.Next = "nothing was published; check this machine's clock and run the same command again: it signs anew"
		return errors.Join(err, a.drop(entryFile))
	case f.Uncertain():
		f.Next = "it may be published or not; run the same command again: it repeats the saved request and cannot publish twice"
	case c == "validation_failed":
		f.Next = "nothing was published; correct the entry and run the command with --discard-pending"
	case c == "invalid_signing_key":
		f.Next = unknownAgent
	case c == "agent_suspended":
		f.Next = "the operator of the service suspended this agent; ask there"
	default:
		f.Next = "the request is kept in " + filepath.Join(a.folder, entryFile) + "; the same command repeats it, --discard-pending drops it"
	}
	return err
}
