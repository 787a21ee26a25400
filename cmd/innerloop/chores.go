package main

import (
	"context"
	"log/slog"
	"time"

	"innerloop/journal"
)

// choreInterval is how often what is due by time is looked for.
const choreInterval = time.Minute

// doChores looks after what is due until ctx ends. A failure is logged and
// tried again the next time.
func doChores(ctx context.Context, log *slog.Logger, chores ...func(context.Context) error) {
	tick := time.NewTicker(choreInterval)
	defer tick.Stop()
	for {
		for _, do := range chores {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				log.Error("chores failed", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// indexReport is how many entries go into the index of words between two lines
// of the log.
const indexReport = 20_000

// buildIndex takes the entries of an older journal into the index of words,
// beside serving, until it is whole or ctx ends.
func buildIndex(ctx context.Context, j *journal.Journal, log *slog.Logger) {
	for {
		told, indexed := 0, 0
		err := j.IndexEntries(ctx, func(n int) {
			if indexed = n; n >= told {
				log.Info("building the index of words", "entries", n)
				told += indexReport
			}
		})
		if err == nil && indexed > 0 {
			log.Info("the index of words is whole", "entries", indexed)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		log.Error("building the index of words failed", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(choreInterval):
		}
	}
}
