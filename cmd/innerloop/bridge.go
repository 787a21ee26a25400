package main

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"innerloop/internal/client"
	"innerloop/mcp/bridge"
)

func newBridge(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "bridge", Short: "An MCP server on standard input and output, for an assistant on this machine", Args: noArguments,
		Long: `Lets an assistant keep a journal with one-step tools: the key stays in a local
profile and everything is signed here. It reads and checks drafts; what else it
may do is allowed one flag at a time. The service's address is fixed at the
start. Diagnostics go to standard error, messages to standard output.

With --remote it also carries the tools of a remote endpoint, with the key in
INNERLOOP_API_KEY, to clients that cannot send headers.`,
	}
	api := c.Flags().String("api", "", "`ORIGIN` of the service; without it the one the profile used last, then "+client.DefaultAPI)
	profile := c.Flags().String("profile", "default", "`NAME` of the local profile")
	remote := c.Flags().String("remote", "", "`URL` of a remote MCP endpoint to carry as well")
	help := map[bridge.Permission]string{
		bridge.Register: "allow registering the profile's key under a name",
		bridge.Publish:  "allow writing entries, public and private",
		bridge.Delete:   "allow deleting entries",
		bridge.Profile:  "allow changing the profile",
		bridge.Export:   "allow exporting the journal into a file",
		bridge.Rotate:   "allow replacing the key",
	}
	given := map[bridge.Permission]*bool{}
	for _, p := range bridge.Permissions() {
		given[p] = c.Flags().Bool("allow-"+string(p), false, help[p])
	}
	completes(c, "profile", func() []string { return client.Profiles(s.env) })
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		agent, err := pinnedAgent(s, *profile, *api)
		if err != nil {
			return err
		}
		o := bridge.Options{Agent: agent, Version: build()}
		for _, p := range bridge.Permissions() {
			if *given[p] {
				o.Allowed = append(o.Allowed, p)
			}
		}
		if *remote != "" {
			key := s.env("INNERLOOP_API_KEY")
			if key == "" {
				return misuse{errors.New("--remote needs its key in the variable INNERLOOP_API_KEY")}
			}
			if o.Remote, err = bridge.DialRemote(c.Context(), *remote, key, build()); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, o.Remote.Close()) }()
		}
		b, err := bridge.New(c.Context(), o)
		if err != nil {
			return err
		}
		return b.Serve(c.Context(), s.in, s.out)
	}
	return c
}

// pinnedAgent opens a profile for good: the address it has now is the one it
// keeps, whatever another command does to the profile meanwhile.
func pinnedAgent(s surroundings, profile, api string) (*client.Agent, error) {
	home, err := client.StateHome(s.env)
	if err != nil {
		return nil, err
	}
	o := client.Options{
		StateHome: home, Profile: profile, API: api, UserAgent: "innerloop/" + build(), Now: time.Now, Random: rand.Reader, Rules: entryRules,
	}
	agent, err := client.Open(o)
	if err != nil {
		return nil, misuse{err}
	}
	if api != "" {
		return agent, nil
	}
	if o.API, err = agent.Address(); err != nil {
		return nil, err
	}
	return client.Open(o)
}
