package settings

import (
	"fmt"
	"strings"
	"time"
)

// Audit is the page of the audit log.
type Audit struct {
	Frame
	Users, Keys, Tools, Errors []Choice
	Service, From, Until       string
	Rows                       []AuditRow
	Older, Newest, Download    string // addresses; empty for none
	Days                       []AuditDay
	Calls, Failed              int  // of all days shown
	Narrowed                   bool // a filter is in force
}

// An AuditRow is one call or change.
type AuditRow struct {
	At             Moment
	Who, Key       string
	What, Call     string // what was done; to whom or what
	Service, Where string // Where is module, method and path
	Result         string // a status or an error code
	Bad            bool
	Took           string
}

// An AuditDay is one bar of the chart.
type AuditDay struct {
	Day           string // as it is read
	Calls, Errors int
}

// The chart is a hundred units high and ten wide for a day.
const (
	chartHigh = 100
	chartWide = 10
)

func (v Audit) box() string {
	return fmt.Sprintf("0 0 %d %d", max(len(v.Days), 1)*chartWide, chartHigh)
}

// bars draws one bar a day as a single path.
func (v Audit) bars(count func(AuditDay) int) string {
	most := 1
	for _, d := range v.Days {
		most = max(most, d.Calls)
	}
	var path strings.Builder
	for i, d := range v.Days {
		if n := count(d); n > 0 {
			high := max(n*chartHigh/most, 2) // a single call is still seen
			fmt.Fprintf(&path, "M%d %dv%dh%dv-%dz", i*chartWide+1, chartHigh-high, high, chartWide-2, high)
		}
	}
	return path.String()
}

func (v Audit) calls() string  { return v.bars(func(d AuditDay) int { return d.Calls }) }
func (v Audit) failed() string { return v.bars(func(d AuditDay) int { return d.Errors }) }

// dateField is the kind of a field for a day. What is no day would be lost in a
// field for days, so it stays in one for text.
func dateField(value string) string {
	if _, err := time.Parse(time.DateOnly, value); value != "" && err != nil {
		return "text"
	}
	return "date"
}
