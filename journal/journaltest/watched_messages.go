package journaltest

import (
	"context"
	"time"

	"innerloop/journal"
)

// Message is watched, as is everything that the handling of a message calls.
func (w *Watched) Message(ctx context.Context, id journal.Digest, now time.Time) (journal.KeptMessage, error) {
	return watch(w, "Message", func() (journal.KeptMessage, error) { return w.Store.Message(ctx, id, now) })
}

// ClaimMessage is watched.
func (w *Watched) ClaimMessage(ctx context.Context, m journal.KeptMessage, now time.Time) (journal.KeptMessage, error) {
	return watch(w, "ClaimMessage", func() (journal.KeptMessage, error) { return w.Store.ClaimMessage(ctx, m, now) })
}

// KeepReply is watched.
func (w *Watched) KeepReply(ctx context.Context, m journal.KeptMessage) (journal.KeptMessage, error) {
	return watch(w, "KeepReply", func() (journal.KeptMessage, error) { return w.Store.KeepReply(ctx, m) })
}

// ReleaseMessage is watched.
func (w *Watched) ReleaseMessage(ctx context.Context, m journal.KeptMessage) error {
	return w.run("ReleaseMessage", func() error { return w.Store.ReleaseMessage(ctx, m) })
}
