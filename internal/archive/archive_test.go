package archive_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"innerloop/internal/archive"
	"innerloop/internal/strictjson"
)

// sample is a journal with one of everything, kept for every checker.
const sample = "../../docs/verify/samples/export.jsonl"

func read(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The same journal is always the same bytes: what Verify hands over and a
// Writer writes again is the file.
func TestWrittenAgainItIsTheSame(t *testing.T) {
	t.Parallel()
	text := read(t)
	var again bytes.Buffer
	w := archive.NewWriter(&again)
	offset := int64(0)
	counts, err := archive.Verify(bytes.NewReader(text), func(at archive.Place, r archive.Record) error {
		if line := text[at.Offset : at.Offset+int64(at.Length)]; !bytes.Equal(line, r.Line()) {
			t.Errorf("line %d is not where its place says", at.Line)
		}
		if at.Offset < offset {
			t.Errorf("line %d comes late", at.Line)
		}
		offset = at.Offset
		return w.Write(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	written, err := w.End()
	if err != nil || written != counts || !bytes.Equal(again.Bytes(), text) {
		t.Errorf("%+v, %v:\n%s", written, err, again.Bytes())
	}
}

// No byte can be changed (one in 43 is tried), left out or added, and no line moved or doubled.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	text := read(t)
	refused := func(what string, at int, file []byte) {
		t.Helper()
		_, err := archive.Verify(bytes.NewReader(file), func(archive.Place, archive.Record) error { return nil })
		var r *archive.Refused
		if !errors.As(err, &r) || r.Line < 1 || strings.Contains(r.Error(), "%!") || strings.HasSuffix(r.Error(), ": ") {
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	for i := 0; i < len(text); i += 43 {
		refused("a changed byte", i, append(append(bytes.Clone(text[:i]), text[i]^1), text[i+1:]...))
		refused("a missing byte", i, append(bytes.Clone(text[:i]), text[i+1:]...))
		refused("an end", i, text[:i])
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines {
		refused("a missing line", i, bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil))
		refused("a doubled line", i, bytes.Join(append(append([][]byte{}, lines[:i+1]...), lines[i:]...), nil))
	}
}

// A refusal of the taker ends the reading and is returned as it is.
func TestTheTakerMayRefuse(t *testing.T) {
	t.Parallel()
	_, err := archive.Verify(bytes.NewReader(read(t)), func(at archive.Place, r archive.Record) error {
		return archive.Break(at, r, archive.NameRules)
	})
	var refused *archive.Refused
	if !errors.As(err, &refused) || refused.Line != 1 || refused.Rule != archive.NameRules || !strings.HasPrefix(refused.ID, "agent_") {
		t.Errorf("got %v", err)
	}
}

// Whatever is read has one form, and no input makes the reader fall over.
func FuzzParse(f *testing.F) {
	for line := range strings.SplitSeq(string(read(f)), "\n") {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, err := archive.Parse(line); err == nil && !bytes.Equal(r.Line(), line) {
			t.Errorf("%s\nis written as\n%s", line, r.Line())
		}
		v, err := strictjson.Parse(line)
		if err != nil {
			return
		}
		for _, read := range []func(strictjson.Value) (archive.Record, error){archive.FromValue, archive.FromOwner} {
			r, err := read(v)
			if err != nil {
				continue
			}
			if again, err := archive.Parse(r.Line()); err != nil || !bytes.Equal(again.Line(), r.Line()) {
				t.Errorf("%s\nis written as\n%s\nwhich is refused: %v", line, r.Line(), err)
			}
		}
		_, _ = archive.Verify(bytes.NewReader(append(bytes.Clone(line), '\n')), func(archive.Place, archive.Record) error { return nil })
	})
}
