package journal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/models/pgtest"
	"innerloop/seal"
)

// onBoth runs a story on both engines.
func onBoth(t *testing.T, story func(t *testing.T, j *journaltest.J)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		story(t, journaltest.Open(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		story(t, journaltest.OpenOn(t, pgtest.Database(t)))
	})
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		private, public := journaltest.Key(t, "ada")
		c, err := j.StartRegistration(t.Context(), journal.Caller{}, "Ada", public.String())
		if err != nil {
			t.Fatal(err)
		}
		if !c.ExpiresAt.Equal(journaltest.Start.Add(300 * time.Second)) {
			t.Errorf("challenge ends at %s, want 300 s after its start", c.ExpiresAt)
		}
		signature := seal.Sign(private, []byte(c.SigningMessage())).String()

		first, err := j.CompleteRegistration(t.Context(), journal.Caller{}, c.ID, signature)
		if err != nil {
			t.Fatal(err)
		}
		if first.Replayed || first.DisplayName != "Ada" || string(first.KeyID) != public.ID() || !first.AgentID.Valid() {
			t.Errorf("got %+v", first)
		}
		j.Clock.Advance(400 * 24 * time.Hour)
		again, err := j.CompleteRegistration(t.Context(), journal.Caller{}, journal.ChallengeID(strings.ToUpper(string(c.ID))), signature)
		if err != nil {
			t.Fatal("an exact repeat must be answered long after the challenge expired:", err)
		}
		if first.Replayed = true; again != first {
			t.Errorf("the repeat says %+v, want %+v", again, first)
		}
		_, err = j.CompleteRegistration(t.Context(), journal.Caller{}, c.ID, seal.Sign(private, []byte("other")).String())
		journaltest.WantFault(t, err, journal.RegistrationReplayConflict)

		second, err := j.StartRegistration(t.Context(), journal.Caller{}, "Ada again", public.String())
		if err != nil {
			t.Fatal("a start must not tell whether a key is known:", err)
		}
		_, err = j.CompleteRegistration(t.Context(), journal.Caller{}, second.ID, seal.Sign(private, []byte(second.SigningMessage())).String())
		journaltest.WantFault(t, err, journal.PublicKeyRegistered)
	})
}

func TestRegistrationRefusals(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	private, public := journaltest.Key(t, "grace")

	_, err := j.StartRegistration(t.Context(), journal.Caller{}, " Grace", public.String())
	journaltest.WantFault(t, err, journal.ValidationFailed)
	_, err = j.StartRegistration(t.Context(), journal.Caller{}, "Grace", "not a key")
	journaltest.WantFault(t, err, journal.InvalidPublicKey)
	_, vector := journaltest.Key(t, "compat vector key A")
	_, err = j.StartRegistration(t.Context(), journal.Caller{}, "Grace", vector.String())
	journaltest.WantFault(t, err, journal.InvalidPublicKey)

	c, err := j.StartRegistration(t.Context(), journal.Caller{}, "Grace", public.String())
	if err != nil {
		t.Fatal(err)
	}
	good := seal.Sign(private, []byte(c.SigningMessage())).String()
	_, err = j.CompleteRegistration(t.Context(), journal.Caller{}, "00000000-0000-4000-8000-000000000000", good)
	journaltest.WantFault(t, err, journal.InvalidOrExpiredChallenge)
	_, err = j.CompleteRegistration(t.Context(), journal.Caller{}, c.ID, strings.TrimRight(good, "="))
	journaltest.WantFault(t, err, journal.InvalidRequest)
	for range 5 {
		_, err = j.CompleteRegistration(t.Context(), journal.Caller{}, c.ID, seal.Sign(private, []byte(c.SigningMessage()+"\n")).String())
		journaltest.WantFault(t, err, journal.InvalidSignature)
	}
	_, err = j.CompleteRegistration(t.Context(), journal.Caller{}, c.ID, good)
	journaltest.WantFault(t, err, journal.ChallengeUnavailable)

	c, err = j.StartRegistration(t.Context(), journal.Caller{}, "Grace", public.String())
	if err != nil {
		t.Fatal(err)
	}
	j.Clock.Advance(300*time.Second + time.Millisecond)
	_, err = j.CompleteRegistration(t.Context(), journal.Caller{}, c.ID, seal.Sign(private, []byte(c.SigningMessage())).String())
	journaltest.WantFault(t, err, journal.InvalidOrExpiredChallenge)
}

func TestPublishAndItsExactRepeat(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		s := j.Agent("Ada").Signs("first light")
		first := j.MustPublish(s)
		if first.Replayed || first.Visibility != journal.Public || string(first.AuthorID) != s.Envelope.ActorID {
			t.Errorf("got %+v", first)
		}
		j.Clock.Advance(30 * 24 * time.Hour)
		again := j.MustPublish(s)
		if first.Replayed = true; again != first {
			t.Errorf("the repeat says %+v, want %+v", again, first)
		}
		if seen := j.Check(); seen.Proved != 1 {
			t.Errorf("%d entries stored, want 1", seen.Proved)
		}
	})
}

func TestPublishRefusals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, eve := j.Agent("Ada"), j.Agent("Eve")
		first := ada.Signs("first light")
		j.MustPublish(first)
		changed := func(s journal.Submission, change func(*journal.Submission)) journal.Submission {
			change(&s)
			return s
		}
		for name, row := range map[string]struct {
			s    journal.Submission
			want journal.Code
		}{
			"the nonce of another entry":         {ada.Signs("second", journaltest.SameNonce(first)), journal.NonceReplayed},
			"same key, other entry":              {ada.Signs("second", journaltest.SameIdempotencyKey(first)), journal.IdempotencyConflict},
			"same key and entry, fresh envelope": {ada.Signs("first light", journaltest.SameIdempotencyKey(first), journaltest.Body(first.Entry.Body)), journal.IdempotencyEnvelopeMismatch},
			"a title changed after signing":      {changed(ada.Signs("x"), func(s *journal.Submission) { s.Entry.Title = "y" }), journal.PayloadHashMismatch},
			"title and hash changed after signing": {changed(ada.Signs("x"), func(s *journal.Submission) {
				s.Entry.Title = "y"
				s.Envelope.PayloadHash = seal.PayloadHash(s.Entry.Canonical())
			}), journal.InvalidSignature},
			"another agent's key under its own id":  {ada.Signs("x", journaltest.SignedBy(eve.Private), journaltest.Envelope(func(e *seal.Envelope) { e.KeyID = string(eve.KeyID) })), journal.InvalidSigningKey},
			"another agent's key under our id":      {ada.Signs("x", journaltest.SignedBy(eve.Private)), journal.InvalidSignature},
			"an unknown agent":                      {ada.Signs("x", journaltest.Envelope(func(e *seal.Envelope) { e.ActorID = "agent_unknown" })), journal.InvalidSigningKey},
			"another action":                        {ada.Signs("x", journaltest.Envelope(func(e *seal.Envelope) { e.Action = seal.ActionEntryDelete })), journal.InvalidRequest},
			"a window that ended":                   {ada.Signs("x", journaltest.Window(-300*time.Second-time.Millisecond, -time.Millisecond)), journal.InvalidSignatureWindow},
			"a window of 300.001 seconds":           {ada.Signs("x", journaltest.Window(0, 300*time.Second+time.Millisecond)), journal.InvalidSignatureWindow},
			"a window from 60.001 seconds ahead":    {ada.Signs("x", journaltest.Window(60*time.Second+time.Millisecond, 90*time.Second)), journal.InvalidSignatureWindow},
			"a window that ends before it begins":   {ada.Signs("x", journaltest.Window(10*time.Second, 9*time.Second)), journal.InvalidSignatureWindow},
			"a text that breaks a rule, signed":     {ada.Signs("x", journaltest.Tags("cafe\u0301")), journal.ValidationFailed},
			"an idempotency key with a blank end":   {changed(ada.Signs("x"), func(s *journal.Submission) { s.IdempotencyKey = "k " }), journal.InvalidIdempotencyKey},
			"no idempotency key":                    {changed(ada.Signs("x"), func(s *journal.Submission) { s.IdempotencyKey = "" }), journal.InvalidIdempotencyKey},
			"an idempotency key of 129 characters":  {changed(ada.Signs("x"), func(s *journal.Submission) { s.IdempotencyKey = strings.Repeat("é", 129) }), journal.InvalidIdempotencyKey},
			"a signature with a line feed":          {changed(ada.Signs("x"), func(s *journal.Submission) { s.Signature += "\n" }), journal.InvalidRequest},
			"known key, wrong signature: no oracle": {changed(ada.Signs("other", journaltest.SameIdempotencyKey(first)), func(s *journal.Submission) { s.Signature = first.Signature }), journal.InvalidSignature},
		} {
			_, err := j.PublishEntry(t.Context(), row.s)
			f, ok := journal.AsFault(err)
			if !ok || f.Code != row.want {
				t.Errorf("%s: got %v, want %s", name, err, row.want)
			}
		}
		for name, s := range map[string]journal.Submission{
			"a window that ends now":            ada.Signs("ends now", journaltest.Window(-300*time.Second, 0)),
			"a window from 60 seconds ahead":    ada.Signs("ahead", journaltest.Window(60*time.Second, 360*time.Second)),
			"an idempotency key of another one": eve.Signs("hers", journaltest.SameIdempotencyKey(first), journaltest.SameNonce(first)),
		} {
			if _, err := j.PublishEntry(t.Context(), s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if seen := j.Check(); seen.Proved != 4 {
			t.Errorf("%d entries stored, want 4: a refusal must store nothing", seen.Proved)
		}
	})
}

// Two identical submissions at the same instant, again and again: exactly one
// entry each time, one created, the other replayed.
func TestTwinSubmissions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		for round := range 200 {
			s := ada.Signs("twin")
			type answer struct {
				receipt journal.Receipt
				err     error
			}
			answers, start := make(chan answer, 2), make(chan struct{})
			for range 2 {
				go func() {
					<-start
					r, err := j.PublishEntry(context.WithoutCancel(t.Context()), s)
					answers <- answer{r, err}
				}()
			}
			close(start)
			a, b := <-answers, <-answers
			if a.err != nil || b.err != nil {
				t.Fatalf("round %d: %v, %v", round, a.err, b.err)
			}
			if a.receipt.Replayed == b.receipt.Replayed || a.receipt.EntryID != b.receipt.EntryID {
				t.Fatalf("round %d: %+v and %+v, want one created and its replay", round, a.receipt, b.receipt)
			}
		}
		if seen := j.Check(); seen.Proved != 200 {
			t.Errorf("%d entries stored, want 200", seen.Proved)
		}
	})
}

func TestFeedPagesEveryPublicEntryOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada, eve, quiet := j.Agent("Ada"), j.Agent("Eve"), j.Agent("Quiet")
		var want []journal.EntryID
		for i := range 23 {
			author := []*journaltest.Agent{ada, eve}[i%2]
			want = append(want, j.MustPublish(author.Signs("public", journaltest.Tags("all", []string{"even", "odd"}[i%2]))).EntryID)
			j.MustPublish(quiet.Signs("private", journaltest.Private))
			j.Clock.Advance(time.Second)
		}
		slices.Reverse(want)
		for name, row := range map[string]struct {
			query journal.FeedQuery
			want  []journal.EntryID
		}{
			"everything": {journal.FeedQuery{}, want},
			"one agent":  {journal.FeedQuery{Agent: eve.ID}, every(want, 1)},
			"one tag":    {journal.FeedQuery{Tag: "even"}, every(want, 0)},
			"no tag":     {journal.FeedQuery{Tag: "absent"}, nil},
		} {
			var got []journal.EntryID
			q := row.query
			q.Limit = 5
			for {
				page, err := j.Feed(t.Context(), q)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for _, e := range page.Entries {
					got = append(got, e.EntryID)
				}
				if q.Cursor = page.NextCursor; q.Cursor == "" {
					break
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("%s: got %d entries %v, want %d", name, len(got), got, len(row.want))
			}
		}
		_, err := j.Feed(t.Context(), journal.FeedQuery{Agent: quiet.ID, Limit: 5})
		journaltest.WantFault(t, err, journal.AgentNotFound)
	})
}

// every keeps the elements whose place has the parity of the newest entry (0)
// or the other one (1).
func every(list []journal.EntryID, parity int) []journal.EntryID {
	var kept []journal.EntryID
	for i, id := range list {
		if i%2 == parity {
			kept = append(kept, id)
		}
	}
	return kept
}

func TestFeedRefusesWhatItDidNotIssue(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	for range 3 {
		j.MustPublish(ada.Signs("x"))
	}
	page, err := j.Feed(t.Context(), journal.FeedQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	flipped := []byte(page.NextCursor)
	flipped[8] ^= 1
	for name, q := range map[string]journal.FeedQuery{
		"limit 0":                   {},
		"limit 51":                  {Limit: 51},
		"an edited cursor":          {Limit: 1, Cursor: string(flipped)},
		"a cursor of another list":  {Limit: 1, Cursor: page.NextCursor, Agent: ada.ID},
		"a cursor of all languages": {Limit: 1, Cursor: page.NextCursor, Language: "und"},
		"a cursor with padding":     {Limit: 1, Cursor: page.NextCursor + "="},
		"garbage":                   {Limit: 1, Cursor: "garbage"},
		"a huge cursor":             {Limit: 1, Cursor: strings.Repeat("A", 4096)},
	} {
		_, err := j.Feed(t.Context(), q)
		if f, ok := journal.AsFault(err); !ok || f.Code != journal.ValidationFailed {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestFeedBoundInBytesSkipsNothing(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	const bound = 10_000
	for range 6 {
		j.MustPublish(ada.Signs("long", journaltest.Body(strings.Repeat("б", 3000))))
	}
	var seen int
	q := journal.FeedQuery{Limit: 4, Bytes: bound}
	for {
		page, err := j.Feed(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Entries) != 1 {
			t.Fatalf("a page of %d entries under a bound that one entry fills", len(page.Entries))
		}
		seen++
		if last := page.NextCursor == ""; page.Truncated == last {
			t.Errorf("page %d: truncated %v, last %v", seen, page.Truncated, last)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
	}
	if seen != 6 {
		t.Errorf("saw %d entries, want 6", seen)
	}
}

func TestPrivateIsInvisible(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		quiet := j.Agent("Quiet")
		private := j.MustPublish(quiet.Signs("mine", journaltest.Private))

		_, err := j.Entry(t.Context(), private.EntryID)
		journaltest.WantFault(t, err, journal.EntryNotFound)
		_, err = j.PublicAgent(t.Context(), quiet.ID)
		journaltest.WantFault(t, err, journal.AgentNotFound)
		before, err := j.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		j.MustPublish(quiet.Signs("mine too", journaltest.Private))
		if after, err := j.Version(t.Context()); err != nil || after != before {
			t.Errorf("a private entry moved the public version from %d to %d (%v)", before, after, err)
		}
		public := j.MustPublish(quiet.Signs("hello"))
		entry, err := j.Entry(t.Context(), public.EntryID)
		if err != nil || entry.DisplayName != "Quiet" || entry.Earlier != nil || entry.Later != nil {
			t.Errorf("got %+v, %v", entry, err)
		}
		agent, err := j.PublicAgent(t.Context(), quiet.ID)
		if err != nil || agent.PublicEntries != 1 || len(agent.Keys) != 1 || agent.FirstKeyID != quiet.KeyID {
			t.Errorf("got %+v, %v", agent, err)
		}
	})
}

// The signed bytes come back as they were sent.
func TestTheRecordIsTheSignedBytes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		s := j.Agent("Ada").Signs(`<script>"quoted" \ and / slashed</script>`, journaltest.Body("line\n\ttab\u2028sep\u202ebidi 🧪"), journaltest.Tags("café", "a.b"))
		receipt := j.MustPublish(s)
		e, err := j.Entry(t.Context(), receipt.EntryID)
		if err != nil {
			t.Fatal(err)
		}
		if string(e.Signed.CanonicalEntry) != string(s.Entry.Canonical()) || string(e.Signed.CanonicalEnvelope) != string(s.Envelope.Canonical()) || e.Signed.Signature.String() != s.Signature {
			t.Error("the stored record differs from the signed bytes")
		}
		if e.Entry.Title != s.Entry.Title || e.Entry.Body != s.Entry.Body || !slices.Equal(e.Entry.Tags, s.Entry.Tags) {
			t.Errorf("got %+v", e.Entry)
		}
		j.Check()
	})
}

// lossy loses the answer of an append after the store has committed.
type lossy struct {
	journal.Store
	lose bool
}

func (l *lossy) AppendEntries(ctx context.Context, batch []journal.NewEntry) ([]journal.Outcome, error) {
	outcomes, err := l.Store.AppendEntries(ctx, batch)
	if l.lose {
		return nil, errors.New("the answer was lost")
	}
	return outcomes, err
}

func TestALostAnswerIsReplayed(t *testing.T) {
	t.Parallel()
	real := journaltest.Open(t)
	store := &lossy{Store: real.Store}
	j := journaltest.Around(t, real.Store, store)
	s := j.Agent("Ada").Signs("once")
	store.lose = true
	if _, err := j.PublishEntry(t.Context(), s); err == nil {
		t.Fatal("the lost answer arrived")
	} else if _, ok := journal.AsFault(err); ok {
		t.Fatalf("a failure of the store became a refusal: %v", err)
	}
	store.lose = false
	if r := j.MustPublish(s); !r.Replayed {
		t.Error("the retry was not told that the entry is stored already")
	}
	if seen := j.Check(); seen.Proved != 1 {
		t.Errorf("%d entries stored, want 1", seen.Proved)
	}
}

// counting counts the work that a stranger could time.
type counting struct {
	journal.Store
	receipts, keys int
}

func (c *counting) EntryReceipt(ctx context.Context, a journal.AgentID, d journal.Digest) (journal.EntryReceipt, error) {
	c.receipts++
	return c.Store.EntryReceipt(ctx, a, d)
}

func (c *counting) SigningKey(ctx context.Context, a journal.AgentID, k journal.KeyID) (journal.SigningKey, error) {
	c.keys++
	return c.Store.SigningKey(ctx, a, k)
}

func TestUnknownAndPrivateAgentsCostTheSameWork(t *testing.T) {
	t.Parallel()
	real := journaltest.Open(t)
	store := &counting{Store: real.Store}
	j := journaltest.Around(t, real.Store, store)
	quiet := j.Agent("Quiet")
	j.MustPublish(quiet.Signs("mine", journaltest.Private))
	stranger, _ := journaltest.Key(t, "stranger")
	for name, option := range map[string]journaltest.Option{
		"a private agent":  func() journaltest.Option { return journaltest.Envelope(func(*seal.Envelope) {}) }(),
		"an unknown agent": journaltest.Envelope(func(e *seal.Envelope) { e.ActorID = "agent_unknown" }),
	} {
		store.receipts, store.keys = 0, 0
		_, err := j.PublishEntry(t.Context(), quiet.Signs("x", option, journaltest.SignedBy(stranger)))
		if err == nil {
			t.Fatalf("%s: a stranger's signature was accepted", name)
		}
		if store.receipts != 1 || store.keys != 1 {
			t.Errorf("%s: %d receipt and %d key look-ups, want one each", name, store.receipts, store.keys)
		}
	}
}

func TestPrepareKnowsNobody(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	entry := ada.Signs("x").Entry
	p, err := j.PrepareEntry("agent_nobody", "key_none", entry)
	if err != nil {
		t.Fatal("prepare must not look an agent up:", err)
	}
	if p.Envelope.Action != seal.ActionEntryCreate || p.Envelope.PayloadHash != seal.PayloadHash(p.CanonicalEntry) {
		t.Errorf("got %+v", p.Envelope)
	}
	p, err = j.PrepareEntry(ada.ID, ada.KeyID, entry)
	if err != nil {
		t.Fatal(err)
	}
	r := j.MustPublish(journal.Submission{
		Entry: p.Entry, Envelope: p.Envelope, IdempotencyKey: p.IdempotencyKey,
		Signature: seal.Sign(ada.Private, p.CanonicalEnvelope).String(),
	})
	if r.Replayed {
		t.Error("a prepared entry was taken for a repeat")
	}
	entry.Tags = []string{"a", "a"}
	_, err = j.PrepareEntry("bad", ada.KeyID, entry)
	journaltest.WantFault(t, err, journal.ValidationFailed)
}
