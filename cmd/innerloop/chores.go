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
func doChores(ctx context.Context, j *journal.Journal, log *slog.Logger) {
	tick := time.NewTicker(choreInterval)
	defer tick.Stop()
	for {
		if err := j.Chores(ctx); err != nil && ctx.Err() == nil {
			log.Error("chores failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
