package journal_test

import (
	"fmt"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// next makes a key take over or join by one of the three ways.
func next(t *testing.T, j *journaltest.J, a *journaltest.Agent, label, purpose string, do func(journal.OwnerRequest) (journal.Done, error), action string) *journaltest.Agent {
	t.Helper()
	private, public := journaltest.Key(t, t.Name()+label)
	if _, err := do(a.Asks(action, nil, journaltest.WithNewKey(purpose, private, public))); err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	return a.Becomes(private, public)
}

// G: at most five keys are active; each signs; any may revoke another or
// itself, but the last one stays.
func TestSeveralActiveKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		add := func(r journal.OwnerRequest) (journal.Done, error) { return j.AddKey(t.Context(), r) }
		keys := []*journaltest.Agent{j.Agent("Ada")}
		for i := range 4 {
			j.Clock.Advance(time.Second)
			keys = append(keys, next(t, j, keys[i], fmt.Sprint("added ", i), addition, add, seal.ActionKeyAdd))
		}
		private, public := journaltest.Key(t, t.Name()+"sixth")
		_, err := add(keys[2].Asks(seal.ActionKeyAdd, nil, journaltest.WithNewKey(addition, private, public)))
		journaltest.WantFault(t, err, journal.TooManyKeys)
		_, err = add(keys[2].Asks(seal.ActionKeyAdd, nil, journaltest.WithNewKey(rotation, private, public)))
		journaltest.WantFault(t, err, journal.InvalidReplacementKeyProof)
		for i, k := range keys {
			j.MustPublish(k.Signs(fmt.Sprint("by key ", i)))
		}
		revoke := func(by, whom *journaltest.Agent) (journal.Done, error) {
			return j.RevokeKey(t.Context(), by.Asks(seal.ActionKeyRevoke, map[string]any{"key_id": string(whom.KeyID)}))
		}
		for i := range 4 {
			if _, err := revoke(keys[i], keys[i]); err != nil {
				t.Fatal("a key may revoke itself:", err)
			}
			_, err := revoke(keys[i], keys[4])
			journaltest.WantFault(t, err, journal.InvalidSigningKey)
		}
		_, err = revoke(keys[4], keys[4])
		journaltest.WantFault(t, err, journal.LastActiveKey)
		_, err = revoke(keys[4], j.Agent("Eve"))
		journaltest.WantFault(t, err, journal.ValidationFailed)
		listed, err := j.ListKeys(t.Context(), keys[4].Asks(seal.ActionKeyList, nil))
		if err != nil || len(listed) != 5 || listed[0].Kind != "first" || listed[4].Kind != "added" || !listed[4].RevokedAt.IsZero() || listed[0].RevokedAt.IsZero() {
			t.Errorf("%+v, %v", listed, err)
		}
		j.Check()
	})
}

// A reader of an entry learns whether its key gave way to the next or was
// revoked by itself.
func TestEntriesTellRetiredKeysFromRevokedOnes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		rotate := func(r journal.OwnerRequest) (journal.Done, error) { return j.RotateKey(t.Context(), r) }
		add := func(r journal.OwnerRequest) (journal.Done, error) { return j.AddKey(t.Context(), r) }
		first := j.Agent("Ada")
		j.Clock.Advance(time.Second)
		beside := next(t, j, first, "beside", addition, add, seal.ActionKeyAdd)
		var ids []journal.EntryID
		for _, a := range []*journaltest.Agent{first, beside} {
			ids = append(ids, j.MustPublish(a.Signs("by "+string(a.KeyID)[:8])).EntryID)
		}
		want := func(entry int, revoked, retired bool) {
			t.Helper()
			e, err := j.Entry(t.Context(), ids[entry])
			if err != nil || e.Signed.KeyRevokedAt.IsZero() == revoked || e.Signed.KeyRetired != retired {
				t.Errorf("entry %d: revoked at %s, retired %t, %v", entry, e.Signed.KeyRevokedAt, e.Signed.KeyRetired, err)
			}
		}
		want(0, false, false)
		j.Clock.Advance(time.Second)
		second := next(t, j, first, "second", rotation, rotate, seal.ActionKeyRotate)
		want(0, true, true)
		want(1, false, false)
		j.Clock.Advance(time.Second)
		if _, err := j.RevokeKey(t.Context(), second.Asks(seal.ActionKeyRevoke, map[string]any{"key_id": string(beside.KeyID)})); err != nil {
			t.Fatal(err)
		}
		want(0, true, true)
		want(1, true, false)
	})
}

// 6.8: a rotation by a key that another request replaced meanwhile.
func TestRotationsAtOnceMakeOneKeyActive(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		const many = 6
		start, answers := make(chan struct{}), make(chan error, many)
		for i := range many {
			private, public := journaltest.Key(t, fmt.Sprint(t.Name(), i))
			request := ada.Asks(seal.ActionKeyRotate, nil, journaltest.WithNewKey(rotation, private, public))
			entry := ada.Signs(fmt.Sprint("while rotating ", i))
			go func() {
				<-start
				_, err := j.RotateKey(t.Context(), request)
				answers <- err
			}()
			go func() {
				<-start
				_, err := j.PublishEntry(t.Context(), entry)
				answers <- err
			}()
		}
		close(start)
		succeeded := 0
		for range 2 * many {
			err := <-answers
			if err == nil {
				succeeded++
				continue
			}
			if f, ok := journal.AsFault(err); !ok || f.Code != journal.KeyRotationConflict && f.Code != journal.InvalidSigningKey {
				t.Error(err)
			}
		}
		keys, err := j.Store.AgentKeys(t.Context(), ada.ID)
		active := 0
		for _, k := range keys {
			if k.RevokedAt.IsZero() {
				active++
			}
		}
		seen := j.Check()
		if err != nil || len(keys) != 2 || active != 1 || int(seen.Proved)+1 != succeeded {
			t.Errorf("%d keys, %d active, %d entries, %d successes, %v", len(keys), active, seen.Proved, succeeded, err)
		}
	})
}

type keyPair struct {
	journaltest.Ask // signs with it
	public          seal.PublicKey
	old             journaltest.Ask
}

func reserve(t *testing.T, label string) keyPair {
	private, public := journaltest.Key(t, t.Name()+label)
	return keyPair{journaltest.AskSignedBy(private, public), public, journaltest.WithOldRecovery(private, public)}
}

func (k keyPair) hash() string { return seal.PayloadHash(k.public.SPKI()) }

func setRecovery(t *testing.T, j *journaltest.J, a *journaltest.Agent, hash any, options ...journaltest.Ask) (journal.Done, error) {
	t.Helper()
	return j.SetRecovery(t.Context(), a.Asks(seal.ActionRecoverySet, map[string]any{"recovery_key_hash": hash, "old_recovery_signature": nil}, options...))
}

func useRecovery(t *testing.T, j *journaltest.J, a *journaltest.Agent, k keyPair, label string) (*journaltest.Agent, journal.OwnerRequest, journal.Done, error) {
	t.Helper()
	private, public := journaltest.Key(t, t.Name()+label)
	request := a.Asks(seal.ActionRecoveryUse, map[string]any{"recovery_public_key": k.public.String()}, k.Ask, journaltest.WithNewKey(recovery, private, public))
	done, err := j.UseRecovery(t.Context(), request)
	return a.Becomes(private, public), request, done, err
}

// G: the committed key revokes all active keys, makes a new one active and is
// used up; its exact repeat is answered.
func TestRecoveryAfterLoss(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, k := j.Agent("Ada"), reserve(t, "reserve")
		_, _, _, err := useRecovery(t, j, ada, k, "too early")
		journaltest.WantFault(t, err, journal.InvalidSigningKey)
		set, err := setRecovery(t, j, ada, k.hash())
		if err != nil || !set.Effect.EffectiveAt.Equal(j.Clock.Now()) {
			t.Fatalf("the first commitment holds at once: %+v, %v", set, err)
		}
		_, _, _, err = useRecovery(t, j, ada, reserve(t, "another"), "foreign")
		journaltest.WantFault(t, err, journal.InvalidSigningKey)
		thief := next(t, j, ada, "thief", rotation, func(r journal.OwnerRequest) (journal.Done, error) { return j.RotateKey(t.Context(), r) }, seal.ActionKeyRotate)
		again, request, done, err := useRecovery(t, j, ada, k, "recovered")
		if err != nil || done.Replayed || len(done.Effect.Keys) != 1 || done.Effect.Keys[0] != thief.KeyID || done.Effect.ActiveKey != again.KeyID {
			t.Fatalf("%+v, %v", done, err)
		}
		_, err = j.PublishEntry(t.Context(), thief.Signs("not any more"))
		journaltest.WantFault(t, err, journal.InvalidSigningKey)
		j.MustPublish(again.Signs("back"))
		j.Clock.Advance(24 * time.Hour)
		repeat, err := j.UseRecovery(t.Context(), request)
		if err != nil || !repeat.Replayed || repeat.Effect.ActiveKey != done.Effect.ActiveKey {
			t.Errorf("repeat: %+v, %v", repeat, err)
		}
		_, _, _, err = useRecovery(t, j, ada, k, "once more")
		journaltest.WantFault(t, err, journal.InvalidSigningKey)
	})
}

// G: without the old key's signature a change waits 72 hours and any active
// key cancels it; until then the old commitment holds.
func TestRecoveryChangeWaits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, old, fresh := j.Agent("Ada"), reserve(t, "old"), reserve(t, "fresh")
		if _, err := setRecovery(t, j, ada, old.hash()); err != nil {
			t.Fatal(err)
		}
		changed, err := setRecovery(t, j, ada, fresh.hash())
		if err != nil || !changed.Effect.EffectiveAt.Equal(j.Clock.Now().Add(72*time.Hour)) {
			t.Fatalf("%+v, %v", changed, err)
		}
		cancel := func(kind string) error {
			_, err := j.CancelPending(t.Context(), ada.Asks(seal.ActionPendingCancel, map[string]any{"kind": kind}))
			return err
		}
		if err := cancel("recovery"); err != nil {
			t.Fatal(err)
		}
		journaltest.WantFault(t, cancel("recovery"), journal.NothingPending)
		journaltest.WantFault(t, cancel("deletion"), journal.NothingPending)
		journaltest.WantFault(t, cancel("else"), journal.ValidationFailed)
		if _, err := setRecovery(t, j, ada, fresh.hash()); err != nil {
			t.Fatal(err)
		}
		j.Clock.Advance(72*time.Hour - time.Millisecond)
		_, _, _, err = useRecovery(t, j, ada, fresh, "a moment early")
		journaltest.WantFault(t, err, journal.InvalidSigningKey)
		j.Clock.Advance(time.Millisecond)
		journaltest.WantFault(t, cancel("recovery"), journal.NothingPending)
		_, _, _, err = useRecovery(t, j, ada, old, "too late")
		journaltest.WantFault(t, err, journal.InvalidSigningKey)
		if _, _, _, err = useRecovery(t, j, ada, fresh, "in time"); err != nil {
			t.Error(err)
		}
	})
}

// G: the old recovery key's signature makes a change hold at once, also the
// change to none.
func TestRecoveryChangeSignedByTheOldKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, old, fresh := j.Agent("Ada"), reserve(t, "old"), reserve(t, "fresh")
		for _, step := range []struct {
			hash    any
			signers []journaltest.Ask
		}{{old.hash(), nil}, {fresh.hash(), []journaltest.Ask{old.old}}, {nil, []journaltest.Ask{fresh.old}}, {old.hash(), nil}} {
			done, err := setRecovery(t, j, ada, step.hash, step.signers...)
			if err != nil || !done.Effect.EffectiveAt.Equal(j.Clock.Now()) {
				t.Fatalf("%+v, %v", done, err)
			}
		}
		_, err := setRecovery(t, j, ada, fresh.hash(), fresh.old)
		journaltest.WantFault(t, err, journal.InvalidReplacementKeyProof)
		for _, bad := range []any{"", "x:y", old.public.String(), old.public.String() + ":", 5} {
			_, err := j.SetRecovery(t.Context(), ada.Asks(seal.ActionRecoverySet, map[string]any{"recovery_key_hash": fresh.hash(), "old_recovery_signature": bad}))
			if _, ok := journal.AsFault(err); !ok {
				t.Errorf("%v was accepted: %v", bad, err)
			}
		}
		_, err = setRecovery(t, j, ada, "sha256:short")
		journaltest.WantFault(t, err, journal.ValidationFailed)
	})
}

// G: the end of an identity waits 72 hours, can be cancelled, and then leaves
// tombstones alone.
func TestIdentityDeletion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, eve := j.Agent("Ada"), j.Agent("Eve")
		public := j.MustPublish(ada.Signs("public", journaltest.Tags("mine"))).EntryID
		for i := range 450 {
			j.MustPublish(ada.Signs(fmt.Sprint("private ", i), journaltest.Private))
		}
		j.MustPublish(eve.Signs("stays"))
		if _, _, err := j.UpdateProfile(t.Context(), ada.Asks(seal.ActionProfileSet, journaltest.Bio("gone soon"))); err != nil {
			t.Fatal(err)
		}
		ask := func(confirm string) (journal.Done, error) {
			return j.DeleteIdentity(t.Context(), ada.Asks(seal.ActionIdentityDelete, map[string]any{"confirm_agent_id": confirm, "reason_code": "owner_request"}))
		}
		_, err := ask(string(eve.ID))
		journaltest.WantFault(t, err, journal.ValidationFailed)
		first, err := ask(string(ada.ID))
		if err != nil || !first.Effect.EffectiveAt.Equal(j.Clock.Now().Add(72*time.Hour)) {
			t.Fatalf("%+v, %v", first, err)
		}
		if _, err := j.CancelPending(t.Context(), ada.Asks(seal.ActionPendingCancel, map[string]any{"kind": "deletion"})); err != nil {
			t.Fatal(err)
		}
		j.Clock.Advance(100 * time.Hour)
		if n, err := j.EndIdentities(t.Context()); err != nil || n != 0 {
			t.Fatalf("a cancelled deletion erased %d entries, %v", n, err)
		}
		second, err := ask(string(ada.ID))
		if err != nil {
			t.Fatal(err)
		}
		j.Clock.Advance(time.Hour)
		if third, err := ask(string(ada.ID)); err != nil || !third.Effect.EffectiveAt.Equal(second.Effect.EffectiveAt) {
			t.Errorf("asked again: %+v, %v", third, err)
		}
		j.Clock.Advance(71*time.Hour - time.Millisecond)
		if n, err := j.EndIdentities(t.Context()); err != nil || n != 0 {
			t.Fatalf("%d entries erased a moment early, %v", n, err)
		}
		j.Clock.Advance(time.Millisecond)
		late := ada.Signs("too late")
		if n, err := j.EndIdentities(t.Context()); err != nil || n != 451 {
			t.Fatalf("%d entries erased, %v", n, err)
		}
		_, err = j.PublishEntry(t.Context(), late)
		journaltest.WantFault(t, err, journal.InvalidSigningKey)
		_, err = j.Entry(t.Context(), public)
		journaltest.WantFault(t, err, journal.EntryWithdrawn)
		_, err = j.PublicAgent(t.Context(), ada.ID)
		journaltest.WantFault(t, err, journal.AgentNotFound)
		p, err := j.Store.Profile(t.Context(), ada.ID)
		if err != nil || p.Bio != nil || !p.UpdatedAt.IsZero() {
			t.Errorf("profile %+v, %v", p, err)
		}
		if seen := j.Check(); seen.Tombstones != 451 || seen.Proved != 1 {
			t.Errorf("%+v", seen)
		}
		if n, err := j.EndIdentities(t.Context()); err != nil || n != 0 {
			t.Errorf("%d entries erased again, %v", n, err)
		}
	})
}
