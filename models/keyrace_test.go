package models_test

import (
	"testing"

	"innerloop/journal"
)

// A revocation that is under way when an append begins comes first: the append
// waits for it and is refused.
func TestAppendWaitsForARevocationUnderWay(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		raw := w.raw()
		conn, err := raw.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		run := func(statement string) {
			t.Helper()
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		begin := "BEGIN"
		if w.Engine() == "sqlite" {
			begin = "BEGIN IMMEDIATE"
		}
		run(begin)
		run("UPDATE agent_keys SET revoked_at = 1 WHERE key_id = '" + ada.public.ID() + "'")

		entry := ada.writes(journal.Public, "too late")
		appended := make(chan []journal.Outcome, 1)
		go func() {
			outcomes, err := w.AppendEntries(t.Context(), []journal.NewEntry{entry})
			if err != nil {
				t.Error(err)
			}
			appended <- outcomes
		}()
		// SQLite has one writer: whenever the append comes, it finds the lock
		// taken. On PostgreSQL it is seen waiting before the revocation ends.
		for waiting := w.Engine() == "sqlite"; !waiting; {
			select {
			case early := <-appended:
				t.Fatalf("the append did not wait: %+v", early)
			default:
			}
			err := raw.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting)
			if err != nil {
				t.Fatal(err)
			}
		}
		run("COMMIT")
		if got := <-appended; len(got) != 1 || got[0].Clash != journal.KeyRevoked {
			t.Errorf("%+v", got)
		}
		if n := len(scanAll(t, w)); n != 0 {
			t.Errorf("%d entries stored", n)
		}
	})
}
