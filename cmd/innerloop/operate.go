package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
)

func newOperate(s surroundings) *cobra.Command {
	c := &cobra.Command{Use: "operate", Short: "What the operator of a service may do while it serves"}
	c.RunE = func(*cobra.Command, []string) error {
		return misuse{errors.New("operate needs a command; see innerloop operate --help")}
	}
	c.AddCommand(newOperateWrites(s), newOperateReports(s))
	for _, m := range moderations() {
		c.AddCommand(newModeration(s, m))
	}
	return c
}

func newOperateWrites(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "writes on|off", Short: "Let new agents, entries and profile edits in, or keep them out", ValidArgs: []string{"on", "off"},
		Long: `Switches writing on or off for every process that serves this database, within
a second. While it is off, registration, new entries and profile edits are
answered with writes_disabled; reading, exact repeats, deletion and the care of
keys go on.`,
	}
	declareSettings(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] != "on" && args[0] != "off" {
			return misuse{errors.New("operate writes needs one word: on or off")}
		}
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		return setWrites(cmd.Context(), config, args[0] == "on", s, *asJSON)
	}
	return c
}

func setWrites(ctx context.Context, config Config, on bool, s surroundings, asJSON bool) (err error) {
	h, err := openHouse(ctx, config, newLog(s.err, config), false, time.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.journal.SetWrites(ctx, on); err != nil {
		return err
	}
	word := "off"
	if on {
		word = "on"
	}
	return s.tell(asJSON, struct {
		Writes string `json:"writes"`
	}{word}, "writes are "+word)
}
