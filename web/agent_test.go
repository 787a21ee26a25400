package web_test

import (
	"strings"
	"testing"
	"time"

	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/seal"
	"innerloop/web"
)

const day = 24 * time.Hour

func keysOf(keys []journal.AgentKey, signed ...journal.KeyID) []string {
	r := web.AgentReading{Agent: journal.PublicAgent{Keys: keys}, Written: journal.Writings{Keys: map[journal.KeyID]int64{}}}
	for _, key := range signed {
		r.Written.Keys[key]++
	}
	var got []string
	for _, k := range web.NewAgentView(site, locale.English, r, now).Keys {
		line := k.Fingerprint + " " + k.Label + " " + k.Span + ", " + k.Note
		if k.Bare {
			line = "bare " + line
		}
		got = append(got, line)
	}
	return got
}

func TestKeysAreCurrentRetiredOrRevoked(t *testing.T) {
	t.Parallel()
	got := keysOf([]journal.AgentKey{
		{KeyID: "key_1", Kind: "first", CreatedAt: now.Add(-3 * day), RevokedAt: now.Add(-2 * day)},
		{KeyID: "key_2", Kind: "added", CreatedAt: now.Add(-3 * day), RevokedAt: now.Add(-day), Parent: "key_1"},
		{KeyID: "key_3", Kind: "rotated", CreatedAt: now.Add(-2 * day), RevokedAt: now.Add(-day), Parent: "key_1"},
		{KeyID: "key_4", Kind: "recovered", CreatedAt: now.Add(-day), Parent: "key_3"},
	}, "key_4", "key_3", "key_2", "key_2", "key_1")
	want := []string{
		"4 Current since 29 Nov 2026, signed 1 entry, brought in by the recovery key",
		"3 Revoked 28 Nov 2026 to 29 Nov 2026, signed 1 entry, signed by the key before it",
		"2 Revoked 27 Nov 2026 to 29 Nov 2026, signed 2 entries, added beside the others",
		"1 Retired 27 Nov 2026 to 28 Nov 2026, signed 1 entry, the first key",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("keys read\n%s", strings.Join(got, "\n"))
	}
}

// A key that signed only what is private must not tell that there is anything.
func TestKeysThatSignedNothingPublicAreBareLinksOrNothing(t *testing.T) {
	t.Parallel()
	got := keysOf([]journal.AgentKey{
		{KeyID: "key_1", Kind: "first", CreatedAt: now.Add(-5 * day), RevokedAt: now.Add(-4 * day)},
		{KeyID: "key_2", Kind: "rotated", CreatedAt: now.Add(-4 * day), Parent: "key_1"},
		{KeyID: "key_3", Kind: "added", CreatedAt: now.Add(-3 * day), Parent: "key_2"},
		{KeyID: "key_4", Kind: "added", CreatedAt: now.Add(-2 * day), RevokedAt: now.Add(-day), Parent: "key_2"},
		{KeyID: "key_5", Kind: "rotated", CreatedAt: now.Add(-day), Parent: "key_4"},
	}, "key_3")
	want := []string{
		"3 Current since 27 Nov 2026, signed 1 entry, added beside the others",
		"bare 2 Link between , signed by the key before it",
		"bare 1 Link between , the first key",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("keys read\n%s", strings.Join(got, "\n"))
	}
}

func TestStripShowsTheDaysOfTheYear(t *testing.T) {
	t.Parallel()
	written := []time.Time{now, now.Add(-time.Hour), now.Add(-9 * time.Hour), now.AddDate(0, 0, -364), now.AddDate(0, 0, -365)}
	for _, c := range []struct {
		name, lines, words string
		lang               locale.Lang
		written            []time.Time
	}{
		{"a year", "M364.5 0v10M363.5 0v10M0.5 0v10", "Wrote on 3 days of the past year, last on 30 November 2026.", locale.English, written},
		{"a day, in Russian", "M364.5 0v10", "Записи за 1 день последнего года, последняя — 30 ноября 2026.", locale.Russian, written[:2]},
		{"long ago", "", "No public entries in the past year.", locale.English, written[4:]},
	} {
		v := web.NewAgentView(site, c.lang, web.AgentReading{Written: journal.Writings{Days: c.written}}, now)
		if v.Strip == nil || v.Strip.Lines != c.lines || v.Strip.Words != c.words {
			t.Errorf("%s: %+v", c.name, v.Strip)
		}
	}
	if v := web.NewAgentView(site, locale.English, web.AgentReading{Written: journal.Writings{Days: written}, Cursor: "older"}, now); v.Strip != nil {
		t.Error("an older page repeats the strip")
	}
}

func TestUsualStateIsOneThatComesBack(t *testing.T) {
	t.Parallel()
	for states, want := range map[string]string{"": "", "calm": "", "calm calm": "calm", "a b b c c c": "c", "a a b c d e f": "", "a b a c d e": "a"} {
		var page journal.Page
		for state := range strings.FieldsSeq(states) {
			page.Entries = append(page.Entries, journal.PublicEntry{Entry: seal.Entry{State: state}})
		}
		if got := web.NewAgentView(site, locale.English, web.AgentReading{Page: page}, now).Usual; got != want {
			t.Errorf("%q: usually %q", states, got)
		}
	}
}
