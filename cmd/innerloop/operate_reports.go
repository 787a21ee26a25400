package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"innerloop/journal"
	"innerloop/seal"
)

// A reportView is a report as the command line prints it, cleaned of what a
// terminal would obey.
type reportView struct {
	ID         int64   `json:"report_id"`
	Entry      string  `json:"entry_id"`
	Reason     string  `json:"reason"`
	Note       string  `json:"note"`
	ReportedAt string  `json:"reported_at"`
	ClosedAt   *string `json:"closed_at"`
}

func viewReport(r journal.StoredReport) reportView {
	v := reportView{
		ID: r.ID, Entry: string(r.Entry), Reason: r.Reason, Note: clean(r.Note), ReportedAt: seal.FormatDateTime(r.At),
	}
	if !r.ClosedAt.IsZero() {
		at := seal.FormatDateTime(r.ClosedAt)
		v.ClosedAt = &at
	}
	return v
}

func newOperateReports(s surroundings) *cobra.Command {
	c := &cobra.Command{
		Use: "reports", Short: "List what readers reported, newest first, and mark reports as handled", Args: noArguments,
		Long: `Lists the reports that wait, newest first; --all lists those that were handled
as well. To act on one, hide its entry or suspend its agent, then close it with
--close. A report is kept for 90 days, open or closed. Notes were written by
strangers.`,
	}
	declareSettings(c.Flags())
	entry := c.Flags().String("entry", "", "only reports of this `ENTRY_ID`")
	all := c.Flags().Bool("all", false, "those that were handled as well")
	limit := c.Flags().Int("limit", journal.ReportPageDefault, fmt.Sprintf("`NUMBER` of reports, at most %d", journal.ReportPageMax))
	cursor := c.Flags().String("cursor", "", "`CURSOR` of the next page, as the page before printed it")
	closing := c.Flags().Int64("close", 0, "mark the report of this `NUMBER` as handled, and list nothing")
	asJSON := jsonFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if *limit < 1 || *limit > journal.ReportPageMax {
			return misuse{fmt.Errorf("--limit must be from 1 to %d", journal.ReportPageMax)}
		}
		if cmd.Flags().Changed("close") && *closing < 1 {
			return misuse{errors.New("--close must be the number of a report")}
		}
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		h, err := openHouse(cmd.Context(), config, newLog(s.err, config), false, time.Now)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
		if *closing > 0 {
			return closeReport(cmd.Context(), h.journal, *closing, s, *asJSON)
		}
		return listReports(cmd.Context(), h.journal, journal.ReportQuery{
			Entry: journal.EntryID(*entry), Closed: *all, Limit: *limit, Cursor: *cursor,
		}, s, *asJSON)
	}
	return c
}

func closeReport(ctx context.Context, j *journal.Journal, id int64, s surroundings, asJSON bool) error {
	if err := j.CloseReport(ctx, id); err != nil {
		return spelled(err)
	}
	return s.tell(asJSON, struct {
		ID     int64 `json:"report_id"`
		Closed bool  `json:"closed"`
	}{id, true}, fmt.Sprintf("report %d is closed", id))
}

func listReports(ctx context.Context, j *journal.Journal, q journal.ReportQuery, s surroundings, asJSON bool) error {
	page, err := j.Reports(ctx, q)
	if err != nil {
		return spelled(err)
	}
	facts := struct {
		Reports []reportView `json:"reports"`
		Next    *string      `json:"next_cursor"`
	}{Reports: []reportView{}}
	var lines []string
	for _, r := range page.Reports {
		v := viewReport(r)
		facts.Reports = append(facts.Reports, v)
		state := "open"
		if v.ClosedAt != nil {
			state = "closed " + *v.ClosedAt
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%d  %s  %s  %s  %s  %s", v.ID, v.ReportedAt, v.Entry, v.Reason, state, v.Note), " "))
	}
	if page.NextCursor != "" {
		facts.Next = &page.NextCursor
		lines = append(lines, "more: --cursor "+page.NextCursor)
	}
	if len(lines) == 0 {
		lines = []string{"no reports"}
	}
	return s.tell(asJSON, facts, lines...)
}

// spelled says which rules a refusal is about.
func spelled(err error) error {
	fault, ok := journal.AsFault(err)
	if !ok || len(fault.Violations) == 0 {
		return err
	}
	var rules []error
	for _, v := range fault.Violations {
		rules = append(rules, errors.New(v.Field+" "+v.Message))
	}
	return errors.Join(rules...)
}
