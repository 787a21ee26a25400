package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// benchConnector is a service whose pace holds nobody back.
const benchConnector = `id: bench
title: Bench
title_ru: Замер
status: draft
summary: A service on this machine that is measured
summary_ru: Служба на этой машине для замера
short: For measuring
category: development
style: rest
version: 2026.11.30
ttl: 86400
docs_url: https://bench.example/
auth:
  - kind: bearer
    template: "{token}"
    fields:
      - {name: token, env: BENCH_TOKEN, secret: true, title: Token, title_ru: Токен}
check: {module: api, method: GET, path: /items}
modules:
  - id: api
    summary: All of it
    base_url: https://bench.example
    paths: [/items]
    rate: {requests: 1000000, per: 1s, burst: 1000000, parallel: 64}
    pagination: [{kind: none}]
operations:
  - {match: "GET *", class: read}
  - {default: write}
`

const (
	pairs          = 1000 // calls of each kind, in turn
	connectorConns = 16
	lastItem       = "Item 19" // stands in a whole answer, and in no refusal
)

// connector measures what connector_execute adds to a call: pairs of a direct
// request to a service on this machine and the same one through /mcp, taken in
// turn; then calls a second.
func (b *bench) connector(ctx context.Context, scratch string) error {
	upstream, stop, err := items()
	if err != nil {
		return err
	}
	defer stop()
	data := filepath.Join(scratch, "connector")
	if err := os.MkdirAll(filepath.Join(data, "connectors"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "connectors", "bench.yaml"), []byte(benchConnector), 0o600); err != nil {
		return err
	}
	env := []string{key, "INNERLOOP_DATA_DIR=" + data, "INNERLOOP_DATABASE_URL=sqlite:" + filepath.Join(data, "bench.db"), "INNERLOOP_LISTEN=127.0.0.1:0", "INNERLOOP_LIMITS=off"}
	server, err := start(ctx, env, b.binary, "serve")
	if err != nil {
		return err
	}
	token, err := b.connected(ctx, env, data, upstream)
	if err == nil {
		err = b.called(ctx, server, token, upstream)
	}
	return errors.Join(err, server.stop())
}

// items is a service that answers twenty items, some two kilobytes.
func items() (origin string, stop func(), err error) {
	type item struct {
		ID    int    `json:"id"`
		Name  string `json:"name"`
		Price int    `json:"price"`
		Note  string `json:"note"`
	}
	var list []item
	for i := range 20 {
		list = append(list, item{i, fmt.Sprintf("Item %d", i), 100 * i, strings.Repeat("a word ", 6)})
	}
	body, err := json.Marshal(map[string]any{"items": list})
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// connected makes an organisation with a connection to the service, and returns
// its key.
func (b *bench) connected(ctx context.Context, env []string, data, upstream string) (string, error) {
	said, err := run(ctx, env, b.binary, "org", "create", "Bench", "--json")
	if err != nil {
		return "", fmt.Errorf("make an organization: %w: %s", err, said)
	}
	var made struct {
		ID  string `json:"organization_id"`
		Key string `json:"key"`
	}
	if err := json.Unmarshal([]byte(said), &made); err != nil {
		return "", fmt.Errorf("make an organization: %w: %s", err, said)
	}
	secret := filepath.Join(data, "token")
	if err := os.WriteFile(secret, []byte("a token of the bench"), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"connect", "bench", "--org", made.ID, "--base-url", upstream, "--field", "token=@" + secret},
		{"org", "allow-network", "--org", made.ID, "127.0.0.0/8"},
	} {
		if said, err := run(ctx, env, b.binary, args...); err != nil {
			return "", fmt.Errorf("%s: %w: %s", args[0], err, said)
		}
	}
	return made.Key, nil
}

func (b *bench) called(ctx context.Context, server *process, token, upstream string) error {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"connector_execute","arguments":{"service":"bench","method":"GET","path":"/items"}}}`
	through := func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.origin+"/mcp", strings.NewReader(call))
		if err != nil {
			return err
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-11-25", "Authorization": "Bearer " + token,
		} {
			r.Header.Set(name, value)
		}
		return answered(r)
	}
	direct := func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream+"/items", nil)
		if err != nil {
			return err
		}
		return answered(r)
	}
	took := func(do func() error) (time.Duration, error) {
		began := time.Now()
		err := do()
		return time.Since(began), err
	}
	var more, alone []time.Duration
	for range pairs {
		one, err := took(direct)
		if err != nil {
			return fmt.Errorf("a direct call: %w", err)
		}
		other, err := took(through)
		if err != nil {
			return fmt.Errorf("a call through the door: %w", err)
		}
		alone, more = append(alone, one), append(more, other-one)
	}
	slices.Sort(alone)
	slices.Sort(more)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	b.record.add("connector_direct_ms", fmt.Sprintf("a call of a service on this machine, median of %d, ms", pairs), ms(alone[len(alone)/2]))
	b.record.add("connector_overhead_ms", "what the same call through connector_execute and /mcp takes longer, median of pairs taken in turn, ms", ms(more[len(more)/2]))
	b.record.add("connector_overhead_p99_ms", "the same, of a hundred pairs the slowest but one", ms(more[len(more)*99/100]))
	m, err := load(ctx, server, connectorConns, b.span, func(_ int, r *fasthttp.Request) bool {
		r.SetRequestURI("/mcp")
		r.SetHost("127.0.0.1")
		r.Header.SetMethod(fasthttp.MethodPost)
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-11-25", "Authorization": "Bearer " + token,
		} {
			r.Header.Set(name, value)
		}
		r.SetBodyString(call)
		return true
	}, func(r *fasthttp.Response) error {
		return whole(r.StatusCode(), r.Body())
	})
	if err != nil {
		return fmt.Errorf("calls at once: %w", err)
	}
	b.record.add("connector_calls_per_s", "calls of connector_execute, by the clock, 16 connections", m.perSecond)
	b.record.add("connector_calls_per_cpu_s", "the same per CPU second of the server", m.perCPU)
	return nil
}

// answered sends a request and refuses an answer that is not whole.
func answered(r *http.Request) error {
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return whole(answer.StatusCode, text)
}

// whole refuses an answer without the items: an error comes fast, and is no
// call that was made.
func whole(status int, text []byte) error {
	if status != http.StatusOK || !bytes.Contains(text, []byte(lastItem)) {
		return fmt.Errorf("status %d: %.300s", status, text)
	}
	return nil
}
