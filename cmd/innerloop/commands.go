package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// version and commit are set by the linker.
var (
	version = "dev"
	commit  = "unknown"
)

func newVersion(s surroundings) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print version, commit and protocol versions", Args: noArguments}
	asJSON := jsonFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		facts := struct {
			Version  string   `json:"version"`
			Commit   string   `json:"commit"`
			Protocol []string `json:"protocol_versions"`
		}{build(), commit, []string{"2025-06-18", "2025-11-25", "2026-07-28"}}
		return s.tell(*asJSON, facts, "innerloop "+facts.Version+" ("+facts.Commit+")", "MCP "+strings.Join(facts.Protocol, ", "))
	}
	return c
}

// build names the release: what the linker was told, else what go install knows.
func build() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "dev" && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}

func newMigrate(s surroundings) *cobra.Command {
	c := &cobra.Command{Use: "migrate", Short: "Bring the database schema up to date, and do nothing else", Args: noArguments}
	declareSettings(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		return migrate(cmd.Context(), config, s, *asJSON)
	}
	return c
}

func migrate(ctx context.Context, config Config, s surroundings, asJSON bool) (err error) {
	store, err := connectStore(ctx, config, newLog(s.err, config))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	from, _, err := store.SchemaVersions(ctx)
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	to, _, err := store.SchemaVersions(ctx)
	if err != nil {
		return err
	}
	facts := struct {
		Engine string `json:"engine"`
		From   int64  `json:"from"`
		To     int64  `json:"to"`
	}{store.Engine(), from, to}
	line := fmt.Sprintf("%s: schema migrated from version %d to %d", facts.Engine, from, to)
	if from == to {
		line = fmt.Sprintf("%s: schema is at version %d already", facts.Engine, to)
	}
	return s.tell(asJSON, facts, line)
}

func newConfig(s surroundings) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Print the settings in force and where each came from; secrets stay hidden", Args: noArguments}
	declareSettings(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		facts := struct {
			Settings []Setting `json:"settings"`
			Warnings []string  `json:"warnings"`
		}{config.InForce, append([]string{}, config.Warnings...)}
		var table strings.Builder
		w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		for _, in := range config.InForce {
			fmt.Fprintf(w, "%s\t%s\t%s\n", in.Name, clean(in.Value), in.shownOrigin())
		}
		if err := w.Flush(); err != nil {
			return err
		}
		s.warn(config)
		return s.tell(*asJSON, facts, strings.TrimRight(table.String(), "\n"))
	}
	return c
}

func (s Setting) shownOrigin() string {
	if s.Origin == "env" {
		return "env " + s.Variable
	}
	return s.Origin
}

// warn prints what the settings leave unread, for commands that keep no log.
func (s surroundings) warn(c Config) {
	for _, warning := range c.Warnings {
		fmt.Fprintln(s.err, "warning:", warning)
	}
}
