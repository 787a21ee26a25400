package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"innerloop/internal/archive"
	"innerloop/internal/client/proof"
	"innerloop/internal/keyring"
	"innerloop/journal"
	"innerloop/models"
)

func newVerify(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "verify [FILE]", Short: "Prove every stored entry again, or what a file says", Args: atMostOne("FILE"),
		Long: `Without FILE it proves every stored entry again from its stored bytes, and
compares what is listed with them. With FILE it proves a downloaded proof.json
or an export, and asks nobody: no service, no database. It ends with exit code
1 at the first lie, and names it.`,
	}
	declareSettings(c.Flags())
	database := c.Flags().String("database", "", "`URL` of the database to verify, instead of the one in the settings")
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if *database != "" {
				return misuse{errors.New("verify proves a FILE or a --database, not both")}
			}
			return verifyFile(args[0], s, *asJSON)
		}
		if *database != "" {
			if err := cmd.Flags().Set("database-url", *database); err != nil {
				return misuse{err}
			}
		}
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		return verify(cmd.Context(), config, s, *asJSON)
	}
	return c
}

func verify(ctx context.Context, config Config, s surroundings, asJSON bool) (err error) {
	if path, embedded := strings.CutPrefix(config.DatabaseURL, "sqlite:"); embedded {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("there is no database to verify at %s", path)
		}
	}
	store, err := openStore(ctx, config, newLog(s.err, config), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	j, err := provingJournal(store)
	if err != nil {
		return err
	}
	progress := newProgress(s.err)
	start := time.Now()
	seen, err := j.Verify(ctx, func(v journal.Verified) {
		progress.show(fmt.Sprintf("%d entries proved, %d tombstones", v.Proved, v.Tombstones))
	})
	progress.end()
	facts := struct {
		OK bool `json:"ok"`
		journal.Verified
		EntryID string `json:"entry_id,omitempty"`
		What    string `json:"what,omitempty"`
	}{OK: err == nil, Verified: seen}
	var lie *journal.Lie
	switch {
	case errors.As(err, &lie):
		facts.EntryID, facts.What = clean(string(lie.EntryID)), lie.What
		if asJSON {
			err = errors.Join(err, s.tell(true, facts))
		}
		return fmt.Errorf("an entry does not prove: %w", err)
	case err != nil:
		return err
	}
	return s.tell(asJSON, facts, fmt.Sprintf("every entry proves: %d entries, %d tombstones, in %s", seen.Proved, seen.Tombstones, time.Since(start).Round(time.Millisecond)))
}

// atMostOne allows an argument called what.
func atMostOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return misuse{fmt.Errorf("%s takes one %s at most; see %s --help", c.CommandPath(), what, c.CommandPath())}
		}
		return nil
	}
}

// verifyFile proves a document; - is standard input.
func verifyFile(name string, s surroundings, asJSON bool) error {
	in := s.in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("read the file: %w", err)
		}
		defer func() { _ = file.Close() }() // only read
		in = file
	}
	progress := newProgress(s.err)
	seen, err := proof.Verify(in, func(v proof.Seen) {
		progress.show(fmt.Sprintf("%d entries proved, %d tombstones", v.Proved, v.Tombstones))
	})
	progress.end()
	facts := struct {
		OK bool `json:"ok"`
		proof.Seen
		EntryID string `json:"entry_id,omitempty"`
		What    string `json:"what,omitempty"`
	}{OK: err == nil, Seen: seen}
	var lie *proof.Lie
	var refused *archive.Refused
	switch {
	case errors.As(err, &lie):
		facts.EntryID, facts.What = lie.EntryID, lie.What
	case errors.As(err, &refused):
		facts.EntryID, facts.What = refused.ID, refused.Error()
	case err != nil:
		return fmt.Errorf("read the file: %w", err)
	}
	if err != nil {
		if asJSON {
			err = errors.Join(err, s.tell(true, facts))
		}
		return err
	}
	return s.tell(asJSON, facts, fmt.Sprintf("every entry proves: %d entries, %d tombstones", seen.Proved, seen.Tombstones))
}

// provingJournal makes a journal for proving alone. That uses no secret key,
// so the master key need not be at hand: a stray copy of a database can be
// verified anywhere.
func provingJournal(store *models.Store) (*journal.Journal, error) {
	any := make([]byte, keyring.MasterSize)
	if _, err := rand.Read(any); err != nil {
		return nil, err
	}
	keys, err := keyring.New(any)
	if err != nil {
		return nil, err
	}
	return journal.New(journal.Options{Store: store, Now: time.Now, Random: rand.Reader, Keys: keys})
}
