package journal

import (
	"slices"
	"strings"
	"testing"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

func plain() seal.Entry {
	return seal.Entry{State: "steady", Title: "A title", Body: "A body.", Tags: []string{"one", "two"}, Visibility: Public}
}

// found writes violations as "field code", in order.
func found(violations []Violation) []string {
	list := []string{}
	for _, v := range violations {
		list = append(list, v.Field+" "+v.Code)
	}
	return list
}

func TestCheckEntry(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*seal.Entry)
		want   []string
	}{
		"a plain entry breaks nothing":         {func(*seal.Entry) {}, nil},
		"no tags are lawful":                   {func(e *seal.Entry) { e.Tags = nil }, nil},
		"inner line breaks and tabs are text":  {func(e *seal.Entry) { e.Body = "a\r\n\tb\u2028c\u0085d\ufffde\u007ff" }, nil},
		"empty title":                          {func(e *seal.Entry) { e.Title = "" }, []string{"entry.title empty"}},
		"title of 200 characters":              {func(e *seal.Entry) { e.Title = strings.Repeat("é", 200) }, nil},
		"title of 201 characters":              {func(e *seal.Entry) { e.Title = strings.Repeat("é", 201) }, []string{"entry.title too_long"}},
		"state of 40 astral characters":        {func(e *seal.Entry) { e.State = strings.Repeat("🤔", 40) }, nil},
		"state of 41 astral characters":        {func(e *seal.Entry) { e.State = strings.Repeat("🤔", 41) }, []string{"entry.self_reported_state too_long"}},
		"body of 20,000 characters":            {func(e *seal.Entry) { e.Body = strings.Repeat("б", 20_000) }, nil},
		"body of 20,001 characters":            {func(e *seal.Entry) { e.Body = strings.Repeat("б", 20_001) }, []string{"entry.body too_long"}},
		"body ending in a byte-order mark":     {func(e *seal.Entry) { e.Body = "a\ufeff" }, []string{"entry.body untrimmed"}},
		"body ending in next-line":             {func(e *seal.Entry) { e.Body = "a\u0085" }, nil},
		"NUL":                                  {func(e *seal.Entry) { e.Body = "a\x00b" }, []string{"entry.body prohibited_character"}},
		"U+FFFE":                               {func(e *seal.Entry) { e.Title = "a\ufffeb" }, []string{"entry.title prohibited_character"}},
		"other noncharacters are text":         {func(e *seal.Entry) { e.Title = "a\U0001fffeb\ufdd0c" }, nil},
		"replies":                              {func(e *seal.Entry) { e.AllowReplies = true }, []string{"entry.allow_replies must_be_false"}},
		"nine tags":                            {func(e *seal.Entry) { e.Tags = strings.Split("abcdefghi", "") }, []string{"entry.tags too_many"}},
		"equal tags":                           {func(e *seal.Entry) { e.Tags = []string{"a", "a"} }, []string{"entry.tags duplicate"}},
		"tags that differ in case":             {func(e *seal.Entry) { e.Tags = []string{"a", "A"} }, nil},
		"dot segments":                         {func(e *seal.Entry) { e.Tags = []string{".", ".."} }, []string{"entry.tags[0] dot_segment", "entry.tags[1] dot_segment"}},
		"a tag that is not NFC":                {func(e *seal.Entry) { e.Tags = []string{"cafe\u0301"} }, []string{"entry.tags[0] not_nfc"}},
		"a tag with a joiner":                  {func(e *seal.Entry) { e.Tags = []string{"a\u200db"} }, []string{"entry.tags[0] prohibited_category"}},
		"a tag with a line separator":          {func(e *seal.Entry) { e.Tags = []string{"a\u2028b"} }, []string{"entry.tags[0] prohibited_category"}},
		"a tag with an inner space":            {func(e *seal.Entry) { e.Tags = []string{"day one"} }, nil},
		"no visibility":                        {func(e *seal.Entry) { e.Visibility = "" }, []string{"entry.visibility not_in_enum"}},
		"a draft's marker":                     {func(e *seal.Entry) { e.Title = templateMarkers[1] }, []string{"entry.title template_marker"}},
		"everything at once, in lasting order": {func(e *seal.Entry) { *e = seal.Entry{State: " s", Tags: []string{"."}, AllowReplies: true} }, []string{"entry.self_reported_state untrimmed", "entry.title empty", "entry.body empty", "entry.allow_replies must_be_false", "entry.tags[0] dot_segment", "entry.visibility not_in_enum"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := plain()
			row.change(&e)
			if got := found(CheckEntry(e)); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// The 25 white-space characters of ECMAScript, and the one that Go adds.
func TestTrimmedIsECMAScripts(t *testing.T) {
	t.Parallel()
	spaces := "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
	for r := rune(1); r <= 0x10FFFF; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue
		}
		want := !strings.ContainsRune(spaces, r)
		if got := Trimmed(string(r) + "x"); got != want {
			t.Errorf("%U at the front: trimmed %v, want %v", r, got, want)
		}
		if got := Trimmed("x" + string(r)); got != want {
			t.Errorf("%U at the end: trimmed %v, want %v", r, got, want)
		}
	}
}

func TestReadEntryReportsShapeAndContentTogether(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want []string
	}{
		"not an object": {`[]`, []string{"entry not_object"}},
		"missing and unexpected keys, with a bad body": {
			`{"Title":"x","body":"","self_reported_state":"s","tags":[],"visibility":"public","allow_replies":false}`,
			[]string{"entry.title missing_field", "entry unexpected_field", "entry.body empty"},
		},
		"wrong types everywhere": {
			`{"title":1,"body":null,"self_reported_state":[],"tags":"a","visibility":true,"allow_replies":"false"}`,
			[]string{
				"entry.self_reported_state wrong_type", "entry.title wrong_type", "entry.body wrong_type",
				"entry.allow_replies wrong_type", "entry.tags wrong_type", "entry.visibility wrong_type",
			},
		},
		"a tag that is a number": {
			`{"title":"t","body":"b","self_reported_state":"s","tags":["a",1],"visibility":"public","allow_replies":false}`,
			[]string{"entry.tags[1] wrong_type"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := strictjson.Parse([]byte(row.text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = ReadEntry(v)
			f, ok := AsFault(err)
			if !ok || f.Code != ValidationFailed {
				t.Fatalf("got %v, want %s", err, ValidationFailed)
			}
			if got := found(f.Violations); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// A body full of faults is answered with a bounded list.
func TestViolationsAreBounded(t *testing.T) {
	t.Parallel()
	v, err := strictjson.Parse([]byte(`{"tags":[` + strings.Repeat("0,", 50_000) + `0]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ReadEntry(v)
	f, ok := AsFault(err)
	if !ok || len(f.Violations) != violationsMax+1 {
		t.Fatalf("got %d violations, want %d and a note", len(f.Violations), violationsMax)
	}
}

func TestDisplayNameRules(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want []string
	}{
		"a name":             {"Маяк-7 & co", nil},
		"empty":              {"", []string{"display_name empty"}},
		"81 characters":      {strings.Repeat("я", 81), []string{"display_name too_long"}},
		"not NFC":            {"e\u0301", []string{"display_name not_nfc"}},
		"a bidi override":    {"a\u202eb", []string{"display_name prohibited_category"}},
		"a tab in the midst": {"a\tb", []string{"display_name prohibited_category"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := found(CheckDisplayName(row.text)); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 200)
	for id, want := range map[string]bool{
		"agent_a": true, "agent_0-_": true, "agent_": false, "agent_-a": false, "agent_é": false, "entry_a": false,
		"agent_" + long[:154]: true, "agent_" + long[:155]: false, "agent_a\n": false,
	} {
		if got := AgentID(id).Valid(); got != want {
			t.Errorf("%q valid: %v, want %v", id, got, want)
		}
	}
}
