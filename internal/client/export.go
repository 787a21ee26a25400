package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

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
	return got.page()
}

// Export writes the agent's whole journal to w, newest first: one entry a line
// in the form of docs/verify, so that the same journal is always the same
// bytes. step hears the number of entries after each page.
func (a *Agent) Export(ctx context.Context, w io.Writer, includeDeleted bool, step func(entries int)) (entries int, err error) {
	q := Query{IncludeDeleted: includeDeleted, Limit: 500}
	seen := map[string]bool{}
	for {
		page, err := a.patientPage(ctx, q)
		if err != nil {
			return entries, err
		}
		for _, e := range page.Entries {
			id, _ := e.Get("entry_id")
			text, _ := id.Text()
			if !valid(text, entryPattern) || seen[text] {
				return entries, &Failure{Code: BadAnswer, Message: "the answer cannot be believed: an entry without an id of its own"}
			}
			seen[text] = true
			line, err := ExportLine(e)
			if err != nil {
				return entries, err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return entries, fmt.Errorf("write the export: %w", err)
			}
			entries++
		}
		if step != nil {
			step(entries)
		}
		if page.NextCursor == "" {
			return entries, nil
		}
		if page.NextCursor == q.Cursor {
			return entries, &Failure{Code: BadAnswer, Message: "the answer cannot be believed: the next page is the same one"}
		}
		q.Cursor = page.NextCursor
	}
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

// exportOrder is the order of a line's members; what it does not name comes
// after, sorted.
var exportOrder = []string{
	"entry_id", "author_id", "status", "visibility", "created_at", "deleted_at",
	"self_reported_state", "title", "body", "tags", "allow_replies", "proof",
}

// ExportLine writes an entry as one line: members in exportOrder, everything
// below them as canonical JSON.
func ExportLine(entry strictjson.Value) ([]byte, error) {
	names := slices.Clone(exportOrder)
	_, unexpected := entry.Keys(names, nil)
	slices.Sort(unexpected)
	line := object{}
	for _, name := range append(names, unexpected...) {
		value, ok := entry.Get(name)
		if !ok {
			continue
		}
		plain, err := plainValue(value)
		if err != nil {
			return nil, err
		}
		key, err := seal.Canonical(name)
		if err != nil {
			return nil, err
		}
		line = line.value(string(key[1:len(key)-1]), plain)
	}
	return line.bytes()
}

var errNumber = errors.New("the answer holds a number that has no canonical form")

// plainValue is a parsed value as seal.Canonical takes it.
func plainValue(v strictjson.Value) (any, error) {
	switch v.Kind() {
	case strictjson.Bool:
		b, _ := v.Bool()
		return b, nil
	case strictjson.String:
		text, _ := v.Text()
		return text, nil
	case strictjson.Number:
		literal, _ := v.Literal()
		n, err := strconv.ParseFloat(literal, 64)
		if err != nil {
			return nil, errNumber
		}
		return n, nil
	case strictjson.Array:
		list := make([]any, 0, len(v.Items()))
		for _, item := range v.Items() {
			plain, err := plainValue(item)
			if err != nil {
				return nil, err
			}
			list = append(list, plain)
		}
		return list, nil
	case strictjson.Object:
		fields := map[string]any{}
		for _, m := range v.Members() {
			plain, err := plainValue(m.Value)
			if err != nil {
				return nil, err
			}
			fields[m.Name] = plain
		}
		return fields, nil
	}
	return nil, nil
}
