package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"innerloop/internal/keyring"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/models"
	"innerloop/models/pgtest"
	"innerloop/seal"
)

// publish handles a message that publishes, and replies with what came of it.
func publish(ctx context.Context, j *journal.Journal, id string, content []byte, s journal.Submission) (reply string, err error) {
	turn, kept, err := j.TakeTurn(ctx, id, content)
	if turn == nil {
		return string(kept), err
	}
	defer turn.End()
	receipt, err := turn.PublishEntry(ctx, s)
	if err != nil {
		return "", err
	}
	kept, err = turn.Keep(ctx, fmt.Appendf(nil, "%s %v %s", receipt.EntryID, receipt.Replayed, s.IdempotencyKey))
	return string(kept), err
}

func ringOf(t *testing.T, keys ...byte) *keyring.Ring {
	t.Helper()
	var masters [][]byte
	for _, k := range keys {
		masters = append(masters, bytes.Repeat([]byte{k}, keyring.MasterSize))
	}
	ring, err := keyring.New(masters[0], masters[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// beside is another process on the same store, with these keys.
func beside(t *testing.T, j *journaltest.J, keys ...byte) *journal.Journal {
	t.Helper()
	other, err := journal.New(journal.Options{Store: j.Store, Now: j.Clock.Now, Random: j.Random, Keys: ringOf(t, keys...)})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func stored(t *testing.T, store *models.Store) int {
	t.Helper()
	rows, err := store.Scan(t.Context(), journal.Place{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}

func TestMessageOutlivesRestartAndRotation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		s, other := ada.Signs("one"), ada.Signs("other")
		first, err := publish(t.Context(), j.Journal, "m", []byte("content"), s)
		if err != nil {
			t.Fatal(err)
		}
		for name, again := range map[string]*journal.Journal{
			"the same process": j.Journal, "after a restart": beside(t, j, 0), "after a rotation": beside(t, j, 1, 0), "after two": beside(t, j, 2, 1, 0),
		} {
			if reply, err := publish(t.Context(), again, "m", []byte("content"), s); err != nil || reply != first {
				t.Errorf("%s: %q, %v; want %q", name, reply, err, first)
			}
			if _, err := publish(t.Context(), again, "m", []byte("changed"), other); !errors.Is(err, journal.ErrMessageConflict) {
				t.Errorf("%s: changed content: %v", name, err)
			}
		}
		// Without the old key nothing can be compared: refused rather than done again.
		if _, err := publish(t.Context(), beside(t, j, 1), "m", []byte("content"), s); !errors.Is(err, journal.ErrMessageConflict) {
			t.Errorf("under another key: %v", err)
		}
		j.Clock.Advance(journal.MessageLife - time.Millisecond)
		if err := j.Chores(t.Context()); err != nil {
			t.Fatal(err)
		}
		if reply, err := publish(t.Context(), j.Journal, "m", []byte("content"), s); err != nil || reply != first {
			t.Errorf("just within its life: %q, %v", reply, err)
		}
		j.Clock.Advance(time.Millisecond)
		fresh := ada.Signs("after")
		if reply, err := publish(t.Context(), j.Journal, "m", []byte("changed"), fresh); err != nil || reply == first {
			t.Errorf("after its life: %q, %v", reply, err)
		}
		if got := stored(t, j.Store); got != 2 {
			t.Errorf("%d entries of two messages", got)
		}
	})
}

// What is kept is no text: not the id, not the content, not the reply.
func TestMessageIsKeptWithoutText(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		s := j.Agent("Ada").Signs("one")
		reply, err := publish(t.Context(), j.Journal, "an id", []byte("the content"), s)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := j.Store.Message(t.Context(), sha256.Sum256([]byte("an id")), j.Clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		plain := sha256.Sum256([]byte("the content"))
		if bytes.Equal(kept.Content.Sum, plain[:]) || bytes.Contains(kept.Reply.Box, []byte("entry_")) || len(kept.Reply.Box) != len(reply)+28 {
			t.Errorf("kept %+v", kept)
		}
		if want := j.Clock.Now().Add(journal.MessageLife); !kept.Until.Equal(want) {
			t.Errorf("kept until %s, want %s", kept.Until, want)
		}
		for step := range 3 {
			if err := j.Chores(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := j.Store.Message(t.Context(), kept.ID, journaltest.Start)
			if gone := errors.Is(err, journal.ErrNotFound); gone != (step == 2) {
				t.Errorf("step %d: %v", step, err)
			}
			j.Clock.Advance(journal.MessageLife / 2)
		}
	})
}

// A message that is refused leaves nothing, and its id stays free.
func TestRefusedMessageBindsNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		stranger, _ := journaltest.Key(t, "stranger")
		used := ada.Signs("used")
		j.MustPublish(used)
		for name, row := range map[string]struct {
			s    journal.Submission
			code journal.Code
		}{
			"forged":       {ada.Signs("forged", journaltest.SignedBy(stranger)), journal.InvalidSignature},
			"untrimmed":    {ada.Signs(" title"), journal.ValidationFailed},
			"nonce used":   {ada.Signs("nonce", journaltest.SameNonce(used)), journal.NonceReplayed},
			"key used":     {ada.Signs("key", journaltest.SameIdempotencyKey(used)), journal.IdempotencyConflict},
			"out of time":  {ada.Signs("late", journaltest.Window(-time.Hour, -time.Hour+time.Minute)), journal.InvalidSignatureWindow},
			"unknown hash": {ada.Signs("hash", journaltest.Envelope(func(e *seal.Envelope) { e.PayloadHash = seal.PayloadHash(nil) })), journal.PayloadHashMismatch},
		} {
			_, err := publish(t.Context(), j.Journal, name, []byte("content"), row.s)
			journaltest.WantFault(t, err, row.code)
			if _, err := j.Store.Message(t.Context(), sha256.Sum256([]byte(name)), j.Clock.Now()); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("%s: the message is kept: %v", name, err)
			}
			if _, err := publish(t.Context(), j.Journal, name, []byte("corrected"), ada.Signs(name)); err != nil {
				t.Errorf("%s: corrected: %v", name, err)
			}
		}
	})
}

// Two processes get one id with different content at once: one acts, the other
// is refused and has done nothing.
func TestMessagesOfOneIDRace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		processes := [2]*journal.Journal{j.Journal, beside(t, j, 0)}
		ada := j.Agent("Ada")
		const rounds = 25
		for round := range rounds {
			alike := round%2 == 0
			first := ada.Signs("racing")
			submissions := [2]journal.Submission{first, first}
			contents := [2][]byte{[]byte("a"), []byte("a")}
			if !alike {
				submissions[1], contents[1] = ada.Signs("racing too"), []byte("b")
			}
			var replies [2]string
			var errs [2]error
			var wait sync.WaitGroup
			for i, process := range processes {
				wait.Go(func() {
					replies[i], errs[i] = publish(t.Context(), process, fmt.Sprint("m", round), contents[i], submissions[i])
				})
			}
			wait.Wait()
			switch {
			case alike && (errs[0] != nil || errs[1] != nil || replies[0] != replies[1]):
				t.Fatalf("twins: %q %v", replies, errs)
			case !alike && ((errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[:]...), journal.ErrMessageConflict)):
				t.Fatalf("rivals: %q %v", replies, errs)
			}
		}
		if got := stored(t, j.Store); got != rounds {
			t.Errorf("%d entries of %d messages", got, rounds)
		}
	})
}

// The store fails at any call of any message that changes something, before
// or after the data took it. The same message again is then answered, and its
// change was made once.
func TestMessageSurvivesAFailureAnywhere(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, url string) {
		store, err := models.Open(t.Context(), models.Options{URL: url, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		watched := &journaltest.Watched{Store: store}
		j := journaltest.Around(t, store, watched)
		ada := j.Agent("Ada")
		_, key := journaltest.Key(t, "fresh")
		changes := map[string]func(ctx context.Context, turn *journal.Turn, n int) (any, error){
			"start": func(ctx context.Context, turn *journal.Turn, _ int) (any, error) {
				return turn.StartRegistration(ctx, journal.Caller{}, "New", key.String())
			},
		}
		entries := stored(t, store)
		submissions := map[int]journal.Submission{}
		type answered struct {
			id        journal.ChallengeID
			signature string
		}
		completions := map[int]answered{}
		changes["complete"] = func(ctx context.Context, turn *journal.Turn, n int) (any, error) {
			r, err := turn.CompleteRegistration(ctx, journal.Caller{}, completions[n].id, completions[n].signature)
			return r.AgentID, err
		}
		changes["publish"] = func(ctx context.Context, turn *journal.Turn, n int) (any, error) {
			return turn.PublishEntry(ctx, submissions[n])
		}
		handle := func(change func(context.Context, *journal.Turn, int) (any, error), n int) (string, error) {
			turn, kept, err := j.TakeTurn(t.Context(), fmt.Sprint("m", n), fmt.Append(nil, "content", n))
			if turn == nil {
				return string(kept), err
			}
			defer turn.End()
			made, err := change(t.Context(), turn, n)
			if err != nil {
				return "", err
			}
			kept, err = turn.Keep(t.Context(), fmt.Append(nil, made))
			return string(kept), err
		}
		n := 0
		for name, change := range changes {
			for at := 1; ; at++ {
				failed := false
				for _, after := range []bool{false, true} {
					n++
					submissions[n] = ada.Signs(fmt.Sprint("entry ", n))
					switch name {
					case "publish":
						entries++
					case "complete":
						private, public := journaltest.Key(t, fmt.Sprint("new ", n))
						c, err := j.StartRegistration(t.Context(), journal.Caller{}, "New", public.String())
						if err != nil {
							t.Fatal(err)
						}
						completions[n] = answered{c.ID, seal.Sign(private, []byte(c.SigningMessage())).String()}
					}
					watched.FailAt(at, after)
					_, err := handle(change, n)
					failed = failed || errors.Is(err, journaltest.ErrCrash)
					watched.FailAt(0, false)
					reply, err := handle(change, n)
					again, twice := handle(change, n)
					if err != nil || twice != nil || reply == "" || reply != again {
						t.Errorf("%s, call %d, after %v: %q %v, then %q %v", name, at, after, reply, err, again, twice)
					}
				}
				if !failed {
					if at < 4 {
						t.Errorf("%s has only %d calls", name, at-1)
					}
					break
				}
			}
		}
		if got := stored(t, store); got != entries {
			t.Errorf("%d entries, want %d", got, entries)
		}
	}
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, "sqlite:"+t.TempDir()+"/journal.db") })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, pgtest.Database(t)) })
}
