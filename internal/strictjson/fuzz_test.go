package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"testing"
	"unicode/utf8"
)

// A standard is what encoding/json's token stream says about a text: a flat
// spelling of its meaning, and the faults that encoding/json lets pass.
type standard struct {
	meaning         []byte
	twice, tooDeep  bool
	values, nesting int
}

func readStandard(data []byte) (standard, error) {
	var s standard
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := s.value(decoder); err != nil {
		return s, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return s, fmt.Errorf("text after the value: %w", err)
	}
	return s, nil
}

func (s *standard) value(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	s.values++
	delim, ok := token.(json.Delim)
	if !ok {
		s.meaning = fmt.Appendf(s.meaning, "%T %q;", token, fmt.Sprint(token))
		return nil
	}
	s.nesting++
	s.tooDeep = s.tooDeep || s.nesting > MaxDepth
	s.meaning = append(s.meaning, delim.String()...)
	seen := map[string]bool{}
	for decoder.More() {
		if delim == '{' {
			name, err := decoder.Token()
			if err != nil {
				return err
			}
			s.twice = s.twice || seen[name.(string)]
			seen[name.(string)] = true
			s.meaning = fmt.Appendf(s.meaning, "%q:", name)
		}
		if err := s.value(decoder); err != nil {
			return err
		}
	}
	s.nesting--
	end, err := decoder.Token()
	s.meaning = fmt.Append(s.meaning, end)
	return err
}

// meaning spells a Value the same way.
func meaning(dst []byte, v Value) []byte {
	switch v.Kind() {
	case Array:
		dst = append(dst, '[')
		for _, item := range v.Items() {
			dst = meaning(dst, item)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for _, m := range v.Members() {
			dst = meaning(fmt.Appendf(dst, "%q:", m.Name), m.Value)
		}
		return append(dst, '}')
	case String:
		text, _ := v.Text()
		return fmt.Appendf(dst, "%T %q;", text, text)
	case Number:
		literal, _ := v.Literal()
		return fmt.Appendf(dst, "%T %q;", json.Number(literal), literal)
	case Bool:
		truth, _ := v.Bool()
		return fmt.Appendf(dst, "%T %q;", truth, fmt.Sprint(truth))
	}
	return fmt.Appendf(dst, "%T %q;", nil, fmt.Sprint(nil))
}

var (
	escapes  = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}|.)`)
	pairs    = regexp.MustCompile(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
	halfPair = regexp.MustCompile(`^\\u[dD][89a-fA-F]`)
)

// loneSurrogate looks for half a pair in the raw text. In valid JSON a
// backslash stands only at the beginning of an escape.
func loneSurrogate(data []byte) bool {
	for {
		at := escapes.FindIndex(data)
		if at == nil {
			return false
		}
		data = data[at[0]:]
		width := at[1] - at[0]
		if pair := pairs.Find(data); pair != nil {
			width = len(pair)
		} else if halfPair.Match(data) {
			return true
		}
		data = data[width:]
	}
}

// FuzzStrictJSON holds both directions: what Parse accepts means the same to
// encoding/json, and what it refuses is either no JSON to encoding/json or has
// one of the faults that this package exists to refuse.
func FuzzStrictJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,true,false,null,"x\u0061\n"],"b":{}}`, `{"a":1,"\u0061":2}`, `"\ud83d\ude00"`, `"\ud800"`, `"\\ud800"`,
		"\ufeff{}", `[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]`, `[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]`, "\"\xff\"", `01`, `{} {}`, `"\u0000"`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"x","arguments":{}}}`, "\"\u2028\"", `1e400`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		if !utf8.Valid(data) || !json.Valid(data) {
			if err == nil {
				t.Fatalf("%q is accepted and is not JSON", data)
			}
			return
		}
		want, standardErr := readStandard(data)
		if standardErr != nil {
			t.Fatalf("encoding/json contradicts itself about %q: %v", data, standardErr)
		}
		faulty := want.twice || want.tooDeep || want.values > MaxValues || loneSurrogate(data)
		if (err != nil) != faulty {
			t.Fatalf("%q: %v, though twice %t, too deep %t, half a pair %t", data, err, want.twice, want.tooDeep, loneSurrogate(data))
		}
		if err == nil && !bytes.Equal(meaning(nil, v), want.meaning) {
			t.Fatalf("%q means\n%s and to encoding/json\n%s", data, meaning(nil, v), want.meaning)
		}
	})
}
