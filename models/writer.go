package models

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"innerloop/journal"
)

const (
	groupSize   = 128              // items that calls of one commit hold together
	queueLength = 256              // calls that wait before a caller waits to be queued
	commitLimit = 30 * time.Second // for one shared transaction
)

// errWriterPanic is what the callers of a batch hear when it made the writer
// panic: nothing of it is stored.
var errWriterPanic = errors.New("models: the writer failed on this batch")

// appendCall is one AppendEntries on its way to a writer.
type appendCall struct {
	ctx    context.Context
	batch  []journal.NewEntry
	answer chan appendAnswer // holds one, so that a writer never waits
}

type appendAnswer struct {
	outcomes []journal.Outcome
	err      error
}

func (s *Store) enqueue(call *appendCall) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return ErrClosed
	}
	select {
	case s.queue <- call:
		return nil
	case <-call.ctx.Done():
		return fmt.Errorf("append entries: %w", call.ctx.Err())
	}
}

// writeLoop commits what is queued until the queue is closed and empty. It
// adds no delay: a group is what arrived while the commit before it ran.
func (s *Store) writeLoop() {
	defer s.done.Done()
	var next *appendCall // taken from the queue but too large for the last group
	for {
		if next == nil {
			call, open := <-s.queue
			if !open {
				return
			}
			next = call
		}
		group, items := []*appendCall{next}, len(next.batch)
		next = nil
	gather:
		for items < groupSize {
			select {
			case call, open := <-s.queue:
				if !open {
					break gather
				}
				if items+len(call.batch) > groupSize {
					next = call
					break gather
				}
				group, items = append(group, call), items+len(call.batch)
			default:
				break gather
			}
		}
		s.commitGroup(group)
	}
}

// commitGroup answers every call of a group. When the shared transaction
// fails, each call gets one of its own, so that none pays for another.
func (s *Store) commitGroup(group []*appendCall) {
	waiting := group[:0]
	for _, call := range group {
		if err := call.ctx.Err(); err != nil {
			call.answer <- appendAnswer{err: fmt.Errorf("append entries: %w", err)}
			continue
		}
		waiting = append(waiting, call)
	}
	if len(waiting) == 0 {
		return
	}
	var batch []journal.NewEntry
	if len(waiting) == 1 {
		batch = waiting[0].batch
	} else {
		for _, call := range waiting {
			batch = append(batch, call.batch...)
		}
	}
	outcomes, err := s.commit(batch)
	if err == nil {
		for _, call := range waiting {
			n := len(call.batch)
			call.answer <- appendAnswer{outcomes: outcomes[:n:n]}
			outcomes = outcomes[n:]
		}
		return
	}
	if len(waiting) == 1 {
		waiting[0].answer <- appendAnswer{err: err}
		return
	}
	for _, call := range waiting {
		own, err := s.commit(call.batch)
		call.answer <- appendAnswer{outcomes: own, err: err}
	}
}

// commit runs one transaction. It does not end with a caller's context: by
// then the batch is no longer one caller's.
func (s *Store) commit(batch []journal.NewEntry) (outcomes []journal.Outcome, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitLimit)
	defer cancel()
	// The writer serves every caller, so a fault in one batch must not end it.
	// inTransaction has rolled back by the time the panic arrives here. Its
	// value may be a caller's text and is not logged.
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a batch made the writer panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			outcomes, err = nil, errWriterPanic
		}
	}()
	open, err := s.Writes(ctx)
	if err != nil {
		return nil, err
	}
	err = s.retry(ctx, "append entries", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) error {
			a := &appending{tx: tx, batch: batch, outcomes: make([]journal.Outcome, len(batch)), closed: !open}
			outcomes = a.outcomes
			return a.run(ctx)
		})
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}
