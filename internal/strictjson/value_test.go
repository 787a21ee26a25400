package strictjson

import (
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) Value {
	t.Helper()
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestInt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"1", 1, true},
		{"-1", -1, true},
		{"50", 50, true},
		{"9007199254740991", 1<<53 - 1, true},
		{"-9007199254740991", -(1<<53 - 1), true},
		{"9007199254740992", 0, false},
		{"-9007199254740992", 0, false},
		{"9007199254740993", 0, false},
		{"9223372036854775808", 0, false},
		{"123456789012345678901234567890", 0, false},
		{"-0", 0, false},
		{"1.0", 0, false},
		{"1.5", 0, false},
		{"1e3", 0, false},
		{"1E3", 0, false},
		{"10e-1", 0, false},
		{`"1"`, 0, false},
		{"true", 0, false},
		{"null", 0, false},
		{"[1]", 0, false},
		{"{}", 0, false},
	} {
		if got, ok := parse(t, row.text).Int(); ok != row.ok || ok && got != row.want {
			t.Errorf("%s is %d, %t", row.text, got, ok)
		}
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Kind{
		"null": Null, "true": Bool, "false": Bool, "-1.5e3": Number, `""`: String, "[]": Array, "[1]": Array, "{}": Object, `{"a":1}`: Object,
	} {
		v := parse(t, text)
		_, isText := v.Text()
		_, isBool := v.Bool()
		_, isNumber := v.Literal()
		if v.Kind() != want || isText != (want == String) || isBool != (want == Bool) || isNumber != (want == Number) {
			t.Errorf("%s has kind %d, text %t, bool %t, number %t", text, v.Kind(), isText, isBool, isNumber)
		}
		if len(v.Items()) > 0 && want != Array || len(v.Members()) > 0 && want != Object {
			t.Errorf("%s has parts of another kind", text)
		}
	}
	if yes, _ := parse(t, "true").Bool(); !yes {
		t.Error("true is false")
	}
	if no, _ := parse(t, "false").Bool(); no {
		t.Error("false is true")
	}
	if truth, ok := parse(t, `"true"`).Bool(); ok {
		t.Errorf("a string is the boolean %t", truth)
	}
	if zero := (Value{}); zero.Kind() != Invalid || zero.Items() != nil || zero.Members() != nil {
		t.Error("the zero Value is something")
	}
}

func TestMembersAreExact(t *testing.T) {
	t.Parallel()
	v := parse(t, `{"title":"a","Tags":[1,"x"],"extra":null,"body":{"c":true}}`)
	if _, ok := v.Get("tags"); ok {
		t.Error("tags found as Tags")
	}
	if title, ok := v.Get("title"); !ok || title.text != "a" {
		t.Error("title not found")
	}
	missing, unexpected := v.Keys([]string{"title", "tags", "state"}, []string{"body"})
	if !slices.Equal(missing, []string{"tags", "state"}) || !slices.Equal(unexpected, []string{"Tags", "extra"}) {
		t.Errorf("missing %q, unexpected %q", missing, unexpected)
	}
	var order []string
	for _, m := range v.Members() {
		order = append(order, m.Name)
	}
	if !slices.Equal(order, []string{"title", "Tags", "extra", "body"}) {
		t.Errorf("order %q", order)
	}
	if _, ok := parse(t, "[]").Get("title"); ok {
		t.Error("an array has a member")
	}
}

func TestSafeName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"private_key": "private_key", "x-Y9": "x-Y9", strings.Repeat("a", 40): strings.Repeat("a", 40),
		"": "an unnamed key", strings.Repeat("a", 41): "an unnamed key", "a b": "an unnamed key", "<script>": "an unnamed key",
		"caf\u00e9": "an unnamed key", "a\x00": "an unnamed key", "a\nb": "an unnamed key", "a.b": "an unnamed key",
	} {
		if got := SafeName(name); got != want {
			t.Errorf("%q gives %q", name, got)
		}
	}
}
