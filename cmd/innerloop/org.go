package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/coworker/skills"
)

// administration is one command that manages the coworker: it opens the store
// as it is, beside a serving process or without one.
type administration struct {
	s         surroundings
	use       string
	short     string
	long      string
	arguments []string // their names, all required
	// flags declares the command's own and returns what does it.
	flags func(c *cobra.Command) func(ctx context.Context, c *coworker.Coworker, args []string) (facts any, lines []string, err error)
	// keeps stands in place of flags for what needs the vault.
	keeps func(c *cobra.Command) func(ctx context.Context, k *connect.Keeper, args []string) (facts any, lines []string, err error)
	// rooms stands in place of flags for what needs another room of the house.
	rooms func(c *cobra.Command) func(ctx context.Context, in indoors, args []string) (facts any, lines []string, err error)
}

// indoors is where a command works that needs more than the coworker.
type indoors struct {
	house  *house
	config Config
	tools  *coworker.Coworker
}

func (a administration) command() *cobra.Command {
	c := &cobra.Command{Use: strings.Join(append([]string{a.use}, a.arguments...), " "), Short: a.short, Long: a.long}
	declareSettings(c.Flags())
	asJSON := jsonFlag(c)
	var do func(context.Context, *coworker.Coworker, []string) (any, []string, error)
	var keep func(context.Context, *connect.Keeper, []string) (any, []string, error)
	var room func(context.Context, indoors, []string) (any, []string, error)
	switch {
	case a.keeps != nil:
		keep = a.keeps(c)
	case a.rooms != nil:
		room = a.rooms(c)
	default:
		do = a.flags(c)
	}
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if len(args) != len(a.arguments) {
			needs := "nothing"
			if len(a.arguments) > 0 {
				needs = strings.Join(a.arguments, " ")
			}
			return misuse{errors.New(c.CommandPath() + " takes " + needs + "; see " + c.CommandPath() + " --help")}
		}
		config, err := a.s.config(cmd)
		if err != nil {
			return err
		}
		log := newLog(a.s.err, config)
		h, err := openHouse(cmd.Context(), config, log, false, time.Now)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		tools, err := h.coworker(config, "", log)
		if err != nil {
			return err
		}
		var facts any
		var lines []string
		switch {
		case keep != nil:
			facts, lines, err = keeping(cmd.Context(), h, config, tools, keep, args)
		case room != nil:
			facts, lines, err = room(cmd.Context(), indoors{h, config, tools}, args)
		default:
			facts, lines, err = do(cmd.Context(), tools, args)
		}
		if err != nil {
			return plainly(err)
		}
		return a.s.tell(*asJSON, facts, lines...)
	}
	return c
}

// keeping opens the vault for a command.
func keeping(ctx context.Context, h *house, c Config, tools *coworker.Coworker, do func(context.Context, *connect.Keeper, []string) (any, []string, error), args []string) (any, []string, error) {
	services, err := loadCatalog(c)
	if err != nil {
		return nil, nil, err
	}
	keeper, _, err := h.connections(services, tools, nil)
	if err != nil {
		return nil, nil, err
	}
	return do(ctx, keeper, args)
}

// plainly tells a fault as a person reads it.
func plainly(err error) error {
	f, ok := coworker.AsFault(err)
	if !ok {
		return err
	}
	said := f.Contract()
	text := strings.TrimSuffix(said.Message, ".")
	if problems, ok := f.Details.([]coworker.Problem); ok {
		text = ""
		for i, p := range problems {
			if i > 0 {
				text += "; "
			}
			text += p.Field + " " + p.Problem
		}
		return misuse{errors.New(text)}
	}
	return errors.New(text)
}

// group is a word that needs a command after it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.RunE = func(*cobra.Command, []string) error {
		return misuse{errors.New(use + " needs a command; see innerloop " + use + " --help")}
	}
	c.AddCommand(commands...)
	return c
}

func newOrg(s surroundings) *cobra.Command {
	return group("org", "Organizations that use the service as their toolbox",
		newOrgCreate(s), newOrgList(s), newOrgExport(s), newOrgDelete(s), newOrgAllowNetwork(s), newOrgSet(s))
}

func newOrgCreate(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "create", arguments: []string{"NAME"}, short: "Make an organization with its first user and admin key",
		long: `Makes an organization, a first user and a key with the scope admin. The key is
printed this once and is stored nowhere; with it sign in to the settings pages
or make further keys.`,
		flags: func(c *cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			days := c.Flags().Int("expires-in-days", 0, "`DAYS` the admin key lives, 1 to 365; 90 when not given")
			return func(ctx context.Context, tools *coworker.Coworker, args []string) (any, []string, error) {
				if err := positive(c, "expires-in-days", *days); err != nil {
					return nil, nil, err
				}
				f, err := tools.CreateOrganization(ctx, coworker.Operator(), args[0], *days)
				if err != nil {
					return nil, nil, err
				}
				facts := struct {
					Organization coworker.OrganizationID `json:"organization_id"`
					User         coworker.UserID         `json:"user_id"`
					KeyID        coworker.KeyID          `json:"key_id"`
					Key          string                  `json:"key"`
				}{f.Organization.ID, f.User.ID, f.Key.ID, f.Secret.Reveal()}
				return facts, []string{
					"organization " + string(f.Organization.ID), "user         " + string(f.User.ID), "key          " + string(f.Key.ID),
					"", f.Secret.Reveal(), "", "This is the admin key, until " + coworker.FormatTime(f.Key.ExpiresAt) + ". It is not shown again.",
				}, nil
			}
		},
	}.command()
}

// positive refuses a number that was given and means nothing: zero would be
// taken for the default.
func positive(c *cobra.Command, name string, n int) error {
	if c.Flags().Changed(name) && n < 1 {
		return misuse{errors.New("--" + name + " must be 1 or more")}
	}
	return nil
}

func newOrgList(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "list", short: "List the organizations",
		flags: func(*cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			return func(ctx context.Context, tools *coworker.Coworker, _ []string) (any, []string, error) {
				rows, lines := []coworker.OrganizationRecord{}, []string{}
				for after := coworker.OrganizationID(""); ; {
					page, err := tools.Organizations(ctx, coworker.Operator(), after, coworker.PageMax)
					if err != nil {
						return nil, nil, err
					}
					for _, o := range page {
						rows = append(rows, o.Record())
						lines = append(lines, string(o.ID)+"  "+clean(o.Name))
						after = o.ID
					}
					if len(page) < coworker.PageMax {
						return struct {
							Organizations []coworker.OrganizationRecord `json:"organizations"`
						}{rows}, lines, nil
					}
				}
			}
		},
	}.command()
}

func newOrgDelete(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "delete", arguments: []string{"ORG_ID"}, short: "Delete an organization with its users, keys, sessions and audit",
		long: "Nothing of it can be had back, and its keys stop with the next request. Export it before.",
		flags: func(c *cobra.Command) func(context.Context, *coworker.Coworker, []string) (any, []string, error) {
			yes := c.Flags().Bool("yes", false, "do it; without this flag nothing is deleted")
			return func(ctx context.Context, tools *coworker.Coworker, args []string) (any, []string, error) {
				if !*yes {
					return nil, nil, misuse{errors.New("deleting cannot be undone; add --yes")}
				}
				if err := tools.DeleteOrganization(ctx, coworker.Operator(), coworker.OrganizationID(args[0])); err != nil {
					return nil, nil, err
				}
				return struct {
					ID      string `json:"organization_id"`
					Deleted bool   `json:"deleted"`
				}{args[0], true}, []string{args[0] + " is deleted"}, nil
			}
		},
	}.command()
}

func newOrgExport(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "export ORG_ID", Short: "Write everything stored of an organization to standard output, as JSON Lines",
		Long: "One record a line: the organization, its users, its keys without their secrets,\nits rules, networks and connections without credentials, its skills and the memory of its users with\ntheir files (in base64), its audit.",
	}
	declareSettings(c.Flags())
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if len(args) != 1 {
			return misuse{errors.New(c.CommandPath() + " takes ORG_ID; see " + c.CommandPath() + " --help")}
		}
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		log := newLog(s.err, config)
		h, err := openHouse(cmd.Context(), config, log, false, time.Now)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		tools, err := h.coworker(config, "", log)
		if err != nil {
			return err
		}
		services, err := loadCatalog(config)
		if err != nil {
			return err
		}
		files, err := h.memory(tools)
		if err != nil {
			return err
		}
		keeper, _, err := h.connections(services, tools, files)
		if err != nil {
			return err
		}
		lines := json.NewEncoder(s.out)
		lines.SetEscapeHTML(false)
		return plainly(tools.ExportOrganization(cmd.Context(), coworker.Operator(), coworker.OrganizationID(args[0]), func(e coworker.ExportedRecord) error {
			return lines.Encode(e)
		}, keeper.Export, skills.New(h.store.Coworker(), tools, services).Export, files.Export))
	}
	return c
}
