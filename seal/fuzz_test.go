package seal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"innerloop/internal/strictjson"
)

// independent canonicalises JSON by encoding/json and a sort of its own. Its
// numbers are encoding/json's, which follow ECMAScript but for negative zero.
func independent(text []byte) ([]byte, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, err
	}
	return spell(nil, value)
}

func spell(dst []byte, value any) ([]byte, error) {
	var err error
	switch value := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return bytes.Compare(bigEndian(a), bigEndian(b)) })
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = spell(dst, name); err != nil {
				return nil, err
			}
			if dst, err = spell(append(dst, ':'), value[name]); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case []any:
		dst = append(dst, '[')
		for i, item := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = spell(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case float64:
		if value == 0 {
			return append(dst, '0'), nil
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	text := strings.TrimSuffix(out.String(), "\n")
	if _, isText := value.(string); isText { // undo two escapes, but not behind an escaped backslash
		text = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(text)
	}
	return append(dst, text...), nil
}

func bigEndian(s string) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		out = binary.BigEndian.AppendUint16(out, unit)
	}
	return out
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":[true,null,"x"],"A":-0,"10":1e21,"9":0.1}`, "{\"\ue000\":1,\"\U0001F600\":2}", `"\u0000\u001f\u2028\\u2029"`,
		`[1e-7,1e-6,123456789012345680000,1e23,5e-324,-1.5,0.000001,1e400]`, `{"a":{"b":{"c":[]}},"":{}}`, `{"a":"\ud83d\ude00\/"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := strictjson.Parse(data)
		if err != nil {
			return
		}
		ours, err := Canonical(plainly(parsed))
		theirs, theirErr := independent(data)
		if (err == nil) != (theirErr == nil) || !bytes.Equal(ours, theirs) {
			t.Fatalf("%q becomes\n%q, %v\nand by encoding/json\n%q, %v", data, ours, err, theirs, theirErr)
		}
		if err != nil {
			return
		}
		if published, err := reference(data); err == nil && !bytes.Equal(ours, published) {
			t.Fatalf("%q becomes\n%q\nand by the reference\n%q", data, ours, published)
		}
		again, err := strictjson.Parse(ours)
		if err != nil {
			t.Fatalf("%q is not strict JSON: %v", ours, err)
		}
		if twice, err := Canonical(plainly(again)); err != nil || !bytes.Equal(twice, ours) {
			t.Fatalf("%q is not a fixed point: %q, %v", ours, twice, err)
		}
	})
}

// canonicalObject tells whether data is the canonical text of an object whose
// keys are exactly these, each value passing its test: what ParseEntry and
// ParseEnvelope must accept.
func canonicalObject(data []byte, fields map[string]func(strictjson.Value) bool) bool {
	parsed, err := strictjson.Parse(data)
	if err != nil || len(parsed.Members()) != len(fields) {
		return false
	}
	for _, m := range parsed.Members() {
		if fits := fields[m.Name]; fits == nil || !fits(m.Value) {
			return false
		}
	}
	canonical, err := Canonical(plainly(parsed))
	return err == nil && bytes.Equal(canonical, data)
}

func isText(v strictjson.Value) bool { return v.Kind() == strictjson.String }

func isTexts(v strictjson.Value) bool {
	return v.Kind() == strictjson.Array && !slices.ContainsFunc(v.Items(), func(item strictjson.Value) bool { return !isText(item) })
}

func FuzzParseEntry(f *testing.F) {
	f.Add(Entry{}.Canonical())
	f.Add(troubled().Canonical())
	f.Add([]byte(`{"allow_replies":true,"body":"\u001f\"\\","self_reported_state":"","tags":["a","\n"],"title":"é","visibility":""}`))
	f.Add([]byte(`{"allow_replies":false,"body":"\u0041","self_reported_state":"","tags":[],"title":"","visibility":""}`))
	fields := map[string]func(strictjson.Value) bool{
		"self_reported_state": isText, "title": isText, "body": isText, "visibility": isText, "tags": isTexts,
		"allow_replies": func(v strictjson.Value) bool { return v.Kind() == strictjson.Bool },
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entry, err := ParseEntry(data)
		if err == nil && !bytes.Equal(entry.Canonical(), data) {
			t.Fatalf("%q is accepted and written as %q", data, entry.Canonical())
		}
		if want := canonicalObject(data, fields); (err == nil) != want {
			t.Fatalf("%q: %v, though canonical %t", data, err, want)
		}
	})
}

func FuzzParseEnvelope(f *testing.F) {
	f.Add(Envelope{}.Canonical())
	f.Add(Envelope{"agent_a", ActionEntryCreate, "sha256:0", "\"\\\n\x01é", "i", "e", "k"}.Canonical())
	f.Add([]byte(`{"action":"","actor_id":"","expires_at":"","issued_at":"","key_id":"","nonce":"\/","payload_hash":""}`))
	fields := map[string]func(strictjson.Value) bool{
		"action": isText, "actor_id": isText, "expires_at": isText, "issued_at": isText, "key_id": isText, "nonce": isText, "payload_hash": isText,
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		envelope, err := ParseEnvelope(data)
		if err == nil && !bytes.Equal(envelope.Canonical(), data) {
			t.Fatalf("%q is accepted and written as %q", data, envelope.Canonical())
		}
		if want := canonicalObject(data, fields); (err == nil) != want {
			t.Fatalf("%q: %v, though canonical %t", data, err, want)
		}
	})
}

// FuzzProve changes one byte in each part of a signed request.
func FuzzProve(f *testing.F) {
	f.Add("title", "body", "nonce", uint16(0), byte(1))
	f.Add("", "\n\"", "é", uint16(70), byte(0x80))
	f.Add("t", "b", "n", uint16(63), byte(0xff))
	private, _ := keyFromLabel(f, "fuzz")
	f.Fuzz(func(t *testing.T, title, body, nonce string, at uint16, flip byte) {
		if flip == 0 {
			flip = 1
		}
		entry := Entry{Title: strings.ToValidUTF8(title, "?"), Body: strings.ToValidUTF8(body, "?")}
		payload := entry.Canonical()
		key, envelope, signature := signed(t, private, payload, strings.ToValidUTF8(nonce, "?"))
		if proven, err := Prove(key, payload, envelope, signature); err != nil || !proven.Valid() {
			t.Fatalf("the request does not prove: %v", err)
		}
		flipped := func(b []byte) []byte {
			b = slices.Clone(b)
			b[int(at)%len(b)] ^= flip
			return b
		}
		refused := func(what string, key PublicKey, payload []byte, envelope Envelope, signature Signature) {
			if proven, err := Prove(key, payload, envelope, signature); err == nil || proven.Valid() {
				t.Fatalf("proves with another %s", what)
			}
		}
		refused("payload", key, flipped(payload), envelope, signature)
		refused("signature", key, payload, envelope, Signature(flipped(signature[:])))
		changed := flipped(envelope.Canonical())
		if key.Verify(changed, signature) {
			t.Fatalf("the signature verifies over %q", changed)
		}
		if other, err := ParseEnvelope(changed); err == nil {
			refused("envelope", key, payload, other, signature)
		}
		other := PublicKey{raw: [32]byte(flipped(key.raw[:])), known: true}
		refused("key", other, payload, envelope, signature)
		envelope.KeyID = other.ID()
		refused("key and its name", other, payload, envelope, signature)
	})
}

// readByHand reads a date-time by the grammar of protocol 1, letter by letter,
// without the time package and without a pattern.
func readByHand(text string) (moment time.Time, ok bool) {
	number := func(width int) int {
		n := 0
		for range width {
			if text == "" || text[0] < '0' || text[0] > '9' {
				ok = false
				return 0
			}
			n, text = n*10+int(text[0]-'0'), text[1:]
		}
		return n
	}
	sign := func(c byte) {
		if text == "" || text[0] != c {
			ok, text = false, " "
		}
		text = text[1:]
	}
	next := func(c byte) bool { return text != "" && text[0] == c }
	ok = true
	year := number(4)
	sign('-')
	month := number(2)
	sign('-')
	day := number(2)
	sign('T')
	hour := number(2)
	sign(':')
	minute := number(2)
	second, nano := 0, 0
	if next(':') {
		sign(':')
		second = number(2)
		if next('.') {
			sign('.')
			nano = number(1)
			for scale := 1; ; scale++ {
				if text == "" || text[0] < '0' || text[0] > '9' {
					for ; scale < 9; scale++ {
						nano *= 10
					}
					break
				}
				if digit := number(1); scale < 9 {
					nano = nano*10 + digit
				}
			}
		}
	}
	offset := 0
	if next('Z') {
		sign('Z')
	} else {
		direction := 1
		if next('-') {
			direction = -1
			sign('-')
		} else {
			sign('+')
		}
		hours := number(2)
		sign(':')
		minutes := number(2)
		offset = direction * (hours*60 + minutes)
		ok = ok && hours < 24 && minutes < 60
	}
	lengths := [...]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	ok = ok && text == "" && month >= 1 && month <= 12 && hour < 24 && minute < 60 && second < 60
	if !ok {
		return time.Time{}, false
	}
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		lengths[2] = 29
	}
	if day < 1 || day > lengths[month] {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute-offset, second, nano, time.UTC), true
}

func FuzzDateTime(f *testing.F) {
	for _, seed := range []string{
		"2026-09-01T10:00:00.000Z", "2026-09-01T10:00Z", "2024-02-29T23:59:59.1234567891+23:59", "1900-02-29T00:00Z", "0000-02-29T00:00-00:00",
		"2026-09-01T24:00:00Z", "2026-09-01T10:00:00z", "2026-09-01T10:00:60Z", "2026-09-01T10:00:00,5Z", "2026-09-01T10:00:00+0200", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDateTime(text)
		want, ok := readByHand(text)
		if (err == nil) != ok || !got.Equal(want) {
			t.Fatalf("%q is %s, %v; by hand %s, %t", text, got, err, want, ok)
		}
		if err != nil {
			return
		}
		if year := got.Year(); year < 0 || year > 9999 {
			return // an offset carried it past what four digits say
		}
		if back, err := ParseDateTime(FormatDateTime(got)); err != nil || !back.Equal(got.Truncate(time.Millisecond)) {
			t.Fatalf("%q is written as %s", text, FormatDateTime(got))
		}
	})
}
