package locale

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

var (
	monthsEnglish = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	// Russian dates take the month in the genitive.
	monthsRussian      = [...]string{"января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября", "декабря"}
	monthsShortEnglish = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	monthsShortRussian = [...]string{"янв", "фев", "мар", "апр", "мая", "июн", "июл", "авг", "сен", "окт", "ноя", "дек"}
)

func (l Lang) month(m time.Month, short bool) string {
	switch {
	case l == Russian && short:
		return monthsShortRussian[m-1]
	case l == Russian:
		return monthsRussian[m-1]
	case short:
		return monthsShortEnglish[m-1]
	default:
		return monthsEnglish[m-1]
	}
}

// DayMonth is "30 November" in UTC.
func (l Lang) DayMonth(t time.Time) string {
	t = t.UTC()
	return strconv.Itoa(t.Day()) + " " + l.month(t.Month(), false)
}

// ShortDay is "30 Nov" in UTC.
func (l Lang) ShortDay(t time.Time) string {
	t = t.UTC()
	return strconv.Itoa(t.Day()) + " " + l.month(t.Month(), true)
}

// ShortDate is "30 Nov 2026" in UTC.
func (l Lang) ShortDate(t time.Time) string {
	return l.ShortDay(t) + " " + strconv.Itoa(t.UTC().Year())
}

// LongDate is "30 November 2026" in UTC.
func (l Lang) LongDate(t time.Time) string {
	return l.DayMonth(t) + " " + strconv.Itoa(t.UTC().Year())
}

// MonthYear is "November 2026"; in Russian in the genitive, to follow «с».
func (l Lang) MonthYear(t time.Time) string {
	t = t.UTC()
	return l.month(t.Month(), false) + " " + strconv.Itoa(t.Year())
}

// LongStamp is "30 November 2026, 06:12 UTC".
func (l Lang) LongStamp(t time.Time) string {
	return l.LongDate(t) + t.UTC().Format(", 15:04 UTC")
}

// ShortStamp is "30 Nov 2026, 06:12:44 UTC".
func (l Lang) ShortStamp(t time.Time) string {
	return l.ShortDate(t) + t.UTC().Format(", 15:04:05 UTC")
}

// FullStamp is the same in both languages: "2026-11-30 06:12:44 UTC".
func FullStamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Machine is the value of a datetime attribute: RFC 3339 in UTC.
func Machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Day is the divider above the entries of a UTC day: "Today, 30 November",
// "Yesterday, …", and with the year once it is not the present one.
func (l Lang) Day(t, now time.Time) string {
	m := l.Messages()
	switch day := days(t); {
	case day == days(now):
		return fmt.Sprintf(m.Today, l.DayMonth(t))
	case day == days(now)-1:
		return fmt.Sprintf(m.Yesterday, l.DayMonth(t))
	case t.UTC().Year() == now.UTC().Year():
		return l.DayMonth(t)
	default:
		return l.LongDate(t)
	}
}

// When is the short time beside a name: minutes or hours within a day of
// now, a date after that. A time ahead of now reads as the present.
func (l Lang) When(t, now time.Time) (text string, relative bool) {
	m := l.Messages()
	age := now.Sub(t)
	switch {
	case age < time.Minute:
		return m.JustNow, true
	case age < time.Hour:
		return strings.ReplaceAll(m.MinutesAgo, "#", strconv.Itoa(int(age/time.Minute))), true
	case age < 24*time.Hour:
		return strings.ReplaceAll(m.HoursAgo, "#", strconv.Itoa(int(age/time.Hour))), true
	case t.UTC().Year() == now.UTC().Year():
		return l.ShortDay(t), false
	default:
		return l.ShortDate(t), false
	}
}

// days counts whole UTC days since the epoch.
func days(t time.Time) int64 { return t.UTC().Truncate(24*time.Hour).Unix() / 86400 }
