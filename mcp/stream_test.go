package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"innerloop/internal/strictjson"
	"innerloop/journal"
)

type working func(ctx context.Context, report func(string)) (any, error)

// lasting is a door with one tool, which may last and is called work.
func lasting(t *testing.T, log *bytes.Buffer, w working) *Door {
	t.Helper()
	d := &Door{
		tools: map[string]bool{}, lasting: map[string]bool{}, timeout: toolTimeoutDefault, streamTimeout: streamTimeoutDefault,
		logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	core := server.NewMCPServer("test", "1", server.WithToolCapabilities(false))
	if err := d.add(core, tool{name: "work", work: func(ctx context.Context, _ journal.Caller, _ strictjson.Value, report func(string)) (any, error) {
		return w(ctx, report)
	}}); err != nil {
		t.Fatal(err)
	}
	d.streamable = server.NewStreamableHTTPServer(core, server.WithStateLess(true))
	return d
}

const asking = `"progressToken":"tok-1"`

// start calls the tool as a client of an era would, with these members of
// _meta and this Accept header.
func (e era) start(t *testing.T, d *Door, meta, accept string) (int, http.Header, []byte, iter.Seq[[]byte]) {
	t.Helper()
	header := e.header("tools/call", "work")
	header.Set("Accept", accept)
	if e == era2026 {
		if meta != "" {
			meta += ","
		}
		meta += `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"call-1","method":"tools/call","params":{"name":"work","_meta":{%s}}}`, meta)
	return d.Serve(t.Context(), journal.Caller{}, http.MethodPost, header, []byte(body))
}

const both = "application/json, text/event-stream"

type notice struct {
	JSONRPC string
	ID      string
	Method  string
	Params  struct {
		ProgressToken json.RawMessage
		Progress      float64
		Message       string
	}
	Result *struct {
		IsError    bool
		ResultType string
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct{ Text string }
	}
}

func readNotice(t *testing.T, piece []byte) notice {
	t.Helper()
	data, isEvent := strings.CutPrefix(string(piece), "event: message\ndata: ")
	data, ends := strings.CutSuffix(data, "\n\n")
	var n notice
	if err := json.Unmarshal([]byte(data), &n); err != nil || !isEvent || !ends || strings.Contains(data, "\n") || n.JSONRPC != "2.0" {
		t.Fatalf("not one event: %v %q", err, piece)
	}
	return n
}

func TestProgressIsTold(t *testing.T) {
	t.Parallel()
	for _, e := range eras {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				d := lasting(t, &log, func(_ context.Context, report func(string)) (any, error) {
					report("one")
					report("two")
					time.Sleep(25 * time.Second)
					report("three")
					time.Sleep(52 * time.Second)
					return map[string]int{"answer": 42}, nil
				})
				status, header, payload, stream := e.start(t, d, asking, both)
				if status != 200 || payload != nil || stream == nil || header.Get("Content-Type") != "text/event-stream" ||
					header.Get("Cache-Control") != "no-store" || header.Get("X-Accel-Buffering") != "no" {
					t.Fatalf("status %d, header %v, payload %s", status, header, payload)
				}
				var told []string
				var result *notice
				last := 0.0
				for piece := range stream {
					n := readNotice(t, piece)
					if n.Result != nil {
						result = &n
						continue
					}
					if result != nil || n.Method != "notifications/progress" || string(n.Params.ProgressToken) != `"tok-1"` || n.Params.Progress <= last {
						t.Errorf("told %s after %v", piece, last)
					}
					last = n.Params.Progress
					told = append(told, n.Params.Message)
				}
				if want := "one two still working still working three still working still working still working still working still working"; strings.Join(told, " ") != want {
					t.Errorf("told %q", told)
				}
				if result == nil || result.ID != "call-1" || result.Result.IsError || string(result.Result.Structured) != `{"answer":42}` ||
					(e == era2026) != (result.Result.ResultType == "complete") {
					t.Errorf("the result is %+v", result)
				}
			})
		})
	}
}

// Who did not ask, cannot read events, or is answered before there is
// something to tell, gets plain JSON.
func TestProgressIsNotTold(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		meta, accept string
		silent       bool
	}{
		"no token":        {"", both, false},
		"JSON alone":      {asking, "application/json", false},
		"anything":        {asking, "*/*", false},
		"events unwanted": {asking, "application/json, text/event-stream;q=0", false},
		"a quick answer":  {asking, both, true},
	} {
		for _, e := range eras {
			t.Run(name+"/"+string(e), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := lasting(t, &bytes.Buffer{}, func(_ context.Context, report func(string)) (any, error) {
						if !row.silent {
							report("one")
							time.Sleep(50 * time.Second)
						}
						return struct{}{}, nil
					})
					status, header, payload, stream := e.start(t, d, row.meta, row.accept)
					if status != 200 || stream != nil || header.Get("Content-Type") != "application/json" || !bytes.Contains(payload, []byte(`"result"`)) {
						t.Errorf("status %d, header %v, payload %s", status, header, payload)
					}
				})
			})
		}
	}
}

// A call is cut when its time is up: soon for those who hear nothing
// meanwhile, late for those who do, and either is told why and what to do.
func TestLongCallsAreCut(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		meta   string
		lasted time.Duration
		hint   string
	}{
		"unheard": {"", toolTimeoutDefault, "cut after 55 seconds; with a progressToken in params._meta and text/event-stream in the Accept header it may take 10 minutes"},
		"heard":   {asking, streamTimeoutDefault, "cut after 600 seconds. Next: "},
	} {
		for _, e := range eras {
			t.Run(name+"/"+string(e), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log bytes.Buffer
					ended := make(chan error, 1)
					d := lasting(t, &log, func(ctx context.Context, _ func(string)) (any, error) {
						<-ctx.Done()
						ended <- ctx.Err()
						return nil, ctx.Err()
					})
					begun := time.Now()
					_, _, payload, stream := e.start(t, d, row.meta, both)
					if stream != nil {
						for payload = range stream {
						}
					} else {
						payload = event(payload)
					}
					n := readNotice(t, payload)
					if time.Since(begun) != row.lasted || n.Result == nil || !n.Result.IsError || n.Result.Structured != nil {
						t.Fatalf("after %s: %s", time.Since(begun), payload)
					}
					var refused toolError
					decodeStrictly(t, []byte(n.Result.Content[0].Text), &refused)
					if refused.Code != "service_unavailable" || !refused.Retryable || !strings.Contains(refused.Hint, row.hint) {
						t.Errorf("refused with %+v", refused)
					}
					if err := <-ended; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(log.String(), "tool cut") || strings.Contains(log.String(), "ERROR") {
						t.Errorf("the tool heard %v, the log says %s", err, log.String())
					}
				})
			})
		}
	}
}

// A caller who left cancels the call that he waited for.
func TestALeftStreamCancelsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ended := make(chan error, 1)
		d := lasting(t, &log, func(ctx context.Context, report func(string)) (any, error) {
			for range 1000 { // more than is kept, and nobody waits for it
				report("one")
			}
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
		_, _, _, stream := era2026.start(t, d, asking, both)
		for range stream {
			break
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the tool heard %v", err)
		}
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("the log says %s", log.String())
		}
	})
}

func TestProgressTokens(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, e := range eras {
		for token, code := range map[string]int{
			`"a"`: 0, `7`: 0, `-9007199254740991`: 0, `null`: -32602, `1.5`: -32602, `9007199254740992`: -32602, `{}`: -32602, `[]`: -32602, `true`: -32602,
			`"` + strings.Repeat("x", tokenMax) + `"`: -32602,
		} {
			members := `"name":"` + toolReadFeed + `","_meta":{"progressToken":` + token + `}`
			if e == era2026 {
				members = `"name":"` + toolReadFeed + `","_meta":{"progressToken":` + token + `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
			}
			r := post(t, d, e.header("tools/call", toolReadFeed), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+members+`}}`)
			if r.code() != code {
				t.Errorf("%s, token %.20s: %s", e, token, r.body)
			}
		}
	}
}
