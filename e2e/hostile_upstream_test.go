package e2e

import (
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"innerloop/e2e/program"
)

// A rogue is a service that means harm, one way for each path.
type rogue struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
	ended map[string]chan struct{} // closed once a way that has no end was cut off
}

const rogueToken = "planted-token-of-the-rogue-0123456789"

func newRogue(t *testing.T) *rogue {
	t.Helper()
	r := &rogue{asked: map[string]int{}, ended: map[string]chan struct{}{}}
	for name := range endlessTalk {
		r.ended[name] = make(chan struct{}, 8)
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name := strings.TrimPrefix(q.URL.Path, "/user/")
		r.mu.Lock()
		r.asked[name]++
		r.mu.Unlock()
		if way, ok := rudeAnswers[name]; ok {
			way(w, q)
		} else if way, ok := brokenTalk[name]; ok {
			way(hijacked(w))
		} else if way, ok := endlessTalk[name]; ok {
			way(w, q)
			r.ended[name] <- struct{}{}
		} else {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *rogue) times(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[name]
}

func hijacked(w http.ResponseWriter) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err) // the server of the test speaks HTTP/1.1
	}
	return conn
}

func saying(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

// bomb is a gigabyte of zeros in a coding.
func bomb(coding string, wrap func(io.Writer) io.WriteCloser) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", coding)
		z := wrap(w)
		zeros := make([]byte, 1<<20)
		for range 1024 {
			if _, err := z.Write(zeros); err != nil {
				return // the reader has gone
			}
		}
		_ = z.Close()
	}
}

func coded(coding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		_, _ = io.WriteString(w, body)
	}
}

func zipped(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }

var rudeAnswers = map[string]http.HandlerFunc{
	"fifty-megabytes": saying("application/json", `["`+strings.Repeat("x", 50<<20)+`"]`),
	"gzip-bomb":       bomb("gzip", zipped),
	"deflate-bomb": bomb("deflate", func(w io.Writer) io.WriteCloser {
		z, _ := flate.NewWriter(w, flate.BestSpeed) // the level is good
		return z
	}),
	"brotli-bomb":     bomb("br", func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) }),
	"gzip-twice":      coded("gzip, gzip", "\x1f\x8b\x08"),
	"no-gzip":         coded("gzip", "plain, and longer than the head of a gzip file"),
	"redirect-loop":   func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, q.URL.Path, http.StatusFound) },
	"broken-json":     saying("application/json", `{"items":[1,2,3`),
	"html-as-json":    saying("application/json", "<html>of a proxy</html>"),
	"deep-json":       saying("application/json", strings.Repeat("[", 1<<20)),
	"dense-json":      saying("application/json", "[1"+strings.Repeat(",1", 5<<20-10)+"]"),
	"empty-objects":   saying("application/json", "[{}"+strings.Repeat(",{}", 10<<20/3-10)+"]"),
	"many-names":      saying("application/json", manyNames()),
	"binary":          saying("image/png", "\x89PNG\r\n\x1a\n\x00"+rogueToken+"\x00\xff"),
	"binary-too-much": saying("application/octet-stream", strings.Repeat("\x00\xff", 25<<20)),
	"good":            saying("application/json", `{"items":[1,2,3]}`),
}

func manyNames() string {
	var b strings.Builder
	b.WriteString("{")
	for i := 0; b.Len() < 9<<20; i++ {
		fmt.Fprintf(&b, `"%x":0,`, i)
	}
	b.WriteString(`"z":0}`)
	return b.String()
}

// brokenTalk are the ways to break HTTP itself.
var brokenTalk = map[string]func(net.Conn){
	"promises-more":    writes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"a\":1}"),
	"promises-less":    writes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\nConnection: close\r\n\r\n{\"a\":1}"),
	"two-lengths":      writes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n{\"a\":1}"),
	"negative-length":  writes("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{\"a\":1}"),
	"no-http":          writes("SSH-2.0-OpenSSH_9.2\r\n"),
	"bad-chunks":       writes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{\"a\":1}\r\n"),
	"another-protocol": writes("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
	"reset": func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"a\":")
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	},
	"endless-headers": func(c net.Conn) {
		defer func() { _ = c.Close() }()
		_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for i := 0; err == nil; i++ {
			_, err = fmt.Fprintf(c, "X-Header-%d: %s\r\n", i, strings.Repeat("y", 100))
		}
	},
	"endless-hints": func(c net.Conn) {
		defer func() { _ = c.Close() }()
		for err := error(nil); err == nil; {
			_, err = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
		}
	},
	"endless-trailers": func(c net.Conn) {
		defer func() { _ = c.Close() }()
		_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n7\r\n{\"a\":1}\r\n0\r\n")
		for err == nil {
			_, err = io.WriteString(c, "X: "+strings.Repeat("y", 100)+"\r\n")
		}
	},
}

func writes(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		_ = c.Close()
	}
}

// endlessTalk are ways that last until the other side has had enough.
var endlessTalk = map[string]http.HandlerFunc{
	"endless": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		part := []byte(strings.Repeat("[", 64<<10))
		for err := error(nil); err == nil; {
			_, err = w.Write(part)
		}
	},
	"drip": func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		each := time.NewTicker(100 * time.Millisecond)
		defer each.Stop()
		for _, err := io.WriteString(w, "["); err == nil; _, err = io.WriteString(w, "1,") {
			w.(http.Flusher).Flush()
			select {
			case <-q.Context().Done():
				return
			case <-each.C:
			}
		}
	},
	"silent": func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() },
	"silent-body": func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Length", "10")
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	},
}

// memoryOf reads a figure of a process's memory in bytes: VmRSS now, VmHWM at
// its most.
func memoryOf(t *testing.T, pid int, figure string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(figure + `:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in %s", figure, text)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// forget sets the most of a process's memory to what it is now.
func forget(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// A besieged is a program whose one connection leads to a rogue.
type besieged struct {
	*program.Server
	*rogue
	organization
	options program.Options
}

func besiege(t *testing.T) besieged {
	t.Helper()
	o := embedded(t)
	b := besieged{Server: serve(t, o), rogue: newRogue(t), organization: found(t, o), options: o}
	admitLoopback(t, o, b.organization)
	connected(t, b.Server, b.organization, map[string]any{"service": "github", "base_url": b.rogue.URL, "fields": map[string]string{"token": rogueToken}})
	return b
}

func (b besieged) call(t *testing.T, name string, more map[string]any) said {
	t.Helper()
	arguments := map[string]any{"service": "github", "method": "GET", "path": "/user/" + name}
	for key, value := range more {
		arguments[key] = value
	}
	return says(t, b.Server, b.Key, arguments)
}

// allowance is how far one call may drive the server's memory up: an answer of
// ten megabytes as bytes, as values, and masked.
const allowance = 400 << 20

// Attack: a service answers with every kind of harm that an answer can do.
// Expectation: each call ends in the code and the words that fit, after as many
// requests as may be sent; the server's memory stays within bounds, and it
// serves the next call.
func TestHostileServicesAreContained(t *testing.T) {
	t.Parallel()
	b := besiege(t)
	const (
		tooLarge = "ask for less"
		coding   = "compressed in a way that it was not asked for"
		noJSON   = "says that it is JSON and is not"
		cut      = "broke off before the service's answer was whole"
		noHTTP   = "is no HTTP"
	)
	for _, row := range []struct {
		name, code, hint string
		retryable        bool
		requests         int
	}{
		{"fifty-megabytes", "RESPONSE_TOO_LARGE", tooLarge, false, 1},
		{"gzip-bomb", "RESPONSE_TOO_LARGE", tooLarge, false, 1},
		{"deflate-bomb", "UPSTREAM_ERROR", coding, false, 1},
		{"brotli-bomb", "UPSTREAM_ERROR", coding, false, 1},
		{"gzip-twice", "UPSTREAM_ERROR", coding, false, 1},
		{"no-gzip", "UPSTREAM_ERROR", "cannot be decompressed", true, 3},
		{"endless", "RESPONSE_TOO_LARGE", tooLarge, false, 1},
		{"endless-headers", "UPSTREAM_ERROR", "headers of the service's answer are too large", true, 3},
		{"endless-hints", "UPSTREAM_ERROR", "headers of the service's answer are too large", true, 3},
		{"endless-trailers", "UPSTREAM_ERROR", noHTTP, true, 3},
		{"redirect-loop", "UPSTREAM_ERROR", "another address, which is not followed", false, 1},
		{"broken-json", "UPSTREAM_ERROR", noJSON, false, 1},
		{"html-as-json", "UPSTREAM_ERROR", noJSON, false, 1},
		{"deep-json", "UPSTREAM_ERROR", noJSON, false, 1},
		{"promises-more", "UPSTREAM_ERROR", cut, true, 3},
		{"promises-less", "UPSTREAM_ERROR", noJSON, false, 1},
		{"two-lengths", "UPSTREAM_ERROR", noHTTP, true, 3},
		{"negative-length", "UPSTREAM_ERROR", noHTTP, true, 3},
		{"no-http", "UPSTREAM_ERROR", noHTTP, true, 3},
		{"bad-chunks", "UPSTREAM_ERROR", noHTTP, true, 3},
		{"another-protocol", "UPSTREAM_ERROR", noHTTP, true, 3},
		{"reset", "UPSTREAM_ERROR", cut, true, 3},
		{"binary-too-much", "RESPONSE_TOO_LARGE", tooLarge, false, 1},
		{"dense-json", "RESPONSE_TOO_LARGE", tooLarge, false, 1},
		{"empty-objects", "RESPONSE_TOO_LARGE", tooLarge, false, 1},
		{"many-names", "", "parts were left out", false, 1},
		{"good", "", "", false, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			forget(t, b.Pid())
			before := memoryOf(t, b.Pid(), "VmRSS")
			s := b.call(t, row.name, nil)
			hint := s.Answer.Hint + s.Refusal.Hint
			if s.Refusal.Code != row.code || !strings.Contains(hint, row.hint) || s.Refusal.Retryable != row.retryable {
				t.Errorf("%.600s", s.Text)
			}
			if n := b.times(row.name); n != row.requests {
				t.Errorf("%d requests", n)
			}
			grown := memoryOf(t, b.Pid(), "VmHWM") - before
			t.Logf("memory: %d MB and %d MB more", before>>20, grown>>20)
			if grown > allowance {
				t.Errorf("the server's memory grew by %d MB", grown>>20)
			}
			if strings.Contains(s.Text, rogueToken) || len(s.Text) > 300<<10 {
				t.Errorf("%.600s", s.Text)
			}
			if ended := b.ended[row.name]; ended != nil {
				<-ended
			}
		})
	}
	for name, query := range map[string]string{
		"took too long":               "last(range(1e15))",
		"needs more memory":           `"x" * 1e9`,
		"selects more than":           `"x" * 5e6`,
		"has more than 10000 results": "range(20000)",
		"is no jq program":            "input_line_number",
	} {
		t.Run("a jq program that "+name, func(t *testing.T) {
			before := memoryOf(t, b.Pid(), "VmRSS")
			forget(t, b.Pid())
			s := b.call(t, "good", map[string]any{"select": query})
			if s.Refusal.Code != "INVALID_ARG" || !strings.Contains(string(s.Refusal.Details), `"field":"select","problem":"`+name) {
				t.Errorf("%s", s.Text)
			}
			if grown := memoryOf(t, b.Pid(), "VmHWM") - before; grown > 64<<20 {
				t.Errorf("the server's memory grew by %d MB", grown>>20)
			}
			if left := below(t, b.Pid()); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
	t.Run("what is no text is kept as a file, without the secret", func(t *testing.T) {
		s := b.call(t, "binary", nil)
		if s.Failed || s.Answer.File == "" || !strings.Contains(s.Answer.Hint, "a secret in it masked") {
			t.Fatal(s.Text)
		}
		status, body := asked(t, http.MethodGet, b.Server.URL+"/api/v1/memory/"+s.Answer.File, b.Key, "")
		if status != http.StatusOK || body != "\x89PNG\r\n\x1a\n\x00[secret]\x00\xff" {
			t.Errorf("%d %q", status, body)
		}
	})
}

// Attack: a service never comes to an end, or never begins. Expectation: each
// call ends by its own deadline, before a client that waits a minute gives up,
// and what was held for it is given back.
func TestSilentServicesEndByTheCallsDeadline(t *testing.T) {
	t.Parallel()
	b := besiege(t)
	var all sync.WaitGroup
	for _, name := range []string{"drip", "silent", "silent-body"} {
		all.Go(func() {
			began := time.Now()
			s := b.call(t, name, nil)
			if s.Refusal.Code != "UPSTREAM_ERROR" || !s.Refusal.Retryable || !strings.Contains(s.Refusal.Hint, "did not answer in time") {
				t.Errorf("%s: %s", name, s.Text)
			}
			<-b.ended[name] // the service saw it end
			t.Logf("%s: ended after %s", name, time.Since(began))
			if n := b.times(name); n != 1 {
				t.Errorf("%s: %d requests", name, n)
			}
		})
	}
	all.Wait()
	if s := b.call(t, "good", nil); s.Failed {
		t.Error(s.Text)
	}
}
