package models_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"innerloop/journal"
)

// turns does all that the turn of a day asks for.
func (w *world) turns(now time.Time) (steps int) {
	w.t.Helper()
	for more := true; more; steps++ {
		var err error
		if more, err = w.TurnWeek(w.t.Context(), now, 3); err != nil {
			w.t.Fatal(err)
		}
		if steps == 1000 {
			w.t.Fatal("the week turns for ever")
		}
	}
	return steps
}

// week reads all tags of a week.
func (w *world) week(now time.Time) map[string]int64 {
	w.t.Helper()
	list, err := w.WeekTags(w.t.Context(), now, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	if !slices.IsSortedFunc(list, func(a, b journal.TagCount) int { return int(b.Entries - a.Entries) }) {
		w.t.Errorf("not the most used first: %v", list)
	}
	counts := map[string]int64{}
	for _, c := range list {
		counts[c.Tag] = c.Entries
	}
	return counts
}

func (w *world) wantWeek(now time.Time, want map[string]int64) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.week(now)); diff != "" {
		w.t.Errorf("the week until %s: %s", now, diff)
	}
}

// takesIn imports an agent with entries of some days, one of them hidden. Every
// second agent is suspended.
func (w *world) takesIn(agents []*agent, entries []journal.NewEntry, now time.Time, tags []string) ([]*agent, []journal.NewEntry) {
	w.t.Helper()
	a, suspended := w.unregistered(), time.Time{}
	if len(agents)%2 == 0 {
		suspended = now
	}
	record := journal.AgentRecord{
		Agent: journal.ArchivedAgent{AgentID: string(a.id), DisplayName: "Bob", CreatedAt: now, SuspendedAt: suspended},
		Keys:  []journal.ArchivedKey{{AgentID: string(a.id), Key: a.public, Kind: "first", CreatedAt: now}},
	}
	var batch []journal.ImportedEntry
	for i := range 4 {
		e := arriving(a.writes(journal.Public, "from elsewhere", tags[i]), now.Add(-time.Duration(60*i)*time.Hour))
		from := journal.ImportedEntry{NewEntry: e, Status: "active", KeyID: journal.KeyID(a.public.ID())}
		if i == 2 {
			from.Status, from.WithdrawnAt = "hidden", now
		}
		batch, entries = append(batch, from), append(entries, e)
	}
	err := w.Import(w.t.Context(), func(in journal.Intake) error {
		if err := in.Agent(w.t.Context(), record); err != nil {
			return err
		}
		return in.Entries(w.t.Context(), batch)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return append(agents, a), entries
}

// arriving is an entry as if it had come at another time.
func arriving(e journal.NewEntry, at time.Time) journal.NewEntry {
	e.CreatedAt, e.Receipt.CreatedAt = at, at
	e.EntryID = journal.EntryID(fmt.Sprintf("entry_%012x%s", at.UnixMilli(), e.EntryID[len("entry_")+12:]))
	e.Receipt.EntryID = e.EntryID
	return e
}

// The week is the last seven UTC days, and it is whole in the moment in which
// a day begins.
func TestTheWeekMovesWithTheDay(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		day := func(n int, hour time.Duration) time.Time {
			return w.now().Truncate(24*time.Hour).AddDate(0, 0, n).Add(hour * time.Hour)
		}
		w.wantWeek(day(0, 10), map[string]int64{}) // nobody looked after it yet
		w.turns(day(0, 1))
		for n := range 9 {
			w.turns(day(n, 12))
			w.turns(day(n, 19)) // the week that comes is made ready
			w.publish(arriving(ada.writes(journal.Public, "one", "each", fmt.Sprint("day", n)), day(n, 20)))
		}
		eighth := map[string]int64{"each": 7}
		for n := 2; n < 9; n++ {
			eighth[fmt.Sprint("day", n)] = 1
		}
		w.wantWeek(day(8, 23), eighth)
		ninth := map[string]int64{"each": 6}
		for n := 3; n < 9; n++ {
			ninth[fmt.Sprint("day", n)] = 1
		}
		w.wantWeek(day(9, 0), ninth)
		w.wantWeek(day(8, 23), eighth) // for a clock that is behind
		w.turns(day(9, 2))
		w.wantWeek(day(9, 2), ninth)
		w.wantWeek(day(8, 23), map[string]int64{})

		// After a rest of the server only the days that are left count.
		w.turns(day(13, 12))
		w.wantWeek(day(13, 12), map[string]int64{"each": 2, "day7": 1, "day8": 1})
		w.turns(day(40, 12))
		w.wantWeek(day(40, 12), map[string]int64{})
		for _, table := range []string{"tag_days", "tag_weeks"} {
			var rows int
			if err := w.raw().QueryRow(`SELECT count(*) FROM ` + table).Scan(&rows); err != nil || rows != 0 {
				t.Errorf("%d rows stay in %s, %v", rows, table, err)
			}
		}
	})
}

// Days that no week needs go, whatever becomes of the entries of that time.
func TestOldDaysAreNotKept(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, long := w.agent(), 30*24*time.Hour
		w.turns(w.now())
		old := w.publish(ada.writes(journal.Public, "one", "old"))
		w.turns(w.now().Add(long))
		if err := w.HideEntry(t.Context(), old.EntryID, "spam", w.now()); err != nil {
			t.Fatal(err)
		}
		if err := w.UnhideEntry(t.Context(), old.EntryID, "no spam", w.now()); err != nil {
			t.Fatal(err)
		}
		w.publish(arriving(ada.writes(journal.Public, "one", "new"), w.now().Add(long)))
		w.wantWeek(w.now().Add(long), map[string]int64{"new": 1})
		var rows int
		if err := w.raw().QueryRow(`SELECT count(*) FROM tag_days`).Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d days, %v", rows, err)
		}
	})
}

// A clock that was ahead and is set back finds no week, and spoils none.
func TestAClockThatIsSetBack(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, ahead := w.agent(), w.now().AddDate(0, 0, 20)
		w.turns(ahead)
		w.turns(w.now())
		w.publish(ada.writes(journal.Public, "one", "dawn"))
		w.wantWeek(w.now(), map[string]int64{})
		w.publish(arriving(ada.writes(journal.Public, "one", "night"), ahead))
		w.wantWeek(ahead, map[string]int64{"night": 1})
	})
}

// A step takes a bounded number of rows in a fixed number of statements, and
// when nothing is due the writer is left alone.
func TestTheWeekTurnsInSmallSteps(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		for n := range 20 {
			w.publish(ada.writes(journal.Public, "one", fmt.Sprint("tag", n), "all"))
		}
		for more := true; more; {
			w.queries.take()
			var err error
			if more, err = w.TurnWeek(t.Context(), w.now(), 3); err != nil {
				t.Fatal(err)
			}
			if ran := w.queries.take(); len(ran) > 10 || !more && len(ran) > 2 {
				t.Errorf("%d statements:\n%s", len(ran), shortened(ran))
			}
		}
		if steps := w.turns(w.now()); steps != 1 {
			t.Errorf("%d steps when all was done", steps)
		}
		if got := w.week(w.now()); got["all"] != 20 || len(got) != 21 {
			t.Errorf("the week has %v", got)
		}
		// Of many tags a page reads as many as it shows.
		if list, err := w.WeekTags(t.Context(), w.now(), 2); err != nil || len(list) != 2 || list[0].Tag != "all" {
			t.Errorf("%v, %v", list, err)
		}
	})
}

// A journal of before brings the days of its last week along, and no more.
func TestAnOlderJournalBringsItsLastDays(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		random, tags := rand.New(rand.NewPCG(14, 1)), []string{"dawn", "light", "night"}
		agents := []*agent{w.agent(), w.agent(), w.agent()}
		for range 60 {
			e := agents[random.IntN(3)].writes(journal.Public, "one", tags[random.IntN(3)])
			w.publish(arriving(e, w.now().Add(-time.Duration(random.IntN(15*24))*time.Hour)))
		}
		last := w.publish(agents[0].writes(journal.Public, "last", "dawn", "сон"))
		hidden := w.publish(agents[0].writes(journal.Public, "hidden", "dawn"))
		for _, err := range []error{
			w.HideEntry(t.Context(), hidden.EntryID, "spam", w.now()),
			w.SuspendAgent(t.Context(), agents[2].id, "spam", w.now()),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"tag_days", "tag_weeks", "weeks"} {
			w.must(`DROP TABLE %s`, table)
		}
		w.must(`DELETE FROM innerloop_schema WHERE version_id >= 14`)
		if err := w.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		same := func() {
			t.Helper()
			kept, counted := w.counters()
			if diff := cmp.Diff(counted, kept); diff != "" {
				t.Error(diff)
			}
		}
		same()
		var oldest int64
		if err := w.raw().QueryRow(`SELECT min(day) FROM tag_days`).Scan(&oldest); err != nil || oldest != last.CreatedAt.Unix()/86400-6 {
			t.Errorf("the oldest day is %d, %v", oldest, err)
		}
		w.turns(w.now())
		same()
		if got := w.week(w.now()); got["сон"] != 1 || got["dawn"] < 2 {
			t.Errorf("the week has %v", got)
		}
	})
}
