package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"innerloop/journal"
)

// The database refuses what the program would never ask for.
func TestDatabaseGuardsSignedText(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada, bob := w.agent(), w.agent()
		kept := w.publish(ada.writes(journal.Public, "kept", "dawn"))
		other := w.publish(bob.writes(journal.Private, "other"))
		before := scanAll(t, w)
		refused := map[string]string{
			"text":           `UPDATE entries SET canonical_entry = '{}' WHERE entry_id = 'ID'`,
			"envelope":       `UPDATE entries SET canonical_envelope = '{}' WHERE entry_id = 'ID'`,
			"signature":      `UPDATE entries SET signature = (SELECT signature FROM entries WHERE entry_id = 'OTHER') WHERE entry_id = 'ID'`,
			"key":            `UPDATE entries SET key_id = 'KEY', agent_id = 'BOB' WHERE entry_id = 'ID'`,
			"id":             `UPDATE entries SET entry_id = 'entry_new' WHERE entry_id = 'ID'`,
			"time":           `UPDATE entries SET created_at = created_at + 1 WHERE entry_id = 'ID'`,
			"visibility":     `UPDATE entries SET visibility = 'private', position = NULL WHERE entry_id = 'ID'`,
			"position":       `UPDATE entries SET position = position + 1 WHERE entry_id = 'ID'`,
			"half erasure":   `UPDATE entries SET canonical_entry = NULL WHERE entry_id = 'ID'`,
			"erased, active": `UPDATE entries SET canonical_entry = NULL, canonical_envelope = NULL, signature = NULL WHERE entry_id = 'ID'`,
			"deleted, kept":  `UPDATE entries SET status = 'deleted' WHERE entry_id = 'ID'`,
			"changed in erasure": `UPDATE entries SET canonical_entry = '{}', canonical_envelope = NULL, signature = NULL, status = 'deleted'
				WHERE entry_id = 'ID'`,
			"removal":        `DELETE FROM entries WHERE entry_id = 'ID'`,
			"removal of all": `DELETE FROM entries`,
		}
		if w.Engine() == "sqlite" {
			const columns = `agent_id, entry_id, visibility, status, created_at, language, key_id, position, signature, canonical_envelope, canonical_entry`
			from := ` SELECT agent_id, entry_id, visibility, status, created_at, language, key_id, position, signature, canonical_envelope, '{}' FROM entries WHERE entry_id = 'ID'`
			refused["replacement"] = `INSERT OR REPLACE INTO entries (` + columns + `)` + from
			refused["replacement by row"] = `INSERT OR REPLACE INTO entries (rowid, ` + columns + `)
				SELECT rowid, agent_id, 'entry_new', visibility, status, created_at, language, key_id, position, signature, canonical_envelope, '{}' FROM entries WHERE entry_id = 'ID'`
			refused["replacement by update"] = `UPDATE OR REPLACE entries SET rowid = (SELECT rowid FROM entries WHERE entry_id = 'ID') WHERE entry_id = 'OTHER'`
		} else {
			refused["truncation"] = `TRUNCATE entries`
			refused["upsert"] = `INSERT INTO entries SELECT * FROM entries WHERE entry_id = 'ID' ON CONFLICT (agent_id, entry_id) DO UPDATE SET canonical_entry = '{}'`
		}
		values := strings.NewReplacer("'ID'", fmt.Sprintf("'%s'", kept.EntryID), "'OTHER'", fmt.Sprintf("'%s'", other.EntryID),
			"'KEY'", fmt.Sprintf("'%s'", bob.public.ID()), "'BOB'", fmt.Sprintf("'%s'", bob.id))
		raw := w.raw()
		for name, statement := range refused {
			if _, err := raw.Exec(values.Replace(statement)); err == nil {
				t.Errorf("%s was allowed", name)
			}
		}
		if diff := cmp.Diff(before, scanAll(t, w), cmp.Comparer(sameKeys)); diff != "" {
			t.Fatal(diff)
		}
		// Erasing everything together is how an entry is deleted, once.
		w.must(`UPDATE entries SET status = 'deleted', canonical_entry = NULL, canonical_envelope = NULL, signature = NULL WHERE entry_id = '%s'`, kept.EntryID)
		for name, statement := range map[string]string{
			"revival":         `UPDATE entries SET status = 'active' WHERE entry_id = 'ID'`,
			"new text":        `UPDATE entries SET canonical_entry = '{}', canonical_envelope = '{}', signature = (SELECT signature FROM entries WHERE entry_id = 'OTHER'), status = 'active' WHERE entry_id = 'ID'`,
			"removal of tomb": `DELETE FROM entries WHERE entry_id = 'ID'`,
		} {
			if _, err := raw.Exec(values.Replace(statement)); err == nil {
				t.Errorf("%s was allowed", name)
			}
		}
	})
}
