package handlers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/coworker/memory"
	"innerloop/journal"
)

func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	for _, code := range journal.Codes() {
		if statuses[code] < 400 || statuses[code] > 599 {
			t.Errorf("%s has status %d", code, statuses[code])
		}
	}
	if len(statuses) != len(journal.Codes()) {
		t.Errorf("%d statuses for %d codes", len(statuses), len(journal.Codes()))
	}
}

func TestTagsAreFoundInLists(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]bool{
		`W/"1-a"`: true, `"1-a"`: true, `"x", W/"1-a"`: true, `"a,b" , "1-a"`: true, `,,"1-a"`: true,
		`W/"1-b"`: false, `1-a`: false, `"1-a`: false, `"x" "1-a`: false, ``: false, `w/"1-a"`: false, `"x"; "1-a`: false,
	} {
		if got := listed(list, `W/"1-a"`); got != want {
			t.Errorf("%s: got %v", list, got)
		}
	}
}

func TestCodingFollowsTheReader(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"": "", "gzip": "gzip", "br": "br", "gzip, br": "br", "gzip;q=1, br;q=0.5": "gzip", "br;q=0, gzip": "gzip",
		"*": "br", "*;q=0": "", "identity": "", "br;q=0, *": "gzip", "GZIP": "gzip", "gzip;q=x": "", "deflate, zstd": "",
		"gzip;q=0.001, br;q=0": "gzip", "gzip; q=0.5": "gzip",
	} {
		var h fasthttp.RequestHeader
		if given != "" {
			h.Set("Accept-Encoding", given)
		}
		if got := coding(&h); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestDatesTellVersionsApart(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 9, 1, 10, 0, 0, 300, time.UTC)
	var c changes
	if got := c.at(1, start); !got.IsZero() {
		t.Errorf("dated at once: %v", got)
	}
	first := start.Truncate(time.Second).Add(dateSettles)
	if got := c.at(1, first); !got.Equal(first) || !c.at(1, start.Add(time.Hour)).Equal(first) {
		t.Errorf("an unchanged version has the date %v, want %v", got, first)
	}
	// Two versions of one second: the first never had a date.
	c.at(2, start.Add(time.Minute))
	c.at(3, start.Add(time.Minute+time.Millisecond))
	if got := c.at(3, start.Add(2*time.Minute)); !got.Equal(first.Add(time.Minute)) {
		t.Errorf("got %v", got)
	}
}

// Attack: a reader fetches a feed from one process, which learns of the next
// change last, and asks by date at another, which was first.
// Expectation: no date that the one gives for the old version, nor the moment at
// which it answered, makes the other say "unchanged".
func TestDatesOfTwoProcessesTellVersionsApart(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	for _, late := range []time.Duration{0, 10 * time.Millisecond, 200 * time.Millisecond, 999 * time.Millisecond} {
		for _, came := range []time.Duration{0, 500 * time.Millisecond, 999 * time.Millisecond, 3 * time.Second} {
			for began := -3 * time.Second; began <= late; began += 50 * time.Millisecond {
				change := start.Add(came)
				var slow, quick changes
				slow.at(1, change.Add(began))
				held, answered := slow.at(1, change.Add(late)), change.Add(late).Truncate(time.Second)
				quick.at(2, change)
				now := quick.at(2, change.Add(time.Hour))
				if now.IsZero() || !held.Before(now) || !answered.Before(now) {
					t.Fatalf("a change at %v, known %v late, old version seen %v before: dates %v and %v", change, late, -began, held, now)
				}
			}
		}
	}
}

func TestCacheIsBoundedAndRendersOnce(t *testing.T) {
	t.Parallel()
	c := newCache(40_000)
	text := []byte(strings.Repeat("x", 4000))
	var renders atomic.Int64
	render := func() ([]byte, error) { renders.Add(1); return text, nil }
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if body, err := c.get("/", "v1", render); err != nil || len(body.raw) != 4000 {
				t.Errorf("got %v", err)
			}
		})
	}
	wait.Wait()
	if n := renders.Load(); n != 1 {
		t.Errorf("rendered %d times, want once", n)
	}
	if _, err := c.get("/", "v2", render); err != nil || renders.Load() != 2 {
		t.Errorf("a new validator did not render anew: %v", err)
	}
	for i := range 100 {
		if _, err := c.get(fmt.Sprint(i), "v2", render); err != nil {
			t.Fatal(err)
		}
	}
	if c.used > c.limit || len(c.byKey) != c.order.Len() || c.order.Len() > 6 {
		t.Errorf("%d bytes in %d readings", c.used, c.order.Len())
	}
	fault := errors.New("no")
	if _, err := c.get("bad", "v2", func() ([]byte, error) { return nil, fault }); !errors.Is(err, fault) || c.find("bad", "v2") != nil {
		t.Errorf("an error was kept: %v", err)
	}
}

func TestMostSpecificBodyLimitHolds(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/v1/agents/register": 2048, "/v1/agents/challenges": 2048, "/v1/entries": 256 << 10, "/mcp": 1 << 20, "/mcp/": 1 << 20,
		"/": 64 << 10, "/entries/x": 64 << 10, "/mcpx": 64 << 10, "": 64 << 10,
	} {
		if got := bodyLimit(path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

func TestPathIsTakenFromTheTarget(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/v1/feed?x=/mcp": "/v1/feed", "/v1/feed#x": "/v1/feed", "http://h.example/mcp?x": "/mcp", "http://h.example": "/", "*": "*",
	} {
		var h fasthttp.RequestHeader
		h.SetRequestURI(target)
		if got := pathOf(&h); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

func refused(t *testing.T, path string, err error) *fasthttp.RequestCtx {
	t.Helper()
	ids, broken := newRequestIDs(rand.Reader)
	if broken != nil {
		t.Fatal(broken)
	}
	s := &Server{ids: ids, logger: slog.New(slog.DiscardHandler)}
	var ctx fasthttp.RequestCtx
	ctx.Request.SetRequestURI(path)
	s.stamp(&ctx)
	s.refuse(&ctx, s.judge(&ctx, err))
	return &ctx
}

// A withdrawn entry keeps its id, its times and who withdrew it, and no more
// (protocol 7.4).
func TestWithdrawnEntryIsGone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	fault := &journal.Fault{Code: journal.EntryWithdrawn, Hint: "withdrawn", Withdrawal: &journal.Withdrawal{
		EntryID: "entry_1", PublishedAt: at, WithdrawnAt: at.Add(time.Hour), By: "author",
	}}
	ctx := refused(t, "/v1/entries/entry_1", fault)
	want := `{"error":"entry_withdrawn","message":"withdrawn","request_id":"` + requestID(ctx) +
		`","entry_id":"entry_1","published_at":"2026-09-01T10:00:00.000Z","withdrawn_at":"2026-09-01T11:00:00.000Z","by":"author"}`
	if got := string(ctx.Response.Body()); got != want || ctx.Response.StatusCode() != 410 || string(ctx.Response.Header.Peek("Access-Control-Allow-Origin")) != "*" {
		t.Errorf("%d %s", ctx.Response.StatusCode(), got)
	}
	page := refused(t, "/ru/entries/entry_1", fault)
	if text := string(page.Response.Body()); page.Response.StatusCode() != 410 || !strings.Contains(text, "Эта запись отозвана.") || !strings.Contains(text, "entry_1") {
		t.Errorf("%d %s", page.Response.StatusCode(), text)
	}
}

func TestWaitIsToldInWholeSeconds(t *testing.T) {
	t.Parallel()
	ctx := refused(t, "/v1/entries", &journal.Fault{Code: journal.ServiceUnavailable, RetryAfter: 1500 * time.Millisecond})
	if got := string(ctx.Response.Header.Peek("Retry-After")); got != "2" {
		t.Errorf("retry-after %q, want 2", got)
	}
}

// Posts are the paths of a server that take a POST.
func Posts(s *Server) []string {
	var paths []string
	for _, r := range s.app.GetRoutes(true) {
		if r.Method == fiber.MethodPost {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// protocol 7.5: no route is missing from the document, and the document has no
// other. The router's own table is what counts.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	s := &Server{app: fiber.New(), coworker: &coworker.Coworker{}, keeper: &connect.Keeper{}, engine: &connect.Engine{}, memory: &memory.Memory{}}
	s.routes(nil)
	routed := map[string]bool{}
	for _, r := range s.app.GetRoutes(true) {
		api := under(r.Path, "/v1") || under(r.Path, apiRoot) || isProof(r.Path) || r.Path == openAPIPath || r.Path == "/healthz" || r.Path == "/readyz"
		if api && r.Method != fiber.MethodHead {
			routed[r.Method+" "+r.Path] = true
		}
	}
	told, ids := map[string]bool{}, map[string]bool{}
	for _, d := range describedOperations() {
		route := strings.ToUpper(d.method) + " " + d.path
		if told[route] || ids[d.id] {
			t.Errorf("%s or %s is described twice", route, d.id)
		}
		told[route], ids[d.id] = true, true
		if !routed[route] {
			t.Errorf("%s is described and not routed", route)
		}
	}
	for route := range routed {
		if !told[route] {
			t.Errorf("%s is routed and not described", route)
		}
	}
	for _, r := range ownerRoutes {
		if !told["POST /v1/private/"+r.path] {
			t.Errorf("%s is missing", r.path)
		}
	}
}
