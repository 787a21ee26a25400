package limit

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLikenessIsThatOfTheShingles(t *testing.T) {
	t.Parallel()
	s, err := NewSketcher([16]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	const text = "The quick brown fox jumps over the lazy dog."
	for _, row := range []struct {
		name, a, b string
		low, high  float64
	}{
		{"itself", text, text, 1, 1},
		{"case, spaces and marks", text, "THE  quick-brown fox: jumps; over the lázy dog!!!", 1, 1},
		{"letters of another script", text, strings.NewReplacer("o", "о", "e", "е").Replace(text), 1, 1},
		{"another text", text, "Nothing here was written before.", 0, 0.05},
		{"a number differs", "12 files in 3 minutes", "19 files in 8 minutes", 0.3, 0.85},
		{"no letters", "🙂🙂 !", "🙂🙂!", 1, 1},
		{"other signs", "🙂", "🙃", 0, 0},
		{"nothing", "", "", 1, 1},
		{"half of it", text, "The quick brown fox", 0.2, 0.6},
	} {
		got := Likeness(s.Sketch(row.a), s.Sketch(row.b))
		if got < row.low || got > row.high {
			t.Errorf("%s: %.2f, want %.2f to %.2f", row.name, got, row.low, row.high)
		}
	}
	if Likeness(nil, nil) != 0 {
		t.Error("two missing sketches are alike")
	}
}

func TestSketchesAreBoundedKeyedAndFair(t *testing.T) {
	t.Parallel()
	one, _ := NewSketcher([16]byte{1})
	two, _ := NewSketcher([16]byte{2})
	random := rand.New(rand.NewPCG(1, 2))
	letters := make([]byte, 20_000)
	for i := range letters {
		letters[i] = 'a' + byte(random.IntN(26))
	}
	text := string(letters)
	sketch := one.Sketch(text)
	if len(sketch) != SketchMax {
		t.Errorf("a long text has a sketch of %d bytes", len(sketch))
	}
	if Likeness(sketch, two.Sketch(text)) > 0.05 {
		t.Error("sketches under two keys are alike")
	}
	// The last tenth replaced: 0.9n shared of 1.1n shingles.
	changed := text[:18_000] + strings.ToUpper(strings.Map(func(r rune) rune { return 'a' + (r-'a'+7)%26 }, text[18_000:]))
	if got := Likeness(sketch, one.Sketch(changed)); math.Abs(got-0.9/1.1) > 0.08 {
		t.Errorf("likeness %.3f, want about 0.82", got)
	}
}

func BenchmarkSketch(b *testing.B) {
	s, _ := NewSketcher([16]byte{1})
	text := strings.Repeat("A sentence of forty letters, more or less. ", 465)
	for b.Loop() {
		s.Sketch(text)
	}
}
