package seal

import (
	"errors"
	"regexp"
	"time"
)

// ErrDateTime reports a text outside the date-time grammar of this wire.
var ErrDateTime = errors.New("seal: not a date-time")

var dateTimePattern = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$`)

// ParseDateTime reads an ISO 8601 date-time with a mandatory offset, optional
// seconds and a fraction of any length (protocol 1). Digits past the
// nanosecond are dropped. Every refusal is ErrDateTime.
func ParseDateTime(text string) (time.Time, error) {
	if !dateTimePattern.MatchString(text) {
		return time.Time{}, ErrDateTime
	}
	layout := "2006-01-02T15:04:05Z07:00"
	if c := text[16]; c != ':' { // no seconds
		layout = "2006-01-02T15:04Z07:00"
	}
	t, err := time.Parse(layout, text) // a fraction after the seconds is read without being in the layout
	if err != nil {
		return time.Time{}, ErrDateTime
	}
	return t.UTC(), nil
}

// FormatDateTime writes t the one way this service writes times:
// YYYY-MM-DDTHH:mm:ss.sssZ.
func FormatDateTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
