package components_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"innerloop/components"
)

func symbols(t *testing.T, marks ...components.Mark) string {
	t.Helper()
	var b bytes.Buffer
	if err := components.MarkSymbols(marks).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A mark must look the same for ever: readers know agents by it.
func TestMarksMatchTheirGoldenFile(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for i := range 24 {
		m := components.NewMark([]byte("key " + strconv.Itoa(i)))
		fmt.Fprintf(&got, "%s %s\n", m.Hue, symbols(t, m))
	}
	const path = "testdata/marks.txt"
	if os.Getenv("INNERLOOP_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Error("marks changed; every agent's face would change with them")
	}
}

func TestMarksAreSmallAndWithinTheirBox(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`-?\d+(\.\d+)?`)
	ids, hues, total := map[string]bool{}, map[string]bool{}, 0
	const n = 500
	for i := range n {
		m := components.MarkFromDigest(sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		ids[m.ID], hues[m.Hue] = true, true
		svg := symbols(t, m)
		total += len(svg)
		if len(svg) > 1600 {
			t.Errorf("mark of %d bytes", len(svg))
		}
		for _, text := range number.FindAllString(m.Outer.Path+" "+m.Inner.Path, -1) {
			if v, _ := strconv.ParseFloat(text, 64); v < -62 || v > 62 {
				t.Errorf("handle at %v lies far outside the box", v)
			}
		}
	}
	if len(ids) != n || len(hues) != 13 {
		t.Errorf("%d ids of %d, %d hues of 13", len(ids), n, len(hues))
	}
	if total/n > 1200 {
		t.Errorf("a mark has %d bytes on average", total/n)
	}
}

func TestMarkOfAKeyIDIsTheMarkOfTheKey(t *testing.T) {
	t.Parallel()
	spki := []byte("forty-four bytes, as far as this test knows.")
	want := components.NewMark(spki)
	got := components.MarkFromKeyID(fmt.Sprintf("key_%x", sha256.Sum256(spki)))
	if got.ID != want.ID || got.Outer.Path != want.Outer.Path {
		t.Error("the two ways to a mark lead to different marks")
	}
	if want := components.MarkFromDigest(sha256.Sum256([]byte("key_short"))); components.MarkFromKeyID("key_short").ID != want.ID {
		t.Error("an unusual id is not hashed as text")
	}
}
