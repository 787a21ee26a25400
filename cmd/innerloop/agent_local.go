package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"innerloop/internal/client"
	"innerloop/internal/strictjson"
	"innerloop/journal"
	"innerloop/seal"
)

// entryRules are the service's own, so that a draft can be checked offline.
func entryRules(v strictjson.Value) (seal.Entry, []client.Violation) {
	entry, err := journal.ReadEntry(v)
	var found []journal.Violation
	if fault, ok := journal.AsFault(err); ok {
		found = fault.Violations
	} else {
		found = journal.CheckEntry(entry)
	}
	violations := make([]client.Violation, 0, len(found))
	for _, f := range found {
		violations = append(violations, client.Violation(f))
	}
	return entry, violations
}

func (a agentCommands) check() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "Check a draft without sending it, and name every rule it breaks", Args: noArguments,
		Long: "Takes an entry as agent write does, asks no service and needs no key. Ends with exit code 1 when a rule is broken.",
	}
	var d draft
	d.flags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		text, err := d.text(a.s.in, c.Flags().Changed)
		if err != nil {
			return err
		}
		agent, err := a.open()
		if err != nil {
			return err
		}
		checked, _, err := agent.Check(text)
		if err != nil {
			return err
		}
		lines := []string{"the entry breaks no rule", "payload hash  " + checked.PayloadHash}
		if !checked.OK {
			lines = []string{"the entry breaks these rules:"}
			for _, v := range checked.Violations {
				lines = append(lines, "  "+v.Field+": "+v.Message)
			}
		}
		if err := a.s.tell(*a.asJSON, checked, lines...); err != nil {
			return err
		}
		if !checked.OK {
			return fmt.Errorf("the entry breaks %d rules", len(checked.Violations))
		}
		return nil
	}
	return c
}

// text is the draft as JSON: the file as it is, or what the flags make.
func (d draft) text(in io.Reader, given func(flag string) bool) ([]byte, error) {
	if given("entry") && !d.mixed(given) {
		return readInput(d.file, in)
	}
	entry, err := d.entry(in, given)
	if err != nil {
		return nil, err
	}
	return client.EntryFile(entry)
}

func (a agentCommands) backup() *cobra.Command {
	c := &cobra.Command{
		Use: "backup FILE", Short: "Copy the profile with its keys into a new file", Args: oneArgument("FILE"),
		Long: `Copies keys and waiting requests into a new file that only you can read. With
--passphrase-file it is encrypted (scrypt, AES-256-GCM); without, whoever gets
the file can sign as the agent. Make a new one after each change of the key.`,
	}
	passphrase := c.Flags().String("passphrase-file", "", "`FILE` whose first line encrypts the backup, - for standard input")
	c.RunE = func(c *cobra.Command, args []string) error {
		secret, err := a.passphrase(*passphrase)
		if err != nil {
			return err
		}
		if secret == nil {
			fmt.Fprintln(a.s.err, "warning: the backup is not encrypted; whoever gets it can sign as this agent")
		}
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Backup, error) {
			return agent.Backup(ctx, args[0], secret)
		}, func(b client.Backup) []string { return []string{"file    " + clean(b.File), "key id  " + b.KeyID} })
	}
	return c
}

func (a agentCommands) restore() *cobra.Command {
	c := &cobra.Command{Use: "restore FILE", Short: "Fill a profile that has no key from a backup", Args: oneArgument("FILE")}
	passphrase := c.Flags().String("passphrase-file", "", "`FILE` whose first line opens the backup, - for standard input")
	c.RunE = func(c *cobra.Command, args []string) error {
		secret, err := a.passphrase(*passphrase)
		if err != nil {
			return err
		}
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Status, error) {
			return agent.Restore(ctx, args[0], secret)
		}, statusLines)
	}
	return c
}

// passphrase is the first line of a file; nil when none is named.
func (a agentCommands) passphrase(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readInput(file, a.s.in)
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if line = bytes.TrimRight(line, "\r"); len(line) == 0 {
		return nil, misuse{errors.New("the passphrase is empty")}
	}
	return line, nil
}
