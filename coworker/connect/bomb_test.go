package connect_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"innerloop/coworker/connect"
)

// TestAnAnswerThatIsHardToCutIsCut: as deep, as wide and as scattered as JSON
// of ten megabytes can be.
func TestAnAnswerThatIsHardToCutIsCut(t *testing.T) {
	t.Parallel()
	var wide, many strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&wide, `,"k%07d":%d`, i, i)
		fmt.Fprintf(&many, `,[{"a":%d}]`, i)
	}
	for name, body := range map[string]string{
		"deep lists":   strings.Repeat("[", 9000) + `"` + strings.Repeat("x", 100_000) + `"` + strings.Repeat("]", 9000),
		"deep objects": strings.Repeat(`{"a":`, 9000) + `"` + strings.Repeat("x", 100_000) + `"` + strings.Repeat("}", 9000),
		"many names":   "{" + wide.String()[1:] + "}",
		"many items":   "[" + many.String()[1:] + "]",
	} {
		b := open(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
		a := b.do(connect.Call{Service: "github", Method: "GET", Path: "/user", MaxBytes: 2048})
		if n := len(asJSON(t, a.Data)); n > 2048 && !strings.HasPrefix(name, "deep") || !a.Truncated {
			t.Errorf("%s: %d bytes, truncated %v", name, n, a.Truncated)
		} else if n > 2048 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}
