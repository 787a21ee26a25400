package seal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
)

// Protocol 12.4.
func TestCanonicalVectors(t *testing.T) {
	t.Parallel()
	var controls strings.Builder
	for c := rune(0); c < 0x20; c++ {
		controls.WriteRune(c)
	}
	for _, row := range []struct {
		name       string
		value      any
		want, hash string
	}{
		{
			"numbers, words and keys in order",
			map[string]any{"b": 1, "a": []any{true, nil, "x"}, "A": math.Copysign(0, -1), "10": 1e21, "9": 0.1},
			`{"10":1e+21,"9":0.1,"A":0,"a":[true,null,"x"],"b":1}`,
			"3136f3b42d15d12789fbe322cb8fc99f2377f81bfcec52b4aca0664d5145724a",
		},
		{
			"UTF-16 order is not byte order",
			map[string]any{"\ue000": 1, "\U0001F600": 2},
			"{\"\U0001F600\":2,\"\ue000\":1}",
			"28c95d1bbb2209223307e62f489020e8f9e0cfa16adf2daf6d88127a1e8dd22a",
		},
		{
			"control characters",
			map[string]any{"s": controls.String()},
			`{"s":"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"}`,
			"03850482fbc7152f63d9bf30cc9c9d258ea8fcd82747e6cff884acc3509e9710",
		},
	} {
		got, err := Canonical(row.value)
		if err != nil || string(got) != row.want {
			t.Errorf("%s: %s, %v", row.name, got, err)
		}
		if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != row.hash {
			t.Errorf("%s: hash %x", row.name, sum)
		}
	}
}

// RFC 8785 appendix B, by the bits of the double.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		bits uint64
		want string // empty: refused
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x7fffffffffffffff, ""},
		{0x7ff0000000000000, ""},
		{0xfff0000000000000, ""},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		got, err := Canonical(math.Float64frombits(row.bits))
		if row.want == "" {
			if !errors.Is(err, ErrNotCanonical) {
				t.Errorf("%x is written as %s", row.bits, got)
			}
			continue
		}
		if err != nil || string(got) != row.want {
			t.Errorf("%x is written as %s, not %s, %v", row.bits, got, row.want, err)
		}
	}
}

func TestCanonicalIntegers(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]string{
		0: "0", 1: "1", -1: "-1", 50: "50", 500: "500", int64(20): "20",
		1<<53 - 1: "9007199254740991", -(1<<53 - 1): "-9007199254740991",
	} {
		if got, err := Canonical(value); err != nil || string(got) != want {
			t.Errorf("%v is written as %s, %v", value, got, err)
		}
	}
	for _, value := range []any{1 << 53, -(1 << 53), 1<<53 + 1, int64(math.MaxInt64), int64(math.MinInt64)} {
		if got, err := Canonical(value); !errors.Is(err, ErrNotCanonical) {
			t.Errorf("%v is written as %s", value, got)
		}
	}
}

func TestCanonicalRefusesWhatItCannotSay(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"broken string":         "a\xff",
		"surrogate as bytes":    "\xed\xa0\x80",
		"broken key":            map[string]any{"\xff": 1},
		"broken string inside":  map[string]any{"a": []any{"\xc3"}},
		"broken string in list": []string{"ok", "\x80"},
		"NaN inside":            []any{math.NaN()},
		"infinity":              math.Inf(-1),
		"json.Number":           json.Number("1"),
		"bytes":                 []byte("a"),
		"struct":                struct{ A int }{1},
		"map of strings":        map[string]string{"a": "b"},
		"unsigned":              uint(1),
		"pointer":               new(string),
		"function inside":       map[string]any{"f": func() {}},
	} {
		if got, err := Canonical(value); !errors.Is(err, ErrNotCanonical) || got != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestCanonicalShapes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{true, "true"},
		{"", `""`},
		{[]any{}, "[]"},
		{[]string{}, "[]"},
		{[]string(nil), "[]"},
		{map[string]any{}, "{}"},
		{map[string]any{"": []any{map[string]any{"b": nil, "a": []string{"z", "y"}}, false}}, `{"":[{"a":["z","y"],"b":null},false]}`},
		{map[string]any{"a": 1, "aa": 2, "A": 3, "ä": 4, "a\x00": 5}, `{"A":3,"a":1,"a\u0000":5,"aa":2,"ä":4}`},
		{"</script>&\u2028\u2029\u007f\u0085\ufffd\uffff", "\"</script>&\u2028\u2029\u007f\u0085\ufffd\uffff\""},
	} {
		if got, err := Canonical(row.value); err != nil || string(got) != row.want {
			t.Errorf("%s, not %s, %v", got, row.want, err)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	if got := string(AppendString([]byte("{"), "a\"b\\c/\n<&>\u2028\x1f")); got != "{\"a\\\"b\\\\c/\\n<&>\u2028\\u001f\"" {
		t.Errorf("%s", got)
	}
	// Every code point by itself comes back through encoding/json, in at most
	// one spelling with a backslash.
	for r := rune(0); r <= 0x10FFFF; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue
		}
		text := AppendString(nil, string(r))
		escaped := text[1] == '\\'
		if escaped != (r < 0x20 || r == '"' || r == '\\') {
			t.Fatalf("U+%04X is written as %s", r, text)
		}
		if r > 0xFFFF && r%251 != 0 {
			continue // one in 251 of the higher planes is enough for the slow half
		}
		var back string
		if err := json.Unmarshal(text, &back); err != nil || back != string(r) {
			t.Fatalf("U+%04X is written as %s and comes back as %q, %v", r, text, back, err)
		}
	}
}

// reference canonicalises JSON text by the reference implementation of RFC
// 8785's authors, which shares no code with ours.
func reference(text []byte) ([]byte, error) { return jsoncanonicalizer.Transform(text) }

func TestCanonicalEqualsReference(t *testing.T) {
	t.Parallel()
	file := readVectors(t)
	for _, op := range get(t, file.Value, "ops").Members() {
		for _, m := range op.Value.Members() {
			value := plainly(m.Value)
			if _, composite := value.(map[string]any); !composite {
				continue
			}
			ours, err := Canonical(value)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := reference(compact(nil, m.Value))
			if err != nil || string(ours) != string(theirs) {
				t.Errorf("%s.%s: ours\n%s\ntheirs\n%s, %v", op.Name, m.Name, ours, theirs, err)
			}
		}
	}
}
