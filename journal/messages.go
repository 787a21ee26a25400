package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"innerloop/internal/keyring"
)

// MessageLife is how long a message and its reply are remembered (protocol
// 9.6).
const MessageLife = 7 * 24 * time.Hour

// ErrMessageConflict reports a message id that is bound to other content.
var ErrMessageConflict = errors.New("journal: the message id is bound to other content")

// Messages remembers requests that their sender named. It holds no text: a
// digest of the id, a keyed hash of the content and an encrypted reply.
type Messages interface {
	// Message returns what is kept under the digest of a message id;
	// ErrNotFound when that is nothing, or its time is over.
	Message(ctx context.Context, id Digest, now time.Time) (KeptMessage, error)
	// ClaimMessage binds a message id to content, without a reply, unless it
	// is bound already and its time not over. It returns what is bound.
	ClaimMessage(ctx context.Context, claim KeptMessage, now time.Time) (KeptMessage, error)
	// KeepReply stores the reply of a claimed message unless it has one, and
	// returns the message with the reply that is kept.
	KeepReply(ctx context.Context, m KeptMessage) (KeptMessage, error)
	// ReleaseMessage drops a claim that has no reply.
	ReleaseMessage(ctx context.Context, m KeptMessage) error
	// ForgetMessages removes messages whose time is over, at most limit a
	// call, and returns how many.
	ForgetMessages(ctx context.Context, now time.Time, limit int) (int, error)
}

// A KeptMessage is a message as the store has it.
type KeptMessage struct {
	ID      Digest
	Content keyring.Mac
	Until   time.Time
	Reply   keyring.Sealed // its Box is nil while there is none
}

// A Turn is the handling of one message that changes something. What it does
// binds the message id to its content in the moment when nothing is left that
// could refuse it, and before anything is stored: a refused message leaves no
// trace, and an id never covers two changes. End must be called.
type Turn struct {
	j       *Journal
	kept    KeptMessage
	content []byte
	claimed bool
	leave   func()
}

// TakeTurn opens the handling of a message with this id and canonical
// content. For an exact repeat it returns the reply of the first and no turn;
// ErrMessageConflict when the id is bound to other content. In this process
// equal ids wait for one another, so that of twins one acts and the others
// hear its reply.
func (j *Journal) TakeTurn(ctx context.Context, id string, content []byte) (turn *Turn, reply []byte, err error) {
	t := &Turn{j: j, content: content, kept: KeptMessage{ID: sha256.Sum256([]byte(id))}}
	if t.leave, err = j.turns.enter(ctx, t.kept.ID); err != nil {
		return nil, nil, err
	}
	defer func() {
		if turn == nil {
			t.leave()
		}
	}()
	m, err := j.store.Message(ctx, t.kept.ID, j.clock())
	switch {
	case errors.Is(err, ErrNotFound):
		return t, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read message: %w", err)
	case !t.binds(m):
		return nil, nil, ErrMessageConflict
	case m.Reply.Box == nil:
		// An earlier try ended without an answer, or another process is at it.
		// To do it again is to repeat exactly, which every change allows.
		return t, nil, nil
	}
	reply, err = t.open(m)
	return nil, reply, err
}

// binds tells whether what is kept has the content of this turn. Under a key
// that is gone nothing is equal.
func (t *Turn) binds(m KeptMessage) bool { return t.j.messages.Equal(m.Content, t.content) }

func (t *Turn) open(m KeptMessage) ([]byte, error) {
	reply, err := t.j.replies.Open(m.Reply, m.ID[:])
	if err != nil {
		return nil, fmt.Errorf("open the reply of a message: %w", err)
	}
	return reply, nil
}

// claim binds the message id.
func (t *Turn) claim(ctx context.Context) error {
	now := t.j.clock()
	m, err := t.j.store.ClaimMessage(ctx, KeptMessage{
		ID: t.kept.ID, Content: t.j.messages.Mac(t.content), Until: now.Add(MessageLife),
	}, now)
	switch {
	case err != nil:
		return fmt.Errorf("claim message: %w", err)
	case !t.binds(m):
		return ErrMessageConflict
	}
	t.kept, t.claimed = m, true
	return nil
}

// settle claims what needed no change, because it was there already, and
// releases what came to nothing after all.
func (t *Turn) settle(ctx context.Context, err error) error {
	switch {
	case err == nil && !t.claimed:
		return t.claim(ctx)
	case err != nil && t.claimed:
		if _, refused := AsFault(err); refused {
			t.claimed = false
			if undone := t.j.store.ReleaseMessage(ctx, t.kept); undone != nil {
				return fmt.Errorf("release message: %w", errors.Join(undone, err))
			}
		}
	}
	return err
}

// StartRegistration is Journal.StartRegistration for this message.
func (t *Turn) StartRegistration(ctx context.Context, caller Caller, displayName, publicKey string) (Challenge, error) {
	c, err := t.j.startRegistration(ctx, caller, displayName, publicKey, t.claim)
	return c, t.settle(ctx, err)
}

// CompleteRegistration is Journal.CompleteRegistration for this message.
func (t *Turn) CompleteRegistration(ctx context.Context, caller Caller, id ChallengeID, signature string) (Registration, error) {
	r, err := t.j.completeRegistration(ctx, caller, id, signature, t.claim)
	return r, t.settle(ctx, err)
}

// PublishEntry is Journal.PublishEntry for this message.
func (t *Turn) PublishEntry(ctx context.Context, s Submission) (Receipt, error) {
	results, err := t.j.publishEntries(ctx, []Submission{s}, t.claim)
	if err != nil {
		return Receipt{}, t.settle(ctx, err)
	}
	return results[0].Receipt, t.settle(ctx, results[0].Err)
}

// Keep remembers the reply of a message that was granted, and returns the one
// to send: this, or that of a twin who was faster.
func (t *Turn) Keep(ctx context.Context, reply []byte) ([]byte, error) {
	sealed, err := t.j.replies.Seal(t.j.random, reply, t.kept.ID[:])
	if err != nil {
		return nil, err
	}
	m := t.kept
	m.Reply = sealed
	if m, err = t.j.store.KeepReply(ctx, m); err != nil {
		return nil, fmt.Errorf("keep reply: %w", err)
	}
	return t.open(m)
}

// End lets the next message of this id take its turn.
func (t *Turn) End() { t.leave() }

// turns lets one message of an id in at a time.
type turns struct {
	mu   sync.Mutex
	busy map[Digest]chan struct{}
}

// enter waits until nobody else is in under this id.
func (t *turns) enter(ctx context.Context, id Digest) (leave func(), err error) {
	for {
		t.mu.Lock()
		other, taken := t.busy[id]
		if !taken {
			mine := make(chan struct{})
			t.busy[id] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.busy, id)
				t.mu.Unlock()
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a message: %w", ctx.Err())
		}
	}
}

// A claim is called once nothing is left that could refuse a change, before
// it is stored; its error stops it. Nil claims nothing.
type claim func(context.Context) error

func (c claim) take(ctx context.Context) error {
	if c == nil {
		return nil
	}
	return c(ctx)
}
