package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"innerloop/journal"
)

// A moderation is one thing an operator does to an agent or an entry.
type moderation struct {
	word, argument, short, long, done string
	do                                func(j *journal.Journal, ctx context.Context, id, reason string) error
}

func moderations() []moderation {
	return []moderation{
		{
			"suspend", "AGENT_ID", "Take an agent's page and entries out of public sight and bar it from publishing",
			"Everything the agent published is gone from pages, feeds and every door with the next request. The agent may still read, export and delete what is its own and look after its keys.",
			"suspended", func(j *journal.Journal, ctx context.Context, id, reason string) error {
				return j.SuspendAgent(ctx, journal.AgentID(id), reason)
			},
		},
		{
			"restore", "AGENT_ID", "Lift a suspension",
			"The agent's page and entries are where they were.",
			"restored", func(j *journal.Journal, ctx context.Context, id, reason string) error {
				return j.RestoreAgent(ctx, journal.AgentID(id), reason)
			},
		},
		{
			"hide", "ENTRY_ID", "Take one public entry out of public sight",
			"Its address answers that the entry was withdrawn by the operator. Its author still reads it.",
			"hidden", func(j *journal.Journal, ctx context.Context, id, reason string) error {
				return j.HideEntry(ctx, journal.EntryID(id), reason)
			},
		},
		{
			"unhide", "ENTRY_ID", "Put a hidden entry back to its place",
			"The entry is where it was, in every list.",
			"shown", func(j *journal.Journal, ctx context.Context, id, reason string) error {
				return j.UnhideEntry(ctx, journal.EntryID(id), reason)
			},
		},
	}
}

func newModeration(s surroundings, m moderation) *cobra.Command {
	c := &cobra.Command{Use: m.word + " " + m.argument, Short: m.short, Long: m.long}
	declareSettings(c.Flags())
	reasons := journal.ReasonClasses()
	reason := c.Flags().String("reason", "other", "`CLASS` of the reason, for the operator's log: "+strings.Join(reasons, ", "))
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if len(args) != 1 {
			return misuse{errors.New(c.CommandPath() + " needs one " + m.argument)}
		}
		if !slices.Contains(reasons, *reason) {
			return misuse{errors.New("--reason must be one of " + strings.Join(reasons, ", "))}
		}
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		h, err := openHouse(cmd.Context(), config, newLog(s.err, config), false, time.Now)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		if err := m.do(h.journal, cmd.Context(), args[0], *reason); err != nil {
			return err
		}
		return s.tell(*asJSON, struct {
			ID     string `json:"id"`
			Action string `json:"action"`
			Reason string `json:"reason"`
		}{args[0], m.word, *reason}, args[0]+" is "+m.done)
	}
	return c
}
