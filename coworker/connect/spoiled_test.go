package connect_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

func answered(contentType, coding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if coding != "" {
			w.Header().Set("Content-Encoding", coding)
		}
		_, _ = io.WriteString(w, body)
	}
}

// TestASuccessThatCannotBeReadIsAnUpstreamError, is quoted without the secret,
// and is asked for once; what never said that it is JSON is a text.
func TestASuccessThatCannotBeReadIsAnUpstreamError(t *testing.T) {
	t.Parallel()
	read := connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}
	write := connect.Call{Service: "wildberries", Module: "content", Method: "POST", Path: "/content/v2/cards/upload", Body: []any{}}
	for name, c := range map[string]struct {
		serve       http.HandlerFunc
		hint, quote string
	}{
		"cut short":            {answered("application/json", "", `{"token":"`+secret+`","items":[1,2`), "says that it is JSON and is not", `{"token":"[secret]"`},
		"two documents":        {answered("application/problem+json; charset=utf-8", "", `{}{}`), "says that it is JSON and is not", `{}{}`},
		"no JSON at all":       {answered("application/json", "", "<html>proxy</html>"), "says that it is JSON and is not", "<html>proxy</html>"},
		"bytes":                {answered("application/json", "", "\x00\x01\xff"), "says that it is JSON and is not", "\uFFFD"},
		"a coding of its own":  {answered("application/json", "br", "\x0b\x02\x80{}\x03"), "compressed in a way", ""},
		"a coding in a coding": {answered("application/json", "gzip, gzip", "\x1f\x8b"), "compressed in a way", ""},
	} {
		for _, call := range []connect.Call{read, write} {
			b := open(t, c.serve)
			f := b.refused(call, coworker.UpstreamError)
			d := f.Details.(connect.UpstreamDetails)
			if !strings.Contains(f.Hint, c.hint) || !strings.Contains(d.Body, c.quote) || strings.Contains(d.Body, secret) || f.Contract().Retryable || d.Status != 200 {
				t.Errorf("%s: %+v", name, f)
			}
			if strings.Contains(f.Hint, "may have been done") != (call.Method == "POST") {
				t.Errorf("%s, %s: %s", name, call.Method, f.Hint)
			}
			if asked, _ := b.requests(); len(asked) != 1 {
				t.Errorf("%s: %d requests", name, len(asked))
			}
		}
	}
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		data  string
	}{
		"a line each":              {answered("application/x-ndjson", "", "{}\n{}"), `"{}\n{}"`},
		"a text in braces":         {answered("text/plain", "", "{not so}"), `"{not so}"`},
		"JSON of another name":     {answered("text/plain", "", `{"a":1}`), `{"a":1}`},
		"a byte order mark before": {answered("application/json; charset=utf-8", "identity", "\xef\xbb\xbf{\"a\":1}"), `{"a":1}`},
		"nothing":                  {answered("application/json", "", " \n"), `null`},
	} {
		if got := asJSON(t, open(t, c.serve).do(read).Data); got != c.data {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestASecretInAFileIsMaskedByValue: what is no text is kept, and read later
// by whoever may read the user's files.
func TestASecretInAFileIsMaskedByValue(t *testing.T) {
	t.Parallel()
	const before, after = "\x89PNG\r\n\x1a\n\x00", "\x00\xff"
	b := open(t, answered("image/png", "", before+secret+after))
	a := b.do(connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"})
	if len(b.kept) != 1 || !strings.Contains(a.Hint, "a secret in it masked") {
		t.Errorf("%d files, %q", len(b.kept), a.Hint)
	}
	for _, kept := range b.kept {
		if string(kept) != before+connect.Masked+after {
			t.Errorf("kept %q", kept)
		}
	}
	b = open(t, answered("image/png", "", before+after))
	if a := b.do(connect.Call{Service: "wildberries", Module: "common", Method: "GET", Path: "/ping"}); strings.Contains(a.Hint, "masked") {
		t.Errorf("nothing was masked: %q", a.Hint)
	}
}
