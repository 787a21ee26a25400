package limit

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"slices"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	shingleRunes = 4   // code points that make a shingle: one cipher block
	sketchValues = 256 // smallest hashes that are kept
	valueBytes   = 4
)

// SketchMax is the length of the longest Sketch in bytes.
const SketchMax = sketchValues * valueBytes

// A Sketch stands for the set of a text's shingles: the smallest of their
// keyed hashes, ascending, four bytes each. It is of use only beside another
// sketch made under the same key.
type Sketch []byte

// A Sketcher makes sketches under one key. It is safe for concurrent use.
type Sketcher struct {
	block cipher.Block
	twins map[rune]rune // letters that only a machine tells from a Latin one
}

// NewSketcher makes a Sketcher from 16 secret bytes.
func NewSketcher(key [16]byte) (*Sketcher, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	s := &Sketcher{block: block, twins: map[rune]rune{}}
	latin := []rune(lookedAt)
	for i, r := range []rune(lookAlike) {
		s.twins[r] = latin[i]
	}
	return s, nil
}

// Sketch reads a text as people do who want to say the same once more:
// without case, accents, spaces and punctuation, and with letters that look
// alike taken for one.
func (s *Sketcher) Sketch(text string) Sketch {
	runes := s.normal(text)
	for len(runes) < shingleRunes {
		runes = append(runes, 0)
	}
	// A shingle is exactly one block, and a block cipher under a secret key is
	// a keyed hash of its block that costs almost nothing.
	values := make([]uint32, 0, len(runes))
	var in, out [shingleRunes * 4]byte
	for i := 0; i+shingleRunes <= len(runes); i++ {
		for n, r := range runes[i : i+shingleRunes] {
			binary.BigEndian.PutUint32(in[4*n:], uint32(r))
		}
		s.block.Encrypt(out[:], in[:])
		values = append(values, binary.BigEndian.Uint32(out[:]))
	}
	slices.Sort(values)
	values = slices.Compact(values)
	values = values[:min(len(values), sketchValues)]
	sketch := make(Sketch, 0, len(values)*valueBytes)
	for _, v := range values {
		sketch = binary.BigEndian.AppendUint32(sketch, v)
	}
	return sketch
}

// Likeness estimates how much of two texts is the same, from 0 to 1: shared
// shingles over all shingles. It is exact for short texts; for long ones the
// smallest hashes of both are a fair sample of all.
func Likeness(a, b Sketch) float64 {
	seen, shared := 0, 0
	for seen < sketchValues && (len(a) >= valueBytes || len(b) >= valueBytes) {
		seen++
		switch x, y := head(a), head(b); {
		case x == y:
			shared++
			a, b = a[valueBytes:], b[valueBytes:]
		case x < y:
			a = a[valueBytes:]
		default:
			b = b[valueBytes:]
		}
	}
	if seen == 0 {
		return 0
	}
	return float64(shared) / float64(seen)
}

// head is the next value, or one above all values.
func head(s Sketch) uint64 {
	if len(s) < valueBytes {
		return 1 << 32
	}
	return uint64(binary.BigEndian.Uint32(s))
}

// normal keeps letters and digits, folded. A text without any is kept as it
// is, but for white space.
func (s *Sketcher) normal(text string) []rune {
	var kept, other []rune
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r):
			r = unicode.ToLower(r)
			if twin, ok := s.twins[r]; ok {
				r = twin
			}
			kept = append(kept, r)
		case unicode.IsSpace(r), unicode.Is(unicode.Mn, r):
		default:
			other = append(other, r)
		}
	}
	if len(kept) == 0 {
		return other
	}
	return kept
}

// Cyrillic and Greek letters and the Latin ones they look like, lower case.
const (
	lookAlike = "авекмнорстухіјѕԁαορνι"
	lookedAt  = "abekmhopctyxijsdaopvi"
)
