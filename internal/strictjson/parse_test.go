package strictjson

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func nested(open, inner, end string, levels int) string {
	return strings.Repeat(open, levels) + inner + strings.Repeat(end, levels)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text, rule string
		offset           int
	}{
		{"nothing", "", "JSON ends too early", 0},
		{"only white space", " \t\r\n", "JSON ends too early", 4},
		{"byte-order mark", "\ufeff{}", "a JSON value is expected", 0},
		{"no-break space before", "\u00a0{}", "a JSON value is expected", 0},
		{"form feed before", "\f{}", "a JSON value is expected", 0},
		{"raw NUL", "\x00", "a JSON value is expected", 0},
		{"NUL after the value", "{}\x00", "there is text after the JSON value", 2},
		{"second value", "{} {}", "there is text after the JSON value", 3},
		{"second number", "1 2", "there is text after the JSON value", 2},
		{"comma after the value", "{},", "there is text after the JSON value", 2},
		{"closing brace too many", "{}}", "there is text after the JSON value", 2},
		{"comment", "{}//", "there is text after the JSON value", 2},
		{"comment inside", "[/**/]", "a JSON value is expected", 1},

		{"broken byte", "\"\xff\"", "text is not valid UTF-8", 1},
		{"broken byte after a correct text", "{\"a\":\"é\"}\xc3", "text is not valid UTF-8", 10},
		{"overlong slash", "\"\xc0\xaf\"", "text is not valid UTF-8", 1},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", "text is not valid UTF-8", 1},
		{"pair of surrogates in UTF-8", "\"\xed\xa0\xbd\xed\xb8\x80\"", "text is not valid UTF-8", 1},
		{"beyond U+10FFFF", "\"\xf4\x90\x80\x80\"", "text is not valid UTF-8", 1},

		{"object not closed", `{"a":1`, "a comma or the end of the object is expected", 6},
		{"object ends after a comma", `{"a":1,}`, "a key in double quotes is expected", 7},
		{"object begins with a comma", `{,"a":1}`, "a key in double quotes is expected", 1},
		{"two commas", `{"a":1,,"b":2}`, "a key in double quotes is expected", 7},
		{"key without quotes", `{a:1}`, "a key in double quotes is expected", 1},
		{"key in single quotes", `{'a':1}`, "a key in double quotes is expected", 1},
		{"key is a number", `{1:1}`, "a key in double quotes is expected", 1},
		{"key without a value", `{"a"}`, "a colon is expected", 4},
		{"equals sign", `{"a"=1}`, "a colon is expected", 4},
		{"colon without a value", `{"a":}`, "a JSON value is expected", 5},
		{"only a brace", `{`, "a key in double quotes is expected", 1},
		{"array not closed", `[1`, "a comma or the end of the array is expected", 2},
		{"array ends after a comma", `[1,]`, "a JSON value is expected", 3},
		{"array without a comma", `[1 2]`, "a comma or the end of the array is expected", 3},
		{"array closed by a brace", `[1}`, "a comma or the end of the array is expected", 2},
		{"only a bracket", `[`, "JSON ends too early", 1},

		{"capital word", "True", "a JSON value is expected", 0},
		{"half a word", "nul", "a JSON value is expected", 0},
		{"word with a tail", "truely", "there is text after the JSON value", 4},
		{"NaN", "NaN", "a JSON value is expected", 0},
		{"Infinity", "-Infinity", "a digit is expected", 1},
		{"undefined", "undefined", "a JSON value is expected", 0},

		{"string not closed", `"abc`, "JSON ends inside a string", 4},
		{"string that ends in a backslash", `"abc\`, "an unknown escape in a string", 5},
		{"string not closed after an escape", `"\n`, "JSON ends inside a string", 3},
		{"raw line feed", "\"a\nb\"", "a control character in a string must be escaped", 2},
		{"raw tab after an escape", "\"\\n\t\"", "a control character in a string must be escaped", 3},
		{"raw U+001F", "\"\x1f\"", "a control character in a string must be escaped", 1},
		{"escaped apostrophe", `"\'"`, "an unknown escape in a string", 2},
		{"hex escape", `"\x41"`, "an unknown escape in a string", 2},
		{"capital U", `"\U0041"`, "an unknown escape in a string", 2},
		{"escaped NUL byte", "\"\\\x00\"", "an unknown escape in a string", 2},
		{"three hex digits", `"\u004"`, "a \\u escape needs four hex digits", 2},
		{"sign for a hex digit", `"\u+041"`, "a \\u escape needs four hex digits", 2},
		{"underscore for a hex digit", `"\u0_41"`, "a \\u escape needs four hex digits", 2},
		{"braces", `"\u{41}"`, "a \\u escape needs four hex digits", 2},
		{"letter beyond f", `"\u00g0"`, "a \\u escape needs four hex digits", 2},

		{"seventeen arrays", nested("[", "", "]", 17), "JSON is nested too deeply", 16},
		{"seventeen objects", nested(`{"a":`, "{}", "}", 16), "JSON is nested too deeply", 80},
		{"a hundred thousand brackets", strings.Repeat("[", 100_000), "JSON is nested too deeply", 16},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			v, err := Parse([]byte(row.text))
			var fault *Error
			if !errors.As(err, &fault) || v.Kind() != Invalid {
				t.Fatalf("kind %d, %v", v.Kind(), err)
			}
			if fault.Rule != row.rule || fault.Offset != row.offset {
				t.Errorf("%v; want %s at byte %d", fault, row.rule, row.offset)
			}
		})
	}
}

func TestRefusedNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"01", "00", "-01", "+1", "-", "--1", "1.", "1.e1", ".5", "-.5", "1e", "1E", "1e+", "1e-", "1e1.5", "1e+-1",
		"0x10", "1_000", "1,5", "٣", "1n", "- 1", "1 e1", "1..2", "1e1e1",
	} {
		for _, frame := range []string{"%s", "[%s]", `{"a":%s}`} {
			if v, err := Parse(fmt.Appendf(nil, frame, text)); err == nil && len(v.Items()) != 2 {
				t.Errorf(frame+" is accepted", text)
			}
		}
	}
}

func TestAcceptedNumbersKeepTheirSpelling(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "-0", "1", "-1", "10", "0.0", "-0.5", "1e3", "1E3", "1e+3", "1e-3", "0e0", "1.0", "9007199254740993",
		"123456789012345678901234567890", "1e400", "1.25E-10",
	} {
		v, err := Parse([]byte(" " + text + "\n"))
		if literal, ok := v.Literal(); err != nil || !ok || literal != text || v.Kind() != Number {
			t.Errorf("%s came out as %q, %v", text, literal, err)
		}
	}
}

func TestKeysThatOccurTwice(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"k%d":0,`, i)
	}
	for _, row := range []struct {
		name, text string
		twice      bool
	}{
		{"plain", `{"a":1,"a":2}`, true},
		{"with the same value", `{"a":1,"a":1}`, true},
		{"spelled with an escape", `{"a":1,"\u0061":2}`, true},
		{"spelled with an escape first", `{"\u0061":1,"a":2}`, true},
		{"both spelled with escapes, in both cases of hex", `{"\u00e9\u00AB":1,"\u00E9\u00ab":2}`, true},
		{"astral, raw and as a pair", `{"😀":1,"\ud83d\ude00":2}`, true},
		{"slash and escaped slash", `{"/":1,"\/":2}`, true},
		{"empty", `{"":1,"":2}`, true},
		{"in an inner object", `{"a":{"b":1,"b":2}}`, true},
		{"in an object of an array", `[[{"b":1,"c":0,"b":2}]]`, true},
		{"sixteen levels down", nested(`{"a":`, `{"b":1,"b":2}`, "}", 15), true},
		{"first and last of a hundred", `{` + many.String() + `"k0":1}`, true},
		{"last two of a hundred", `{` + many.String() + `"k99":1}`, true},
		{"sixteenth and seventeenth", `{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"f":0}`, true},
		{"a hundred different ones", `{` + many.String() + `"k100":1}`, false},
		{"other case", `{"title":1,"Title":2}`, false},
		{"not normalised", `{"` + "\u00e9" + `":1,"` + "e\u0301" + `":2}`, false},
		{"in two objects", `[{"a":1},{"a":1}]`, false},
		{"inner and outer", `{"a":{"a":1}}`, false},
		{"escaped backslash before u0061", `{"a":1,"\\u0061":2}`, false},
		{"with a NUL after it", `{"a":1,"a\u0000":2}`, false},
	} {
		_, err := Parse([]byte(row.text))
		var fault *Error
		if twice := errors.As(err, &fault) && fault.Rule == "a key occurs twice in one object"; twice != row.twice || (err != nil) != row.twice {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// Once an object has many keys, a new key is looked up and the members are not
// walked again: the set alone must know them all, so handing it no members
// changes nothing. That makes a hostile object cost linear work.
func TestKeySetStopsWalking(t *testing.T) {
	t.Parallel()
	var set keySet
	var members []Member
	for i := range 40 {
		name := fmt.Sprint(i)
		if !set.add(members, name) {
			t.Fatalf("%s is taken for a repetition", name)
		}
		if set.names == nil {
			members = append(members, Member{Name: name})
		} else {
			members = nil
		}
	}
	for i := range 40 {
		if set.add(nil, fmt.Sprint(i)) {
			t.Errorf("%d is forgotten", i)
		}
	}
}

func TestHalfSurrogates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		want string // empty: refused
	}{
		{`"\ud800"`, ""},
		{`"\udbff"`, ""},
		{`"\udc00"`, ""},
		{`"\udfff"`, ""},
		{`"\uD800"`, ""},
		{`"\ud800x"`, ""},
		{`"x\ud800"`, ""},
		{`"\ud800\n"`, ""},
		{`"\ud800\\udc00"`, ""},
		{`"\ud800\"`, ""},
		{`"\ud800 \udc00"`, ""},
		{`"\udc00\ud800"`, ""},
		{`"\udc00\udc00"`, ""},
		{`"\udfff\udfff"`, ""},
		{`"\ud800\ud800"`, ""},
		{`"\ud800\ud800\udc00"`, ""},
		{`"\ud83d\ude00\ude00"`, ""},
		{`"\ud800\u0041"`, ""},
		{`"\ud800\udc0"`, ""},
		{`"\ud800\uDBFF"`, ""},
		{`"\ud800\ue000"`, ""},
		{`"\ud800\`, ""},
		{`"\ud800\u`, ""},
		{`"\ud800`, ""},
		{`"\ud83d\ude00"`, "\U0001F600"},
		{`"\uD83D\uDE00"`, "\U0001F600"},
		{`"\ud800\udc00"`, "\U00010000"},
		{`"\udbff\udfff"`, "\U0010FFFF"},
		{`"a\ud83d\ude00b"`, "a\U0001F600b"},
		{`"\ud83d\ude00\ud83d\ude00"`, "\U0001F600\U0001F600"},
		{`"\ud7ff\ue000"`, "\ud7ff\ue000"},
		{`"\ufffd"`, "\ufffd"},
		{`"\uffff\ufffe"`, "\uffff\ufffe"},
		{`"\\ud800"`, `\ud800`},
	} {
		for _, frame := range []string{"%s", "[%s]", `{"a":%s}`, `{%s:0}`} {
			v, err := Parse(fmt.Appendf(nil, frame, row.text))
			if row.want == "" {
				if err == nil {
					t.Errorf(frame+" is accepted", row.text)
				}
				continue
			}
			if got := innermost(v); err != nil || got != row.want {
				t.Errorf(frame+" came out as %q, %v", row.text, got, err)
			}
		}
	}
}

// innermost returns the one string in v: the value, the element, or the key.
func innermost(v Value) string {
	if items := v.Items(); len(items) > 0 {
		return innermost(items[0])
	}
	if members := v.Members(); len(members) > 0 {
		if text, ok := members[0].Value.Text(); ok {
			return text
		}
		return members[0].Name
	}
	text, _ := v.Text()
	return text
}

func TestStringsComeOutAsSpelled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`""`:                               "",
		`"\u0000"`:                         "\x00",
		`"\u0000\u001f"`:                   "\x00\x1f",
		`"\"\\\/\b\f\n\r\t"`:               "\"\\/\b\f\n\r\t",
		`" padded "`:                       " padded ",
		"\"\u2028\u2029\u0085\u007f\"":     "\u2028\u2029\u0085\u007f",
		"\"\ufeff\"":                       "\ufeff",
		`"\u0041\u00e9\u20AC"`:             "Aé€",
		"\"e\u0301\"":                      "e\u0301",
		"\"\\n" + "日本\U0001F9EA" + "\\t\"": "\n日本\U0001F9EA\t",
	} {
		v, err := Parse([]byte(text))
		if got, ok := v.Text(); err != nil || !ok || got != want {
			t.Errorf("%s came out as %q, %v", text, got, err)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		nested("[", "", "]", 16), nested("[", "0", "]", 16), nested("[", `"x"`, "]", 16),
		nested(`{"a":`, "{}", "}", 15), nested(`{"a":`, "null", "}", 16), nested(`[{"a":`, "1", "}]", 8),
	} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("sixteen levels are refused: %v", err)
		}
	}
}

func TestNumberOfValues(t *testing.T) {
	t.Parallel()
	zeros := func(n int) []byte { return []byte("[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]") }
	if v, err := Parse(zeros(MaxValues - 1)); err != nil || len(v.Items()) != MaxValues-1 {
		t.Errorf("%d values: %v", MaxValues, err)
	}
	var fault *Error
	if _, err := Parse(zeros(MaxValues)); !errors.As(err, &fault) || fault.Rule != "JSON has too many values" {
		t.Errorf("%d values: %v", MaxValues+1, err)
	}
	pairs := []byte("[" + strings.TrimSuffix(strings.Repeat(`{"a":0},`, MaxValues/2), ",") + "]")
	if _, err := Parse(pairs); !errors.As(err, &fault) || fault.Rule != "JSON has too many values" {
		t.Errorf("%d values in objects: %v", MaxValues+1, err)
	}
}

// Parse must hold no part of the request's buffer: the server reuses it.
func TestValuesOwnTheirText(t *testing.T) {
	t.Parallel()
	data := []byte(`{"name":"plain","other":"esc\naped","n":123}`)
	v, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 'x'
	}
	var seen []string
	for _, m := range v.Members() {
		seen = append(seen, m.Name, m.Value.text)
	}
	if want := []string{"name", "plain", "other", "esc\naped", "n", "123"}; !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
}

func TestErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"secret":1,"secret":2}`, `{"secret" 1}`, `"secret`, `"secret\q"`, `secret`, `{"a":"secret\ud800"}`, `["secret" "secret"]`, `{} secret`,
	} {
		if _, err := Parse([]byte(text)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}
