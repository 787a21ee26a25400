package seal

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrNotCanonical reports a value that canonical JSON cannot express, or
// bytes that are not in canonical form.
var ErrNotCanonical = errors.New("seal: not canonical")

// Canonical writes v as canonical JSON (protocol 4.1, equal to RFC 8785 for
// every field on this wire). v is built from nil, bool, string, float64, int,
// int64, []string, []any and map[string]any; anything else, a string that is
// not UTF-8, a number that is not finite, or an integer beyond 2^53-1 is
// ErrNotCanonical.
func Canonical(v any) ([]byte, error) { return appendValue(nil, v) }

func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, ErrNotCanonical
		}
		return AppendString(dst, v), nil
	case int:
		return appendInteger(dst, int64(v))
	case int64:
		return appendInteger(dst, v)
	case float64:
		return appendNumber(dst, v)
	case []string:
		return appendList(dst, v, func(dst []byte, s string) ([]byte, error) { return appendValue(dst, s) })
	case []any:
		return appendList(dst, v, appendValue)
	case map[string]any:
		return appendObject(dst, v)
	}
	return nil, ErrNotCanonical
}

func appendList[T any](dst []byte, items []T, one func([]byte, T) ([]byte, error)) ([]byte, error) {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = one(dst, item); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, object map[string]any) ([]byte, error) {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.SortFunc(names, compareUTF16)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, name); err != nil {
			return nil, err
		}
		if dst, err = appendValue(append(dst, ':'), object[name]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// compareUTF16 orders by UTF-16 code unit, which differs from byte order
// where U+E000..U+FFFF meets an astral character (protocol 12.4).
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

const lowerHex = "0123456789abcdef"

// AppendString appends s as one JSON string in canonical form and returns the
// extended slice: what ECMAScript's JSON.stringify writes, with <, >, & and
// U+2028 as they are. encoding/json cannot do that: it escapes U+2028 and
// U+2029 whatever it is told. s must be valid UTF-8; other bytes pass through.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', lowerHex[c>>4], lowerHex[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// appendInteger refuses what a double cannot hold: RFC 8785 numbers are
// doubles, and a signature must not cover a neighbour of the number meant.
func appendInteger(dst []byte, n int64) ([]byte, error) {
	const limit = 1<<53 - 1
	if n < -limit || n > limit {
		return nil, ErrNotCanonical
	}
	return strconv.AppendInt(dst, n, 10), nil
}

// appendNumber writes ECMAScript's Number::toString in base 10.
func appendNumber(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, ErrNotCanonical
	}
	if f == 0 {
		return append(dst, '0'), nil // negative zero prints 0
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	text := strconv.AppendFloat(nil, f, 'e', -1, 64)
	// Go pads the exponent to two digits, ECMAScript does not.
	if n := len(text); text[n-2] == '0' && (text[n-3] == '+' || text[n-3] == '-') {
		text = append(text[:n-2], text[n-1])
	}
	return append(dst, text...), nil
}
