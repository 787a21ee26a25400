package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"innerloop/internal/archive"
	"innerloop/internal/strictjson"
	"innerloop/seal"
)

const (
	exportFormat = "innerloop-journal-export-v1"
	// exportTries is how often a page is asked for when no answer comes.
	exportTries = 3
)

// ExportPage asks for one page of the agent's whole journal.
func (a *Agent) ExportPage(ctx context.Context, q Query) (Page, error) {
	got, err := a.live(ctx, "/v1/private/entries/export", seal.ActionEntryExport,
		member{"format", "json"}, member{"include_deleted", q.IncludeDeleted}, member{"limit", q.Limit}, member{"cursor", q.cursor()})
	if err != nil {
		return Page{}, err
	}
	if err := got.same("format", exportFormat); err != nil {
		return Page{}, err
	}
	if _, err := got.moment("exported_at"); err != nil {
		return Page{}, err
	}
	p, err := got.page()
	p.Agent, _ = got.body.Get("agent")
	keys, _ := got.body.Get("keys")
	p.Keys = keys.Items()
	return p, err
}

// Export writes the agent's whole journal to w as docs/export.md has it: the
// agent, its keys, its entries newest first, and the digest of it all. The same
// journal is always the same bytes. step hears the number of entries and
// tombstones after each page.
func (a *Agent) Export(ctx context.Context, w io.Writer, includeDeleted bool, step func(entries int)) (entries int, err error) {
	q := Query{IncludeDeleted: includeDeleted, Limit: 500}
	out := archive.NewWriter(w)
	for {
		page, err := a.patientPage(ctx, q)
		if err != nil {
			return entries, err
		}
		records, err := page.records()
		if err != nil {
			return entries, err
		}
		for _, r := range records {
			if err := out.Write(r); err != nil {
				return entries, fmt.Errorf("write the export: %w", err)
			}
		}
		entries = int(out.Counts().Entries + out.Counts().Tombstones)
		if step != nil {
			step(entries)
		}
		if page.NextCursor == "" {
			_, err := out.End()
			return entries, err
		}
		if page.NextCursor == q.Cursor {
			return entries, unbelieved("the next page is the same one")
		}
		q.Cursor = page.NextCursor
	}
}

// records are the lines that a page holds.
func (p Page) records() ([]archive.Record, error) {
	var records []archive.Record
	add := func(r archive.Record, err error) error {
		if err != nil {
			return unbelieved("it is not in the form of an export")
		}
		records = append(records, r)
		return nil
	}
	if p.Agent.Kind() == strictjson.Object {
		if err := add(archive.FromValue(p.Agent)); err != nil {
			return nil, err
		}
	}
	for _, k := range p.Keys {
		if err := add(archive.FromValue(k)); err != nil {
			return nil, err
		}
	}
	for _, e := range p.Entries {
		if err := add(archive.FromOwner(e)); err != nil {
			return nil, err
		}
	}
	return records, nil
}

func unbelieved(why string) *Failure {
	return &Failure{Code: BadAnswer, Message: "the answer cannot be believed: " + why}
}

// ExportFile exports into a file that only its owner can read. It is written
// beside and gets its name at the end, so that an export that broke off is
// never taken for a whole one.
func (a *Agent) ExportFile(ctx context.Context, name string, includeDeleted bool, step func(entries int)) (entries int, err error) {
	aside, err := os.CreateTemp(filepath.Dir(name), ".innerloop-export-*") // 0600
	if err != nil {
		return 0, fmt.Errorf("make the export: %w", err)
	}
	lines := bufio.NewWriter(aside)
	entries, err = a.Export(ctx, lines, includeDeleted, step)
	err = errors.Join(err, lines.Flush(), aside.Sync(), aside.Close())
	if err == nil {
		err = os.Rename(aside.Name(), name)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(aside.Name()))
	}
	return entries, nil
}

// ExportAside exports into a new file in the profile's folder.
func (a *Agent) ExportAside(ctx context.Context, includeDeleted bool) (file string, entries int, err error) {
	folder := filepath.Join(a.folder, "exports")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", 0, fmt.Errorf("make the exports' folder: %w", err)
	}
	file = filepath.Join(folder, a.now().UTC().Format("2006-01-02T150405.000Z")+".jsonl")
	entries, err = a.ExportFile(ctx, file, includeDeleted, nil)
	return file, entries, err
}

// patientPage asks again, with a fresh signature, when no answer comes.
func (a *Agent) patientPage(ctx context.Context, q Query) (page Page, err error) {
	for range exportTries {
		page, err = a.ExportPage(ctx, q)
		if _, c := code(err); c != NoAnswer || ctx.Err() != nil {
			break
		}
	}
	return page, err
}
