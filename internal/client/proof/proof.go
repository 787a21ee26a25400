package proof

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"innerloop/internal/archive"
	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// The formats that a document names; an export is told by its first line.
const (
	entryFormat  = "innerloop-proof-v1"
	exportFormat = "innerloop-journal-export-v1"
)

// maxDocument bounds a line, or a document of several lines.
const maxDocument = 4 << 20

// A Lie is what does not hold. Its text is safe to print.
type Lie struct {
	EntryID string // empty when the document names none
	What    string
}

// Error names the entry and what does not hold.
func (l *Lie) Error() string {
	if l.EntryID != "" {
		return l.EntryID + ": " + l.What
	}
	return l.What
}

// Seen counts what was checked.
type Seen struct {
	Proved     int `json:"proved"`
	Tombstones int `json:"tombstones"` // they hold nothing that could be proved
}

// Verify reads a document and proves all of it. It stops at the first lie, a
// *Lie or, in an export, an *archive.Refused. step, if not nil, hears the
// counts after each line.
func Verify(r io.Reader, step func(Seen)) (Seen, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	first, err := readLine(in)
	if err != nil {
		return Seen{}, err
	}
	v, parseErr := strictjson.Parse(first)
	if _, typed := v.Get("type"); typed || len(first) == 0 {
		return export(io.MultiReader(bytes.NewReader(first), in), step)
	}
	// Not a line of an export: then it is one document, maybe of several lines.
	if parseErr != nil {
		rest, err := io.ReadAll(io.LimitReader(in, maxDocument))
		if err != nil {
			return Seen{}, err
		}
		if v, err = strictjson.Parse(append(first, rest...)); err != nil {
			return Seen{}, &Lie{What: "the document is not JSON"}
		}
	}
	var f file
	switch text(v, "format") {
	case entryFormat:
		err = f.document(v)
	case exportFormat:
		err = f.page(v)
	default:
		err = &Lie{What: "it is neither a proof, nor an export, nor a page of one"}
	}
	if err == nil {
		err = onlyBlank(in)
	}
	return f.seen, err
}

// export proves a whole journal (docs/export.md).
func export(r io.Reader, step func(Seen)) (Seen, error) {
	var seen Seen
	_, err := archive.Verify(r, func(_ archive.Place, record archive.Record) error {
		switch record.(type) {
		case archive.Entry:
			seen.Proved++
		case archive.Tombstone:
			seen.Tombstones++
		}
		if step != nil {
			step(seen)
		}
		return nil
	})
	return seen, err
}

// readLine returns the first line with its line feed, or all that there is.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxDocument:
			return nil, &Lie{What: "a line is longer than any that we write"}
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF):
			return line, nil
		default:
			return nil, err
		}
	}
}

// page proves the entries of one page, each for itself.
func (f *file) page(v strictjson.Value) error {
	entries, _ := v.Get("entries")
	if entries.Kind() != strictjson.Array {
		return &Lie{What: "the export has no list of entries"}
	}
	for _, e := range entries.Items() {
		if err := f.entry(e); err != nil {
			return err
		}
	}
	return nil
}

func onlyBlank(r io.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(r, maxDocument))
	if err == nil && len(bytes.TrimSpace(rest)) > 0 {
		err = &Lie{What: "something follows the document"}
	}
	return err
}

// A file is what all of its entries must agree on.
type file struct {
	seen  Seen
	agent string
	ids   map[string]bool
}

// document proves a proof.json.
func (f *file) document(v strictjson.Value) error {
	c := claim{of: v, proof: v, entryID: text(v, "entry_id"), agent: text(v, "agent_id")}
	what := c.check()
	if what == "" && c.entry.Visibility != "public" {
		what = "the signed entry is not public"
	}
	if what == "" {
		chain, _ := v.Get("key_chain")
		what = c.chain(chain)
	}
	return f.proved(c.entryID, what)
}

// entry proves one entry of a page.
func (f *file) entry(v strictjson.Value) error {
	id, author := text(v, "entry_id"), text(v, "author_id")
	switch {
	case v.Kind() != strictjson.Object || id == "" || author == "":
		return f.lie("", "it is not an entry with entry_id and author_id")
	case f.agent != "" && author != f.agent:
		return f.lie(id, "the export holds entries of two agents")
	case f.ids[id]:
		return f.lie(id, "the entry comes twice")
	case f.ids == nil:
		f.ids = map[string]bool{}
	}
	f.agent, f.ids[id] = author, true
	if text(v, "status") == "deleted" {
		if what := tombstone(v); what != "" {
			return f.lie(id, what)
		}
		f.seen.Tombstones++
		return nil
	}
	proof, _ := v.Get("proof")
	c := claim{of: v, proof: proof, entryID: id, agent: author}
	what := c.check()
	if what == "" {
		what = c.shown()
	}
	return f.proved(id, what)
}

func (f *file) proved(id, what string) error {
	if what != "" {
		return f.lie(id, what)
	}
	f.seen.Proved++
	return nil
}

func (f *file) lie(id, what string) error {
	return &Lie{EntryID: printable(id), What: what}
}

// printable is the id when it looks like one, so that an error can name it.
func printable(id string) string {
	for _, r := range id {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return ""
		}
	}
	if len(id) > seal.IdentityMax {
		return ""
	}
	return id
}

func text(v strictjson.Value, name string) string {
	field, _ := v.Get(name)
	t, _ := field.Text()
	return t
}

// tombstone checks that a deleted entry holds nothing.
func tombstone(v strictjson.Value) string {
	for _, name := range []string{"self_reported_state", "title", "body", "proof"} {
		if field, present := v.Get(name); present && field.Kind() != strictjson.Null {
			return "a deleted entry still holds " + name
		}
	}
	return ""
}
