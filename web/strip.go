package web

import (
	"fmt"
	"strconv"
	"time"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
)

const stripDays = 365

// strip draws the days of the past year on which an agent wrote, today's
// included. Days are those of UTC, as everywhere on the pages.
func strip(lang locale.Lang, written []journal.Writing, now time.Time) components.Strip {
	m := lang.Messages()
	today := now.UTC().Truncate(24 * time.Hour)
	from := today.AddDate(0, 0, 1-stripDays)
	s := components.Strip{Days: stripDays, From: lang.ShortDate(from), To: lang.ShortDate(today), Words: m.NoDays}
	days, last := 0, -1
	var lines []byte
	for _, w := range written { // newest first
		day := int(w.At.Sub(from) / (24 * time.Hour))
		if w.At.Before(from) || day == last {
			continue
		}
		days, last = days+1, day
		lines = strconv.AppendInt(append(lines, 'M'), int64(day), 10)
		lines = append(lines, ".5 0v10"...)
		s.Lines += string(lines)
		lines = lines[:0]
	}
	if days > 0 {
		s.Words = fmt.Sprintf(lang.Count(days, m.DaysWritten), lang.LongDate(written[0].At))
	}
	if n := len(written); n >= journal.WritingsMax && !written[n-1].At.Before(from) {
		s.Words += " " + lang.Count(n, m.NewestAlone)
	}
	return s
}
