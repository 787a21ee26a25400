package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"innerloop/coworker"
	"innerloop/internal/limit"
)

func newKey(s surroundings) *cobra.Command {
	return group("key", "Keys of an organization", newKeyCreate(s), newKeyList(s), newKeyUpdate(s), newKeyRevoke(s))
}

// keyFlags are the flags that describe a key, for making and changing one.
type keyFlags struct {
	c                                          *cobra.Command
	name, scopes, connectors, class, addresses *string
	rate                                       *int
}

func declareKey(c *cobra.Command, name, scopes, class string) keyFlags {
	f := c.Flags()
	return keyFlags{
		c:          c,
		name:       f.String("name", name, "`NAME` by which people know the key"),
		scopes:     f.String("scopes", scopes, "comma-separated `SCOPES`: "+strings.Join(coworker.AllScopes(), ", ")),
		connectors: f.String("connectors", "", "comma-separated ids of the `SERVICES` it may use; all for every one, none for no one (default all)"),
		class:      f.String("class", class, "highest `CLASS` of call: read, write or irreversible"),
		addresses:  f.String("networks", "", "comma-separated `NETWORKS` it may be used from; all for anywhere (default all)"),
		rate:       f.Int("rate", 0, "`CALLS` a minute it may make; 0 for no limit of its own"),
	}
}

// change reads the flags that were given; every mistake is told at once.
func (f keyFlags) change() (coworker.Change, error) {
	var change coworker.Change
	var errs []error
	given := f.c.Flags().Changed
	if given("name") {
		change.Name = f.name
	}
	if given("scopes") {
		scopes, ok := coworker.ParseScopes(words(*f.scopes))
		if !ok {
			errs = append(errs, errors.New("--scopes must be one or more of "+strings.Join(coworker.AllScopes(), ", ")))
		}
		change.Scopes = &scopes
	}
	if given("connectors") {
		list := words(*f.connectors)
		switch *f.connectors {
		case "all":
			list = nil
		case "none", "":
			list = []string{}
		}
		change.Connectors = &list
	}
	if given("class") {
		class := coworker.Class(*f.class)
		if !class.Valid() {
			errs = append(errs, errors.New("--class must be read, write or irreversible"))
		}
		change.Class = &class
	}
	if given("networks") {
		var networks []netip.Prefix
		if *f.addresses != "all" {
			var err error
			if networks, err = limit.ParsePrefixes(*f.addresses); err != nil || len(networks) == 0 {
				errs = append(errs, errors.New("--networks must be networks in CIDR form, or all"))
			}
		}
		change.Networks = &networks
	}
	if given("rate") {
		change.Rate = f.rate
	}
	if err := errors.Join(errs...); err != nil {
		return change, misuse{err}
	}
	return change, nil
}

func words(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		all = append(all, strings.TrimSpace(word))
	}
	return all
}

func newKeyCreate(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "create", short: "Make a key and print it, this once",
		long: `Makes a key. It is printed this once and is stored nowhere. Without --user it
belongs to the organization's first user. When the last admin key was lost, make
another with --scopes admin.`,
		flags: func(c *cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			org := orgFlag(c)
			user := c.Flags().String("user", "", "`USER_ID` whose key it is; the first user when not given")
			days := c.Flags().Int("expires-in-days", coworker.DaysDefault, "`DAYS` it lives, 1 to 365")
			fields := declareKey(c, "made at the command line", coworker.WriteTools.String(), string(coworker.ClassIrreversible))
			return func(ctx context.Context, tools *coworker.Coworker, _ []string) (any, []string, error) {
				id, err := org()
				if err != nil {
					return nil, nil, err
				}
				if c.Flags().Changed("user") && *user == "" {
					return nil, nil, misuse{errors.New("--user must be a USER_ID")}
				}
				given, err := fields.change()
				if err := errors.Join(err, positive(c, "expires-in-days", *days)); err != nil {
					return nil, nil, err
				}
				wish := coworker.NewKey{User: coworker.UserID(*user), Name: *fields.name, Days: *days, Class: coworker.Class(*fields.class), Rate: *fields.rate}
				if given.Scopes != nil {
					wish.Scopes = *given.Scopes
				}
				if given.Connectors != nil {
					wish.Connectors = *given.Connectors
				}
				if given.Networks != nil {
					wish.Networks = *given.Networks
				}
				k, secret, err := tools.CreateKey(ctx, coworker.Operator(), id, wish)
				if err != nil {
					return nil, nil, err
				}
				facts := struct {
					ID        coworker.KeyID  `json:"key_id"`
					Key       string          `json:"key"`
					Scopes    coworker.Scopes `json:"scopes"`
					ExpiresAt string          `json:"expires_at"`
				}{k.ID, secret.Reveal(), k.Scopes, coworker.FormatTime(k.ExpiresAt)}
				return facts, []string{
					"key " + string(k.ID) + " with " + k.Scopes.String(), "", secret.Reveal(), "", "It lives until " + facts.ExpiresAt + " and is not shown again.",
				}, nil
			}
		},
	}.command()
}

func newKeyList(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "list", short: "List the keys of an organization, newest first",
		flags: func(c *cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			org := orgFlag(c)
			return func(ctx context.Context, tools *coworker.Coworker, _ []string) (any, []string, error) {
				id, err := org()
				if err != nil {
					return nil, nil, err
				}
				rows, lines := []coworker.KeyRecord{}, []string{}
				for cursor := ""; ; {
					page, err := tools.ListKeys(ctx, coworker.Operator(), id, cursor, coworker.PageMax)
					if err != nil {
						return nil, nil, err
					}
					for _, k := range page.Keys {
						rows = append(rows, k.Record(time.Now()))
						lines = append(lines, fmt.Sprintf("%s  %s…  %-7s  %s  %s", k.ID, k.Prefix, k.Status(time.Now()), k.Scopes, clean(k.Name)))
					}
					if cursor = page.Next; cursor == "" {
						return struct {
							Keys []coworker.KeyRecord `json:"keys"`
						}{rows}, lines, nil
					}
				}
			}
		},
	}.command()
}

func newKeyUpdate(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "update", arguments: []string{"KEY_ID"}, short: "Change a key's name, scopes, lists, class or rate",
		long: "What is not given stays. It holds with the key's next request, in every process.",
		flags: func(c *cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			fields := declareKey(c, "", "", "")
			return func(ctx context.Context, tools *coworker.Coworker, args []string) (any, []string, error) {
				change, err := fields.change()
				if err != nil {
					return nil, nil, err
				}
				if change == (coworker.Change{}) {
					return nil, nil, misuse{errors.New("say what to change; see " + c.CommandPath() + " --help")}
				}
				k, err := tools.Key(ctx, coworker.Operator(), coworker.KeyID(args[0]))
				if err != nil {
					return nil, nil, err
				}
				if k, err = tools.UpdateKey(ctx, coworker.Operator(), k.Organization, k.ID, change); err != nil {
					return nil, nil, err
				}
				return k.Record(time.Now()), []string{string(k.ID) + " is changed"}, nil
			}
		},
	}.command()
}

func newKeyRevoke(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "revoke", arguments: []string{"KEY_ID"}, short: "Revoke a key for ever",
		long: "It is refused from its next request on, and the sessions opened with it have ended.",
		flags: func(*cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			return func(ctx context.Context, tools *coworker.Coworker, args []string) (any, []string, error) {
				k, err := tools.Key(ctx, coworker.Operator(), coworker.KeyID(args[0]))
				if err != nil {
					return nil, nil, err
				}
				if k, err = tools.RevokeKey(ctx, coworker.Operator(), k.Organization, k.ID); err != nil {
					return nil, nil, err
				}
				return struct {
					ID        coworker.KeyID `json:"key_id"`
					RevokedAt string         `json:"revoked_at"`
				}{k.ID, coworker.FormatTime(k.RevokedAt)}, []string{string(k.ID) + " is revoked"}, nil
			}
		},
	}.command()
}
