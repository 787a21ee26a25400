package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/models"
	"innerloop/models/pgtest"
	"innerloop/seal"
)

// answerOf does an owner request whatever its action, and returns what came of
// it as text.
func answerOf(ctx context.Context, j *journal.Journal, r journal.OwnerRequest) (answer string, err error) {
	var v any
	switch r.Action {
	case seal.ActionProfileRead:
		v, err = j.ReadProfile(ctx, r)
	case seal.ActionProfileSet:
		v, _, err = j.UpdateProfile(ctx, r)
	case seal.ActionEntryList:
		v, err = j.ListEntries(ctx, r)
	case seal.ActionEntryRead:
		v, err = j.ReadOwnEntry(ctx, r)
	case seal.ActionEntryExport:
		v, err = j.ExportEntries(ctx, r)
	case seal.ActionKeyList:
		v, err = j.ListKeys(ctx, r)
	default:
		var done journal.Done
		done, err = map[string]func(context.Context, journal.OwnerRequest) (journal.Done, error){
			seal.ActionEntryDelete: j.DeleteEntry, seal.ActionKeyRotate: j.RotateKey, seal.ActionKeyRevoke: j.RevokeKey,
			seal.ActionKeyAdd: j.AddKey, seal.ActionRecoverySet: j.SetRecovery, seal.ActionRecoveryUse: j.UseRecovery,
			seal.ActionIdentityDelete: j.DeleteIdentity, seal.ActionPendingCancel: j.CancelPending,
		}[r.Action](ctx, r)
		v = done.Effect
	}
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// A scene is an agent in a state in which every mutation has something to do:
// two entries, one of them pinned, two keys, a recovery commitment, and a
// deletion that waits.
type scene struct {
	ada    *journaltest.Agent
	pinned journal.EntryID
	spare  *journaltest.Agent
	keys   keyPair
	label  string
}

var scenes atomic.Int64

func newScene(t *testing.T, j *journaltest.J) scene {
	t.Helper()
	s := scene{ada: j.Agent("Ada"), label: fmt.Sprint(" scene ", scenes.Add(1))}
	s.keys = reserve(t, s.label)
	s.pinned = j.MustPublish(s.ada.Signs("pinned")).EntryID
	j.Clock.Advance(time.Millisecond) // ids sort by arrival
	j.MustPublish(s.ada.Signs("secret", journaltest.Private))
	payload := journaltest.Bio("before")
	payload["pinned_entry_id"] = string(s.pinned)
	must := func(r journal.OwnerRequest) {
		t.Helper()
		if _, err := answerOf(t.Context(), j.Journal, r); err != nil {
			t.Fatalf("%s: %v", r.Action, err)
		}
	}
	must(s.ada.Asks(seal.ActionProfileSet, payload))
	private, public := journaltest.Key(t, t.Name()+s.label+"spare")
	must(s.ada.Asks(seal.ActionKeyAdd, nil, journaltest.WithNewKey(addition, private, public)))
	s.spare = s.ada.Becomes(private, public)
	must(s.ada.Asks(seal.ActionRecoverySet, map[string]any{"recovery_key_hash": s.keys.hash(), "old_recovery_signature": nil}))
	must(s.ada.Asks(seal.ActionIdentityDelete, map[string]any{"confirm_agent_id": string(s.ada.ID), "reason_code": "owner_request"}))
	return s
}

// request makes one of the agent's requests of an action.
func (s scene) request(t *testing.T, action string) journal.OwnerRequest {
	t.Helper()
	private, public := journaltest.Key(t, t.Name()+s.label+action)
	switch action {
	case seal.ActionProfileSet:
		return s.ada.Asks(action, journaltest.Bio("after"))
	case seal.ActionEntryDelete:
		return s.ada.Asks(action, journaltest.Deletes(s.pinned))
	case seal.ActionKeyRotate:
		return s.ada.Asks(action, nil, journaltest.WithNewKey(rotation, private, public))
	case seal.ActionKeyRevoke:
		return s.ada.Asks(action, map[string]any{"key_id": string(s.ada.KeyID)})
	case seal.ActionKeyAdd:
		return s.ada.Asks(action, nil, journaltest.WithNewKey(addition, private, public))
	case seal.ActionRecoverySet:
		return s.ada.Asks(action, map[string]any{"recovery_key_hash": nil, "old_recovery_signature": nil}, s.keys.old)
	case seal.ActionRecoveryUse:
		return s.ada.Asks(action, map[string]any{"recovery_public_key": s.keys.public.String()}, s.keys.Ask, journaltest.WithNewKey(recovery, private, public))
	case seal.ActionIdentityDelete:
		return s.ada.Asks(action, map[string]any{"confirm_agent_id": string(s.ada.ID), "reason_code": "owner_request"})
	case seal.ActionPendingCancel:
		return s.ada.Asks(action, map[string]any{"kind": "deletion"})
	case seal.ActionEntryList:
		return s.ada.Asks(action, journaltest.ListAll(50, nil))
	case seal.ActionEntryExport:
		return s.ada.Asks(action, journaltest.ExportAll(500, nil))
	case seal.ActionEntryRead:
		return s.ada.Asks(action, map[string]any{"entry_id": string(s.pinned)})
	}
	return s.ada.Asks(action, nil)
}

var mutations = []string{
	seal.ActionProfileSet, seal.ActionEntryDelete, seal.ActionKeyRotate, seal.ActionKeyRevoke, seal.ActionKeyAdd,
	seal.ActionRecoverySet, seal.ActionRecoveryUse, seal.ActionIdentityDelete, seal.ActionPendingCancel,
}

// standing is what the agent's whole state came to, without ids that differ
// between scenes.
func (s scene) standing(t *testing.T, store journal.Store) string {
	t.Helper()
	ctx, now := t.Context(), journaltest.Start
	entries, err := store.OwnerEntries(ctx, journal.OwnerRange{Agent: s.ada.ID, IncludeDeleted: true, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, e := range entries {
		text += fmt.Sprintf("%s %s %q; ", e.Visibility, e.Status, e.Entry.Title)
	}
	keys, err := store.AgentKeys(ctx, s.ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, k := range keys {
		kinds = append(kinds, fmt.Sprintf("%s %t", k.Kind, k.RevokedAt.IsZero()))
	}
	slices.Sort(kinds)
	p, err := store.Profile(ctx, s.ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := store.Recovery(ctx, s.ada.ID, now)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := store.PublicAgent(ctx, s.ada.ID)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		t.Fatal(err)
	}
	return text + fmt.Sprintf("%v; bio %s; pinned %t; recovery %t; %d public", kinds, *p.Bio, p.PinnedEntryID != nil, hash != "", agent.PublicEntries)
}

// Every mutation, with the store failing before and after each of its calls:
// the retry ends where an undisturbed run ends, and is answered the same from
// then on.
func TestCrashAtEachStoreCall(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, real *journaltest.J) {
		store := &journaltest.Watched{Store: real.Store}
		j := journaltest.Around(t, real.Store, store)
		for _, action := range mutations {
			calm := newScene(t, j)
			store.Calls()
			if _, err := answerOf(t.Context(), j.Journal, calm.request(t, action)); err != nil {
				t.Fatalf("%s: %v", action, err)
			}
			calls, want := store.Calls(), calm.standing(t, real.Store)
			if len(calls) < 3 {
				t.Fatalf("%s: calls %v", action, calls)
			}
			for n := range calls {
				for _, after := range []bool{false, true} {
					s := newScene(t, j)
					request := s.request(t, action)
					store.FailAt(n+1, after)
					_, err := answerOf(t.Context(), j.Journal, request)
					if !errors.Is(err, journaltest.ErrCrash) {
						t.Fatalf("%s, call %s: %v", action, calls[n], err)
					}
					if _, ok := journal.AsFault(err); ok {
						t.Errorf("%s, call %s: a failure became a refusal", action, calls[n])
					}
					first, err := answerOf(t.Context(), j.Journal, request)
					if err != nil {
						t.Errorf("%s, call %s, after %t: retry: %v", action, calls[n], after, err)
						continue
					}
					if got := s.standing(t, real.Store); got != want {
						t.Errorf("%s, call %s, after %t:\ngot  %s\nwant %s", action, calls[n], after, got, want)
					}
					if again, err := answerOf(t.Context(), j.Journal, request); err != nil || again != first {
						t.Errorf("%s: repeat %s, %v; first %s", action, again, err, first)
					}
				}
			}
		}
		j.Check()
	})
}

// Publication and registration under the same failures.
func TestCrashAtEachStoreCallOfPublication(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, real *journaltest.J) {
		store := &journaltest.Watched{Store: real.Store}
		j := journaltest.Around(t, real.Store, store)
		ada := j.Agent("Ada")
		for n := range 3 {
			for i, after := range []bool{false, true} {
				s := ada.Signs(fmt.Sprint("entry ", n, after))
				store.FailAt(n+1, after)
				if _, err := j.PublishEntry(t.Context(), s); !errors.Is(err, journaltest.ErrCrash) {
					t.Fatalf("call %d: %v", n+1, err)
				}
				r := j.MustPublish(s)
				if stored := n == 2 && after; r.Replayed != stored {
					t.Errorf("call %d, after %t: replayed %t", n+1, after, r.Replayed)
				}
				if seen := j.Check(); seen.Proved != int64(2*n+i+1) {
					t.Errorf("%d entries", seen.Proved)
				}
			}
		}
		for n := range 3 {
			for _, after := range []bool{false, true} {
				private, public := journaltest.Key(t, fmt.Sprint(t.Name(), n, after))
				c, err := j.StartRegistration(t.Context(), journal.Caller{}, "Bob", public.String())
				if err != nil {
					t.Fatal(err)
				}
				signature := seal.Sign(private, []byte(c.SigningMessage())).String()
				store.FailAt(n+1, after)
				if _, err := j.CompleteRegistration(t.Context(), journal.Caller{}, c.ID, signature); !errors.Is(err, journaltest.ErrCrash) {
					t.Fatalf("call %d: %v", n+1, err)
				}
				r, err := j.CompleteRegistration(t.Context(), journal.Caller{}, c.ID, signature)
				if stored := n == 2 && after; err != nil || r.Replayed != stored {
					t.Errorf("call %d, after %t: %+v, %v", n+1, after, r, err)
				}
			}
		}
	})
}

// The transaction of a mutation is cut at each of its statements: nothing of
// it stays, and the retry does all of it.
func TestCrashAtEachStatement(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + t.TempDir() + "/cut.db" },
		"postgres": func() string { return pgtest.Database(t) },
	} {
		address := url()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var left atomic.Int64 // statements until the cut; negative: none
			left.Store(-1)
			var cut context.CancelFunc
			store, err := models.Open(t.Context(), models.Options{URL: address, Migrate: true, Observe: func(string) {
				if left.Add(-1) == 0 {
					cut()
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			left.Store(-1)
			j := journaltest.Around(t, store, store)
			for _, action := range mutations {
				calm := newScene(t, j)
				before := calm.standing(t, store)
				if _, err := answerOf(t.Context(), j.Journal, calm.request(t, action)); err != nil {
					t.Fatal(err)
				}
				want, n := calm.standing(t, store), int64(1)
				for ; n < 60; n++ {
					s := newScene(t, j)
					request := s.request(t, action)
					ctx, cancel := context.WithCancel(t.Context())
					cut = cancel
					left.Store(n)
					_, err := answerOf(ctx, j.Journal, request)
					left.Store(-1)
					uncut := ctx.Err() == nil
					cancel()
					if err != nil {
						if got := s.standing(t, store); got != before {
							t.Errorf("%s, cut at %d:\ngot  %s\nwant %s", action, n, got, before)
						}
					}
					if _, err := answerOf(t.Context(), j.Journal, request); err != nil {
						t.Errorf("%s, cut at %d: retry: %v", action, n, err)
					}
					if got := s.standing(t, store); got != want {
						t.Errorf("%s, after the cut at %d:\ngot  %s\nwant %s", action, n, got, want)
					}
					if uncut {
						break
					}
				}
				if n < 5 || n == 60 {
					t.Errorf("%s: %d statements", action, n)
				}
			}
			j.Check()
		})
	}
}
