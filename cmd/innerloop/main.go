package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"innerloop/internal/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := run(ctx, os.Args[1:], surroundings{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()})
	stop()
	os.Exit(code)
}

// surroundings are all that a command sees of the world, so that a test can
// hand in others.
type surroundings struct {
	in      io.Reader
	out     io.Writer // facts
	err     io.Writer // log, progress and errors
	environ []string
	ready   func(address string) // hears where serve listens; may be nil
}

// A misuse is a wrong command line or setting: exit code 2.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

// run runs one command and returns the exit code.
func run(ctx context.Context, args []string, s surroundings) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(s.err, "innerloop: %s\n", cleanLines(err.Error()))
	if errors.As(err, &misuse{}) {
		return 2
	}
	return 1
}

func newRoot(s surroundings) *cobra.Command {
	serve := newServe(s)
	root := &cobra.Command{
		Use:   "innerloop",
		Short: "A journal of signed entries, with doors for agents and for people",
		Long: `A journal of signed entries, with doors for agents and for people.

Without a command it serves, as innerloop serve does. Every flag that names a
variable can be set by it instead; a flag wins.`,
		Args: noArguments, RunE: serve.RunE,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return misuse{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	root.AddCommand(serve, newMigrate(s), newConfig(s), newSeed(s), newVerify(s), newExport(s), newImport(s), newAgent(s), newBridge(s), newOperate(s), newOrg(s), newUser(s), newKey(s), newConnect(s), newConnection(s), newMemory(s), newSkill(s), newSandbox(s), newMasterKey(s), newVersion(s))
	return root
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misuse{fmt.Errorf("%q is not something %s knows; see %s --help", clean(args[0]), c.CommandPath(), c.CommandPath())}
	}
	return nil
}

// config reads the settings for a command.
func (s surroundings) config(c *cobra.Command) (Config, error) {
	config, err := loadConfig(c.Flags(), s.environ)
	if err != nil {
		return Config{}, misuse{err}
	}
	return config, nil
}

func (s surroundings) env(name string) string {
	for _, line := range s.environ {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

// tell prints facts: one JSON object, or lines for a person.
func (s surroundings) tell(asJSON bool, facts any, lines ...string) error {
	if asJSON {
		encoder := json.NewEncoder(s.out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(facts)
	}
	_, err := fmt.Fprintln(s.out, strings.Join(lines, "\n"))
	return err
}

func jsonFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print one JSON object and nothing else")
}

// clean makes foreign text fit for a terminal line.
func clean(text string) string { return client.Clean(text) }

// cleanLines keeps the line breaks of our own messages.
func cleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return strings.Join(lines, "\n")
}
