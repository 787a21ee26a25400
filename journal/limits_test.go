package journal_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// limits are none but those set.
func limits(set map[limit.Rule]int) *limit.Settings {
	l := &limit.Settings{}
	for rule, n := range set {
		l.Numbers[rule] = n
	}
	return l
}

func wantWait(t *testing.T, err error, code journal.Code, wait time.Duration) {
	t.Helper()
	f, ok := journal.AsFault(err)
	if !ok || f.Code != code || f.RetryAfter != wait {
		t.Errorf("got %v with %+v, want %s and a wait of %s", err, f, code, wait)
	}
}

// The clock of a new journal says 10:01, so a day has 13:59 left.
const restOfDay = 13*time.Hour + 59*time.Minute

func TestEntriesPerAgentAndDay(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	j.Limit(limits(map[limit.Rule]int{limit.EntriesPerAgent: 2}))
	ada, bob := j.Agent("Ada"), j.Agent("Bob")
	first := ada.Signs("one")
	j.MustPublish(first)
	j.MustPublish(ada.Signs("two", journaltest.Private))
	third := ada.Signs("three")
	_, err := j.PublishEntry(t.Context(), third)
	wantWait(t, err, journal.DailyAgentSpent, restOfDay)
	// An exact repeat is answered; the refused one left no receipt and no nonce.
	if again := j.MustPublish(first); !again.Replayed {
		t.Error("the repeat of a stored entry was stored again")
	}
	j.MustPublish(bob.Signs("mine"))
	j.Limit(nil)
	if now := j.MustPublish(third); now.Replayed {
		t.Error("a refused entry has a receipt")
	}
	j.Limit(limits(map[limit.Rule]int{limit.EntriesPerAgent: 2}))
	j.Clock.Advance(restOfDay)
	j.MustPublish(ada.Signs("the next day"))
	j.Check()
}

func TestANewAgentIsQuietAtFirst(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	j.Limit(limits(map[limit.Rule]int{limit.NewAgentPublicEntries: 1}))
	ada := j.Agent("Ada")
	j.Clock.Advance(time.Hour)
	j.MustPublish(ada.Signs("one"))
	_, err := j.PublishEntry(t.Context(), ada.Signs("two"))
	wantWait(t, err, journal.NewAgentPublicSpent, 23*time.Hour)
	j.MustPublish(ada.Signs("for myself", journaltest.Private))
	j.Clock.Advance(23 * time.Hour)
	for _, title := range []string{"two", "three", "four"} {
		j.MustPublish(ada.Signs(title))
	}
}

func TestServiceWideBudgets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule       limit.Rule
		code       journal.Code
		visibility string
	}{
		{limit.Entries, journal.WriteCapacitySpent, journal.Private},
		{limit.PublicEntries, journal.PublicCapacitySpent, journal.Public},
	} {
		j := journaltest.Open(t)
		j.Limit(limits(map[limit.Rule]int{row.rule: 1}))
		as := func(d string) journal.Submission {
			if row.visibility == journal.Private {
				return j.Agent(d).Signs(d, journaltest.Private)
			}
			return j.Agent(d).Signs(d)
		}
		j.MustPublish(as("one"))
		_, err := j.PublishEntry(t.Context(), as("two"))
		wantWait(t, err, row.code, restOfDay)
		if row.visibility == journal.Public {
			j.MustPublish(j.Agent("quiet").Signs("private", journaltest.Private))
		}
	}
}

func register(t *testing.T, j *journaltest.J, caller journal.Caller, label string) (journal.Challenge, error) {
	t.Helper()
	private, public := journaltest.Key(t, label)
	c, err := j.StartRegistration(t.Context(), caller, "Ada", public.String())
	if err != nil {
		return c, err
	}
	_, err = j.CompleteRegistration(t.Context(), caller, c.ID, seal.Sign(private, []byte(c.SigningMessage())).String())
	return c, err
}

func TestRegistrationsPerNetworkAndDay(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	j.Limit(limits(map[limit.Rule]int{limit.RegistrationsPerNetwork: 1, limit.Registrations: 2}))
	one, neighbour, other := journaltest.From(t, "203.0.113.1"), journaltest.From(t, "203.0.113.200"), journaltest.From(t, "2001:db8::1")
	first, err := register(t, j, one, "a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = register(t, j, neighbour, "b")
	wantWait(t, err, journal.NetworkAdmissionSpent, restOfDay)
	private, _ := journaltest.Key(t, "a")
	again, err := j.CompleteRegistration(t.Context(), neighbour, first.ID, seal.Sign(private, []byte(first.SigningMessage())).String())
	if err != nil || !again.Replayed {
		t.Errorf("an exact repeat: %+v, %v", again, err)
	}
	if _, err := register(t, j, other, "c"); err != nil {
		t.Errorf("another network: %v", err)
	}
	_, err = register(t, j, journaltest.From(t, "198.51.100.1"), "d")
	wantWait(t, err, journal.AcquisitionSpent, restOfDay)
	j.Clock.Advance(restOfDay)
	if _, err := register(t, j, neighbour, "e"); err != nil {
		t.Errorf("the next day: %v", err)
	}
}

func TestOpenChallengesPerNetwork(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	j.Limit(limits(map[limit.Rule]int{limit.OpenChallenges: 2}))
	caller := journaltest.From(t, "203.0.113.1")
	start := func(label string) error {
		_, public := journaltest.Key(t, label)
		_, err := j.StartRegistration(t.Context(), caller, "Ada", public.String())
		return err
	}
	if _, err := register(t, j, caller, "completed ones do not count"); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"a", "b"} {
		if err := start(label); err != nil {
			t.Fatal(err)
		}
	}
	wantWait(t, start("c"), journal.RateLimited, 300*time.Second)
	j.Clock.Advance(300 * time.Second)
	if err := start("c"); err != nil {
		t.Errorf("once they expired: %v", err)
	}
}

// D.3: before the signature check only failed signatures count.
func TestFailedSignaturesPerNetwork(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	caller, elsewhere := journaltest.From(t, "203.0.113.1"), journaltest.From(t, "198.51.100.1")
	stored := ada.Signs("stored", journaltest.Calling(caller))
	j.MustPublish(stored)
	j.Limit(limits(map[limit.Rule]int{limit.FailedSignatures: 4}))
	stranger, theirs := journaltest.Key(t, "stranger")
	bad := func(kind string) error {
		switch kind {
		case "signature":
			_, err := j.PublishEntry(t.Context(), ada.Signs("bad", journaltest.SignedBy(stranger), journaltest.Calling(caller)))
			return err
		case "stranger":
			s := ada.Signs("bad", journaltest.SignedBy(stranger), journaltest.Calling(caller), journaltest.Envelope(func(e *seal.Envelope) { e.ActorID, e.KeyID = "agent_nobody", theirs.ID() }))
			_, err := j.PublishEntry(t.Context(), s)
			return err
		case "owner":
			r := ada.Asks(seal.ActionProfileRead, map[string]any{}, journaltest.AskSigned(stranger))
			r.Caller = caller
			_, err := j.ReadProfile(t.Context(), r)
			return err
		}
		_, public := journaltest.Key(t, "newcomer")
		c, err := j.StartRegistration(t.Context(), caller, "New", public.String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.CompleteRegistration(t.Context(), caller, c.ID, seal.Sign(stranger, []byte("no")).String())
		return err
	}
	for _, kind := range []string{"signature", "stranger", "owner", "registration"} {
		if f, _ := journal.AsFault(bad(kind)); f == nil || f.Code != journal.InvalidSignature && f.Code != journal.InvalidSigningKey {
			t.Errorf("%s: %v", kind, f)
		}
	}
	for _, kind := range []string{"signature", "stranger", "owner", "registration"} {
		wantWait(t, bad(kind), journal.RateLimited, 16*time.Second)
	}
	good := ada.Signs("good", journaltest.Calling(caller))
	_, err := j.PublishEntry(t.Context(), good)
	wantWait(t, err, journal.RateLimited, 16*time.Second)
	if again := j.MustPublish(stored); !again.Replayed {
		t.Error("an exact repeat was not answered from its receipt")
	}
	j.MustPublish(ada.Signs("from elsewhere", journaltest.Calling(elsewhere)))
	j.Clock.Advance(16 * time.Second)
	j.MustPublish(good)
}

func TestShortBurstsOfWrites(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	j.Limit(limits(map[limit.Rule]int{limit.WritesPerMinute: 2}))
	caller := journaltest.From(t, "203.0.113.1")
	first := ada.Signs("one", journaltest.Calling(caller))
	j.MustPublish(first)
	if _, err := register(t, j, caller, "a"); err != nil {
		t.Fatal(err)
	}
	next := ada.Signs("two", journaltest.Calling(caller))
	_, err := j.PublishEntry(t.Context(), next)
	wantWait(t, err, journal.RateLimited, 31*time.Second)
	_, err = register(t, j, caller, "b")
	wantWait(t, err, journal.RateLimited, 31*time.Second)
	j.MustPublish(first)
	j.Clock.Advance(31 * time.Second)
	j.MustPublish(next)
}

func TestWritesAreSwitchedOff(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	stored := ada.Signs("stored")
	receipt := j.MustPublish(stored)
	if err := j.SetWrites(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	entry := ada.Signs("later")
	_, err := j.PublishEntry(t.Context(), entry)
	wantWait(t, err, journal.WritesDisabled, time.Minute)
	_, err = register(t, j, journal.Caller{}, "a")
	wantWait(t, err, journal.WritesDisabled, time.Minute)
	edit := ada.Asks(seal.ActionProfileSet, journaltest.Bio("new"))
	_, _, err = j.UpdateProfile(t.Context(), edit)
	wantWait(t, err, journal.WritesDisabled, time.Minute)
	if again := j.MustPublish(stored); !again.Replayed {
		t.Error("an exact repeat was not answered")
	}
	// Reading and deleting go on.
	if _, err := j.Feed(t.Context(), journal.FeedQuery{Limit: 5}); err != nil {
		t.Error(err)
	}
	gone := ada.Asks(seal.ActionEntryDelete, map[string]any{"entry_id": string(receipt.EntryID), "reason_code": "owner_request"})
	if _, err := j.DeleteEntry(t.Context(), gone); err != nil {
		t.Errorf("deletion: %v", err)
	}
	if err := j.SetWrites(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if done := j.MustPublish(entry); done.Replayed {
		t.Error("the refusal left a receipt")
	}
	if _, replayed, err := j.UpdateProfile(t.Context(), edit); err != nil || replayed {
		t.Errorf("the same edit later: %v, replayed %v", err, replayed)
	}
}

func TestReadsPerNetworkAndMinute(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	j.Limit(limits(map[limit.Rule]int{limit.ReadsPerMinute: 2, limit.PagesPerMinute: 1}))
	caller := journaltest.From(t, "203.0.113.1")
	for range 2 {
		if err := j.AdmitRead(caller, false); err != nil {
			t.Fatal(err)
		}
	}
	wantWait(t, j.AdmitRead(caller, false), journal.RateLimited, 31*time.Second)
	if err := j.AdmitRead(caller, true); err != nil {
		t.Errorf("pages are counted with reads: %v", err)
	}
	wantWait(t, j.AdmitRead(caller, true), journal.RateLimited, 61*time.Second)
	for range 3 {
		if err := j.AdmitRead(journal.Caller{}, false); err != nil {
			t.Errorf("our own reading: %v", err)
		}
	}
}

// Two identical submissions at once make one entry, whatever the limits are.
func TestATwinIsItsRepeatAndNoDuplicate(t *testing.T) {
	t.Parallel()
	real := journaltest.Open(t)
	store := &late{Store: real.Store}
	j := journaltest.Around(t, real.Store, store)
	j.Limit(limits(map[limit.Rule]int{limit.SimilarDays: 7, limit.SimilarPercent: 90}))
	s := j.Agent("Ada").Signs("twin")
	first := j.MustPublish(s)
	store.hidden = 1 // as if the twin had looked before the first was stored
	second := j.MustPublish(s)
	if !second.Replayed || second.EntryID != first.EntryID {
		t.Errorf("the twin got %+v, the first %+v", second, first)
	}
}

// A late store does not show the next receipts.
type late struct {
	journal.Store
	hidden int
}

func (l *late) EntryReceipt(ctx context.Context, a journal.AgentID, key journal.Digest) (journal.EntryReceipt, error) {
	if l.hidden > 0 {
		l.hidden--
		return journal.EntryReceipt{}, journal.ErrNotFound
	}
	return l.Store.EntryReceipt(ctx, a, key)
}

func TestEveryLimitRefusesWithAKnownCode(t *testing.T) {
	t.Parallel()
	for _, rule := range limit.Rules() {
		if !slices.Contains(journal.Codes(), journal.Code(rule.Code)) {
			t.Errorf("%s refuses with %s, which no door knows", rule.Name, rule.Code)
		}
	}
}
