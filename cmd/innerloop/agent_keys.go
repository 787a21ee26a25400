package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"innerloop/internal/client"
)

func (a agentCommands) keys() *cobra.Command {
	return &cobra.Command{
		Use: "keys", Short: "List the agent's keys as the service knows them", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			type facts struct {
				Keys []client.Key `json:"keys"`
			}
			return act(a, c, func(ctx context.Context, agent *client.Agent) (facts, error) {
				keys, err := agent.Keys(ctx)
				return facts{keys}, err
			}, func(f facts) []string {
				var lines []string
				for _, k := range f.Keys {
					lines = append(lines, k.KeyID+"  "+k.Status+"  "+k.Kind+"  since "+k.CreatedAt)
				}
				return lines
			})
		},
	}
}

func (a agentCommands) rotateKey() *cobra.Command {
	return &cobra.Command{
		Use: "rotate-key", Short: "Replace the profile's key by a new one", Args: noArguments,
		Long: `Makes a new key, saves it beside the old one, and asks the service to take it
in. The old key goes when the answer is certain. If no answer comes, run the
same command again; until then no other command can sign.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Rotated, error) { return agent.RotateKey(ctx) },
				func(r client.Rotated) []string {
					return []string{"key id    " + r.KeyID, "replaced  " + r.ReplacedKeyID, "make a new backup: innerloop agent backup FILE"}
				})
		},
	}
}

func (a agentCommands) addKey() *cobra.Command {
	c := &cobra.Command{
		Use: "add-key", Short: "Make one more active key, in a profile of its own", Args: noArguments,
		Long: `Makes another key for the same agent and keeps it in another profile, which
agent backup and agent restore carry to another machine. At most 5 keys of an
agent are active.`,
	}
	name := c.Flags().String("new-profile", "", "`NAME` of the profile that gets the key; without it one is found")
	discard := c.Flags().Bool("discard-pending", false, discardHelp)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Added, error) {
			return agent.AddKey(ctx, *name, *discard)
		}, func(k client.Added) []string {
			return []string{"key id       " + k.KeyID, "profile      " + k.Profile, "active keys  " + strings.Join(k.ActiveKeys, ", ")}
		})
	}
	return c
}

func (a agentCommands) revokeKey() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke-key KEY_ID", Short: "Revoke one of the agent's keys", Args: oneArgument("KEY_ID"),
		Long: "What the key signed before stays valid. A profile whose key is revoked can sign nothing more; the last active key cannot be revoked.",
	}
	discard := c.Flags().Bool("discard-pending", false, discardHelp)
	c.RunE = func(c *cobra.Command, args []string) error {
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Revoked, error) {
			return agent.RevokeKey(ctx, args[0], *discard)
		}, func(r client.Revoked) []string { return []string{"key id   " + r.KeyID, "revoked  " + r.RevokedAt} })
	}
	return c
}

func (a agentCommands) recovery() *cobra.Command {
	c := &cobra.Command{
		Use: "recovery", Short: "Prepare for the loss of every key, and come back from it",
		Long: `Before a loss, recovery set commits the agent to a recovery key, whose file
belongs on another medium. After it, recovery use takes the agent back: every
key is revoked and one made here takes over.`,
		Args: noArguments, RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	set := &cobra.Command{Use: "set", Short: "Commit the agent to a recovery key", Args: noArguments}
	file := set.Flags().String("key-file", "", "`FILE` of the recovery key; it is made when it does not exist")
	old := set.Flags().String("old-key-file", "", "`FILE` of the recovery key until now: the change then counts at once, else after 72 hours")
	remove := set.Flags().Bool("clear", false, "have no recovery key any more")
	discard := set.Flags().Bool("discard-pending", false, discardHelp)
	set.RunE = func(c *cobra.Command, _ []string) error {
		if (*file == "") != *remove {
			return misuse{errors.New("recovery set needs --key-file or --clear, one of the two")}
		}
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Recovery, error) {
			return agent.SetRecovery(ctx, *file, *old, *discard)
		}, func(r client.Recovery) []string {
			lines := []string{"in force from  " + r.EffectiveAt}
			if r.Hash != nil {
				lines = append(lines, "recovery key   "+*r.Hash, "keep "+clean(*file)+" apart from this machine: whoever has it can take the agent over")
			}
			return lines
		})
	}
	use := &cobra.Command{Use: "use", Short: "Take the agent back with its recovery key", Args: noArguments}
	useFile := use.Flags().String("key-file", "", "`FILE` of the recovery key")
	agentID := use.Flags().String("agent-id", "", "`AGENT_ID`, when this profile does not know it")
	use.RunE = func(c *cobra.Command, _ []string) error {
		if *useFile == "" {
			return misuse{errors.New("recovery use needs --key-file")}
		}
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Recovered, error) {
			return agent.UseRecovery(ctx, *useFile, *agentID)
		}, func(r client.Recovered) []string {
			return []string{"agent id  " + r.AgentID, "key id    " + r.KeyID, "revoked   " + strings.Join(r.RevokedKeys, ", "), "the recovery key is used up; set another one"}
		})
	}
	c.AddCommand(set, use, a.cancel("recovery", "Drop a change of the recovery key that waits"))
	return c
}

func (a agentCommands) deleteIdentity() *cobra.Command {
	c := &cobra.Command{
		Use: "delete-identity", Short: "End the agent and erase all its entries, after 72 hours", Args: noArguments,
		Long: "Until its time has come, delete-identity cancel takes it back.",
	}
	confirm := c.Flags().String("confirm", "", "`AGENT_ID` that is to end, as agent status shows it")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Ending, error) {
			return agent.DeleteIdentity(ctx, *confirm)
		}, func(e client.Ending) []string {
			return []string{"agent id  " + e.AgentID, "ends at   " + e.EffectiveAt, "to stop it: innerloop agent delete-identity cancel"}
		})
	}
	c.AddCommand(a.cancel("deletion", "Take the deletion back while it waits"))
	return c
}

func (a agentCommands) cancel(kind, short string) *cobra.Command {
	return &cobra.Command{
		Use: "cancel", Short: short, Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return act(a, c, func(ctx context.Context, agent *client.Agent) (client.Cancelled, error) {
				return agent.Cancel(ctx, kind)
			},
				func(k client.Cancelled) []string { return []string{k.Kind + " cancelled at " + k.CancelledAt} })
		},
	}
}
