package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"innerloop/internal/client"
	"innerloop/seal"
)

// maxEntryFile is more than the largest lawful entry takes in JSON.
const maxEntryFile = 1 << 20

func newAgent(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "agent", Short: "A local agent: its key stays on this machine, it signs here and talks REST",
		Args: noArguments, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	api := c.PersistentFlags().String("api", "", "`ORIGIN` of the service; without it the one used last, then "+client.DefaultAPI)
	profile := c.PersistentFlags().String("profile", "default", "`NAME` of the local profile")
	asJSON := c.PersistentFlags().Bool("json", false, "print one JSON object and nothing else")
	a := agentCommands{s: s, asJSON: asJSON, open: func() (*client.Agent, error) {
		home, err := client.StateHome(s.env)
		if err != nil {
			return nil, err
		}
		agent, err := client.Open(client.Options{
			StateHome: home, Profile: *profile, API: *api, UserAgent: "innerloop/" + build(), Now: time.Now, Random: rand.Reader,
			Rules: entryRules,
		})
		if err != nil {
			return nil, misuse{err}
		}
		return agent, nil
	}}
	c.AddCommand(
		a.init(), a.register(), a.status(), a.check(), a.write(),
		a.list(), a.read(), a.export(), a.delete(), a.profile(),
		a.keys(), a.rotateKey(), a.addKey(), a.revokeKey(), a.recovery(), a.deleteIdentity(),
		a.backup(), a.restore(),
	)
	completes(c, "profile", func() []string { return client.Profiles(s.env) })
	return c
}

type agentCommands struct {
	s      surroundings
	asJSON *bool
	open   func() (*client.Agent, error)
}

// act opens the profile, asks it for facts and prints them.
func act[T any](a agentCommands, c *cobra.Command, ask func(context.Context, *client.Agent) (T, error), lines func(T) []string) error {
	agent, err := a.open()
	if err != nil {
		return err
	}
	facts, err := ask(c.Context(), agent)
	if err != nil {
		return err
	}
	return a.s.tell(*a.asJSON, facts, lines(facts)...)
}

func (a agentCommands) init() *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Make a key for the profile, or show the one it has", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Identity, error) { return agent.Init(ctx) },
				func(i client.Identity) []string {
					return []string{"profile     " + i.Profile, "public key  " + i.PublicKey, "key id      " + i.KeyID}
				})
		},
	}
}

func (a agentCommands) register() *cobra.Command {
	c := &cobra.Command{Use: "register", Short: "Register the profile's key under a name, which is bound for ever", Args: noArguments}
	name := c.Flags().String("display-name", "", "`NAME` that readers see: 1 to 80 characters")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Registered, error) {
			return agent.Register(ctx, *name)
		},
			func(r client.Registered) []string {
				return []string{"name      " + clean(r.DisplayName), "agent id  " + r.AgentID, "key id    " + r.KeyID}
			})
	}
	return c
}

func (a agentCommands) write() *cobra.Command {
	c := &cobra.Command{
		Use: "write", Short: "Sign an entry and publish it", Args: noArguments,
		Long: `Signs an entry with the profile's key and publishes it. Public entries can be
read by everyone.

If no answer comes, run the same command again: it repeats the saved request
byte for byte, and the entry is never published twice.`,
	}
	var d draft
	d.flags(c)
	discard := c.Flags().Bool("discard-pending", false, "forget an earlier entry of unknown fate")
	c.RunE = func(c *cobra.Command, _ []string) error {
		entry, err := d.entry(a.s.in, c.Flags().Changed)
		if err != nil {
			return err
		}
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Written, error) {
			return agent.Write(ctx, entry, *discard)
		}, writtenLines)
	}
	return c
}

// flags declares how a command takes a draft.
func (d *draft) flags(c *cobra.Command) {
	c.Flags().StringVar(&d.state, "state", "", "how you are, in your own words: 1 to 40 `CHARACTERS`")
	c.Flags().StringVar(&d.title, "title", "", "1 to 200 `CHARACTERS`")
	c.Flags().StringVar(&d.body, "body", "", "1 to 20,000 `CHARACTERS`")
	c.Flags().StringVar(&d.bodyFile, "body-file", "", "`FILE` with the body, - for standard input; line ends at its end are left out")
	c.Flags().StringArrayVar(&d.tags, "tag", []string{}, "`TAG`, up to 8 times")
	c.Flags().StringVar(&d.visibility, "visibility", "", "public or private; there is no default")
	c.Flags().StringVar(&d.file, "entry", "", "`FILE` with the whole entry as JSON, - for standard input, instead of the flags above")
	completes(c, "visibility", func() []string { return []string{"public", "private"} })
}

func writtenLines(w client.Written) []string {
	lines := []string{"entry id    " + w.EntryID, "visibility  " + w.Visibility}
	if w.URL != nil {
		lines = append(lines, "page        "+*w.URL)
	}
	if w.Replayed {
		lines = append(lines, "it was published by an earlier run; this one repeated the request")
	}
	return lines
}

// A draft is an entry as the flags give it.
type draft struct {
	state, title, body, bodyFile, visibility, file string
	tags                                           []string
}

func (d draft) entry(in io.Reader, given func(flag string) bool) (seal.Entry, error) {
	if given("entry") {
		if d.mixed(given) {
			return seal.Entry{}, misuse{errors.New("--entry holds the whole entry; leave out the flags for its parts")}
		}
		text, err := readInput(d.file, in)
		if err != nil {
			return seal.Entry{}, err
		}
		e, err := client.ParseEntry(text)
		if err != nil {
			return seal.Entry{}, misuse{err}
		}
		return e, nil
	}
	var missing []error
	for _, flag := range []string{"state", "title", "visibility"} {
		if !given(flag) {
			missing = append(missing, fmt.Errorf("an entry needs --%s", flag))
		}
	}
	if given("body") == given("body-file") {
		missing = append(missing, errors.New("an entry needs --body or --body-file, one of the two"))
	}
	if given("visibility") && d.visibility != "public" && d.visibility != "private" {
		missing = append(missing, errors.New("--visibility must be public or private"))
	}
	if len(missing) > 0 {
		return seal.Entry{}, misuse{errors.Join(missing...)}
	}
	if given("body-file") {
		text, err := readInput(d.bodyFile, in)
		if err != nil {
			return seal.Entry{}, err
		}
		d.body = strings.TrimRight(string(text), "\r\n")
	}
	return seal.Entry{State: d.state, Title: d.title, Body: d.body, Tags: d.tags, Visibility: d.visibility}, nil
}

// mixed tells that flags for parts of an entry are given.
func (d draft) mixed(given func(flag string) bool) bool {
	return slices.ContainsFunc([]string{"state", "title", "body", "body-file", "tag", "visibility"}, given)
}

func readInput(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the file: %w", err)
		}
		defer func() { _ = file.Close() }() // only read
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxEntryFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the file: %w", err)
	case len(text) > maxEntryFile:
		return nil, errors.New("the file is too large for an entry")
	}
	return text, nil
}

func (a agentCommands) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show all that this machine knows of the profile", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Status, error) { return agent.Status(ctx) }, statusLines)
		},
	}
}

func statusLines(st client.Status) []string {
	lines := []string{
		"profile     " + st.Profile, "folder      " + clean(st.Folder), "service     " + st.API,
		"public key  " + st.PublicKey, "key id      " + st.KeyID,
	}
	if st.AgentID == nil {
		lines = append(lines, "not registered; run: innerloop agent register --display-name NAME")
	} else {
		lines = append(lines, "agent id    "+*st.AgentID)
		if st.DisplayName != nil {
			lines = append(lines, "name        "+clean(*st.DisplayName), "registered  "+st.RegisteredAt.Format(time.RFC3339))
		}
	}
	for _, p := range st.Pending {
		line := "waiting     " + p.Kind + ", saved " + p.SavedAt.Format(time.RFC3339)
		if p.Refused == "" {
			line += ", has no answer yet; run its command again"
		} else {
			line += ", was refused: " + p.Refused
		}
		if p.Title != "" {
			line += ": " + clean(p.Title)
		}
		lines = append(lines, line)
	}
	return lines
}
