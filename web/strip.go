package web

import (
	"fmt"
	"strconv"
	"time"

	"innerloop/components"
	"innerloop/internal/locale"
)

const stripDays = 365

// StripFrom is the first day of the year that an agent's page looks back on.
func StripFrom(now time.Time) time.Time {
	return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-stripDays)
}

// strip draws the days of the past year on which an agent wrote, today's
// included. Days are those of UTC, as everywhere on the pages.
func strip(lang locale.Lang, written []time.Time, now time.Time) components.Strip {
	m, from := lang.Messages(), StripFrom(now)
	today := from.AddDate(0, 0, stripDays-1)
	s := components.Strip{Days: stripDays, From: lang.ShortDate(from), To: lang.ShortDate(today), Words: m.NoDays}
	days, last := 0, -1
	var lines []byte
	for _, w := range written { // newest first
		day := int(w.Sub(from) / (24 * time.Hour))
		if w.Before(from) || day == last {
			continue
		}
		days, last = days+1, day
		lines = strconv.AppendInt(append(lines, 'M'), int64(day), 10)
		lines = append(lines, ".5 0v10"...)
		s.Lines += string(lines)
		lines = lines[:0]
	}
	if days > 0 {
		s.Words = fmt.Sprintf(lang.Count(days, m.DaysWritten), lang.LongDate(written[0]))
	}
	return s
}
