package journaltest

import (
	"context"
	"errors"
	"sync"
	"time"

	"innerloop/journal"
)

// ErrCrash is what a Watched store answers where it was told to fail.
var ErrCrash = errors.New("journaltest: the store failed here")

// A Watched store notes every call and can fail at one: before the call
// reaches the data, or after, when the caller never hears what became of it.
type Watched struct {
	journal.Store

	mu    sync.Mutex
	calls []string
	at    int // the call to fail at, from 1; 0: none
	after bool
}

// FailAt makes the nth call from now fail, once.
func (w *Watched) FailAt(n int, after bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.at, w.after = nil, n, after
}

// Calls returns the calls since it was last asked, and forgets them.
func (w *Watched) Calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

func (w *Watched) note(name string) (before, after bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, name)
	here := w.at > 0 && len(w.calls) == w.at
	if here {
		w.at = 0
	}
	return here && !w.after, here && w.after
}

func watch[T any](w *Watched, name string, do func() (T, error)) (T, error) {
	var none T
	before, after := w.note(name)
	if before {
		return none, ErrCrash
	}
	v, err := do()
	if after {
		return none, ErrCrash
	}
	return v, err
}

func (w *Watched) run(name string, do func() error) error {
	_, err := watch(w, name, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// SaveChallenge is watched, as is every method that the owner's operations,
// registration and publication call.
func (w *Watched) SaveChallenge(ctx context.Context, c journal.Challenge) error {
	return w.run("SaveChallenge", func() error { return w.Store.SaveChallenge(ctx, c) })
}

// Challenge is watched.
func (w *Watched) Challenge(ctx context.Context, id journal.ChallengeID) (journal.Challenge, error) {
	return watch(w, "Challenge", func() (journal.Challenge, error) { return w.Store.Challenge(ctx, id) })
}

// CompleteRegistration is watched.
func (w *Watched) CompleteRegistration(ctx context.Context, a journal.NewAgent) error {
	return w.run("CompleteRegistration", func() error { return w.Store.CompleteRegistration(ctx, a) })
}

// EntryReceipt is watched.
func (w *Watched) EntryReceipt(ctx context.Context, a journal.AgentID, key journal.Digest) (journal.EntryReceipt, error) {
	return watch(w, "EntryReceipt", func() (journal.EntryReceipt, error) { return w.Store.EntryReceipt(ctx, a, key) })
}

// SigningKey is watched.
func (w *Watched) SigningKey(ctx context.Context, a journal.AgentID, k journal.KeyID) (journal.SigningKey, error) {
	return watch(w, "SigningKey", func() (journal.SigningKey, error) { return w.Store.SigningKey(ctx, a, k) })
}

// AppendEntries is watched.
func (w *Watched) AppendEntries(ctx context.Context, batch []journal.NewEntry) ([]journal.Outcome, error) {
	return watch(w, "AppendEntries", func() ([]journal.Outcome, error) { return w.Store.AppendEntries(ctx, batch) })
}

// UseReadNonce is watched.
func (w *Watched) UseReadNonce(ctx context.Context, a journal.AgentID, n journal.Digest, until time.Time) (bool, error) {
	return watch(w, "UseReadNonce", func() (bool, error) { return w.Store.UseReadNonce(ctx, a, n, until) })
}

// OwnerEntries is watched.
func (w *Watched) OwnerEntries(ctx context.Context, q journal.OwnerRange) ([]journal.OwnerEntry, error) {
	return watch(w, "OwnerEntries", func() ([]journal.OwnerEntry, error) { return w.Store.OwnerEntries(ctx, q) })
}

// OwnerEntry is watched.
func (w *Watched) OwnerEntry(ctx context.Context, a journal.AgentID, id journal.EntryID) (journal.OwnerEntry, error) {
	return watch(w, "OwnerEntry", func() (journal.OwnerEntry, error) { return w.Store.OwnerEntry(ctx, a, id) })
}

// Profile is watched.
func (w *Watched) Profile(ctx context.Context, a journal.AgentID) (journal.Profile, error) {
	return watch(w, "Profile", func() (journal.Profile, error) { return w.Store.Profile(ctx, a) })
}

// AgentKeys is watched.
func (w *Watched) AgentKeys(ctx context.Context, a journal.AgentID) ([]journal.AgentKey, error) {
	return watch(w, "AgentKeys", func() ([]journal.AgentKey, error) { return w.Store.AgentKeys(ctx, a) })
}

// Recovery is watched.
func (w *Watched) Recovery(ctx context.Context, a journal.AgentID, at time.Time) (string, error) {
	return watch(w, "Recovery", func() (string, error) { return w.Store.Recovery(ctx, a, at) })
}

// OwnerReceipt is watched.
func (w *Watched) OwnerReceipt(ctx context.Context, a journal.AgentID, action string, n journal.Digest) (journal.OwnerReceipt, error) {
	return watch(w, "OwnerReceipt", func() (journal.OwnerReceipt, error) { return w.Store.OwnerReceipt(ctx, a, action, n) })
}

// Apply is watched.
func (w *Watched) Apply(ctx context.Context, m journal.Mutation) (journal.MutationOutcome, error) {
	return watch(w, "Apply", func() (journal.MutationOutcome, error) { return w.Store.Apply(ctx, m) })
}

// Writes is watched.
func (w *Watched) Writes(ctx context.Context) (bool, error) {
	return watch(w, "Writes", func() (bool, error) { return w.Store.Writes(ctx) })
}

// Sketches is watched.
func (w *Watched) Sketches(ctx context.Context, a journal.AgentID, network string, after time.Time, most int) ([]journal.Sketched, error) {
	return watch(w, "Sketches", func() ([]journal.Sketched, error) { return w.Store.Sketches(ctx, a, network, after, most) })
}

// EndIdentities is watched.
func (w *Watched) EndIdentities(ctx context.Context, now time.Time, limit int) (int, bool, error) {
	type step struct {
		erased int
		more   bool
	}
	s, err := watch(w, "EndIdentities", func() (step, error) {
		erased, more, err := w.Store.EndIdentities(ctx, now, limit)
		return step{erased, more}, err
	})
	return s.erased, s.more, err
}
