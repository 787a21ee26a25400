package seal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDateTimesAccepted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-09-01T10:00:00.000Z":                                   "2026-09-01T10:00:00Z",
		"2026-09-01T10:00:00Z":                                       "2026-09-01T10:00:00Z",
		"2026-09-01T10:00Z":                                          "2026-09-01T10:00:00Z",
		"2026-09-01T10:00+02:00":                                     "2026-09-01T08:00:00Z",
		"2026-09-01T10:00:00.5-03:30":                                "2026-09-01T13:30:00.5Z",
		"2026-09-01T00:00:00+23:59":                                  "2026-08-31T00:01:00Z",
		"2026-12-31T23:59:59.999-23:59":                              "2027-01-01T23:58:59.999Z",
		"2026-09-01T10:00:00+00:00":                                  "2026-09-01T10:00:00Z",
		"2026-09-01T10:00:00-00:00":                                  "2026-09-01T10:00:00Z",
		"2026-09-01T10:00:00.1Z":                                     "2026-09-01T10:00:00.1Z",
		"2026-09-01T10:00:00.123456789Z":                             "2026-09-01T10:00:00.123456789Z",
		"2026-09-01T10:00:00.1234567899Z":                            "2026-09-01T10:00:00.123456789Z",
		"2026-09-01T10:00:00." + strings.Repeat("9", 1000) + "Z":     "2026-09-01T10:00:00.999999999Z",
		"2026-09-01T10:00:00." + strings.Repeat("0", 40) + "1+01:00": "2026-09-01T09:00:00Z",
		"2024-02-29T23:59:59Z":                                       "2024-02-29T23:59:59Z",
		"2000-02-29T00:00Z":                                          "2000-02-29T00:00:00Z",
		"0000-02-29T00:00Z":                                          "0000-02-29T00:00:00Z",
		"0001-01-01T00:00:00Z":                                       "0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999999Z":                             "9999-12-31T23:59:59.999999999Z",
		"9999-12-31T23:59:59-23:59":                                  "10000-01-01T23:58:59Z",
	} {
		got, err := ParseDateTime(text)
		if err != nil || got.Format(time.RFC3339Nano) != want || got.Location() != time.UTC {
			t.Errorf("%s is %s, not %s, %v", text, got.Format(time.RFC3339Nano), want, err)
		}
	}
}

func TestDateTimesRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":                         "",
		"date only":                     "2026-09-01",
		"no offset":                     "2026-09-01T10:00:00",
		"no offset after a fraction":    "2026-09-01T10:00:00.000",
		"no minutes":                    "2026-09-01T10Z",
		"space for T":                   "2026-09-01 10:00:00Z",
		"lower-case t":                  "2026-09-01t10:00:00Z",
		"lower-case z":                  "2026-09-01T10:00:00z",
		"zone name":                     "2026-09-01T10:00:00UTC",
		"24 o'clock":                    "2026-09-01T24:00:00Z",
		"hour 25":                       "2026-09-01T25:00:00Z",
		"minute 60":                     "2026-09-01T10:60:00Z",
		"leap second":                   "2016-12-31T23:59:60Z",
		"one-digit hour":                "2026-09-01T1:00:00Z",
		"one-digit month":               "2026-9-01T10:00:00Z",
		"one-digit second":              "2026-09-01T10:00:0Z",
		"month 0":                       "2026-00-01T10:00:00Z",
		"month 13":                      "2026-13-01T10:00:00Z",
		"day 0":                         "2026-09-00T10:00:00Z",
		"31 September":                  "2026-09-31T10:00:00Z",
		"32 January":                    "2026-01-32T10:00:00Z",
		"29 February of a common year":  "2026-02-29T10:00:00Z",
		"29 February of 1900":           "1900-02-29T10:00:00Z",
		"29 February of 2100":           "2100-02-29T10:00:00Z",
		"30 February":                   "2024-02-30T10:00:00Z",
		"five-digit year":               "12026-09-01T10:00:00Z",
		"two-digit year":                "26-09-01T10:00:00Z",
		"signed year":                   "+002026-09-01T10:00:00Z",
		"negative year":                 "-2026-09-01T10:00:00Z",
		"offset without a colon":        "2026-09-01T10:00:00+0200",
		"offset of hours only":          "2026-09-01T10:00:00+02",
		"offset with seconds":           "2026-09-01T10:00:00+02:00:00",
		"offset of 24 hours":            "2026-09-01T10:00:00+24:00",
		"offset with minute 60":         "2026-09-01T10:00:00+02:60",
		"Z and an offset":               "2026-09-01T10:00:00Z+00:00",
		"minus sign of typography":      "2026-09-01T10:00:00\u221202:00",
		"empty fraction":                "2026-09-01T10:00:00.Z",
		"comma for the point":           "2026-09-01T10:00:00,5Z",
		"fraction of a minute":          "2026-09-01T10:00.5Z",
		"two fractions":                 "2026-09-01T10:00:00.5.5Z",
		"letter in the fraction":        "2026-09-01T10:00:00.5eZ",
		"space before":                  " 2026-09-01T10:00:00Z",
		"space after":                   "2026-09-01T10:00:00Z ",
		"line feed after":               "2026-09-01T10:00:00Z\n",
		"line feed after, no seconds":   "2026-09-01T10:00Z\n",
		"two lines":                     "x\n2026-09-01T10:00:00Z",
		"NUL after":                     "2026-09-01T10:00:00Z\x00",
		"basic form":                    "20260901T100000Z",
		"week date":                     "2026-W36-2T10:00:00Z",
		"ordinal date":                  "2026-244T10:00:00Z",
		"Arabic digits":                 "٢٠٢٦-09-01T10:00:00Z",
		"full-width digits":             "２０２６-09-01T10:00:00Z",
		"milliseconds since 1970":       "1788256800000",
		"broken byte":                   "2026-09-01T10:00:00\xff",
		"RFC 1123":                      "Tue, 01 Sep 2026 10:00:00 GMT",
		"comma for the point, no digit": "2026-09-01T10:00:00,Z",
	} {
		if got, err := ParseDateTime(text); !errors.Is(err, ErrDateTime) || !got.IsZero() {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// Each day of the calendar by the rule of the published contract: which days
// exist must not depend on the time package's idea of them.
func TestDateTimeCalendar(t *testing.T) {
	t.Parallel()
	lengths := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	for _, year := range []int{0, 1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2026, 2100, 2400, 9996, 9999} {
		for month := 0; month <= 13; month++ {
			for day := 0; day <= 32; day++ {
				last := 0
				if month >= 1 && month <= 12 {
					last = lengths[month-1]
				}
				if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
					last = 29
				}
				text := fmt.Sprintf("%04d-%02d-%02dT12:30Z", year, month, day)
				if _, err := ParseDateTime(text); (err == nil) != (day >= 1 && day <= last) {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}

func TestFormatDateTime(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 2*60*60)
	for _, row := range []struct {
		moment time.Time
		want   string
	}{
		{time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC), "2026-09-01T10:00:00.000Z"},
		{time.Date(2026, 9, 1, 12, 0, 0, 0, berlin), "2026-09-01T10:00:00.000Z"},
		{time.Date(2026, 9, 1, 10, 0, 0, 999_999_999, time.UTC), "2026-09-01T10:00:00.999Z"},
		{time.Date(2026, 9, 1, 10, 0, 0, 1_000_000, time.UTC), "2026-09-01T10:00:00.001Z"},
	} {
		got := FormatDateTime(row.moment)
		if got != row.want {
			t.Errorf("%s, not %s", got, row.want)
		}
		if back, err := ParseDateTime(got); err != nil || !back.Equal(row.moment.Truncate(time.Millisecond)) {
			t.Errorf("%s comes back as %s, %v", got, back, err)
		}
	}
}
