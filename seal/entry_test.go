package seal

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// troubled is an entry that needs every kind of escape, and characters that
// other encoders escape though they need not.
func troubled() Entry {
	var controls strings.Builder
	for c := rune(0); c <= 0x20; c++ {
		controls.WriteRune(c)
	}
	return Entry{
		State: "\"", Title: `back\slash "quoted" / <b>&amp;</b>`, Visibility: "private",
		Body: "a" + controls.String() + "\u2028\u2029\u007f\u0085caf\u00e9 日本 \U0001F9EA\ufffd\uffff\u00a0\ufeff",
		Tags: []string{"", "\\", "é", `","`, "\n"},
	}
}

func TestEntryComesBack(t *testing.T) {
	t.Parallel()
	for _, entry := range []Entry{
		{},
		{Tags: []string{""}},
		{AllowReplies: true, Tags: []string{"a", "a"}},
		troubled(), benchEntry(),
		{Body: strings.Repeat("\U0001F600", 20_000)},
		{Body: strings.Repeat("\n", 20_000)},
		{Title: `\u0041`, Body: `\\"`},
	} {
		text := entry.Canonical()
		back, err := ParseEntry(text)
		if err != nil || !sameEntry(back, entry) || !bytes.Equal(back.Canonical(), text) {
			t.Errorf("%.80s: %v", text, err)
		}
		general, err := Canonical(map[string]any{
			"self_reported_state": entry.State, "title": entry.Title, "body": entry.Body,
			"tags": entry.Tags, "visibility": entry.Visibility, "allow_replies": entry.AllowReplies,
		})
		if err != nil || !bytes.Equal(general, text) {
			t.Errorf("the general encoder writes %.80s, not %.80s, %v", general, text, err)
		}
	}
}

func TestEnvelopeComesBack(t *testing.T) {
	t.Parallel()
	for _, envelope := range []Envelope{
		{}, {Nonce: `"\` + "\n\u2028\x00é"}, {"a", "b", "c", "d", "e", "f", "g"},
	} {
		text := envelope.Canonical()
		if back, err := ParseEnvelope(text); err != nil || back != envelope {
			t.Errorf("%s: %v", text, err)
		}
		general, err := Canonical(map[string]any{
			"action": envelope.Action, "actor_id": envelope.ActorID, "expires_at": envelope.ExpiresAt, "issued_at": envelope.IssuedAt,
			"key_id": envelope.KeyID, "nonce": envelope.Nonce, "payload_hash": envelope.PayloadHash,
		})
		if err != nil || !bytes.Equal(general, text) {
			t.Errorf("the general encoder writes %s, not %s, %v", general, text, err)
		}
	}
}

func TestNonCanonicalEntriesAreRefused(t *testing.T) {
	t.Parallel()
	const plain = `{"allow_replies":false,"body":"b/é","self_reported_state":"s","tags":["x","y"],"title":"t","visibility":"public"}`
	if _, err := ParseEntry([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	change := func(old, replacement string) string {
		if !strings.Contains(plain, old) {
			t.Fatalf("%s is not in the text", old)
		}
		return strings.Replace(plain, old, replacement, 1)
	}
	for name, text := range map[string]string{
		"nothing":                     "",
		"null":                        "null",
		"empty object":                "{}",
		"array":                       "[" + plain + "]",
		"line feed after":             plain + "\n",
		"space before":                " " + plain,
		"byte-order mark":             "\ufeff" + plain,
		"twice":                       plain + plain,
		"space after a colon":         change(`"body":`, `"body": `),
		"space after a comma":         change(`,"title"`, `, "title"`),
		"space in a list":             change(`"x","y"`, `"x", "y"`),
		"another order":               `{"body":"b","allow_replies":false,"self_reported_state":"s","tags":[],"title":"t","visibility":"public"}`,
		"key missing":                 change(`"title":"t",`, ""),
		"key more":                    change(`"title":"t",`, `"title":"t","titles":"t",`),
		"key twice":                   change(`"title":"t",`, `"title":"t","title":"t",`),
		"key in capitals":             change(`"title"`, `"Title"`),
		"key with an escape":          change(`"title"`, `"titl\u0065"`),
		"word for a boolean":          change(`false`, `"false"`),
		"null for a boolean":          change(`false`, `null`),
		"number for a boolean":        change(`false`, `0`),
		"half a boolean":              change(`false`, `fals`),
		"null for a string":           change(`"t"`, `null`),
		"number for a string":         change(`"t"`, `1`),
		"string without quotes":       change(`"t"`, `t`),
		"null for the tags":           change(`["x","y"]`, `null`),
		"object for the tags":         change(`["x","y"]`, `{}`),
		"comma before the tags end":   change(`"x","y"]`, `"x","y",]`),
		"comma at the tags' start":    change(`["x","y"]`, `[,"x","y"]`),
		"two commas between tags":     change(`"x","y"`, `"x",,"y"`),
		"no comma between tags":       change(`"x","y"`, `"x""y"`),
		"number among tags":           change(`"x","y"`, `"x",1`),
		"list among tags":             change(`"x","y"`, `"x",["y"]`),
		"escaped slash":               change(`b/`, `b\/`),
		"escaped letter":              change(`"b`, `"\u0062`),
		"escaped é":                   change(`é`, `\u00e9`),
		"escaped quotation in hex":    change(`"b`, `"\u0022b`),
		"escaped backslash in hex":    change(`"b`, `"\u005cb`),
		"line feed in hex":            change(`"b`, `"\u000ab`),
		"tab in hex":                  change(`"b`, `"\u0009b`),
		"form feed in hex":            change(`"b`, `"\u000cb`),
		"backspace in hex":            change(`"b`, `"\u0008b`),
		"carriage return in hex":      change(`"b`, `"\u000db`),
		"control character in HEX":    change(`"b`, `"\u001Fb`),
		"capital U":                   change(`"b`, `"\U001fb`),
		"DEL escaped":                 change(`"b`, `"\u007fb`),
		"astral as a pair":            change(`"b`, `"\ud83d\ude00b`),
		"lone surrogate":              change(`"b`, `"\ud800b`),
		"lone surrogate in UTF-8":     change(`"b`, "\"\xed\xa0\x80b"),
		"unknown escape":              change(`"b`, `"\ab`),
		"vertical tab by letter":      change(`"b`, `"\vb`),
		"escape cut off":              change(`é"`, `\`),
		"hex escape cut off":          `{"allow_replies":false,"body":"\u00`,
		"text ends after a backslash": `{"allow_replies":false,"body":"\`,
		"text ends in a string":       `{"allow_replies":false,"body":"b`,
		"raw line feed":               change(`"b`, "\"\nb"),
		"raw tab after an escape":     change(`"b`, "\"\\n\tb"),
		"raw NUL":                     change(`"b`, "\"\x00b"),
		"broken UTF-8":                change(`é`, "\xc3"),
		"broken UTF-8 and an escape":  change(`é`, "\\n\xc3"),
		"overlong slash":              change(`/`, "\xc0\xaf"),
	} {
		if entry, err := ParseEntry([]byte(text)); !errors.Is(err, ErrNotCanonical) || !sameEntry(entry, Entry{}) {
			t.Errorf("%s: accepted, %v", name, err)
		}
	}
}

// Any one byte changed, taken out or put in gives bytes that are refused, or
// that are canonical for what they now say.
func TestEntryAndEnvelopeByteByByte(t *testing.T) {
	t.Parallel()
	envelope := Envelope{ActorID: "agent_a", Action: "act", PayloadHash: "sha256:0", Nonce: "\"\\\n\x01é", IssuedAt: "i", ExpiresAt: "e", KeyID: "k"}
	for _, row := range []struct {
		name  string
		text  []byte
		again func([]byte) ([]byte, error)
	}{
		{"entry", troubled().Canonical(), func(b []byte) ([]byte, error) { e, err := ParseEntry(b); return e.Canonical(), err }},
		{"envelope", envelope.Canonical(), func(b []byte) ([]byte, error) { e, err := ParseEnvelope(b); return e.Canonical(), err }},
	} {
		try := func(changed []byte) {
			if again, err := row.again(changed); err == nil && !bytes.Equal(again, changed) {
				t.Fatalf("%s: %q is accepted and written as %q", row.name, changed, again)
			}
		}
		for at := range row.text {
			try(slices.Delete(slices.Clone(row.text), at, at+1))
			try(row.text[:at])
			for c := range 256 {
				changed := slices.Clone(row.text)
				changed[at] = byte(c)
				try(changed)
				try(slices.Insert(slices.Clone(row.text), at, byte(c)))
			}
		}
	}
}

// Reading many strings with escapes costs memory in proportion to the text:
// no string reserves room for all that follows it. It runs alone, since it
// counts what the whole process allocates.
func TestParseEntryMemory(t *testing.T) {
	const tags = 20_000
	text := Entry{Tags: slices.Repeat([]string{"\n"}, tags)}.Canonical()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ParseEntry(text); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 200*tags {
		t.Errorf("%d bytes for %d tags", spent, tags)
	}
}
