package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"innerloop/coworker"
	"innerloop/coworker/skills"
)

func newSkill(s surroundings) *cobra.Command {
	return group("skill", "Skills of an organization: folders in the Agent Skills format",
		newSkillAdd(s), newSkillList(s), newSkillSwitch(s, true), newSkillSwitch(s, false), newSkillRemove(s))
}

// shelved declares the flag that names an organisation, and opens its skills.
func shelved(c *cobra.Command) func(indoors) (*skills.Shelf, coworker.OrganizationID, error) {
	org := orgFlag(c)
	return func(in indoors) (*skills.Shelf, coworker.OrganizationID, error) {
		id, err := org()
		if err != nil {
			return nil, "", err
		}
		services, err := loadCatalog(in.config)
		return skills.New(in.house.store.Coworker(), in.tools, services), id, err
	}
}

func newSkillAdd(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "add", arguments: []string{"FOLDER"}, short: "Add a skill, or replace the one of the folder's name",
		long: `Reads a folder in the Agent Skills format: SKILL.md with name (the folder's),
description and perhaps metadata.service (the id of the service it works with)
in its front matter, and beside it scripts/, references/ and other files; at
most 100 files and 10 MiB, no links, nothing executable outside of scripts/.`,
		rooms: func(c *cobra.Command) func(context.Context, indoors, []string) (any, []string, error) {
			open := shelved(c)
			return func(ctx context.Context, in indoors, args []string) (any, []string, error) {
				shelf, org, err := open(in)
				if err != nil {
					return nil, nil, err
				}
				skill, err := readSkill(args[0])
				if err != nil {
					return nil, nil, err
				}
				if skill, err = shelf.Add(ctx, coworker.Operator(), org, skill); err != nil {
					return nil, nil, err
				}
				return skill.Record(), []string{fmt.Sprintf("added %s, %d files", skill.ID, len(skill.Files))}, nil
			}
		},
	}.command()
}

// readSkill reads a folder, out of which nothing can lead.
func readSkill(folder string) (skills.Skill, error) {
	whole, err := filepath.Abs(folder)
	if err != nil {
		return skills.Skill{}, fmt.Errorf("find the folder: %w", err)
	}
	if info, err := os.Lstat(whole); err != nil || !info.IsDir() {
		return skills.Skill{}, errors.Join(err, errors.New("FOLDER must be a folder, not a link to one"))
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		return skills.Skill{}, fmt.Errorf("open the folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	return skills.ReadFolder(root.FS(), filepath.Base(whole))
}

func newSkillList(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "list", short: "List the skills of an organization",
		rooms: func(c *cobra.Command) func(context.Context, indoors, []string) (any, []string, error) {
			open := shelved(c)
			return func(ctx context.Context, in indoors, _ []string) (any, []string, error) {
				shelf, org, err := open(in)
				if err != nil {
					return nil, nil, err
				}
				all, err := shelf.All(ctx, coworker.Operator(), org)
				if err != nil {
					return nil, nil, err
				}
				facts := struct {
					Skills []skills.Record `json:"skills"`
				}{[]skills.Record{}}
				lines := []string{}
				for _, one := range all {
					facts.Skills = append(facts.Skills, one.Record())
					word := "enabled"
					if !one.Enabled {
						word = "disabled"
					}
					lines = append(lines, fmt.Sprintf("%-30s %-9s %s", one.ID, word, one.Service))
				}
				if len(lines) == 0 {
					lines = []string{"no skills"}
				}
				return facts, lines, nil
			}
		},
	}.command()
}

func newSkillSwitch(s surroundings, on bool) *cobra.Command {
	use, short := "disable", "Disable a skill: for keys it is not there any more"
	if on {
		use, short = "enable", "Enable a skill that was disabled"
	}
	return administration{
		s: s, use: use, arguments: []string{"SKILL_ID"}, short: short,
		rooms: func(c *cobra.Command) func(context.Context, indoors, []string) (any, []string, error) {
			open := shelved(c)
			return func(ctx context.Context, in indoors, args []string) (any, []string, error) {
				shelf, org, err := open(in)
				if err != nil {
					return nil, nil, err
				}
				if err := shelf.Switch(ctx, coworker.Operator(), org, args[0], on); err != nil {
					return nil, nil, err
				}
				return struct {
					ID      string `json:"skill_id"`
					Enabled bool   `json:"enabled"`
				}{args[0], on}, []string{use + "d " + clean(args[0])}, nil
			}
		},
	}.command()
}

func newSkillRemove(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "remove", arguments: []string{"SKILL_ID"}, short: "Remove a skill with its files",
		rooms: func(c *cobra.Command) func(context.Context, indoors, []string) (any, []string, error) {
			open := shelved(c)
			return func(ctx context.Context, in indoors, args []string) (any, []string, error) {
				shelf, org, err := open(in)
				if err != nil {
					return nil, nil, err
				}
				if err := shelf.Remove(ctx, coworker.Operator(), org, args[0]); err != nil {
					return nil, nil, err
				}
				return struct {
					ID string `json:"skill_id"`
				}{args[0]}, []string{"removed " + clean(args[0])}, nil
			}
		},
	}.command()
}
