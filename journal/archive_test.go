package journal_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"innerloop/internal/archive"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/models/pgtest"
	"innerloop/seal"
)

// onTheOther runs a story with a journal on each engine and an empty one on
// the other.
func onTheOther(t *testing.T, story func(t *testing.T, from, to *journaltest.J)) {
	t.Helper()
	embedded := func(t *testing.T) *journaltest.J {
		return journaltest.OpenOn(t, "sqlite:"+filepath.Join(t.TempDir(), "other.db"))
	}
	t.Run("sqlite to postgres", func(t *testing.T) {
		t.Parallel()
		story(t, embedded(t), journaltest.OpenOn(t, pgtest.Database(t)))
	})
	t.Run("postgres to sqlite", func(t *testing.T) {
		t.Parallel()
		story(t, journaltest.OpenOn(t, pgtest.Database(t)), embedded(t))
	})
}

// eventful fills a journal with one of everything that an archive can hold.
func eventful(t *testing.T, j *journaltest.J) (ada *journaltest.Agent, entries []journal.EntryID) {
	t.Helper()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tick := func() { j.Clock.Advance(time.Second) }
	ada = j.Agent("Ada <&> \"é\"")
	publish := func(a *journaltest.Agent, title string, options ...journaltest.Option) {
		tick()
		entries = append(entries, j.MustPublish(a.Signs(title, options...)).EntryID)
	}
	publish(ada, "first \\ \"light\"", journaltest.Body("a\tb\nc \u2028 \U0001F600 </script>"), journaltest.Tags("b", "a"))
	publish(ada, "private", journaltest.Private)
	tick()
	ada = next(t, j, ada, "rotated", rotation, func(r journal.OwnerRequest) (journal.Done, error) { return j.RotateKey(t.Context(), r) }, seal.ActionKeyRotate)
	publish(ada, "by the second key")
	publish(ada, "private and gone", journaltest.Private)
	publish(ada, "public and gone")
	tick()
	added := next(t, j, ada, "added", addition, func(r journal.OwnerRequest) (journal.Done, error) { return j.AddKey(t.Context(), r) }, seal.ActionKeyAdd)
	publish(added, "by the added key")
	for _, id := range entries[3:5] {
		tick()
		must(j.DeleteEntry(t.Context(), ada.Asks(seal.ActionEntryDelete, journaltest.Deletes(id))))
	}
	spare := reserve(t, t.Name()+"spare")
	must(setRecovery(t, j, ada, spare.hash()))
	tick()
	ada, _, _, err := useRecovery(t, j, ada, spare, t.Name()+"recovered")
	must(nil, err)
	tick()
	must(setRecovery(t, j, ada, reserve(t, t.Name()+"in force").hash()))
	tick()
	must(setRecovery(t, j, ada, reserve(t, t.Name()+"waiting").hash()))
	publish(ada, "by the recovered key")
	publish(ada, "hidden by the operator")
	must(nil, j.HideEntry(t.Context(), entries[len(entries)-1], "spam"))
	profile := journaltest.Bio("one\ntwo")
	profile["pinned_entry_id"] = string(entries[0])
	profile["owner_url"] = "https://example.org/ada"
	_, _, err = j.UpdateProfile(t.Context(), ada.Asks(seal.ActionProfileSet, profile))
	must(nil, err)

	bert := j.Agent("Bert")
	publish(bert, "suspended later")
	must(nil, j.SuspendAgent(t.Context(), bert.ID, "other"))
	carl := j.Agent("Carl, who wrote nothing")
	must(j.DeleteIdentity(t.Context(), carl.Asks(seal.ActionIdentityDelete, map[string]any{"confirm_agent_id": string(carl.ID), "reason_code": "owner_request"})))
	return ada, entries
}

func export(t *testing.T, j *journaltest.J) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := j.Export(t.Context(), &b, nil); err != nil {
		t.Fatal("export:", err)
	}
	return b.Bytes()
}

func take(t *testing.T, j *journaltest.J, file []byte) (archive.Counts, error) {
	t.Helper()
	return j.Import(t.Context(), bytes.NewReader(file), int64(len(file)), nil)
}

// Issue "The owner's hand", 9: export, import into an empty server of the
// other engine, export: byte-equal. What was public is public there, in the
// same order, and the owner goes on with its key.
func TestExportAndImportAreByteEqual(t *testing.T) {
	t.Parallel()
	onTheOther(t, func(t *testing.T, from, to *journaltest.J) {
		ada, _ := eventful(t, from)
		file := export(t, from)
		counts, err := take(t, to, file)
		if err != nil {
			t.Fatal("import:", err)
		}
		if want := (archive.Counts{Agents: 3, Keys: 6, Entries: 7, Tombstones: 2}); counts != want {
			t.Errorf("imported %+v, want %+v", counts, want)
		}
		if again := export(t, to); !bytes.Equal(file, again) {
			t.Errorf("the second export differs:\n%s\n%s", file, again)
		}
		to.Check()
		to.Clock.Set(from.Clock.Now())
		if a, b := titles(t, from), titles(t, to); a != b || a == "" {
			t.Errorf("feeds differ:\n%s\n%s", a, b)
		}
		// The owner signs on with the last key, and an old submission cannot
		// be published a second time.
		there := to.Joins(ada)
		to.MustPublish(there.Signs("after the move"))
		if _, err := take(t, to, file); !refusedAs(err, archive.AlreadyStored) {
			t.Errorf("a second import: %v", err)
		}
		to.Check()
	})
}

func titles(t *testing.T, j *journaltest.J) string {
	t.Helper()
	page, err := j.Feed(t.Context(), journal.FeedQuery{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range page.Entries {
		list = append(list, e.Entry.Title+" "+string(e.EntryID))
	}
	return strings.Join(list, "\n")
}

func refusedAs(err error, rule archive.Rule) bool {
	var refused *archive.Refused
	return errors.As(err, &refused) && refused.Rule == rule
}

// sealed gives lines a new last one, as a forger of the file would.
func sealed(t *testing.T, lines []string) []byte {
	t.Helper()
	counts := map[string]int{}
	for _, l := range lines {
		kind, _, _ := strings.Cut(strings.TrimPrefix(l, `{"type":"`), `"`)
		counts[kind]++
	}
	text := strings.Join(lines, "\n") + "\n"
	return fmt.Appendf([]byte(text), `{"type":"end","agents":%d,"keys":%d,"entries":%d,"tombstones":%d,"sha256":"%x"}`+"\n",
		counts["agent"], counts["key"], counts["entry"], counts["tombstone"], sha256.Sum256([]byte(text)))
}

// Issue "The owner's hand", "Must show": a changed byte, a foreign key, a
// missing link are each refused by name, with nothing stored and no text told.
func TestImportRefusesByName(t *testing.T) {
	t.Parallel()
	from := journaltest.Open(t)
	eventful(t, from)
	stranger := from.Agent("Stranger")
	from.MustPublish(stranger.Signs("by the stranger"))
	file := string(export(t, from))
	all := strings.Split(strings.TrimSuffix(file, "\n"), "\n")
	lines := all[:len(all)-1]
	line := func(part string) int {
		for i, l := range lines {
			if strings.Contains(l, part) {
				return i
			}
		}
		t.Fatalf("no line with %s", part)
		return 0
	}
	with := func(i int, old, new string) []byte {
		changed := append([]string(nil), lines...)
		changed[i] = strings.ReplaceAll(lines[i], old, new)
		if changed[i] == lines[i] {
			t.Fatalf("line %d has no %s", i+1, old)
		}
		return sealed(t, changed)
	}
	without := func(i int) []byte {
		return sealed(t, append(append([]string(nil), lines[:i]...), lines[i+1:]...))
	}
	twice := func(i int) []byte {
		return sealed(t, append(append(append([]string(nil), lines[:i+1]...), lines[i]), lines[i+1:]...))
	}
	rotated, entry, tomb, hidden := line(`"kind":"rotated"`), line("second key"), line(`"type":"tombstone"`), line(`"status":"hidden"`)
	ada := line("Ada")
	first := line(`"agent_id":"` + agentIn(lines[ada]) + `","key_id"`)
	for !strings.Contains(lines[first], `"kind":"first"`) {
		first++
	}
	id := func(i int) string { _, rest, _ := strings.Cut(lines[i], `_id":"entry_`); return "entry_" + rest[:32] }
	// The stranger signs an entry in the name of Ada.
	forged := stranger.Signs("forged", journaltest.Envelope(func(e *seal.Envelope) { e.ActorID = agentIn(lines[ada]) }))
	signature, err := seal.ParseSignature(forged.Signature)
	if err != nil {
		t.Fatal(err)
	}
	foreign := sealed(t, append(append(append([]string(nil), lines[:entry]...), string(archive.Entry{
		EntryID: "entry_forged", AgentID: agentIn(lines[ada]), CreatedAt: from.Clock.Now(), Canonical: forged.Entry.Canonical(),
		Envelope: forged.Envelope.Canonical(), Signature: signature, Key: stranger.Public,
	}.Line())), lines[entry:]...))
	rows := []struct {
		name string
		file []byte
		rule archive.Rule
	}{
		{"a byte is changed and the digest is not", []byte(strings.Replace(file, "one\\ntwo", "one\\ntwO", 1)), archive.WrongDigest},
		{"a byte of a text is changed", with(entry, "second key", "second kez"), archive.PayloadHash},
		{"a shown text differs from the signed one", func() []byte {
			changed := append([]string(nil), lines...)
			changed[entry] = strings.Replace(lines[entry], "second key", "second kez", 1)
			return sealed(t, changed)
		}(), archive.Form},
		{"an entry signed by another agent's key", foreign, archive.ForeignKey},
		{"an entry moved to another agent", with(line("by the stranger"), string(stranger.ID), agentIn(lines[ada])), archive.UnknownAgent},
		{"a key without the link that brought it in", with(rotated, `"proof":{`+between(lines[rotated], `"proof":{`, `}}`)+`}`, `"proof":null`), archive.MissingLink},
		{"a key whose parent's line is gone", without(first), archive.MissingLink},
		{"a link whose request was changed", with(rotated, "new_key_signature", "new_key_signaturf"), archive.PayloadHash},
		{"a revoked key made active", with(first, `"revoked_at":"`+between(lines[first], `"revoked_at":"`, `"`)+`"`, `"revoked_at":null`), archive.KeyDates},
		{"a key dated before its agent", with(first, `"created_at":"2026-09-01T10:`, `"created_at":"2026-09-01T09:`), archive.KeyDates},
		{"an entry twice", twice(entry), archive.DuplicateID},
		{"an entry twice under another id", sealed(t, append(append([]string(nil), lines[:entry+1]...), append([]string{strings.Replace(lines[entry], id(entry), "entry_other", 1)}, lines[entry+1:]...)...)), archive.DuplicateUse},
		{"a tombstone twice", twice(tomb), archive.DuplicateID},
		{"an agent twice", twice(ada), archive.MissingLink},
		{"an entry dated elsewhere", with(entry, `"created_at":"2026-09-01T10:`, `"created_at":"2026-09-01T11:`), archive.Dates},
		{"an entry dated a moment elsewhere", with(entry, `"created_at":"`+between(lines[entry], `"created_at":"`, `Z"`), `"created_at":"`+strings.Replace(between(lines[entry], `"created_at":"`, `Z"`), ".000", ".001", 1)), archive.Dates},
		{"a tombstone dated elsewhere", with(tomb, `"created_at":"2026-09-01T10:`, `"created_at":"2026-09-01T11:`), archive.Dates},
		{"a private entry that is hidden", with(line(`"title":"private"`), `"status":"active","created_at":"`+between(lines[line(`"title":"private"`)], `"created_at":"`, `"`)+`","hidden_at":null`, `"status":"hidden","created_at":"`+between(lines[line(`"title":"private"`)], `"created_at":"`, `"`)+`","hidden_at":"2026-09-01T12:00:00.000Z"`), archive.NotPublic},
		{"a pin that was hidden", with(ada, id(line("light")), id(hidden)), archive.UnknownPin},
		{"a profile against the rules", with(ada, "https://example.org/ada", "http://example.org/ada"), archive.ProfileRules},
		{"a commitment taken from elsewhere", with(ada, `"recovery":{"canonical_payload":"{\"old_recovery_signature\":null,\"recovery_key_hash\":\"sha256:`, `"recovery":{"canonical_payload":"{\"old_recovery_signature\":null,\"recovery_key_hash\":\"sha256:0`), archive.Commitment},
		{"another member", with(tomb, `"type":"tombstone"`, `"type":"tombstone","x":1`), archive.Form},
		{"another type", with(tomb, `"type":"tombstone"`, `"type":"gravestone"`), archive.UnknownType},
		{"another format", with(ada, archive.Format, "innerloop-archive-v2"), archive.UnknownFormat},
		{"no last line", []byte(strings.Join(lines, "\n") + "\n"), archive.Truncated},
		{"half a line", []byte(file[:len(file)/2]), archive.Form},
		{"a line after the last", []byte(file + lines[0] + "\n"), archive.AfterEnd},
		{"nothing", nil, archive.Truncated},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			to := journaltest.Open(t)
			_, err := take(t, to, row.file)
			if !refusedAs(err, row.rule) {
				t.Errorf("got %v, want %s", err, row.rule)
			}
			if err != nil && strings.Contains(err.Error(), "second ke") {
				t.Errorf("the refusal tells text: %v", err)
			}
			if left := export(t, to); strings.Contains(string(left), `"type":"agent"`) {
				t.Errorf("something was stored: %s", left)
			}
		})
	}
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

func agentIn(line string) string { return between(line, `"agent_id":"`, `"`) }
