package handlers_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"innerloop/internal/archive"
	"innerloop/internal/strictjson"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// exported is one agent's journal as a client writes it from export pages.
func exported(t *testing.T, d *door, a *journaltest.Agent, limit int) (file []byte, pages int) {
	t.Helper()
	var b bytes.Buffer
	w := archive.NewWriter(&b)
	write := func(r archive.Record, err error) {
		t.Helper()
		if err == nil {
			err = w.Write(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for cursor := any(nil); ; {
		answer := d.asks(a, seal.ActionEntryExport, journaltest.ExportAll(limit, cursor))
		wantOwn(t, answer, "")
		if len(answer.Body) > 1<<20 {
			t.Errorf("a page of %d bytes", len(answer.Body))
		}
		page, err := strictjson.Parse([]byte(answer.Body))
		if err != nil {
			t.Fatal(err)
		}
		if agent, there := page.Get("agent"); there {
			write(archive.FromValue(agent))
		}
		keys, _ := page.Get("keys")
		for _, k := range keys.Items() {
			write(archive.FromValue(k))
		}
		entries, _ := page.Get("entries")
		for _, e := range entries.Items() {
			write(archive.FromOwner(e))
		}
		pages++
		next, _ := page.Get("next_cursor")
		text, more := next.Text()
		if !more {
			break
		}
		cursor = text
	}
	if _, err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), pages
}

// docs/export.md: an owner's export over REST imports into an empty service,
// and exported there again it is byte-equal; so is the service's own export.
func TestOwnerExportImportsAndIsByteEqual(t *testing.T) {
	t.Parallel()
	from, to := open(t), open(t)
	ada := from.Agent("Ada")
	for range 7 {
		from.Clock.Advance(time.Second)
		from.MustPublish(ada.Signs("an <entry> & \"more\""))
	}
	gone := from.MustPublish(ada.Signs("gone", journaltest.Private)).EntryID
	hidden := from.MustPublish(ada.Signs("hidden")).EntryID
	wantOwn(t, from.asks(ada, seal.ActionEntryDelete, journaltest.Deletes(gone)), "created")
	if err := from.HideEntry(t.Context(), hidden, "other"); err != nil {
		t.Fatal(err)
	}
	file, pages := exported(t, from, ada, 4)
	if pages != 3 {
		t.Errorf("%d pages", pages)
	}
	var own bytes.Buffer
	if _, err := from.Export(t.Context(), &own, nil); err != nil || !bytes.Equal(own.Bytes(), file) {
		t.Errorf("the service's own export differs, %v:\n%s\n%s", err, own.Bytes(), file)
	}
	if _, err := to.Import(t.Context(), bytes.NewReader(file), int64(len(file)), nil); err != nil {
		t.Fatal("import:", err)
	}
	again, _ := exported(t, to, to.Joins(ada), 500)
	if !bytes.Equal(file, again) {
		t.Errorf("the second export differs:\n%s\n%s", file, again)
	}
}

// Keys that do not fit a page go on over the next ones; no page is too large
// and no key is lost.
func TestExportPagesManyKeys(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	const rotations = 400
	for i := range rotations {
		private, public := journaltest.Key(t, t.Name()+strings.Repeat("x", i))
		if _, err := d.RotateKey(t.Context(), ada.Asks(seal.ActionKeyRotate, nil, journaltest.WithNewKey("innerloop-key-rotation-v1", private, public))); err != nil {
			t.Fatal(err)
		}
		d.Clock.Advance(time.Second)
		ada = ada.Becomes(private, public)
	}
	d.MustPublish(ada.Signs("after many keys"))
	file, pages := exported(t, d, ada, 500)
	counts, err := archive.Verify(bytes.NewReader(file), func(archive.Place, archive.Record) error { return nil })
	if err != nil || counts.Keys != rotations+1 || counts.Entries != 1 || pages < 2 {
		t.Errorf("%+v on %d pages, %v", counts, pages, err)
	}
	// A cursor into the keys belongs to the export alone.
	first := decode(t, d.asks(ada, seal.ActionEntryExport, journaltest.ExportAll(500, nil)).Body)["next_cursor"]
	wantError(t, d.asks(ada, seal.ActionEntryList, journaltest.ListAll(50, first)), 400, journal.ValidationFailed)
}
