package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// key is a bench's, never a service's.
const key = "INNERLOOP_MASTER_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

const (
	seeded = 1000 // entries in the journal before any load
	conns  = 64
)

type bench struct {
	binary   string
	span     time.Duration
	postgres string
	data     string // where a large journal is kept; empty for nowhere
	large    int    // its entries, when it is to be made and measured alone
	sandbox  bool   // the start of code alone is to be measured
	calls    bool   // calls of services alone are to be measured
	record   record
}

// million is the large journal that is measured along when it is there.
const million = 1_000_000

func (b *bench) run(ctx context.Context, rounds int) ([]figure, error) {
	scratch, err := os.MkdirTemp("", "innerloop-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	if b.large > 0 {
		if b.data == "" {
			return nil, errors.New("-scale needs -data")
		}
		if err := b.scale(ctx, key, scratch, b.data, b.large, rounds); err != nil {
			return nil, err
		}
		return b.print(), nil
	}
	if b.sandbox {
		for range rounds {
			if err := b.sandboxes(ctx, scratch); err != nil {
				return nil, err
			}
		}
		return b.print(), nil
	}
	if b.calls {
		for round := range rounds {
			if err := b.connector(ctx, filepath.Join(scratch, fmt.Sprint(round))); err != nil {
				return nil, err
			}
		}
		return b.print(), nil
	}
	database, err := b.database()
	if err != nil {
		return nil, err
	}
	stores := []struct{ name, url string }{
		{"sqlite_full", "sqlite:" + filepath.Join(scratch, "bench.db")},
		{"postgres", database},
	}
	for _, s := range stores {
		seed, err := run(ctx, []string{key, "INNERLOOP_DATA_DIR=" + scratch, "INNERLOOP_DATABASE_URL=" + s.url},
			b.binary, "seed", "--agents", "20", "--entries", fmt.Sprint(seeded))
		if err != nil {
			return nil, fmt.Errorf("seed %s: %w: %s", s.name, err, seed)
		}
	}
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
		verifies, err := verifyRate(time.Second)
		if err != nil {
			return nil, err
		}
		b.record.add("ed25519_verify_per_cpu_second", "the limit: crypto/ed25519 verifications", verifies)
		if err := b.sandboxes(ctx, scratch); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		if err := b.connector(ctx, filepath.Join(scratch, fmt.Sprint(round))); err != nil {
			return nil, fmt.Errorf("connector: %w", err)
		}
		for _, s := range stores {
			env := []string{key, "INNERLOOP_DATA_DIR=" + scratch, "INNERLOOP_DATABASE_URL=" + s.url, "INNERLOOP_LISTEN=127.0.0.1:0", "INNERLOOP_LIMITS=off"}
			if err := b.store(ctx, s.name, env, verifies, scratch); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	if there, err := filepath.Glob(filepath.Join(b.data, fmt.Sprintf("scale-%d.db", million))); b.data != "" && err == nil && len(there) == 1 {
		if err := b.scale(ctx, key, scratch, b.data, million, 7); err != nil {
			return nil, err
		}
	} else {
		fmt.Fprintln(os.Stderr, "no large journal is kept here, so none is measured; make soak makes one")
	}
	return b.print(), nil
}

func (b *bench) print() []figure {
	for _, f := range b.record.figures {
		fmt.Printf("figure %s = %s\n", f.name, number(f.median()))
	}
	return b.record.figures
}

// store measures one server on one store: writes, then (on the embedded store)
// reads beside a bare handler with the same bytes.
func (b *bench) store(ctx context.Context, name string, env []string, verifies float64, scratch string) error {
	server, err := start(ctx, env, b.binary, "serve")
	if err != nil {
		return err
	}
	err = b.publish(ctx, server, name, verifies)
	if err == nil && name == "sqlite_full" {
		err = b.reads(ctx, server, scratch)
	}
	return errors.Join(err, server.stop())
}

func (b *bench) publish(ctx context.Context, server *process, name string, verifies float64) error {
	requests, err := presign(ctx, server.origin, 32, int(b.span.Seconds()*7000))
	if err != nil {
		return err
	}
	var at atomic.Int64
	m, err := load(ctx, server, conns, b.span, func(_ int, r *fasthttp.Request) bool {
		n := int(at.Add(1)) - 1
		if n >= len(requests) {
			return false
		}
		requests[n].into(r, server.origin)
		return true
	}, wantStatus(fasthttp.StatusCreated))
	if err != nil {
		return err
	}
	b.record.add("publish_"+name+"_per_second", "verified publishes by the clock, 64 connections", m.perSecond)
	b.record.add("publish_"+name+"_per_cpu_second", "verified publishes per CPU second of the server", m.perCPU)
	b.record.add("publish_"+name+"_per_verify", "the same over the verify limit", m.perCPU/verifies)
	if name == "sqlite_full" {
		b.record.add("publish_p99_ms", "answer time of a publish, flat out at 64 connections, embedded store", m.p99.Seconds()*1000)
	}
	return nil
}

func (b *bench) reads(ctx context.Context, server *process, scratch string) error {
	status, page, err := fasthttp.Get(nil, server.origin+"/")
	if err != nil || status != fasthttp.StatusOK {
		return fmt.Errorf("feed page: status %d: %w", status, err)
	}
	file := filepath.Join(scratch, "page.html")
	if err := os.WriteFile(file, page, 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bare, err := start(ctx, nil, self, "-bare", file)
	if err != nil {
		return err
	}
	get := func(path string, header ...string) func(int, *fasthttp.Request) bool {
		return func(_ int, r *fasthttp.Request) bool {
			r.SetRequestURI(path)
			r.SetHost("127.0.0.1")
			for i := 0; i+1 < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			return true
		}
	}
	limit, err := load(ctx, bare, conns, b.span, get("/"), wantStatus(fasthttp.StatusOK))
	if err = errors.Join(err, bare.stop()); err != nil {
		return fmt.Errorf("bare handler: %w", err)
	}
	b.record.add("bare_fiber_per_cpu_second", fmt.Sprintf("the limit: a bare Fiber handler that writes the feed page's %d bytes", len(page)), limit.perCPU)
	cached, err := load(ctx, server, conns, b.span, get("/"), wantStatus(fasthttp.StatusOK))
	if err != nil {
		return fmt.Errorf("feed page: %w", err)
	}
	b.record.add("feed_cached_per_second", "feed page, by the clock", cached.perSecond)
	b.record.add("feed_cached_per_cpu_second", "feed page per CPU second of the server", cached.perCPU)
	b.record.add("feed_cached_per_bare_fiber", "the same over the bare handler", cached.perCPU/limit.perCPU)
	var etag string
	{
		response := fasthttp.AcquireResponse()
		request := fasthttp.AcquireRequest()
		request.SetRequestURI(server.origin + "/")
		if err := fasthttp.Do(request, response); err != nil {
			return err
		}
		etag = string(response.Header.Peek("ETag"))
	}
	same, err := load(ctx, server, conns, b.span, get("/", "If-None-Match", etag), wantStatus(fasthttp.StatusNotModified))
	if err != nil {
		return fmt.Errorf("304: %w", err)
	}
	b.record.add("feed_304_per_cpu_second", "revalidations of the feed page per CPU second of the server", same.perCPU)
	rest, err := load(ctx, server, conns, b.span, get("/v1/feed?limit=50"), wantStatus(fasthttp.StatusOK))
	if err != nil {
		return fmt.Errorf("REST feed: %w", err)
	}
	b.record.add("rest_feed_per_cpu_second", "GET /v1/feed?limit=50 per CPU second of the server", rest.perCPU)
	tool, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "innerloop_read_public_feed", "arguments": map[string]any{"limit": 20}}})
	if err != nil {
		return err
	}
	m, err := load(ctx, server, 16, b.span, func(_ int, r *fasthttp.Request) bool {
		get("/mcp", "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25")(0, r)
		r.Header.SetMethod(fasthttp.MethodPost)
		r.SetBodyRaw(tool)
		return true
	}, wantStatus(fasthttp.StatusOK))
	if err != nil {
		return fmt.Errorf("MCP feed: %w", err)
	}
	b.record.add("mcp_feed_per_second", "innerloop_read_public_feed with 20 entries, by the clock, 16 connections", m.perSecond)
	b.record.add("mcp_feed_per_cpu_second", "the same per CPU second of the server", m.perCPU)
	b.record.add("mcp_feed_per_bare_fiber", "the same over the bare handler", m.perCPU/limit.perCPU)
	rss, err := server.rss()
	if err != nil {
		return err
	}
	b.record.add("rss_load_mb", "resident memory of the server after these loads, MiB", rss)
	return nil
}
