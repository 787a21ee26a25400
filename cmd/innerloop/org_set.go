package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

func newOrgSet(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "set", short: "Change an organization's rules for calls and for code",
		long: `Each rule is off until it is switched on. What is not named stays as it is, and
a change holds with the next call of any key.`,
		keeps: func(c *cobra.Command) func(context.Context, *connect.Keeper, []string) (any, []string, error) {
			org := orgFlag(c)
			confirm := c.Flags().String("must-confirm", "", "`on|off`: every call that cannot be undone needs a confirmation")
			broker := c.Flags().String("broker-only", "", "`on|off`: code in the sandbox gets no credential, only coworker.call")
			all := c.Flags().String("all-when-unnamed", "", "`on|off`: code that names no service gets the credentials of all it may use")
			return func(ctx context.Context, k *connect.Keeper, _ []string) (any, []string, error) {
				id, err := org()
				if err != nil {
					return nil, nil, err
				}
				var change connect.SettingsChange
				for _, rule := range []struct {
					name, given string
					into        **bool
				}{{"must-confirm", *confirm, &change.MustConfirm}, {"broker-only", *broker, &change.BrokerOnly}, {"all-when-unnamed", *all, &change.AllWhenUnnamed}} {
					if !c.Flags().Changed(rule.name) {
						continue
					}
					if rule.given != "on" && rule.given != "off" {
						return nil, nil, misuse{errors.New("--" + rule.name + " must be on or off")}
					}
					*rule.into = new(rule.given == "on")
				}
				if change == (connect.SettingsChange{}) {
					return nil, nil, misuse{errors.New("org set needs --must-confirm, --broker-only or --all-when-unnamed")}
				}
				rules, err := k.ChangeSettings(ctx, coworker.Operator(), id, change)
				if err != nil {
					return nil, nil, err
				}
				facts := struct {
					Organization coworker.OrganizationID `json:"organization_id"`
					connect.Settings
				}{id, rules}
				return facts, []string{
					"must-confirm      " + onOff(rules.MustConfirm), "broker-only       " + onOff(rules.BrokerOnly), "all-when-unnamed  " + onOff(rules.AllWhenUnnamed),
				}, nil
			}
		},
	}.command()
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
