package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// stall measures what connections that send half a request and wait cost the
// server, and what an honest caller notices meanwhile. A third of them send
// half a head, a third a head and nothing of the body it announces, a third a
// head and half of a megabyte. The limits are those of a service that sets
// none itself.
func stall(ctx context.Context, binary string, connections int, span time.Duration) error {
	dir, err := os.MkdirTemp("", "innerloop-stall")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := start(ctx, []string{"INNERLOOP_DATA_DIR=" + dir, "INNERLOOP_LISTEN=127.0.0.1:0"}, binary, "serve")
	if err != nil {
		return err
	}
	defer func() { _ = p.stop() }()
	if err := honest(p.origin, time.Second, "warm-up", false); err != nil {
		return err
	}
	before, err := p.rss()
	if err != nil {
		return err
	}
	fmt.Printf("figure stall_rss_before_mib = %.1f\n", before)
	if err := honest(p.origin, span, "before", true); err != nil {
		return err
	}
	half := bytes.Repeat([]byte("x"), 512<<10)
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	var sending sync.WaitGroup
	for i := range connections {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.origin, "http://"))
		if err != nil {
			return err
		}
		open = append(open, c)
		head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n"
		if i%3 > 0 {
			head += "\r\n"
		}
		if _, err := io.WriteString(c, head); err != nil {
			return err
		}
		if i%3 == 2 {
			sending.Go(func() { _, _ = c.Write(half) }) // some are refused meanwhile
		}
	}
	sending.Wait()
	peak := make(chan float64, 1)
	over := make(chan struct{})
	go func() {
		most := 0.0
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if now, err := p.rss(); err == nil {
					most = max(most, now)
				}
			case <-over:
				peak <- most
				return
			}
		}
	}()
	err = honest(p.origin, span, "during", true)
	close(over)
	fmt.Printf("figure stall_connections = %d\nfigure stall_rss_peak_mib = %.1f\n", connections, <-peak)
	return err
}

// honest calls a tool listing, each time on a connection of its own, and
// prints how long it took.
func honest(origin string, span time.Duration, name string, told bool) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	var took []time.Duration
	for end := time.Now().Add(span); time.Now().Before(end); {
		begun := time.Now()
		r, err := client.Post(origin+"/mcp", "application/json", strings.NewReader(body))
		if err != nil {
			return fmt.Errorf("an honest call, %s: %w", name, err)
		}
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			return fmt.Errorf("an honest call, %s: %d %s %w", name, r.StatusCode, text, err)
		}
		took = append(took, time.Since(begun))
	}
	if !told {
		return nil
	}
	slices.Sort(took)
	at := func(part float64) float64 { return took[int(part*float64(len(took)-1))].Seconds() * 1000 }
	fmt.Printf("figure honest_%s_calls = %d\nfigure honest_%s_p50_ms = %.2f\nfigure honest_%s_p99_ms = %.2f\n", name, len(took), name, at(0.5), name, at(0.99))
	return nil
}
