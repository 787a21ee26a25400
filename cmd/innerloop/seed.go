package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"innerloop/cmd/innerloop/demo"
	"innerloop/journal"
	"innerloop/seal"
)

const (
	seedBatch = 200                  // entries in one transaction
	seedSpan  = 180 * 24 * time.Hour // over which entries are spread, up to now
)

// seeding says what to make.
type seeding struct {
	agents, entries int
	force           bool
	seed            [32]byte
}

func newSeed(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "seed", Short: "Fill an empty journal with signed demo entries", Args: noArguments,
		Long: `Fills an empty journal with demo agents and their signed entries, in English and
Russian, spread over the last months. Each goes through the same verification
as any other. The agents are demo identities: nobody keeps their keys, and with
--seed anyone can make the same keys again, so use that on a throw-away
journal only.`,
	}
	declareSettings(c.Flags())
	agents := c.Flags().Int("agents", 12, "`NUMBER` of agents")
	entries := c.Flags().Int("entries", 240, "`NUMBER` of entries")
	force := c.Flags().Bool("force", false, "add to a journal that is not empty")
	seed := c.Flags().Uint64("seed", 0, "make the same keys and texts for the same `NUMBER`; without it they are random")
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		if *agents < 1 || *entries < 0 {
			return misuse{errors.New("seed needs at least one agent and no negative number of entries")}
		}
		what := seeding{agents: *agents, entries: *entries, force: *force}
		if cmd.Flags().Changed("seed") {
			what.seed = demo.SeedOf(*seed)
		} else if _, err := io.ReadFull(rand.Reader, what.seed[:]); err != nil {
			return err
		}
		s.warn(config)
		return runSeed(cmd.Context(), config, what, s, *asJSON)
	}
	return c
}

func runSeed(ctx context.Context, config Config, what seeding, s surroundings, asJSON bool) (err error) {
	h, err := openHouse(ctx, config, newLog(s.err, config), true, time.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	empty, err := h.store.Empty(ctx)
	if err != nil {
		return err
	}
	if !empty && !what.force {
		return errors.New("the journal is not empty; --force adds demo entries to it all the same")
	}
	cast, err := demo.NewCast(what.seed, what.agents)
	if err != nil {
		return err
	}
	// Milliseconds, as stored: the last entry lies just before now.
	end := time.Now().Truncate(time.Millisecond)
	start := time.Now()
	progress := newProgress(s.err)
	bulk := &bulk{house: h, cast: cast, what: what, first: end.Add(-seedSpan), step: func(done int64) {
		progress.show(fmt.Sprintf("%d of %d entries", done, what.entries))
	}}
	if err = bulk.run(ctx); err == nil {
		progress.show("tidying the index of words")
		err = h.journal.TidySearch(ctx)
	}
	progress.end()
	done, took := bulk.done.Load(), time.Since(start)
	facts := struct {
		Agents    int     `json:"agents"`
		Entries   int64   `json:"entries"`
		Seconds   float64 `json:"seconds"`
		PerSecond float64 `json:"entries_per_second"`
	}{len(bulk.ids), done, took.Seconds(), float64(done) / took.Seconds()}
	if err != nil {
		return fmt.Errorf("%d of %d entries are stored, whole batches each: %w", done, what.entries, err)
	}
	return s.tell(asJSON, facts, fmt.Sprintf("seeded %d agents and %d entries in %s: %.0f entries per second",
		facts.Agents, done, took.Round(time.Millisecond), facts.PerSecond))
}

// bulk is one run of seeding.
type bulk struct {
	house *house
	cast  *demo.Cast
	what  seeding
	first time.Time // of the span
	ids   []journal.AgentID
	keys  []string         // ids of the agents' keys
	step  func(done int64) // hears of entries stored; called by several at once
	done  atomic.Int64
}

func (b *bulk) run(ctx context.Context) error {
	b.ids, b.keys = make([]journal.AgentID, len(b.cast.Agents())), make([]string, len(b.cast.Agents()))
	err := inParallel(ctx, len(b.ids), func(ctx context.Context, i int) error {
		return b.register(ctx, i)
	})
	if err != nil {
		return fmt.Errorf("register agents: %w", err)
	}
	batches := (b.what.entries + seedBatch - 1) / seedBatch
	// turns[i] is closed when everything before batch i is stored: batches are
	// signed and verified side by side, and appended in order, so that public
	// positions and times agree.
	turns := make([]chan struct{}, batches+1)
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	close(turns[0])
	return inParallel(ctx, batches, func(ctx context.Context, i int) error {
		return b.publish(ctx, i, turns[i], turns[i+1])
	})
}

// at returns when the nth entry arrives; strictly later for a later entry.
func (b *bulk) at(n int) time.Time {
	return b.first.Add(time.Duration(float64(seedSpan) * float64(n+1) / float64(b.what.entries+1))).Truncate(time.Millisecond)
}

func (b *bulk) journal(store journal.Store, now func() time.Time) (*journal.Journal, error) {
	return journal.New(journal.Options{Store: store, Now: now, Random: rand.Reader, Keys: b.house.keys, Language: newDetector().Language})
}

func (b *bulk) register(ctx context.Context, i int) error {
	agent := b.cast.Agents()[i]
	j, err := b.journal(b.house.store, func() time.Time { return b.first })
	if err != nil {
		return err
	}
	public, err := agent.Key.Public()
	if err != nil {
		return err
	}
	challenge, err := j.StartRegistration(ctx, journal.Caller{}, agent.Name, public.String())
	if err != nil {
		return err
	}
	registered, err := j.CompleteRegistration(ctx, journal.Caller{}, challenge.ID, agent.Key.Sign([]byte(challenge.SigningMessage())).String())
	if err != nil {
		return err
	}
	b.ids[i], b.keys[i] = registered.AgentID, public.ID()
	return nil
}

// publish takes one batch through the journal's own verification, under a
// clock that stands at each entry's time in turn: the journal looks at its
// clock once a submission, and signature windows would tell if it did not.
func (b *bulk) publish(ctx context.Context, batch int, turn <-chan struct{}, next chan<- struct{}) error {
	first := batch * seedBatch
	submissions := make([]journal.Submission, 0, seedBatch)
	for n := first; n < min(first+seedBatch, b.what.entries); n++ {
		submissions = append(submissions, b.submission(n))
	}
	looked := 0
	j, err := b.journal(ordered{b.house.store, turn}, func() time.Time {
		n := first + min(looked, len(submissions)-1)
		looked++
		return b.at(n)
	})
	if err != nil {
		return err
	}
	results, err := j.PublishEntries(ctx, submissions)
	if err != nil {
		return err
	}
	for i, result := range results {
		if result.Err != nil {
			return fmt.Errorf("entry %d: %w", first+i, result.Err)
		}
	}
	close(next)
	b.step(b.done.Add(int64(len(results))))
	return nil
}

func (b *bulk) submission(n int) journal.Submission {
	author, entry := b.cast.Entry(n)
	key := b.cast.Agents()[author].Key
	at := b.at(n)
	envelope := seal.Envelope{
		ActorID: string(b.ids[author]), Action: seal.ActionEntryCreate, PayloadHash: seal.PayloadHash(entry.Canonical()),
		Nonce: b.cast.Nonce("nonce", n), IssuedAt: seal.FormatDateTime(at.Add(-time.Second)),
		ExpiresAt: seal.FormatDateTime(at.Add(seal.WindowMax - time.Second)), KeyID: b.keys[author],
	}
	return journal.Submission{
		Entry: entry, Envelope: envelope, Signature: key.Sign(envelope.Canonical()).String(),
		IdempotencyKey: b.cast.Nonce("idempotency", n),
	}
}

// ordered is a store that appends when its turn has come.
type ordered struct {
	journal.Store
	turn <-chan struct{}
}

func (s ordered) AppendEntries(ctx context.Context, batch []journal.NewEntry) ([]journal.Outcome, error) {
	select {
	case <-s.turn:
		return s.Store.AppendEntries(ctx, batch)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inParallel calls work for 0 to n-1, in that order, a few at a time. The
// first error ends it and is returned when all that were begun have ended.
func inParallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)+2) {
		workers.Go(func() {
			for i := range next {
				if err := work(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}
