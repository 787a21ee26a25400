package journal_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/models/pgtest"
	"innerloop/seal"
)

// tampered are the tables that somebody with the database in hand may change.
var tampered = [...]string{"agent_keys", "key_links", "entries", "entry_receipts", "timeline", "tag_timeline"}

// A thief has the database in hand, its guards put away, and can undo all.
type thief struct {
	t  *testing.T
	db *sql.DB
}

func breakIn(t *testing.T, url string) thief {
	t.Helper()
	path, lite := strings.CutPrefix(url, "sqlite:")
	driver, address := "pgx", url
	if lite {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	th := thief{t, db}
	guards := `SELECT format('ALTER TABLE %I DISABLE TRIGGER ALL', relname) FROM pg_class WHERE relname = 'entries' UNION ALL
SELECT format('ALTER TABLE entries DROP CONSTRAINT %I', conname) FROM pg_constraint WHERE conrelid = 'entries'::regclass AND contype = 'c'`
	if lite {
		th.do(`PRAGMA ignore_check_constraints = 1`)
		guards = `SELECT 'DROP TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger'`
	}
	for _, statement := range th.texts(guards) {
		th.do(statement)
	}
	for _, table := range tampered {
		th.do(`CREATE TEMP TABLE kept_` + table + ` AS SELECT * FROM ` + table)
	}
	return th
}

func (th thief) do(statement string) {
	th.t.Helper()
	if _, err := th.db.ExecContext(th.t.Context(), statement); err != nil {
		th.t.Fatalf("%v\n%s", err, statement)
	}
}

func (th thief) texts(query string) (list []string) {
	th.t.Helper()
	rows, err := th.db.QueryContext(th.t.Context(), query)
	if err != nil {
		th.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			th.t.Fatal(err)
		}
		list = append(list, text)
	}
	return list
}

// undo puts everything back.
func (th thief) undo() {
	th.t.Helper()
	for i := range tampered {
		th.do(`DELETE FROM ` + tampered[len(tampered)-1-i])
	}
	for _, table := range tampered {
		th.do(`INSERT INTO ` + table + ` SELECT * FROM kept_` + table)
	}
}

// Whoever can write to the database, past every trigger and constraint, is
// found out by Verify: nothing can be changed, moved, copied, forged or taken
// away unseen. (A whole entry turned into a tombstone with its receipt left in
// place looks like what its author may do.)
func TestVerifyFindsAThief(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "journal.db") },
		"postgres": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := url(t)
			tamper(t, journaltest.OpenOn(t, address), address)
		})
	}
}

func tamper(t *testing.T, j *journaltest.J, address string) {
	ada, bob := j.Agent("Ada"), j.Agent("Bob")
	one := j.MustPublish(ada.Signs("one", journaltest.Tags("x", "y")))
	j.Clock.Advance(time.Second)
	j.MustPublish(ada.Signs("two", journaltest.Tags("x")))
	secret := j.MustPublish(ada.Signs("secret", journaltest.Private))
	other := j.MustPublish(bob.Signs("three"))
	gone := j.MustPublish(ada.Signs("gone", journaltest.Private))
	if _, err := j.DeleteEntry(t.Context(), ada.Asks(seal.ActionEntryDelete, journaltest.Deletes(gone.EntryID))); err != nil {
		t.Fatal(err)
	}
	rotate := func(r journal.OwnerRequest) (journal.Done, error) { return j.RotateKey(t.Context(), r) }
	later := next(t, j, ada, "later", rotation, rotate, seal.ActionKeyRotate)
	j.MustPublish(later.Signs("by the later key"))
	j.Check()

	_, smuggled := journaltest.Key(t, "smuggled")
	forger := ada.Becomes(journaltest.Key(t, "smuggled"))
	forgery := forger.Signs("never written by Ada", journaltest.Private)
	signature, err := seal.ParseSignature(forgery.Signature)
	if err != nil {
		t.Fatal(err)
	}
	const copied = `INSERT INTO entries (agent_id, entry_id, visibility, status, created_at, language, key_id, position, signature, canonical_envelope, canonical_entry)
SELECT agent_id, 'entry_copy', visibility, status, created_at, language, key_id, position, signature, canonical_envelope, canonical_entry FROM entries WHERE entry_id = `
	forge := func(kind string) string {
		return fmt.Sprintf(`INSERT INTO agent_keys (agent_id, key_id, public_key, kind, created_at) VALUES ('%s', '%s', '%s', '%s', 1);
INSERT INTO entries (agent_id, entry_id, visibility, status, created_at, language, key_id, signature, canonical_envelope, canonical_entry)
SELECT agent_id, 'entry_forged', visibility, status, %d, language, '%s', BLOB, '%s', '%s' FROM entries WHERE entry_id = SECRET`,
			ada.ID, smuggled.ID(), smuggled, kind, j.Clock.Now().UnixMilli(), smuggled.ID(), forgery.Envelope.Canonical(), forgery.Entry.Canonical())
	}
	blob := fmt.Sprintf("x'%x'", signature[:])
	if !strings.HasPrefix(address, "sqlite:") {
		blob = fmt.Sprintf(`'\x%x'::bytea`, signature[:])
	}
	words := strings.NewReplacer("ONE", "'"+string(one.EntryID)+"'", "SECRET", "'"+string(secret.EntryID)+"'", "OTHER", "'"+string(other.EntryID)+"'",
		"GONE", "'"+string(gone.EntryID)+"'", "ADA", "'"+string(ada.ID)+"'", "BOB", "'"+string(bob.ID)+"'", "LATER", "'"+string(later.KeyID)+"'", "BLOB", blob)
	th := breakIn(t, address)
	for name, row := range map[string]struct{ statements, what string }{
		"text":                        {`UPDATE entries SET canonical_entry = replace(canonical_entry, 'one', 'won') WHERE entry_id = ONE`, "hash that was signed"},
		"signature of another":        {`UPDATE entries SET signature = (SELECT signature FROM entries WHERE entry_id = OTHER) WHERE entry_id = ONE`, "signature does not verify"},
		"half a signature":            {`UPDATE entries SET signature = substr(signature, 1, 32) WHERE entry_id = ONE`, "signature does not verify"},
		"no signature":                {`UPDATE entries SET signature = NULL WHERE entry_id = ONE`, "signature does not verify"},
		"public made private":         {`UPDATE entries SET visibility = 'private' WHERE entry_id = ONE`, "visibility column"},
		"a private entry listed":      {`INSERT INTO timeline (position, agent_id, entry_id) VALUES (90, ADA, SECRET)`, "a public list shows it"},
		"a private entry under a tag": {`INSERT INTO tag_timeline (tag, position, agent_id, entry_id) VALUES ('x', 90, ADA, SECRET)`, "a public list shows it"},
		"unlisted":                    {`DELETE FROM timeline WHERE entry_id = ONE`, "public timeline"},
		"another date":                {`UPDATE entries SET created_at = created_at + 1000 WHERE entry_id = ONE; UPDATE entry_receipts SET created_at = created_at + 1000 WHERE entry_id = ONE`, "another time than its id"},
		"another date of a tombstone": {`UPDATE entries SET created_at = created_at + 1000 WHERE entry_id = GONE`, "another time than its id"},
		"a tombstone with text":       {`UPDATE entries SET canonical_entry = '{}' WHERE entry_id = GONE`, "a deleted entry still holds"},
		"a tombstone with envelope":   {`UPDATE entries SET canonical_envelope = '{}' WHERE entry_id = GONE`, "a deleted entry still holds"},
		"a status of its own":         {`UPDATE entries SET status = 'lost' WHERE entry_id = SECRET`, "not one that there is"},
		"taken away":                  {`DELETE FROM entries WHERE entry_id = SECRET`, "its receipt is there"},
		"taken away with its places":  {`DELETE FROM search_index; DELETE FROM timeline WHERE entry_id = ONE; DELETE FROM tag_timeline WHERE entry_id = ONE; DELETE FROM entries WHERE entry_id = ONE`, "its receipt is there"},
		"a tombstone taken away":      {`DELETE FROM entries WHERE entry_id = GONE`, "its receipt is there"},
		"renamed":                     {`UPDATE entries SET entry_id = 'entry_other' WHERE entry_id = SECRET`, "its receipt is there"},
		"copied":                      {copied + `SECRET`, "signature of another"},
		"no id":                       {`UPDATE entries SET entry_id = '' WHERE entry_id = SECRET`, "form of an id"},
		"forged by a first key":       {forge("first"), "no chain of proofs"},
		"forged by a rotated key":     {forge("rotated"), "no chain of proofs"},
		"forged with the link of another key": {forge("rotated") + `; INSERT INTO key_links (agent_id, key_id, parent_key_id, payload, envelope, signature)
SELECT agent_id, '` + smuggled.ID() + `', parent_key_id, payload, envelope, signature FROM key_links WHERE key_id = LATER`, "no chain of proofs"},
		"a link taken away":  {`DELETE FROM key_links WHERE key_id = LATER`, "no chain of proofs"},
		"a link of no words": {`UPDATE key_links SET payload = '{}' WHERE key_id = LATER`, "no chain of proofs"},
		"another kind":       {`UPDATE agent_keys SET kind = 'added' WHERE key_id = LATER`, "no chain of proofs"},
	} {
		for statement := range strings.SplitSeq(words.Replace(row.statements), ";") {
			th.do(statement)
		}
		_, err := j.Verify(t.Context(), nil)
		var lie *journal.Lie
		if !errors.As(err, &lie) || !strings.Contains(lie.What, row.what) {
			t.Errorf("%s: got %v, want %q", name, err, row.what)
		}
		th.undo()
	}
	j.Check()
}
