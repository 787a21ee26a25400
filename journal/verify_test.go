package journal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// Every way in which a stored row can differ from what was signed is a lie
// with words of its own; taking one check out leaves a row unnoticed.
func TestEveryLieIsFound(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	ada := j.Agent("Ada")
	j.MustPublish(ada.Signs("first light", journaltest.Tags("dawn", "calm")))
	rows, err := j.Store.Scan(t.Context(), journal.Place{}, 2)
	if err != nil || len(rows) != 1 || rows[0].Check() != nil {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	_, other := journaltest.Key(t, "someone else")
	// resigned makes a row whose record is sound in itself.
	resigned := func(entry func(*seal.Entry), envelope func(*seal.Envelope)) func(*journal.StoredEntry) {
		return func(row *journal.StoredEntry) {
			e, err := seal.ParseEntry(row.Signed.CanonicalEntry)
			if err != nil {
				t.Fatal(err)
			}
			n, err := row.Signed.Envelope()
			if err != nil {
				t.Fatal(err)
			}
			entry(&e)
			row.Signed.CanonicalEntry = e.Canonical()
			n.PayloadHash = seal.PayloadHash(row.Signed.CanonicalEntry)
			envelope(&n)
			row.Signed.CanonicalEnvelope = n.Canonical()
			row.Signed.Signature = seal.Sign(ada.Private, row.Signed.CanonicalEnvelope)
		}
	}
	same, seven := func(*seal.Entry) {}, func(*seal.Envelope) {}
	tomb := func(change func(*journal.StoredEntry)) func(*journal.StoredEntry) {
		return func(row *journal.StoredEntry) {
			row.Status, row.Signed, row.Listed, row.ListedTags = "deleted", journal.Signed{}, false, nil
			change(row)
		}
	}
	for name, lie := range map[string]struct {
		change func(*journal.StoredEntry)
		what   string // empty: no lie
	}{
		"the same record signed again": {resigned(same, seven), ""},
		"a tombstone":                  {tomb(func(*journal.StoredEntry) {}), ""},
		"a tombstone with text":        {tomb(func(r *journal.StoredEntry) { r.Signed.CanonicalEntry = []byte("{}") }), "a deleted entry"},
		"a tombstone with an envelope": {tomb(func(r *journal.StoredEntry) { r.Signed.CanonicalEnvelope = []byte("{}") }), "a deleted entry"},
		"a tombstone with a signature": {tomb(func(r *journal.StoredEntry) { r.Signed.Signature[0] = 1 }), "a deleted entry"},
		"a tombstone that is listed":   {tomb(func(r *journal.StoredEntry) { r.Listed = true }), "a deleted entry"},
		"a tombstone under a tag":      {tomb(func(r *journal.StoredEntry) { r.ListedTags = []string{"dawn"} }), "a deleted entry"},
		"a blank in the entry": {func(r *journal.StoredEntry) {
			r.Signed.CanonicalEntry = append(slices.Clone(r.Signed.CanonicalEntry), ' ')
		}, "entry is not in canonical form"},
		"a blank in the envelope": {func(r *journal.StoredEntry) {
			r.Signed.CanonicalEnvelope = append(slices.Clone(r.Signed.CanonicalEnvelope), ' ')
		}, "envelope is not in canonical form"},
		"no key":            {func(r *journal.StoredEntry) { r.Key = seal.PublicKey{} }, "does not belong to the entry's agent"},
		"another key":       {func(r *journal.StoredEntry) { r.Key = other }, "names another key"},
		"another signature": {func(r *journal.StoredEntry) { r.Signed.Signature[0] ^= 1 }, "signature does not verify"},
		"another text": {func(r *journal.StoredEntry) {
			r.Signed.CanonicalEntry = []byte(strings.Replace(string(r.Signed.CanonicalEntry), "first", "final", 1))
		}, "hash that was signed"},
		"a signed deletion":             {resigned(same, func(e *seal.Envelope) { e.Action = seal.ActionEntryDelete }), "not about creating an entry"},
		"an envelope of another agent":  {resigned(same, func(e *seal.Envelope) { e.ActorID = "agent_other" }), "names another agent"},
		"another agent's row":           {func(r *journal.StoredEntry) { r.AgentID = "agent_other" }, "names another agent"},
		"another key in the column":     {func(r *journal.StoredEntry) { r.KeyID = journal.KeyID(other.ID()) }, "key column"},
		"private in the column":         {func(r *journal.StoredEntry) { r.Visibility = journal.Private }, "visibility column"},
		"private in the record":         {resigned(func(e *seal.Entry) { e.Visibility = journal.Private }, seven), "visibility column"},
		"dated before its window":       {func(r *journal.StoredEntry) { r.CreatedAt = r.CreatedAt.Add(-2 * time.Minute) }, "outside its signature window"},
		"dated after its window":        {func(r *journal.StoredEntry) { r.CreatedAt = r.CreatedAt.Add(6 * time.Minute) }, "outside its signature window"},
		"a text that breaks a rule":     {resigned(func(e *seal.Entry) { e.Title = " first" }, seven), "breaks a rule"},
		"public and not listed":         {func(r *journal.StoredEntry) { r.Listed = false }, "public timeline"},
		"hidden and listed":             {func(r *journal.StoredEntry) { r.Status = "hidden" }, "public timeline"},
		"hidden and under its tags":     {func(r *journal.StoredEntry) { r.Status, r.Listed = "hidden", false }, "tag lists"},
		"hidden and nowhere":            {func(r *journal.StoredEntry) { r.Status, r.Listed, r.ListedTags = "hidden", false, nil }, ""},
		"not under one of its tags":     {func(r *journal.StoredEntry) { r.ListedTags = r.ListedTags[:1] }, "tag lists"},
		"under a tag that it never had": {func(r *journal.StoredEntry) { r.ListedTags = []string{"calm", "dawn", "dusk"} }, "tag lists"},
	} {
		row := rows[0]
		lie.change(&row)
		err := row.Check()
		var told *journal.Lie
		switch {
		case lie.what == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case lie.what == "":
		case !errors.As(err, &told) || told.EntryID != row.EntryID || !strings.Contains(told.What, lie.what):
			t.Errorf("%s: got %v, want %q", name, err, lie.what)
		case strings.Contains(err.Error(), "light") || strings.Contains(err.Error(), "dawn"):
			t.Errorf("%s: the lie quotes the entry: %v", name, err)
		}
	}
}

// glimpse shows one row without its tags, as if it had been withdrawn between
// the two reads of a Scan: once, or each time.
type glimpse struct {
	journal.Store
	entry journal.EntryID
	times int
}

func (g *glimpse) Scan(ctx context.Context, after journal.Place, limit int) ([]journal.StoredEntry, error) {
	rows, err := g.Store.Scan(ctx, after, limit)
	for i := range rows {
		if rows[i].EntryID == g.entry && g.times > 0 {
			g.times--
			rows[i].ListedTags = nil
		}
	}
	return rows, err
}

// The store is read in stretches; the last entry of a second one is checked
// like the first, and looked at twice before it is called a lie.
func TestVerifyWalksTheWholeStore(t *testing.T) {
	t.Parallel()
	real := journaltest.Open(t)
	store := &glimpse{Store: real.Store}
	j := journaltest.Around(t, real.Store, store)
	ada := j.Agent("Ada")
	batch := make([]journal.Submission, 502)
	for i := range batch {
		batch[i] = ada.Signs("one of many")
	}
	published, err := j.PublishEntries(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range published {
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		store.entry = max(store.entry, p.Receipt.EntryID)
	}
	var steps []int64
	store.times = 1
	seen, err := j.Verify(t.Context(), func(v journal.Verified) { steps = append(steps, v.Proved) })
	if err != nil || seen.Proved != 502 || !slices.Equal(steps, []int64{500, 502}) {
		t.Errorf("proved %d in steps %v, %v", seen.Proved, steps, err)
	}
	store.times = 2
	var lie *journal.Lie
	if seen, err := j.Verify(t.Context(), nil); !errors.As(err, &lie) || lie.EntryID != store.entry || seen.Proved != 501 {
		t.Errorf("after %d entries: %v", seen.Proved, err)
	}
}

// A row of a public list that belongs to no public entry is a lie, though every
// entry proves.
func TestStraysAreLies(t *testing.T) {
	t.Parallel()
	real := journaltest.Open(t)
	j := journaltest.Around(t, real.Store, stray{real.Store})
	j.MustPublish(j.Agent("Ada").Signs("one"))
	var lie *journal.Lie
	if _, err := j.Verify(t.Context(), nil); !errors.As(err, &lie) || lie.EntryID != "entry_stray" {
		t.Errorf("got %v", err)
	}
	if seen := real.Check(); seen.Proved != 1 {
		t.Errorf("%d entries", seen.Proved)
	}
}

type stray struct{ journal.Store }

func (stray) Stray(context.Context) (journal.EntryID, error) { return "entry_stray", nil }
