package connect_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestALargeAnswerStaysJSONWithinItsBytes for answers of every shape.
func TestALargeAnswerStaysJSONWithinItsBytes(t *testing.T) {
	t.Parallel()
	list := func(n int, one string) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"name%d":%d`, i, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for name, body := range map[string]string{
		"a long list":      list(50_000, `{"id":1,"name":"x"}`),
		"a long text":      `{"small":"kept","text":"` + strings.Repeat("я😀", 100_000) + `"}`,
		"one huge item":    `[{"text":"` + strings.Repeat("x", 300_000) + `","id":7}]`,
		"many names":       names(50_000),
		"deep":             strings.Repeat(`{"a":[`, 200) + `"` + strings.Repeat("x", 100_000) + `"` + strings.Repeat(`]}`, 200),
		"escapes":          `{"t":"` + strings.Repeat(`\u0001\"\u2028`, 50_000) + `"}`,
		"numbers":          list(100_000, "123456789.123456789"),
		"a text, no JSON":  strings.Repeat("line of a report\n", 30_000),
		"lists in a list":  list(300, list(300, `"x"`)),
		"a list of a few":  `{"a":` + list(9000, `"aaaa"`) + `,"b":` + list(9000, `"bbbb"`) + `,"c":1}`,
		"names of a kind":  `{"` + strings.Repeat("k", 90_000) + `":1,"small":"kept"}`,
		"surrogates alone": `["` + strings.Repeat(`\ud800`, 40_000) + `"]`,
	} {
		for _, limit := range []int{1 << 10, 8 << 10, 64 << 10} {
			fitted, omitted := connect.Fit(decoded(body), limit)
			got := asJSON(t, fitted)
			if len(got) > limit || !json.Valid([]byte(got)) || len(omitted) == 0 {
				t.Errorf("%s in %d: %d bytes, omitted %d", name, limit, len(got), len(omitted))
			}
			if len(got) < limit/4 && name != "deep" && name != "names of a kind" {
				t.Errorf("%s in %d: only %d bytes are left", name, limit, len(got))
			}
			if strings.Contains(body, `"small":"kept"`) && !strings.Contains(got, `"small":"kept"`) {
				t.Errorf("%s in %d: a small member went", name, limit)
			}
		}
	}
}

// decoded is a body as the executor reads it: JSON, or else a text.
func decoded(body string) any {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return body
	}
	return value
}

func TestALargeAnswerSaysSo(t *testing.T) {
	t.Parallel()
	body := `{"text":"` + strings.Repeat("x", 100_000) + `"}`
	b := open(t, say(200, body))
	a := b.do(connect.Call{Service: "ozon", Method: "POST", Path: "/v1/seller/info", MaxBytes: 2048})
	if got := asJSON(t, a.Data); len(got) > 2048 || !a.Truncated || a.Omitted[0].Path != "$.text" || a.Omitted[0].Total != 100_000 || a.Hint == "" || a.OriginalBytes != len(body) {
		t.Errorf("%d bytes, %+v", len(got), a)
	}
}

func TestASmallAnswerIsWholeAndExact(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{"n":12345678901234567890,"f":1.10,"s":"<&>","u":null}`))
	a := b.do(connect.Call{Service: "ozon", Method: "POST", Path: "/v1/seller/info"})
	if got := asJSON(t, a.Data); got != `{"f":1.10,"n":12345678901234567890,"s":"<&>","u":null}` || a.Truncated {
		t.Errorf("%s %v", got, a.Truncated)
	}
}

func TestWhatNobodyNeedsIsDroppedAndTold(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{"result":{"items":[{"id":1,"images":["a"]}]}}`))
	a := b.do(connect.Call{Service: "ozon", Method: "POST", Path: "/v3/product/list"})
	if strings.Contains(asJSON(t, a.Data), "images") || !a.Truncated || a.Omitted[0].Path != "$..images" {
		t.Errorf("%s %+v", asJSON(t, a.Data), a.Omitted)
	}
	a = b.do(connect.Call{Service: "ozon", Method: "POST", Path: "/v3/product/list", Select: ".result.items[0].images"})
	if asJSON(t, a.Data) != `["a"]` {
		t.Errorf("select sees %s", asJSON(t, a.Data))
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{"items":[{"id":1,"p":9007199254740993},{"id":2,"p":3}]}`))
	call := connect.Call{Service: "ozon", Method: "POST", Path: "/v1/seller/info"}
	for query, want := range map[string]string{
		".items | map(.id)":                     "[1,2]",
		".items[].id":                           "[1,2]",
		".items[0].p":                           "9007199254740993",
		"[.items[] | select(.p < 10)] | length": "1",
		"empty":                                 "null",
		"env":                                   "{}",
		"$ENV | length":                         "0",
		".items | group_by(.id) | map({n: length})": `[{"n":1},{"n":1}]`,
	} {
		call.Select = query
		if got := asJSON(t, b.do(call).Data); got != want {
			t.Errorf("%s gives %s, not %s", query, got, want)
		}
	}
	for _, query := range []string{".items[", "nonesuch(1)", ".items.id", "input", `error("x")`, "halt_error", "include \"x\"; .", strings.Repeat(".", 5000)} {
		call.Select = query
		if f := b.refused(call, coworker.InvalidArg); f.Details.([]coworker.Problem)[0].Field != "select" {
			t.Errorf("%.20s: %+v", query, f.Details)
		}
	}
}

// TestASelectThatBursts ends in bounded time and memory, in a process of its
// own.
func TestASelectThatBursts(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{"a":"x"}`))
	for _, query := range []string{
		"[range(1e12)]", "def f: f; f", "last(range(1e12))", "reduce range(60) as $i (.a; . + .)",
		"[limit(1e9; repeat(1))] | length", ".a * 1e10", "range(1e9)", "[range(1e6)] | combinations(5)", "def f: [., f]; f",
	} {
		f := b.refused(connect.Call{Service: "ozon", Method: "POST", Path: "/v1/seller/info", Select: query}, coworker.InvalidArg)
		if f.Details.([]coworker.Problem)[0].Field != "select" {
			t.Errorf("%s: %+v", query, f.Details)
		}
	}
}

func TestAnAnswerThatIsNoTextBecomesAFile(t *testing.T) {
	t.Parallel()
	body := []byte{0x89, 'P', 'N', 'G', 0, 1, 2, 0xff}
	b := open(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	a := b.do(connect.Call{Service: "ozon", Method: "POST", Path: "/v1/seller/info"})
	if a.File != "downloads/ozon-answer" || a.Data != nil || !bytes.Equal(b.kept["ozon-answer"], body) {
		t.Errorf("%+v", a)
	}
}

func TestAnEndlessAnswerIsRefused(t *testing.T) {
	t.Parallel()
	b := open(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, zeros{}, 12<<20)
	})
	b.refused(connect.Call{Service: "ozon", Method: "POST", Path: "/v1/seller/info"}, coworker.ResponseTooLarge)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestAWSSignature compares with a signature that was computed apart from this
// code, from the description of AWS Signature Version 4.
func TestAWSSignature(t *testing.T) {
	t.Parallel()
	b := open(t, say(200, `{}`))
	b.do(connect.Call{Service: "s3", Method: "GET", Path: "/examplebucket/a b/c+d.txt", Query: map[string]any{"list-type": "2", "prefix": "a b+c"}})
	asked, _ := b.requests()
	if got := asked[0].Header.Get("Authorization"); got != wantAWS {
		t.Errorf("signed\n%s, not\n%s", got, wantAWS)
	}
	if asked[0].URL.RawQuery != "list-type=2&prefix=a%20b%2Bc" {
		t.Errorf("asked %s", asked[0].URL.RawQuery)
	}
}

const wantAWS = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE-planted/20261130/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=c8a2b3cc4eab28c57694050b05378ab4dfaab191cc5b921fa06b4ac6827c45c8"

func TestAHeadTellsWhatItIsAskedFor(t *testing.T) {
	t.Parallel()
	b := open(t, func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{"Content-Length": "70000", "Content-Type": "text/csv", "Etag": `"a"`, "Last-Modified": "Mon, 30 Nov 2026 09:00:00 GMT", "X-Other": "b"} {
			w.Header().Set(name, value)
		}
	})
	for method, want := range map[string]int{"HEAD": 4, "GET": 0} {
		if a := b.do(connect.Call{Service: "s3", Method: method, Path: "/bucket/key"}); len(a.Headers) != want || want > 0 && a.Headers["content-length"] != "70000" {
			t.Errorf("%s: %v", method, a.Headers)
		}
	}
}
