package proof

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// The formats that a document names; a line of an export names none.
const (
	entryFormat  = "innerloop-proof-v1"
	exportFormat = "innerloop-journal-export-v1"
)

// maxDocument bounds a line, or a document of several lines.
const maxDocument = 4 << 20

// A Lie is what does not hold. Its text is safe to print.
type Lie struct {
	EntryID string // empty when the document names none
	Line    int    // of a JSON Lines file, else 0
	What    string
}

// Error names the entry, or else the line, and what does not hold.
func (l *Lie) Error() string {
	switch {
	case l.EntryID != "":
		return l.EntryID + ": " + l.What
	case l.Line > 0:
		return fmt.Sprintf("line %d: %s", l.Line, l.What)
	}
	return l.What
}

// Seen counts what was checked.
type Seen struct {
	Proved     int `json:"proved"`
	Tombstones int `json:"tombstones"` // they hold nothing that could be proved
}

// Verify reads a document and proves all of it. It stops at the first *Lie.
// step, if not nil, hears the counts after each line.
func Verify(r io.Reader, step func(Seen)) (Seen, error) {
	lines := bufio.NewReaderSize(r, 1<<16)
	first, err := readLine(lines)
	if err != nil && !errors.Is(err, io.EOF) {
		return Seen{}, err
	}
	if errors.Is(err, io.EOF) && len(first) == 0 {
		return Seen{}, nil // the export of an agent that wrote nothing
	}
	v, parseErr := strictjson.Parse(first)
	if parseErr != nil {
		// Not one object a line: then it is one document of several lines.
		rest, err := io.ReadAll(io.LimitReader(lines, maxDocument))
		if err != nil {
			return Seen{}, err
		}
		if v, err = strictjson.Parse(append(append(first, '\n'), rest...)); err != nil {
			return Seen{}, &Lie{Line: 1, What: "the line is not JSON"}
		}
		lines.Reset(bytes.NewReader(nil))
	}
	var f file
	switch text(v, "format") {
	case entryFormat:
		if err := f.document(v); err != nil {
			return f.seen, err
		}
		return f.seen, onlyBlank(lines)
	case exportFormat:
		entries, _ := v.Get("entries")
		if entries.Kind() != strictjson.Array {
			return f.seen, &Lie{What: "the export has no list of entries"}
		}
		for _, e := range entries.Items() {
			if err := f.entry(e); err != nil {
				return f.seen, err
			}
		}
		return f.seen, onlyBlank(lines)
	}
	return f.lines(v, lines, step)
}

// lines proves a JSON Lines file whose first line is read already.
func (f *file) lines(v strictjson.Value, lines *bufio.Reader, step func(Seen)) (Seen, error) {
	for f.line = 1; ; f.line++ {
		if err := f.entry(v); err != nil {
			return f.seen, err
		}
		if step != nil {
			step(f.seen)
		}
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return f.seen, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return f.seen, err
		}
		if v, err = strictjson.Parse(line); err != nil {
			return f.seen, &Lie{Line: f.line + 1, What: "the line is not JSON"}
		}
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxDocument:
			return nil, &Lie{What: "a line is longer than any that we write"}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
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
	line  int
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

// entry proves one entry of an export.
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
	if chain, present := proof.Get("key_chain"); what == "" && present {
		what = c.chain(chain)
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
	return &Lie{EntryID: printable(id), Line: f.line, What: what}
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
