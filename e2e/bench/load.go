package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// A measure is what one load gave.
type measure struct {
	requests  int
	perSecond float64       // by the clock
	perCPU    float64       // per CPU second of the server
	p99       time.Duration // of one request
	cpu       time.Duration // of the server, for all of them
	times     []time.Duration
}

// load sends requests over conns connections until span has passed or next has
// no more, and requires each answer to be as check says. next is called from
// many goroutines.
func load(ctx context.Context, server *process, conns int, span time.Duration, next func(worker int, r *fasthttp.Request) bool, check func(*fasthttp.Response) error) (measure, error) {
	client := &fasthttp.HostClient{
		Addr: strings.TrimPrefix(server.origin, "http://"), MaxConns: conns,
		ReadTimeout: 20 * time.Second, WriteTimeout: 20 * time.Second,
		RetryIfErr: func(*fasthttp.Request, int, error) (resetTimeout, retry bool) { return false, false },
	}
	defer client.CloseIdleConnections()
	before, err := server.cpu()
	if err != nil {
		return measure{}, err
	}
	var failed atomic.Pointer[error]
	times := make([][]time.Duration, conns)
	began := time.Now()
	var group sync.WaitGroup
	for worker := range conns {
		group.Go(func() {
			request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			for time.Since(began) < span && ctx.Err() == nil && failed.Load() == nil {
				request.Reset()
				if !next(worker, request) {
					return
				}
				sent := time.Now()
				err := client.Do(request, response)
				if err == nil {
					err = check(response)
				}
				if err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				times[worker] = append(times[worker], time.Since(sent))
			}
		})
	}
	group.Wait()
	elapsed := time.Since(began)
	after, err := server.cpu()
	if err != nil {
		return measure{}, err
	}
	if e := failed.Load(); e != nil {
		return measure{}, *e
	}
	all := slices.Sorted(slices.Values(slices.Concat(times...)))
	if len(all) == 0 || after <= before {
		return measure{}, errors.New("a load sent nothing")
	}
	return measure{
		requests: len(all), perSecond: float64(len(all)) / elapsed.Seconds(),
		perCPU: float64(len(all)) / (after - before).Seconds(), p99: all[len(all)*99/100],
		cpu: after - before, times: all,
	}, nil
}

// wantStatus accepts one status only.
func wantStatus(status int) func(*fasthttp.Response) error {
	return func(r *fasthttp.Response) error {
		if r.StatusCode() != status {
			return fmt.Errorf("status %d instead of %d: %.200s", r.StatusCode(), status, r.Body())
		}
		return nil
	}
}

// bareServer is the limit that reads are compared with: Fiber and nothing
// else, writing the bytes of a file.
func bareServer(path string) error {
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return c.Send(body)
	})
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s\n", listener.Addr())
	return app.Listener(listener)
}
