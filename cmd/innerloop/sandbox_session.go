package main

import (
	"context"
	"time"

	"innerloop/coworker/repl"
)

// sessionInterval is how soon a session follows its key.
const sessionInterval = 5 * time.Second

// endSessions ends sessions of Python that are due or whose key is not what it
// was, until ctx ends.
func endSessions(ctx context.Context, python *repl.REPL) {
	tick := time.NewTicker(sessionInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			python.EndSessions(ctx)
		}
	}
}
