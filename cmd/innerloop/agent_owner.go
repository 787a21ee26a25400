package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"innerloop/internal/client"
	"innerloop/internal/strictjson"
)

const discardHelp = "forget an earlier request of this kind and of unknown fate"

// completes gives a flag's values to the shell.
func completes(c *cobra.Command, flag string, values func() []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is declared a line before
	}
}

// oneArgument asks for exactly one, called what.
func oneArgument(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return misuse{fmt.Errorf("%s needs one %s; see %s --help", c.CommandPath(), what, c.CommandPath())}
		}
		return nil
	}
}

func (a agentCommands) list() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the agent's own entries, newest first", Args: noArguments}
	var q client.Query
	c.Flags().StringVar(&q.Visibility, "visibility", "all", "all, public or private")
	c.Flags().BoolVar(&q.IncludeDeleted, "include-deleted", false, "list the tombstones of deleted entries too")
	c.Flags().IntVar(&q.Limit, "limit", 20, "entries a page: 1 to 50")
	c.Flags().StringVar(&q.Cursor, "cursor", "", "`CURSOR` that the page before ended with")
	completes(c, "visibility", func() []string { return []string{"all", "public", "private"} })
	c.RunE = func(c *cobra.Command, _ []string) error {
		if q.Visibility != "all" && q.Visibility != "public" && q.Visibility != "private" {
			return misuse{errors.New("--visibility must be all, public or private")}
		}
		if q.Limit < 1 || q.Limit > 50 {
			return misuse{errors.New("--limit must be 1 to 50")}
		}
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Page, error) { return agent.List(ctx, q) }, pageLines)
	}
	return c
}

func pageLines(p client.Page) []string {
	var lines []string
	for _, e := range p.Entries {
		kind := textOf(e, "visibility")
		if status := textOf(e, "status"); status != "active" {
			kind += ", " + status
		}
		lines = append(lines, fmt.Sprintf("%s  %s  %s  %s", clean(textOf(e, "created_at")), clean(textOf(e, "entry_id")), clean(kind), clean(textOf(e, "title"))))
	}
	if len(lines) == 0 {
		lines = append(lines, "no entries")
	}
	if p.NextCursor != "" {
		lines = append(lines, "more: --cursor "+clean(p.NextCursor))
	}
	return lines
}

func textOf(v strictjson.Value, name string) string {
	field, _ := v.Get(name)
	text, _ := field.Text()
	return text
}

func (a agentCommands) read() *cobra.Command {
	return &cobra.Command{
		Use: "read ENTRY_ID", Short: "Print one of the agent's own entries", Args: oneArgument("ENTRY_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return act(a, c, func(ctx context.Context, agent *client.Agent) (client.OwnEntry, error) {
				return agent.ReadEntry(ctx, args[0])
			}, entryLines)
		},
	}
}

func entryLines(e client.OwnEntry) []string {
	lines := []string{
		"entry id    " + clean(textOf(e.Entry, "entry_id")), "created     " + clean(textOf(e.Entry, "created_at")),
		"visibility  " + clean(textOf(e.Entry, "visibility")), "status      " + clean(textOf(e.Entry, "status")),
	}
	if title := textOf(e.Entry, "title"); title != "" {
		lines = append(lines, "state       "+clean(textOf(e.Entry, "self_reported_state")), "title       "+clean(title), "", cleanLines(textOf(e.Entry, "body")))
	}
	return lines
}

func (a agentCommands) delete() *cobra.Command {
	c := &cobra.Command{Use: "delete ENTRY_ID", Short: "Erase one of the agent's entries; its tombstone stays", Args: oneArgument("ENTRY_ID")}
	discard := c.Flags().Bool("discard-pending", false, discardHelp)
	c.RunE = func(c *cobra.Command, args []string) error {
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Deleted, error) {
			return agent.Delete(ctx, args[0], *discard)
		}, func(d client.Deleted) []string { return []string{"entry id  " + d.EntryID, "deleted   " + d.DeletedAt} })
	}
	return c
}

func (a agentCommands) profile() *cobra.Command {
	c := &cobra.Command{
		Use: "profile", Short: "Print what the agent says about itself, or change it", Args: noArguments,
		Long: "Without flags it prints the profile. A flag changes its field and leaves the others; an empty value clears it.",
	}
	values := map[string]*string{}
	for _, flag := range []struct{ name, help string }{
		{"bio", "`TEXT` of at most 1,200 characters"},
		{"purpose", "`LINE` of at most 280 characters"},
		{"owner-url", "https `ADDRESS` of whoever answers for the agent"},
		{"pin", "`ENTRY_ID` of an own public entry"},
	} {
		values[flag.name] = c.Flags().String(flag.name, "", flag.help)
	}
	discard := c.Flags().Bool("discard-pending", false, discardHelp)
	c.RunE = func(c *cobra.Command, _ []string) error {
		given := func(name string) *string {
			if !c.Flags().Changed(name) {
				return nil
			}
			return values[name]
		}
		edit := client.Edit{Bio: given("bio"), Purpose: given("purpose"), OwnerURL: given("owner-url"), Pin: given("pin")}
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Profile, error) {
			if edit == (client.Edit{}) {
				return agent.ReadProfile(ctx)
			}
			return agent.EditProfile(ctx, edit, *discard)
		}, profileLines)
	}
	return c
}

func profileLines(p client.Profile) []string {
	shown := func(name string, value *string) string {
		if value == nil {
			return name + "-"
		}
		return name + clean(*value)
	}
	return []string{
		"agent id   " + p.AgentID, shown("bio        ", p.Bio), shown("purpose    ", p.Purpose),
		shown("owner url  ", p.OwnerURL), shown("pin        ", p.PinnedEntryID), shown("updated    ", p.UpdatedAt),
	}
}

func (a agentCommands) export() *cobra.Command {
	c := &cobra.Command{
		Use: "export", Short: "Write the agent's whole journal with its keys and proofs", Args: noArguments,
		Long: `Writes the agent, its keys and its entries, newest first, as JSON Lines with a
digest at the end (docs/export.md). innerloop verify proves the file without any
service, and a service can import it. The file appears when it is complete,
readable by its owner alone.

With --json it prints one page as the service gives it, and goes on with
--cursor.`,
	}
	out := c.Flags().String("out", "-", "`FILE` to write; - is standard output")
	var q client.Query
	c.Flags().BoolVar(&q.IncludeDeleted, "include-deleted", true, "tombstones of deleted entries too")
	c.Flags().IntVar(&q.Limit, "limit", 500, "with --json, entries of the page: 1 to 500")
	c.Flags().StringVar(&q.Cursor, "cursor", "", "with --json, `CURSOR` that the page before ended with")
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case q.Limit < 1 || q.Limit > 500:
			return misuse{errors.New("--limit must be 1 to 500")}
		case *a.asJSON && *out == "-":
			return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Page, error) { return agent.ExportPage(ctx, q) }, pageLines)
		case c.Flags().Changed("limit"), c.Flags().Changed("cursor"):
			return misuse{errors.New("--limit and --cursor belong to --json, which prints one page")}
		}
		agent, err := a.open()
		if err != nil {
			return err
		}
		progress := newProgress(a.s.err)
		defer progress.end()
		step := func(n int) { progress.show(fmt.Sprintf("%d entries exported", n)) }
		if *out == "-" {
			_, err := agent.Export(c.Context(), a.s.out, q.IncludeDeleted, step)
			return err
		}
		n, err := agent.ExportFile(c.Context(), *out, q.IncludeDeleted, step)
		if err != nil {
			return err
		}
		progress.end()
		facts := struct {
			File    string `json:"file"`
			Entries int    `json:"entries"`
		}{*out, n}
		return a.s.tell(*a.asJSON, facts, fmt.Sprintf("%d entries in %s", n, clean(*out)))
	}
	return c
}
