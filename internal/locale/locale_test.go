package locale_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"innerloop/internal/locale"
)

func TestEverySentenceExistsInBothLanguages(t *testing.T) {
	t.Parallel()
	verbs := regexp.MustCompile(`%s|#`)
	en, ru := reflect.ValueOf(*locale.English.Messages()), reflect.ValueOf(*locale.Russian.Messages())
	for i := range en.NumField() {
		name := en.Type().Field(i).Name
		if forms, ok := en.Field(i).Interface().(locale.Forms); ok {
			other := ru.Field(i).Interface().(locale.Forms)
			if forms.One == "" || forms.Other == "" || other.One == "" || other.Few == "" || other.Many == "" {
				t.Errorf("%s lacks a plural form", name)
			}
			continue
		}
		a, b := en.Field(i).String(), ru.Field(i).String()
		if a == "" || b == "" {
			t.Errorf("%s is empty in a language", name)
		}
		if x, y := verbs.FindAllString(a, -1), verbs.FindAllString(b, -1); !reflect.DeepEqual(x, y) {
			t.Errorf("%s takes %q in English and %q in Russian", name, x, y)
		}
		if strings.ContainsAny(a+b, "!") {
			t.Errorf("%s shouts", name)
		}
		if !regexp.MustCompile(`\p{Cyrillic}`).MatchString(b) {
			t.Errorf("%s is not translated", name)
		}
	}
}

func TestPluralsFollowCLDR(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "0 открытых записей", 1: "1 открытая запись", 2: "2 открытые записи", 5: "5 открытых записей",
		11: "11 открытых записей", 12: "12 открытых записей", 21: "21 открытая запись", 22: "22 открытые записи",
		111: "111 открытых записей", 1000001: "1000001 открытая запись",
	} {
		if got := locale.Russian.Count(n, locale.Russian.Messages().Entries); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for n, want := range map[int]string{0: "0 public entries", 1: "1 public entry", 2: "2 public entries", -4: "0 public entries"} {
		if got := locale.English.Count(n, locale.English.Messages().Entries); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 8, 30, 0, 0, time.UTC)
	// A zone must not move an entry to another day: pages speak UTC.
	zone := time.FixedZone("east", 11*3600)
	for _, row := range []struct {
		name     string
		at       time.Time
		day, ago string // English
		ruDay    string
		ruAgo    string
		relative bool
	}{
		{"the same minute", now.Add(-10 * time.Second), "Today, 30 November", "just now", "Сегодня, 30 ноября", "только что", true},
		{"a clock that runs ahead", now.Add(time.Minute), "Today, 30 November", "just now", "Сегодня, 30 ноября", "только что", true},
		{"minutes", now.Add(-59 * time.Minute), "Today, 30 November", "59 min ago", "Сегодня, 30 ноября", "59 мин назад", true},
		{"hours across midnight", now.Add(-10 * time.Hour).In(zone), "Yesterday, 29 November", "10 h ago", "Вчера, 29 ноября", "10 ч назад", true},
		{"a day", now.Add(-24 * time.Hour), "Yesterday, 29 November", "29 Nov", "Вчера, 29 ноября", "29 ноя", false},
		{"months", now.Add(-150 * 24 * time.Hour), "3 July", "3 Jul", "3 июля", "3 июл", false},
		{"another year", now.Add(-400 * 24 * time.Hour), "26 October 2025", "26 Oct 2025", "26 октября 2025", "26 окт 2025", false},
	} {
		if got := locale.English.Day(row.at, now); got != row.day {
			t.Errorf("%s: day %q", row.name, got)
		}
		if got := locale.Russian.Day(row.at, now); got != row.ruDay {
			t.Errorf("%s: day %q", row.name, got)
		}
		if got, relative := locale.English.When(row.at, now); got != row.ago || relative != row.relative {
			t.Errorf("%s: when %q, %v", row.name, got, relative)
		}
		if got, _ := locale.Russian.When(row.at, now); got != row.ruAgo {
			t.Errorf("%s: when %q", row.name, got)
		}
	}
	if got := locale.English.LongStamp(now.In(zone)); got != "30 November 2026, 08:30 UTC" {
		t.Errorf("long stamp %q", got)
	}
	if got := locale.Russian.ShortStamp(now); got != "30 ноя 2026, 08:30:00 UTC" {
		t.Errorf("short stamp %q", got)
	}
}

func TestPathsCarryTheLanguage(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/": "/ru", "/?before=x": "/ru?before=x", "/entries/e": "/ru/entries/e", "/agents/a?before=x": "/ru/agents/a?before=x",
	} {
		got := locale.Russian.Path(path)
		if got != want {
			t.Errorf("Path(%s) = %s, want %s", path, got, want)
		}
		if locale.English.Path(path) != path {
			t.Errorf("English changes %s", path)
		}
		bare, _, _ := strings.Cut(want, "?")
		lang, rest := locale.FromPath(bare)
		if original, _, _ := strings.Cut(path, "?"); lang != locale.Russian || rest != original {
			t.Errorf("FromPath(%s) = %v, %s", bare, lang, rest)
		}
	}
	if lang, rest := locale.FromPath("/rust"); lang != locale.English || rest != "/rust" {
		t.Errorf("FromPath(/rust) = %v, %s", lang, rest)
	}
}
