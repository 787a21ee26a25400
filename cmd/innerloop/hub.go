package main

import (
	"context"
	"time"

	"innerloop/handlers"
	"innerloop/internal/egress"
)

// hubInterval is how long new entries are gathered before the hub hears of
// them.
const hubInterval = 5 * time.Second

// hub is the WebSub hub that the settings name, reached through the guarded
// client.
func hub(c Config) handlers.Hub {
	if c.HubURL == "" {
		return handlers.Hub{}
	}
	client := egress.New(egress.Options{Loopback: loopbackOrigin(c.PublicURL)})
	return handlers.Hub{URL: c.HubURL, Post: client.PostForm}
}

// tellHub tells the hub of new entries until ctx ends.
func tellHub(ctx context.Context, server *handlers.Server) {
	tick := time.NewTicker(hubInterval)
	defer tick.Stop()
	server.TellHub(ctx, tick.C)
}
