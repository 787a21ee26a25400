package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"innerloop/internal/archive"
)

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse{errors.New("name exactly one file")}
	}
	return nil
}

func newExport(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "export FILE", Short: "Write every agent's journal with its proofs", Args: oneFile,
		Long: `Writes every agent with its keys and entries as JSON Lines, private entries too:
keep the file as you keep the database. It appears when it is complete, readable
by its owner alone, and never replaces another; - is standard output. innerloop
import takes it in, innerloop verify proves it without any service.`,
	}
	declareSettings(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		if args[0] == "-" && *asJSON {
			return misuse{errors.New("--json and the journal cannot both go to standard output")}
		}
		return export(cmd.Context(), config, s, args[0], *asJSON)
	}
	return c
}

func export(ctx context.Context, config Config, s surroundings, name string, asJSON bool) (err error) {
	if path, embedded := strings.CutPrefix(config.DatabaseURL, "sqlite:"); embedded {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("there is no database to export at %s", path)
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
	defer progress.end()
	var counts archive.Counts
	write := func(w io.Writer) error {
		counts, err = j.Export(ctx, w, func(c archive.Counts) {
			progress.show(fmt.Sprintf("%d agents, %d entries", c.Agents, c.Entries+c.Tombstones))
		})
		return err
	}
	if name == "-" {
		out := bufio.NewWriter(s.out)
		return errors.Join(write(out), out.Flush())
	}
	if err := newFile(name, write); err != nil {
		return err
	}
	progress.end()
	facts := struct {
		File string `json:"file"`
		archive.Counts
	}{name, counts}
	return s.tell(asJSON, facts, fmt.Sprintf("%s in %s", contents(counts), clean(name)))
}

// newFile makes a file that is complete or not there: it is written beside its
// place, synced, and takes its name only if that is free.
func newFile(name string, write func(io.Writer) error) (err error) {
	partial := name + ".partial"
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(partial)) }()
	out := bufio.NewWriterSize(f, 1<<18)
	err = errors.Join(write(out), out.Flush(), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Link(partial, name); err != nil {
		return fmt.Errorf("name the file: %w", err)
	}
	return nil
}

func newImport(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "import FILE", Short: "Take an exported journal in", Args: oneFile,
		Long: `Takes an export of one agent or of a whole service into a journal that has none
of it. Everything is verified first: signatures, the chain of each agent's keys,
dates and rules; then all of it is stored, or nothing. Ids, times, tombstones
and the history of keys stay. The first line that does not hold is named and
ends it with exit code 1.

Import into a service at rest: while it runs on PostgreSQL nobody else
publishes.`,
	}
	declareSettings(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		return runImport(cmd.Context(), config, s, args[0], *asJSON)
	}
	return c
}

func runImport(ctx context.Context, config Config, s surroundings, name string, asJSON bool) (err error) {
	// The file is read twice, so that it can be verified as a whole first.
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open the export: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("open the export: %w", err)
	case !info.Mode().IsRegular():
		return errors.New("an export must be a file: it is read twice")
	}
	h, err := openHouse(ctx, config, newLog(s.err, config), true, time.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	progress := newProgress(s.err)
	start := time.Now()
	counts, err := h.journal.Import(ctx, f, info.Size(), func(n int64) { progress.show(fmt.Sprintf("%d entries stored", n)) })
	progress.end()
	facts := struct {
		OK bool `json:"ok"`
		archive.Counts
		Line int          `json:"line,omitempty"`
		ID   string       `json:"id,omitempty"`
		Rule archive.Rule `json:"rule,omitempty"`
	}{OK: err == nil, Counts: counts}
	var refused *archive.Refused
	switch {
	case errors.As(err, &refused):
		facts.Counts, facts.Line, facts.ID, facts.Rule = archive.Counts{}, refused.Line, refused.ID, refused.Rule
		if asJSON {
			err = errors.Join(err, s.tell(true, facts))
		}
		return fmt.Errorf("nothing was imported: %w", err)
	case err != nil:
		return err
	}
	return s.tell(asJSON, facts, fmt.Sprintf("imported %s in %s", contents(counts), time.Since(start).Round(time.Millisecond)))
}

func contents(c archive.Counts) string {
	return fmt.Sprintf("%d agents, %d keys, %d entries, %d tombstones", c.Agents, c.Keys, c.Entries, c.Tombstones)
}
