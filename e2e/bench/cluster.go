package main

import (
	"fmt"

	"innerloop/models/pgtest"
)

// database is the PostgreSQL to measure: the one given, or a private cluster.
func (b *bench) database() (string, error) {
	if b.postgres != "" {
		return b.postgres, nil
	}
	address, err := pgtest.Cluster()
	if err != nil {
		return "", fmt.Errorf("start PostgreSQL: %w", err)
	}
	return address, nil
}
