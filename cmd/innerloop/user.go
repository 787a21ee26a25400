package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"innerloop/coworker"
)

func newUser(s surroundings) *cobra.Command {
	return group("user", "Users of an organization", newUserAdd(s), newUserList(s), newUserRemove(s))
}

// orgFlag declares the flag that names an organisation.
func orgFlag(c *cobra.Command) func() (coworker.OrganizationID, error) {
	id := c.Flags().String("org", "", "`ORG_ID` of the organization (required)")
	return func() (coworker.OrganizationID, error) {
		if *id == "" {
			return "", misuse{errors.New(c.CommandPath() + " needs --org ORG_ID")}
		}
		return coworker.OrganizationID(*id), nil
	}
}

func newUserAdd(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "add", arguments: []string{"NAME"}, short: "Add a user to an organization",
		flags: func(c *cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			org := orgFlag(c)
			return func(ctx context.Context, tools *coworker.Coworker, args []string) (any, []string, error) {
				id, err := org()
				if err != nil {
					return nil, nil, err
				}
				u, err := tools.AddUser(ctx, coworker.Operator(), id, args[0])
				if err != nil {
					return nil, nil, err
				}
				return u.Record(), []string{"user " + string(u.ID)}, nil
			}
		},
	}.command()
}

func newUserList(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "list", short: "List the users of an organization",
		flags: func(c *cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			org := orgFlag(c)
			return func(ctx context.Context, tools *coworker.Coworker, _ []string) (any, []string, error) {
				id, err := org()
				if err != nil {
					return nil, nil, err
				}
				rows, lines := []coworker.UserRecord{}, []string{}
				for after := coworker.UserID(""); ; {
					page, err := tools.Users(ctx, coworker.Operator(), id, after, coworker.PageMax)
					if err != nil {
						return nil, nil, err
					}
					for _, u := range page {
						rows = append(rows, u.Record())
						lines = append(lines, string(u.ID)+"  "+clean(u.Name))
						after = u.ID
					}
					if len(page) < coworker.PageMax {
						return struct {
							Users []coworker.UserRecord `json:"users"`
						}{rows}, lines, nil
					}
				}
			}
		},
	}.command()
}

func newUserRemove(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "remove", arguments: []string{"USER_ID"}, short: "Remove a user with keys and sessions",
		long: "The user's keys stop with the next request. The last user of an organization stays; delete the organization instead.",
		flags: func(*cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			return func(ctx context.Context, tools *coworker.Coworker, args []string) (any, []string, error) {
				u, err := tools.User(ctx, coworker.Operator(), coworker.UserID(args[0]))
				if err != nil {
					return nil, nil, err
				}
				if err := tools.RemoveUser(ctx, coworker.Operator(), u.Organization, u.ID); err != nil {
					return nil, nil, err
				}
				return struct {
					ID      coworker.UserID `json:"user_id"`
					Removed bool            `json:"removed"`
				}{u.ID, true}, []string{string(u.ID) + " is removed"}, nil
			}
		},
	}.command()
}
